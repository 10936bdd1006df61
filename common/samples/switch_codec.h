/*
 * The switches of a block, both ways: who goes to a CPU and who leaves it. They are coded CPU by
 * CPU, because what happens on one follows from what happened there. Nothing is known from other
 * blocks. nsprof.data(5) describes the coding.
 *
 * A mark among them (ev_switch.mark) is where the thread that is on a CPU was sampled as it leaves.
 * It says the sample's time, CPU and thread, which take less space next to the switch.
 */
#ifndef NSPROF_SWITCH_CODEC_H
#define NSPROF_SWITCH_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/strbuf.h"
#include "event.h"

struct switch_enc;
struct switch_dec;

struct switch_enc *switch_enc_new(void);
void switch_enc_free(struct switch_enc *e);	/* accepts NULL */
/*
 * Note the symbols of @n switches in @out, see nibble_codec.h, whose models must be new, and append
 * the bits that have no model to @bits. The switches of a CPU stay in their order.
 */
void switch_encode(struct switch_enc *e, const struct ev_switch *sw, size_t n, struct strbuf *out,
		   struct strbuf *bits);

struct switch_dec *switch_dec_new(void);
void switch_dec_free(struct switch_dec *d);	/* accepts NULL */
/* The switches of a block, packed. All borrowed. */
struct switch_block {
	struct cursor code, bits;
	uint64_t symbols;		/* in code */
	bool plain;			/* as in nibble_dec_begin() */
	bool marks;			/* there may be some */
};

/* Decode all of them. 0, or -EINVAL when the code is damaged: then there are none. */
int switch_decode(struct switch_dec *d, const struct switch_block *b);
/*
 * The next switch, in the order of time, and of CPUs at the same time. NULL: there is none. Borrowed
 * until switch_decode().
 */
const struct ev_switch *switch_dec_peek(const struct switch_dec *d);
/* Take it. There must be one. */
void switch_dec_take(struct switch_dec *d);
/* The marks of the block, in the order of time, and of CPUs at the same time. Borrowed likewise. */
const struct ev_switch *switch_dec_marks(const struct switch_dec *d, size_t *n);

#endif
