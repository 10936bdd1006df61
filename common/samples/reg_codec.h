/*
 * The registers of a sample, both ways. ip comes first, then the others except sp, which the caller
 * codes. They are coded relative to the thread's last sample, to what they held last time at the
 * same ip, and to the addresses met in the stack copy. nsprof.data(5) describes the coding.
 */
#ifndef NSPROF_REG_CODEC_H
#define NSPROF_REG_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "samples/code_dict.h"
#include "samples/nibble_codec.h"
#include "samples/word_codec.h"

#define REG_CODED 15u		/* all UREG_* except ip and sp */
#define REG_ROW_BITS 10
#define REG_RECENT 15u		/* remembered values that are neither code nor stack */

/* What encoder and decoder learn from all registers; zeroed at a KEY block. */
struct reg_model {
		struct reg_row {		/* what registers held the last time at an ip */
		uint64_t ip;		/* 0: nothing yet */
		uint64_t val[REG_CODED];	/* as kind says */
		uint8_t kind[REG_CODED];
	} row[1u << REG_ROW_BITS];
	uint64_t raw[REG_RECENT];	/* latest first */
};

/*
 * Note the symbols of @regs (UREG_MAX of them) in @out. @last: the thread's previous registers,
 * with UREG_SP already as in @regs; it becomes @regs. @unmasked: registers may hold anything; it is
 * kept out of the dictionary. @ip: the ip expected, or 0.
 */
void regs_encode(struct reg_model *m, const struct word_seen *seen, struct code_enc *dict,
		 const uint64_t *regs, bool unmasked, uint64_t ip, uint64_t *last, struct strbuf *out);

/* The inverse: @last becomes the sample's registers. 0, or -EINVAL when the symbols are invalid. */
int regs_decode(struct reg_model *m, const struct word_seen *seen, struct code_dec *dict,
		struct nibble_dec *in, uint64_t ip, uint64_t *last);

#endif
