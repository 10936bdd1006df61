/* What we may do; and why perf_event_open(2) said no, in one line with a remedy. */
#ifndef NSPROF_PERM_H
#define NSPROF_PERM_H

#include <stdbool.h>
#include <stdint.h>

#include "evsel.h"
#include "target.h"

/* CAP_PERFMON or CAP_SYS_ADMIN is effective. */
bool perm_capable(void);
/*
 * As many descriptors as the hard limit allows, to which everyone may raise the soft one: events and cgroups need one
 * each. Children have it too, so call it for a target that is the command only after that was forked.
 */
void perm_raise_nofile(void);
/* kernel.perf_event_paranoid; 2 when it cannot be read. */
int perm_paranoid(void);
/* One number in a file below /proc or /sys; @fallback when there is none. */
long perm_read_number(const char *path, long fallback);

/* One message for the failed opening of @ev for thread @pid (-1: a CPU or a cgroup). */
void perm_explain(int err, const struct evsel *ev, const struct target *t, int pid, uint32_t cpu,
		  uint64_t nfds);

#endif
