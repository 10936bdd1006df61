/*
 * For tests of the symbolizer: reads a recording, collects its stacks and names them, as the command
 * does, and frees everything again.
 */
#ifndef TESTS_UNIT_COLLECTRUN_H
#define TESTS_UNIT_COLLECTRUN_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmd/parallel_pass.h"
#include "modules/module.h"
#include "naming/naming.h"
#include "recording/rec_events.h"
#include "recording/rec_reader.h"
#include "replay/collect.h"
#include "replay/replay.h"

struct collect_run {
	struct rec_reader *r;
	struct rec_events events;
	struct modules *mods;
	struct replay *rp;
	struct collect col;
	struct naming nm;
};

/* Opens the recording @path and reads its events. */
static inline void collect_run_open(struct collect_run *run, const char *path)
{
	*run = (struct collect_run){ .r = rec_reader_open(path), .mods = modules_new() };
	run->rp = replay_new(run->mods);
	assert_non_null(run->r);
	assert_int_equal(rec_events_read(&run->events, run->r), 0);
}

/* Collects the stacks with @nthreads threads, and names them. */
static inline void collect_run_all(struct collect_run *run, const struct collect_opts *copts, unsigned int nthreads,
				   const struct naming_opts *nopts)
{
	collect_init(&run->col, run->rp, copts);
	assert_int_equal(parallel_pass_run(&run->col, run->r, run->mods, nthreads), 0);
	naming_run(&run->nm, nopts, run->rp, &run->col.locs, run->col.texts);
}

/* After collect_run_all(). */
static inline void collect_run_close(struct collect_run *run)
{
	naming_fini(&run->nm);
	collect_fini(&run->col);
	replay_free(run->rp);
	modules_free(run->mods);
	rec_reader_close(run->r);
	rec_events_fini(&run->events);
}

#endif
