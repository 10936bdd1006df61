/*
 * Decodes samples in a thread, ahead of their consumer. Order and contents are those of
 * sample_dec_next(). The stacks lie in a copy of the decoder's shadows, which is updated with each
 * sample taken.
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
 * @d is borrowed and may already have delivered samples: decoding continues after them. NULL: no
 * thread could be created.
 */
struct sample_ahead *sample_ahead_new(struct sample_dec *d);
void sample_ahead_free(struct sample_ahead *sa);	/* accepts NULL */
/* Call it together with sample_dec_key(). */
void sample_ahead_key(struct sample_ahead *sa);
/*
 * Append the samples of @block to those added before. Up to SAMPLE_AHEAD_BLOCKS at once. Its code
 * must stay in place until sample_ahead_end() of this block. The thread owns the decoder until the
 * last block's end.
 */
void sample_ahead_add(struct sample_ahead *sa, const struct sample_block *block);
/*
 * As sample_dec_next(), for the first block left; at most as many as it has. *@ev borrows from @sa.
 */
int sample_ahead_next(struct sample_ahead *sa, struct ev_sample *ev);
/*
 * Finish the first block. True when all its samples were taken and the code holds no more.
 * Otherwise all blocks are dropped; the decoder's position is unknown then, and only
 * sample_dec_key() makes it usable.
 */
bool sample_ahead_end(struct sample_ahead *sa);
/* Drop all blocks, as above. The decoder is the caller's again. */
void sample_ahead_cancel(struct sample_ahead *sa);

#endif
