/*
 * Samples decoded by a thread of their own, ahead of whoever looks at them. They come in the same order and
 * with the same contents as from sample_dec_next(); their stacks lie in a copy of the decoder's shadows, which
 * is brought up to date sample by sample as they are taken.
 */
#ifndef NSPROF_SAMPLE_AHEAD_H
#define NSPROF_SAMPLE_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "samples/sample_codec.h"

#define SAMPLE_AHEAD_BLOCKS 2u

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
 * The samples of @block come next, behind those of the blocks added before. Its code stays where it is until
 * sample_ahead_end() of this block, as of up to SAMPLE_AHEAD_BLOCKS at once. The decoder is the thread's until the last one's.
 */
void sample_ahead_add(struct sample_ahead *sa, const struct sample_block *block);
/* As sample_dec_next(), of the first block that is left, at most as many as there are. *@ev borrows from @sa. */
int sample_ahead_next(struct sample_ahead *sa, struct ev_sample *ev);
/*
 * Is done with the first block: true when all its samples were taken, and are all there is in the code. Else all blocks are
 * dropped, and as the decoder may be anywhere, only sample_dec_key() makes it useful again.
 */
bool sample_ahead_end(struct sample_ahead *sa);
/* Drops all blocks, as above. The decoder is the caller's. */
void sample_ahead_cancel(struct sample_ahead *sa);

#endif
