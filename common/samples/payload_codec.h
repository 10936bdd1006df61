/*
 * The payload of a sample, that is the record of a tracepoint, both ways. It is coded in words of
 * 4 bytes, each expected to be what it was in the last payload that this thread or, beyond the
 * first words, any thread had of this event. Once a word is not as expected, the words after it
 * are expected as they followed that word before.
 */
#ifndef NSPROF_PAYLOAD_CODEC_H
#define NSPROF_PAYLOAD_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event.h"
#include "samples/nibble_codec.h"

#define PAYLOAD_WORDS (PAYLOAD_MAX / 4)
#define PAYLOAD_ROW 32u		/* words that are remembered by thread */
#define PAYLOAD_ROW_BITS 9
#define PAYLOAD_AFTER_BITS 14
#define PAYLOAD_RECENT 15u
#define PAYLOAD_KINDS 16u	/* events, modulo this, that have models of their own */

/* What encoder and decoder learn from all payloads; zeroed at a KEY block. */
struct payload_model {
	struct payload_row {
		uint32_t word[PAYLOAD_ROW];
	} row[1u << PAYLOAD_ROW_BITS];	/* by event and thread */
	struct payload_after {
		uint32_t check, word;
	} after[1u << PAYLOAD_AFTER_BITS];	/* by an unexpected word before it */
	uint32_t recent[PAYLOAD_KINDS][PAYLOAD_ROW][PAYLOAD_RECENT];	/* unexpected words, latest first */
	struct payload_last {
		uint32_t len;		/* bytes */
		uint32_t *word;		/* owned, PAYLOAD_WORDS; NULL: none was needed */
	} last[SAMPLED_EVENTS_MAX];	/* by event */
};

/* Forget everything, but keep allocated memory. */
void payload_model_key(struct payload_model *m);
void payload_model_fini(struct payload_model *m);

/* The sample that has the payload. */
struct payload_of {
	uint32_t event;			/* below SAMPLED_EVENTS_MAX */
	uint32_t thread;		/* index */
	uint32_t pid, tid;
};

/* @len: 1 to PAYLOAD_MAX bytes at @data. */
void payload_encode(struct payload_model *m, const struct payload_of *of, const uint8_t *data, uint32_t len,
		    struct strbuf *out);
/* The inverse; @data has room for PAYLOAD_MAX bytes. 0, or -EINVAL when the symbols are invalid. */
int payload_decode(struct payload_model *m, const struct payload_of *of, struct nibble_dec *in, uint8_t *data,
		   uint32_t *len);

#endif
