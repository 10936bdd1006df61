/* What we may do; and why perf_event_open(2) said no, in one line with a remedy. */
#ifndef NSPROF_PERM_H
#define NSPROF_PERM_H

#include <stdbool.h>
#include <stdint.h>

#include "evsel.h"
#include "target.h"

/* In perm_caps(). */
#define PERM_CAP_SYS_PTRACE (1ull << 19)
#define PERM_CAP_SYS_ADMIN (1ull << 21)
#define PERM_CAP_PERFMON (1ull << 38)	/* since 5.8 */

/* Capabilities that are effective on the whole machine. */
uint64_t perm_caps(void);
/* We are in a user namespace below the first one: what we have there is none of them. */
bool perm_own_user_ns(void);
/* CAP_PERFMON or CAP_SYS_ADMIN is among them. */
bool perm_capable(void);
/*
 * What answers perf_event_open(2) in the kernel's place: a seccomp filter, or a kernel without the call. 0: nothing, the
 * kernel answers itself. Else the negative errno that is all there will ever be.
 */
int perm_filtered(void);
/* Seccomp filters are in place for us. */
bool perm_has_filter(void);
/* Descriptors that a recording wants beside those of its events: binaries that are held open. */
#define PERM_FILES_SPARE 1024u
/*
 * As many descriptors as the hard limit allows, to which everyone may raise the soft one: events and cgroups need one
 * each. Children have it too, so call it for a target that is the command only after that was forked.
 */
void perm_raise_nofile(void);
/* kernel.perf_event_paranoid; 2 when it cannot be read. */
int perm_paranoid(void);
/* Number kernel.@name of sysctl(8); @fallback when there is none. */
long perm_sysctl(const char *name, long fallback);

/* One message for the failed opening of @ev for thread @pid (-1: a CPU or a cgroup). */
void perm_explain(int err, const struct evsel *ev, const struct target *t, int pid, uint32_t cpu,
		  uint64_t nfds);

#endif
