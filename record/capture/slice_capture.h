/*
 * Slices of binaries that are kept from one file of a row to the next: slicing one of 98 MB takes 0.75 s of CPU time,
 * and nearly the same addresses come again. A slice serves all files whose addresses it has rows for; each
 * file gets a copy, so that it can be read alone.
 */
#ifndef NSPROF_SLICE_CAPTURE_H
#define NSPROF_SLICE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "capture/capture_job.h"

/* Of all slices kept, with their addresses; a binary whose slice does not fit is sliced each time. */
#define SLICES_BYTES (8u << 20)

struct slices {
	size_t bytes;		/* held */
	size_t max;		/* 0: none are kept */
};

/* The slice kept of one binary. */
struct slice {
	uint64_t *addrs;	/* owned, sorted: what it has rows for; NULL = there is none */
	size_t n;
	struct strbuf rows;
	struct strbuf spans;	/* and where else: struct span */
};

/*
 * Rows for @addrs (sorted, *@n of them): true when the slice is copied to @rows. Else they are to be sliced,
 * for *@addrs, which is replaced when it pays to have rows for those of the kept slice as well.
 */
bool slice_serve(const struct slice *s, uint64_t **addrs, size_t *n, struct strbuf *rows);
/* Keep what was made by @job instead of what was kept; takes its addresses, rows and spans. */
void slice_keep(struct slices *all, struct slice *s, struct capture_job *job);
void slice_drop(struct slices *all, struct slice *s);	/* accepts one that is not there */

#endif
