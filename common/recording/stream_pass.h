/*
 * A pass over the STREAM blocks of a recording: delivers events in order, decodes or skips samples,
 * and notes damage. When samples are decoded ahead, the next block is loaded before it is due.
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

/* What a pass reads from. */
struct stream_source {
	struct rec_file *file;
	struct stream_dec *stream;
	struct sample_dec *samples;
	struct sample_ahead *ahead;	/* of @samples; may be NULL; event_ops.block() may set it */
	uint32_t *parts;		/* first block of each part; for event_ops.wants() */
	uint32_t nparts;
};

/*
 * Adds damaged blocks, and samples lost with them, to *@damage. 0 or negative errno of a read.
 * *@ret: the non-zero return of a callback, which ended the pass, else 0.
 */
int stream_pass(struct stream_source *src, const struct event_ops *ops, void *ctx, struct rec_damage *damage, int *ret);

#endif
