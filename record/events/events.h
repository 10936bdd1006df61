/* The open events of a recording, and what their rings hold. */
#ifndef NSPROF_EVENTS_H
#define NSPROF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events/cgroup_perf.h"
#include "events/evsel.h"
#include "events/record_opts.h"
#include "events/ring.h"
#include "events/target.h"

/* What the kernel may lack. Tried once, remembered for all further events. */
enum {
	FEAT_FORMAT_LOST = 1 << 0,	/* read(2) tells lost samples: 6.0 */
	FEAT_SAMPLE_CGROUP = 1 << 1,	/* PERF_SAMPLE_CGROUP: 5.7, CONFIG_CGROUP_PERF */
	FEAT_EXCLUDE_GUEST = 1 << 2,
	FEAT_CGROUP = 1 << 3,		/* PERF_RECORD_CGROUP: 5.7 */
	FEAT_KSYMBOL = 1 << 4,		/* PERF_RECORD_KSYMBOL: 5.1 */
	FEAT_NAMESPACES = 1 << 5,	/* PERF_RECORD_NAMESPACES: 4.12, for the privileged */
	FEATS_ALL = (1 << 6) - 1,
};

struct event_fd {
	int fd;
	uint32_t cpu;		/* index into target.cpus; of side-band below target.nall */
	uint64_t cgroup;	/* id of the one it counts, else 0 */
};

/* What the kernel counted on one CPU, its events together. */
struct events_count {
	uint32_t events;	/* sampling ones */
	uint64_t count;		/* of them: ns for clocks, else events */
	uint64_t enabled, running;	/* ns, sums of PERF_FORMAT_TOTAL_TIME_* of them */
	uint64_t lost;		/* PERF_FORMAT_LOST of them; 0 without FEAT_FORMAT_LOST */
	uint64_t side_lost;	/* the same of the side-band events: records */
};

struct events {
	struct evsel sel;		/* as opened: after fallbacks */
	const char *wanted;		/* the name before them */
	int wanted_err;			/* why it was not taken: negative errno, else 0 */
	bool narrowed;			/* user space only: the rest is forbidden */
	int side_err;			/* why there is no side-band: negative errno, else 0 */
	struct target *target;		/* borrowed; its cgroups may come and go */
	const struct record_opts *opts;	/* borrowed */
	enum cgroup_reach reach;	/* of perf_event among the cgroups */
	bool by_cgroup_id;		/* all is sampled, the target's cgroups are to be picked */
	bool on_exec;			/* the kernel enables them when the workload execs */
	uint32_t feats;			/* FEAT_* the kernel has */
	uint64_t freq;			/* after clamping */
	/* Hz, where the kernel's limit fell below freq: of the latest of events_reopen_cpu() and events_add_cgroup(); the least of all; 0: freq */
	uint64_t clamped, lowest;
	bool shared_side;		/* sampling events tell of mappings, too, into their rings: threads are too many for two events each */
	size_t missed;			/* threads that began while the last of OPEN_ROUNDS opened: some of them may have no event */
	uint64_t period;		/* what a fixed one really is; 0 = by frequency */
	struct event_fd *samples;	/* owned */
	size_t nsamples, cap_samples;
	struct events_count *closed;	/* owned, target->nall; by CPU of the target: what closed events had counted */
	struct event_fd *sides;		/* owned; none when the kernel did not permit them */
	size_t nsides, cap_sides;
	struct ring *data, *side;	/* target->ncpus and target->nall; an unused one has page NULL */
	uint64_t data_bytes, side_bytes;	/* size of one ring */
	uint64_t record_bytes;		/* what one sample takes at most */
	int map_err;			/* of the last mmap(2) of a ring that failed: negative errno, else 0 */
	size_t alive;			/* samples[] below it belong to threads that have ended */
};

/* Samples a second that one event is expected to write. */
uint64_t events_rate(const struct events *ev);

/* What a data ring holds at the rate and copy size in force, ms. */
uint64_t events_ring_ms(const struct events *ev);

/* They hold several times what comes between two ticks of the loop, by their plan. */
bool events_roomy(const struct events *ev);
/*
 * Do they fill a roomy ring no faster than that, whatever runs? A clock's samples cannot, with one event at a time on
 * a CPU: nobody need be woken by what is written.
 */
bool events_paced(const struct events *ev);

#endif
