/*
 * A pass over the STREAM blocks of a recording: events in their order, samples decoded or left out, and what of it is
 * damaged. Where samples are decoded ahead, the next block is at hand before it is due.
 */
#ifndef NSPROF_STREAM_PASS_H
#define NSPROF_STREAM_PASS_H

#include <stdint.h>

#include "event.h"
#include "recording/rec_reader.h"
#include "recording/rec_scan.h"
#include "recording/stream_codec.h"
#include "samples/sample_ahead.h"
#include "samples/sample_codec.h"

/* What is read from, and with what. */
struct stream_source {
	struct rec_file *file;
	struct stream_dec *stream;
	struct sample_dec *samples;
	struct sample_ahead *ahead;	/* of @samples; NULL: they are decoded when they are due. event_ops.block() may set it */
	uint32_t *parts;		/* number of the first block of each; only looked at with event_ops.wants() */
	uint32_t nparts;
};

/*
 * Blocks that are damaged, and samples lost with them, are added to *@damage. 0 or negative errno of a read; *@ret: what a
 * callback returned, which ended the pass, else 0.
 */
int stream_pass(struct stream_source *src, const struct event_ops *ops, void *ctx, struct rec_damage *damage, int *ret);

#endif
