/*
 * What a cgroup had of the CPUs and how its limit held it back: cpu.stat and cpu.max of v2 (Documentation/
 * admin-guide/cgroup-v2.rst), cpuacct.usage, cpu.stat and cpu.cfs_* of v1 (scheduler/sched-bwc.rst), in whichever
 * hierarchies these are.
 */
#ifndef NSPROF_CGROUP_CPU_H
#define NSPROF_CGROUP_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "containers/cgroup.h"

/* Counters since the cgroup was made. See struct ev_container. */
struct cpu_reading {
	bool have_usage, have_throttling;
	uint64_t quota_us, period_us;
	uint64_t usage_us, nr_periods, nr_throttled, throttled_us;
};

/* Parsers of those files' texts; what is not in them stays as it was. Pure. */
void cpu_reading_stat(struct cpu_reading *r, const char *text);		/* cpu.stat, both versions */
void cpu_reading_max(struct cpu_reading *r, const char *text);		/* cpu.max */
void cpu_reading_cfs(struct cpu_reading *r, const char *quota, const char *period);

/* The hierarchies that CPU time and limits are told in. */
struct cgroup_cpu {
	const struct cgroup_fs *fs;	/* perf_event's; borrowed */
	struct cgroup_fs usage, limit;	/* of cpuacct and cpu; not open where they are perf_event's or are not there */
};

/* One cgroup in them. */
struct cgroup_cpu_at {
	char *usage, *limit;	/* paths there, owned; NULL = not known */
	uint64_t usage_ino, limit_ino;	/* of the files read first: a path may be another cgroup's later; 0 = not yet */
};

/* Never fails: what is not there is not read. @fs is open. */
void cgroup_cpu_open(struct cgroup_cpu *c, const struct cgroup_fs *fs);
void cgroup_cpu_close(struct cgroup_cpu *c);

/*
 * Where cgroup @own of perf_event's hierarchy is told of: there, or where process @pid in it or below is in the other
 * hierarchies; if that has ended, or is 0, any in it. What @at, at first 0, has already stays. Own with
 * cgroup_cpu_at_fini().
 */
void cgroup_cpu_find(const struct cgroup_cpu *c, const char *own, uint32_t pid, struct cgroup_cpu_at *at);
void cgroup_cpu_at_fini(struct cgroup_cpu_at *at);

/*
 * The path of cgroup @own in the hierarchy of @controller, by the text of /proc/PID/cgroup of a process that is
 * in it or below: without what stands below @own, and of a container its own cgroup. Owned; NULL when the process
 * is elsewhere by now, or in that hierarchy's root, whose counters are everybody's. Pure.
 */
char *cgroup_cpu_path(const char *text, const char *controller, const char *own);

/*
 * Read the counters, and the limit if @limit. 0; -ENOENT: the cgroup is gone, and @r as it was. Some 20 us a
 * hierarchy.
 */
int cgroup_cpu_read(const struct cgroup_cpu *c, struct cgroup_cpu_at *at, bool limit, struct cpu_reading *r);

#endif
