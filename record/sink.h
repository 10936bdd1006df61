/*
 * Where records from the rings end: each is parsed in place and goes to the process table or, as a
 * masked sample, to the writer. No allocation per sample.
 */
#ifndef NSPROF_SINK_H
#define NSPROF_SINK_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "cgroup.h"
#include "hash.h"
#include "ledger.h"
#include "proctab.h"
#include "rec_writer.h"
#include "record_opts.h"
#include "seen.h"
#include "stackcopy.h"

struct sink {
	const struct record_opts *opts;		/* borrowed, as all pointers here but seen */
	const struct cgroup_fs *fs;
	struct proctab *pt;
	struct rec_writer *w;
	struct ledger *ledger;
	bool has_cgroup;		/* PERF_SAMPLE_CGROUP is in the samples */
	uint32_t own_pid;		/* samples of ourselves are left out */
	int err;			/* first write error, negative errno: the end of writing */
	struct seen *seen;		/* owned */
	struct u64map cgroups;		/* ids whose names are written or cannot be had */
	uint64_t chain[2];		/* made up where the kernel gave none */
	struct sample_in in;
	struct stack_words words;
};

/* Own with sink_free(). */
struct sink *sink_new(const struct record_opts *o, const struct cgroup_fs *fs, struct proctab *pt,
		      struct rec_writer *w, struct ledger *ledger, bool has_cgroup);
void sink_free(struct sink *s);

/* A cgroup known beforehand. */
void sink_cgroup(struct sink *s, uint64_t id, const char *path);

/*
 * One whole record of at least sizeof(*h) + LAYOUT_ID_SIZE bytes; @sideband says which ring it came
 * from. A record whose inner lengths do not fit is dropped and counted. Errors of the writer stay
 * in s->err.
 */
void sink_record(struct sink *s, const struct perf_event_header *h, uint64_t time, bool sideband);

#endif
