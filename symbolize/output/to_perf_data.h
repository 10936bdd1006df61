/*
 * Writes a recording as perf.data. Its stacks are unwound to plain callchains of addresses;
 * mappings and build-ids allow the reader to find names. Samples are written as they are read, so
 * memory depends only on the number of processes and threads.
 */
#ifndef NSPROF_TO_PERF_DATA_H
#define NSPROF_TO_PERF_DATA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "recording/rec_events.h"
#include "unwind/unwind.h"

struct rec_reader;

struct to_perf_data {
	struct rec_reader *reader;	/* alive_init() was called with it */
	const struct rec_events *events;	/* of @reader */
	uint32_t event;			/* only this one; REC_EVENTS_ALL: all */
	FILE *to;			/* a file, at its beginning */
	const struct unwinder_ops *unwinder;
	uint32_t max_stack;		/* frames kept of a stack, from the leaf */
	const char *buildid_dir;	/* NULL, or prepared (buildid_dir.h): receives what was
					 * captured */
	bool strict;			/* do not fill buildid_dir from a truncated or damaged
					 * recording */
	bool progress;			/* show progress on stderr after a second */
	/* Results: */
	uint64_t samples;
	uint64_t cut;			/* how many of them had more frames than a record holds */
	int write_err;			/* negative errno: the file is incomplete */
};

/*
 * Returns 0, TO_PERF_DATA_STOPPED when asked to stop (interrupt.h; what was read by then is
 * written), or negative errno after a message. Errors of writing are in @write_err.
 */
enum { TO_PERF_DATA_STOPPED = 1 };
int to_perf_data(struct to_perf_data *in);

#endif
