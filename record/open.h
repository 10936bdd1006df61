/*
 * perf_event_open(2) over CPUs x (threads | cgroups): one sampling event each, one side-band event
 * for each CPU (or thread and CPU), and two rings for each CPU into which all of them write. CPUs that are not to be sampled have
 * side-band all the same: a process may become another program on one of them and come back.
 */
#ifndef NSPROF_OPEN_H
#define NSPROF_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgroup_perf.h"
#include "evsel.h"
#include "record_opts.h"
#include "ring.h"
#include "target.h"

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

/*
 * Open and map everything for @t; samples are off, side-band is on. @on_exec: the target waits for
 * its exec. 0, or negative errno after one message. Own with events_close() in any case.
 */
int events_open(struct events *ev, const struct record_opts *o, struct target *t,
		const struct evsel *sel, bool on_exec);
void events_close(struct events *ev);

/* What was opened other than asked for. Apart, so that a start that fails says one thing only. */
void events_tell(const struct events *ev);

/* What a data ring holds at the rate and copy size in force, ms. */
uint64_t events_ring_ms(const struct events *ev);

/* They hold several times what comes between two ticks of the loop, by their plan. */
bool events_roomy(const struct events *ev);
/*
 * Do they fill a roomy ring no faster than that, whatever runs? A clock's samples cannot, with one event at a time on
 * a CPU: nobody need be woken by what is written.
 */
bool events_paced(const struct events *ev);

/*
 * Open the events of the @c-th CPU of target->cpus anew (below nall), into its rings, after it was offline; @enable: switch
 * sampling on there. Not for targets of threads. 0, or negative errno without a message: the CPU then has no events.
 */
int events_reopen_cpu(struct events *ev, uint32_t c, bool enable);

/*
 * Sample @cg, too, on every CPU of the target that is online, into the rings there are; @enable: from now on. It is or
 * becomes one of target->cgroups, so that a CPU that comes back finds it there. Nothing to be opened where cgroups are
 * picked by their ids (by_cgroup_id). 0, or negative errno without a message: then nothing was opened.
 */
int events_add_cgroup(struct events *ev, const struct cgroup *cg, bool enable);
/*
 * Close the events of the cgroup with that id, which was removed; what they counted stays in events_counts(). Those
 * that own a ring stay open.
 */
void events_drop_cgroup(struct events *ev, uint64_t id);

void events_enable(struct events *ev);
/* Samples alone, until events_enable(): what is mapped meanwhile is still told. */
void events_pause(struct events *ev);
void events_disable(struct events *ev);

/*
 * Every recorded thread has ended, and all it started. Always false for CPUs and cgroups. Cheap:
 * looks at one descriptor as long as the thread behind it lives.
 */
bool events_all_gone(struct events *ev);

/*
 * Fill @cpus, target->nall entries that are 0, in the order of target->cpus. What inherited events
 * counted is in. Call it when they are disabled, or it is out of date at once. False when not every event
 * could be read.
 */
bool events_counts(const struct events *ev, struct events_count *cpus);

/* 0, or -EINVAL after a message: --strict-freq, and it would be clamped. */
int events_check_freq(const struct record_opts *o);
/* The frequency in force, from kernel.perf_event_max_sample_rate; says so when it clamps. */
uint64_t events_clamp_freq(const struct record_opts *o);

#endif
