/*
 * A recording as perf.data: its stacks unwound, as plain callchains of addresses with the mappings and build-ids that name them.
 * Names are the reader's to find. Samples are written as they are read: memory goes by processes and threads.
 */
#ifndef NSPROF_TO_PERF_DATA_H
#define NSPROF_TO_PERF_DATA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "unwind/unwind.h"

struct rec_reader;

struct to_perf_data {
	struct rec_reader *reader;	/* alive_init() was called with it */
	FILE *to;			/* a file, at its beginning */
	const struct unwinder_ops *unwinder;
	uint32_t max_stack;		/* frames kept of a stack, from the leaf */
	const char *buildid_dir;	/* NULL; or prepared (buildid_dir.h): what was captured goes there */
	bool strict;			/* nothing goes there of a recording that is cut or damaged */
	bool progress;			/* tell on stderr how far it is, after a second */
	/* What was written: */
	uint64_t samples;
	uint64_t cut;			/* of them, with more frames than a record holds */
	int write_err;			/* negative errno: it is not whole */
};

/*
 * 0, TO_PERF_DATA_STOPPED when asked to stop (interrupt.h; what was read by then is written), or negative errno after a message. An
 * error of writing is in @write_err.
 */
enum { TO_PERF_DATA_STOPPED = 1 };
int to_perf_data(struct to_perf_data *in);

#endif
