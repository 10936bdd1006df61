/*
 * Keeps slices of binaries from one file of a series to the next: slicing a binary of 98 MB takes
 * 0.75 s of CPU time, and mostly the same addresses return. A slice serves all files with addresses
 * that it has rows for. Each file gets a copy, so that it can be read alone.
 */
#ifndef NSPROF_SLICE_CAPTURE_H
#define NSPROF_SLICE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "capture/capture_job.h"

/*
 * Limit for all kept slices with their addresses. A binary is sliced each time if its slice does
 * not fit.
 */
#define SLICES_BYTES (8u << 20)

struct slices {
	size_t bytes;		/* held */
	size_t max;		/* limit; 0: keep none */
};

/* The kept slice of one binary. */
struct slice {
	/* owned, sorted: the addresses it has rows for; NULL = there is no slice */
	uint64_t *addrs;
	size_t n;
	struct strbuf rows;
	struct strbuf spans;	/* further ranges it has rows for: struct span */
};

/*
 * Rows for @addrs (sorted, *@n of them). True: the slice was copied to @rows. False: slice the
 * binary for *@addrs. They are replaced by a union with the addresses of the kept slice if that
 * pays.
 */
bool slice_serve(const struct slice *s, uint64_t **addrs, size_t *n, struct strbuf *rows);
/* Keeps the result of @job, replacing what was kept; takes its addresses, rows and spans. */
void slice_keep(struct slices *all, struct slice *s, struct capture_job *job);
void slice_drop(struct slices *all, struct slice *s);	/* does nothing if there is none */

#endif
