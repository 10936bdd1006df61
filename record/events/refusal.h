/* Explains in one line why perf_event_open(2) failed, with a remedy. */
#ifndef NSPROF_REFUSAL_H
#define NSPROF_REFUSAL_H

#include <stdint.h>

#include "evlist/evsel.h"
#include "events/target.h"

/* Prints one message about the failure to open @ev for thread @pid (-1: a CPU or a cgroup). */
void refusal_explain(int err, const struct evsel *ev, const struct target *t, int pid, uint32_t cpu,
		     uint64_t nfds);
/* The same for @cg, one cgroup of @t. */
void refusal_explain_cgroup(int err, const struct evsel *ev, const struct target *t, const struct cgroup *cg, uint32_t cpu,
			    uint64_t nfds);

#endif
