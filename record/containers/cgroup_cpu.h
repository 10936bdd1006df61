/*
 * The CPU time of a cgroup and how its CPU limit throttled it. v2: cpu.stat and cpu.max
 * (Documentation/admin-guide/cgroup-v2.rst). v1: cpuacct.usage, cpu.stat and cpu.cfs_*
 * (scheduler/sched-bwc.rst). The files are read from whichever hierarchies have them.
 */
#ifndef NSPROF_CGROUP_CPU_H
#define NSPROF_CGROUP_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "containers/cgroup.h"

/* Counters since the cgroup was created. See struct ev_container. */
struct cpu_reading {
	bool have_usage, have_throttling;
	uint64_t quota_us, period_us;
	uint64_t usage_us, nr_periods, nr_throttled, throttled_us;
};

/* Parse the texts of those files. What a text lacks stays as it was. Pure. */
void cpu_reading_stat(struct cpu_reading *r, const char *text);		/* cpu.stat, both versions */
void cpu_reading_max(struct cpu_reading *r, const char *text);		/* cpu.max */
void cpu_reading_cfs(struct cpu_reading *r, const char *quota, const char *period);

/* The hierarchies that have CPU time and limits. */
struct cgroup_cpu {
	const struct cgroup_fs *fs;	/* perf_event's; borrowed */
	/* of cpuacct and cpu; not open if they are the same as @fs, or not mounted */
	struct cgroup_fs usage, limit;
};

/* One cgroup in these hierarchies. */
struct cgroup_cpu_at {
	char *usage, *limit;	/* its paths there, owned; NULL = unknown */
	/* of the first file read, as a path may be reused by another cgroup; 0 = none yet */
	uint64_t usage_ino, limit_ino;
};

/* Never fails: a hierarchy that cannot be opened is not read. @fs is open. */
void cgroup_cpu_open(struct cgroup_cpu *c, const struct cgroup_fs *fs);
void cgroup_cpu_close(struct cgroup_cpu *c);

/*
 * Finds the paths of cgroup @own of perf_event's hierarchy in @c. In another hierarchy, it is where
 * process @pid is, which is in @own or below. If @pid has ended or is 0, any process in @own
 * serves. Paths that @at already has stay; it starts as zeros. Release with cgroup_cpu_at_fini().
 */
void cgroup_cpu_find(const struct cgroup_cpu *c, const char *own, uint32_t pid, struct cgroup_cpu_at *at);
void cgroup_cpu_at_fini(struct cgroup_cpu_at *at);

/*
 * The path of cgroup @own in the hierarchy of @controller. @text is /proc/PID/cgroup of a process
 * in @own or below. What lies below @own is cut off, and a path in a container is cut to the
 * container's own cgroup. Owned. NULL if the process is not in @own any more, or is in the root of
 * that hierarchy, whose counters cover all processes. Pure.
 */
char *cgroup_cpu_path(const char *text, const char *controller, const char *own);

/*
 * Reads the counters, and with @limit the limit. 0; -ENOENT: the cgroup is gone, and @r is
 * unchanged. Takes about 20 us per hierarchy.
 */
int cgroup_cpu_read(const struct cgroup_cpu *c, struct cgroup_cpu_at *at, bool limit, struct cpu_reading *r);

#endif
