/* The open events of a recording, and the capacity of their rings. */
#ifndef NSPROF_EVENTS_H
#define NSPROF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events/cgroup_perf.h"
#include "evlist/evsel.h"
#include "events/record_opts.h"
#include "events/ring.h"
#include "events/target.h"

/* Features that the kernel may lack. Tested once, then remembered for all other events. */
enum {
	FEAT_FORMAT_LOST = 1 << 0,	/* read(2) returns the count of lost samples: 6.0 */
	FEAT_SAMPLE_CGROUP = 1 << 1,	/* PERF_SAMPLE_CGROUP: 5.7, CONFIG_CGROUP_PERF */
	FEAT_EXCLUDE_GUEST = 1 << 2,
	FEAT_CGROUP = 1 << 3,		/* PERF_RECORD_CGROUP: 5.7 */
	FEAT_KSYMBOL = 1 << 4,		/* PERF_RECORD_KSYMBOL: 5.1 */
	FEAT_NAMESPACES = 1 << 5,	/* PERF_RECORD_NAMESPACES: 4.12; needs privileges */
	FEATS_ALL = (1 << 6) - 1,
};

struct event_fd {
	int fd;
	uint32_t cpu;		/* index into target.cpus; below target.nall for side-band */
	uint64_t cgroup;	/* id of the cgroup it counts, otherwise 0 */
};

/* What the kernel counted on one CPU; sums over its events. */
struct events_count {
	uint32_t events;	/* number of sampling events */
	uint64_t count;		/* their counts: ns for clocks, otherwise events */
	uint64_t enabled, running;	/* ns, their PERF_FORMAT_TOTAL_TIME_* */
	uint64_t lost;		/* their PERF_FORMAT_LOST; 0 without FEAT_FORMAT_LOST */
	uint64_t side_lost;	/* the same for side-band events, in records */
};

struct events {
	struct evsel sel;		/* as opened, after fallbacks */
	const char *wanted;		/* the name before fallbacks */
	int wanted_err;			/* why it could not be used: negative errno, otherwise 0 */
	bool narrowed;			/* user space only: recording the kernel is not permitted */
	int side_err;			/* why there is no side-band: negative errno, otherwise 0 */
	struct target *target;		/* borrowed; its cgroups may come and go */
	const struct record_opts *opts;	/* borrowed */
	enum cgroup_reach reach;	/* does perf_event reach the cgroups? */
	bool by_cgroup_id;		/* everything is sampled; pick the target's cgroups by id */
	bool on_exec;			/* the kernel enables the events when the workload execs */
	uint32_t feats;			/* FEAT_* the kernel has */
	uint64_t freq;			/* after clamping */
	/*
	 * Hz, if the kernel's limit fell below @freq, otherwise 0. @clamped: in the latest
	 * events_reopen_cpu() or events_add_cgroup(); @lowest: the minimum.
	 */
	uint64_t clamped, lowest;
	/*
	 * sampling events also report mappings, into their rings: too many threads for two events
	 * each
	 */
	bool shared_side;
	/* threads that began during the last of OPEN_ROUNDS; some may have no event */
	size_t missed;
	uint64_t period;		/* the real period if it is fixed; 0 = by frequency */
	struct event_fd *samples;	/* owned */
	size_t nsamples, cap_samples;
	/* owned, target->nall, by CPU of the target: counts of closed events */
	struct events_count *closed;
	struct event_fd *sides;		/* owned; none if the kernel did not permit them */
	size_t nsides, cap_sides;
	struct ring *data, *side;	/* target->ncpus and target->nall; page is NULL if unused */
	uint64_t data_bytes, side_bytes;	/* size of one ring */
	uint64_t record_bytes;		/* maximum size of one sample */
	int map_err;	/* the last failed mmap(2) of a ring: negative errno, otherwise 0 */
	size_t alive;			/* the threads of samples[] below this index have ended */
};

/* Expected samples per second of one event. */
uint64_t events_rate(const struct events *ev);

/* Capacity of a data ring at the current rate and stack copy size, ms. */
uint64_t events_ring_ms(const struct events *ev);

/* By plan, the rings hold several times what arrives between two ticks of the loop. */
bool events_roomy(const struct events *ev);
/*
 * Can the events never fill a roomy ring faster than planned, whatever runs? True for a clock with
 * only one event at a time on a CPU. Then the kernel need not wake the reader.
 */
bool events_paced(const struct events *ev);

#endif
