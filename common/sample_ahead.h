/*
 * Samples decoded by a thread of their own, ahead of whoever looks at them. They come in the same order and
 * with the same contents as from sample_dec_next(); their stacks lie in a copy of the decoder's shadows, which
 * is brought up to date sample by sample as they are taken.
 */
#ifndef NSPROF_SAMPLE_AHEAD_H
#define NSPROF_SAMPLE_AHEAD_H

#include <stdint.h>

#include "event.h"
#include "sample_codec.h"

struct sample_ahead;

/*
 * @d is borrowed, and may have given samples already: what comes is what is behind them. NULL: no thread is to
 * be had.
 */
struct sample_ahead *sample_ahead_new(struct sample_dec *d);
void sample_ahead_free(struct sample_ahead *sa);	/* accepts NULL */
/* With sample_dec_key(). */
void sample_ahead_key(struct sample_ahead *sa);
/*
 * Up to @n samples are going to be taken of the code that sample_dec_block() was told of. The decoder is the
 * thread's until sample_ahead_end().
 */
void sample_ahead_begin(struct sample_ahead *sa, uint64_t n);
/* As sample_dec_next(), at most @n times. *@ev borrows from @sa. */
int sample_ahead_next(struct sample_ahead *sa, struct ev_sample *ev);
/* What was not taken is lost: as the decoder may be beyond it, only sample_dec_key() makes it useful again. */
void sample_ahead_end(struct sample_ahead *sa);

#endif
