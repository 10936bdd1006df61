/*
 * What nsprof ps shows: the running containers, their processes, and their activity in an interval.
 */
#ifndef NSPROF_PS_H
#define NSPROF_PS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/cgroup.h"
#include "containers/cgroup_cpu.h"
#include "containers/containers.h"

/* Namespaces, named after their links in /proc/PID/ns. */
enum { PS_NS_CGROUP, PS_NS_IPC, PS_NS_MNT, PS_NS_NET, PS_NS_PID, PS_NS_TIME, PS_NS_USER, PS_NS_UTS, PS_NS_N };
extern const char *const ps_ns_names[PS_NS_N];

struct ps_row {
	const struct container *c;	/* in the snapshot of containers; borrowed */
	/* the first process, on the host and in its innermost pid namespace; 0 = unknown */
	uint32_t pid, nspid;
	uint32_t processes;
	uint32_t shared;		/* bits 1 << PS_NS_*: namespaces shared with the host */
	bool ns_known;			/* @shared is valid */
	struct cgroup_cpu_at at;
	/* before.have_*: there was a reading when the interval began */
	struct cpu_reading now, before;
	double psi;			/* cpu.pressure, some avg10, per cent; negative = unknown */
};

struct ps {
	struct cgroup_fs fs;
	struct cgroup_cpu cpu;
	struct containers *cs;
	/* inodes: of process 1, or our own if those cannot be read */
	uint64_t host_ns[PS_NS_N];
	struct ps_row *rows;		/* owned; most CPU time first after ps_sort() */
	size_t n;
	uint64_t begun, ended;		/* the interval, ns of CLOCK_MONOTONIC */
};

/* @roots as in containers_new(). 0, or negative errno after a message. */
int ps_open(struct ps *ps, const char *roots);
void ps_close(struct ps *ps);

/* Takes a new snapshot and begins an interval. */
void ps_begin(struct ps *ps);
/* Reads the counters again and ends the interval. */
void ps_end(struct ps *ps);
void ps_sort(struct ps *ps);

/*
 * Per cent of the last 10 s in which some process waited for a CPU, from the text of cpu.pressure
 * (Documentation/accounting/psi.rst). Negative if the text lacks it. Pure.
 */
double ps_pressure(const char *text);

/* CPU use over the interval, 1 = one whole CPU; negative if it could not be read. */
double ps_cpu(const struct ps *ps, const struct ps_row *r);

#endif
