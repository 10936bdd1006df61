/* What nsprof ps shows: the running containers, their processes, and what they did in an interval. */
#ifndef NSPROF_PS_H
#define NSPROF_PS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/cgroup.h"
#include "containers/cgroup_cpu.h"
#include "containers/containers.h"

/* Namespaces, by the names of their links in /proc/PID/ns. */
enum { PS_NS_CGROUP, PS_NS_IPC, PS_NS_MNT, PS_NS_NET, PS_NS_PID, PS_NS_TIME, PS_NS_USER, PS_NS_UTS, PS_NS_N };
extern const char *const ps_ns_names[PS_NS_N];

struct ps_row {
	const struct container *c;	/* of the snapshot of containers; borrowed */
	uint32_t pid, nspid;		/* of the first process, on the host and innermost; 0 = unknown */
	uint32_t processes;
	uint32_t shared;		/* bits 1 << PS_NS_*: the host's own namespaces */
	bool ns_known;			/* @shared could be told */
	struct cgroup_cpu_at at;
	struct cpu_reading now, before;	/* before.have_*: there was a reading at the interval's start */
	double psi;			/* cpu.pressure, some avg10, per cent; negative = not told */
};

struct ps {
	struct cgroup_fs fs;
	struct cgroup_cpu cpu;
	struct containers *cs;
	uint64_t host_ns[PS_NS_N];	/* inodes: of process 1, or where these cannot be read, our own */
	struct ps_row *rows;		/* owned; most CPU time first after ps_sort() */
	size_t n;
	uint64_t begun, ended;		/* ns of CLOCK_MONOTONIC: the interval */
};

/* @roots as in containers_new(). 0, or negative errno after a message. */
int ps_open(struct ps *ps, const char *roots);
void ps_close(struct ps *ps);

/* Take a new snapshot: an interval begins. Readings of containers that are still there are kept. */
void ps_begin(struct ps *ps);
/* Read counters again: it is over. */
void ps_end(struct ps *ps);
void ps_sort(struct ps *ps);

/*
 * Per cent of the last 10 s in which some process waited for a CPU, by the text of cpu.pressure (Documentation/accounting/
 * psi.rst); negative when it does not say. Pure.
 */
double ps_pressure(const char *text);

/* Share of one CPU over the interval, 1 = all of it; negative when it could not be read. */
double ps_cpu(const struct ps *ps, const struct ps_row *r);

#endif
