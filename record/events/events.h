/* The open events of a recording, and the capacity of their rings. */
#ifndef NSPROF_EVENTS_H
#define NSPROF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evlist/evlist.h"
#include "events/cgroup_perf.h"
#include "events/event_ids.h"
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
	uint32_t event;		/* index into events.v; 0 for side-band */
	uint64_t cgroup;	/* id of the cgroup it counts, otherwise 0 */
	uint64_t id;		/* PERF_EVENT_IOC_ID; 0: not asked for */
	/* With --off-cpu: the period in the kernel, and the samples that it had taken when it got that. */
	uint64_t period, drawn;
};

/* One event of the recording, opened many times: for each CPU, and there for each cgroup or thread. */
struct rec_event {
	struct evsel sel;	/* as opened, after fallbacks */
	/* How it takes stacks: event_stacks() of it, or of its leader if it is only read with that. */
	struct stack_terms stacks;
	uint64_t record_bytes;	/* by plan, the maximum size of one sample */
	char *fields;		/* owned; the lines of its payload's fields; NULL: none is kept */
	const char *wanted;	/* the name before fallbacks */
	int wanted_err;		/* why it could not be used: negative errno, otherwise 0 */
	uint64_t freq;		/* Hz, after clamping */
	uint64_t period;	/* the real period if it is fixed; 0 = by frequency */
	/*
	 * The period in the kernel now: longer than @period if the event was thinned
	 * (events_set_period()).
	 */
	uint64_t now;
	/*
	 * Nothing bounds how often it takes a sample: it has no frequency, and is no clock. Beside
	 * others that are bounded, such events have rings of their own.
	 */
	bool unbounded;
	/*
	 * Its samples have its count. When the period changes, the kernel takes one or two samples at
	 * once: only the count tells what each of them stands for.
	 */
	bool counted;
	/*
	 * Each time it comes it counts a number, not 1: its samples have that number as period. With a
	 * period of its own, the kernel would take as many samples (perf_swevent_event()).
	 */
	bool weighed;
	/* {...}:S: a leader that reads its group; a member that is only read and takes no samples. */
	bool reads, member;
	bool probed;		/* it could be opened once */
	bool alone;		/* the kernel cannot read groups of inherited events: not inherited */
	bool guests;		/* exclude_guest is refused */
	int left_out;		/* why it is not recorded: negative errno; 0: it is */
};

/*
 * Switches per second of a CPU that a ring holds if the user said how many of them give a stack, and
 * stacks per second if that is up to us: below 1 % of the CPU at 7 us each.
 */
#define WAITS_CPU_HZ 20000u
#define WAITS_COPIES 1400u
/* Switches per stack until their number is known. */
#define WAITS_FIRST 61u
/* Stacks per second that a thread gives on a CPU when it leaves it, where the kernel adapts that. */
#define WAITS_THREAD_HZ 197u

/* What the kernel counted on one CPU; sums over the descriptors of one event. */
struct events_count {
	uint32_t events;	/* number of sampling events */
	uint64_t count;		/* their counts: ns for clocks, otherwise events */
	uint64_t enabled, running;	/* ns, their PERF_FORMAT_TOTAL_TIME_* */
	uint64_t lost;		/* their PERF_FORMAT_LOST; 0 without FEAT_FORMAT_LOST */
	uint64_t side_lost;	/* the same for side-band events, in records */
	uint64_t switch_lost, wakeup_lost;	/* and for switches and wake-ups */
};

#define EVENT_RINGS 3u	/* data rings of a CPU, by kind */

/* --wakeups: the tracepoint that reports them. */
struct wakeup_source {
	uint64_t id;		/* of the tracepoint; 0: nobody asked for them */
	uint32_t pid_at;	/* bytes in its record: number of the woken thread, u32 */
};

struct events {
	struct rec_event *v;		/* owned; @n of them, at least one once open */
	size_t n;
	struct event_left_out *left;	/* owned */
	size_t nleft, cap_left;
	struct event_ids ids;		/* empty if @n is 1 and its period stays: see events_have_ids() */
	bool narrowed;			/* user space only: recording the kernel is not permitted */
	int side_err;			/* why there is no side-band: negative errno, otherwise 0 */
	struct target *target;		/* borrowed; its cgroups may come and go */
	const struct record_opts *opts;	/* borrowed */
	enum cgroup_reach reach;	/* does perf_event reach the cgroups? */
	bool by_cgroup_id;		/* everything is sampled; pick the target's cgroups by id */
	bool on_exec;			/* the kernel enables the events when the workload execs */
	uint32_t feats;			/* FEAT_* the kernel has */
	bool probed;			/* a sampling event was opened with them */
	/*
	 * Hz, if the kernel's limit fell below the frequency, otherwise 0. @clamped: in the latest
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
	struct event_fd *samples;	/* owned; also members that are only read */
	size_t nsamples, cap_samples;
	/* owned, counts of closed events: target->nall by CPU of the target, for each of @n events */
	struct events_count *closed;
	struct event_fd *sides;		/* owned; none if the kernel did not permit them */
	size_t nsides, cap_sides;
	struct event_fd *switches;	/* owned; only with events_waits() */
	size_t nswitches, cap_switches;
	uint64_t switches_lost;		/* records that closed ones of these had no room for */
	struct wakeup_source wakeup_source;
	struct event_fd *wakeups;	/* owned; on all CPUs, of everything */
	size_t nwakeups, cap_wakeups;
	/*
	 * @ndata and target->nall; page is NULL if unused. The second target->ncpus of @data are of
	 * unbounded events beside others, so that these never push out what is bounded, and the third of
	 * switches, which no sample may push out. The last target->nall of @data are of wake-ups.
	 */
	struct ring *data, *side;
	size_t ndata;
	uint64_t data_bytes, extra_bytes, side_bytes, switch_bytes, wakeup_bytes;	/* size of one ring of each kind */
	int map_err;	/* the last failed mmap(2) of a ring: negative errno, otherwise 0 */
	size_t alive;			/* the threads of samples[] below this index have ended */
};

/* The event that outputs show first. */
static inline const struct evsel *events_first(const struct events *ev)
{
	return &ev->v[0].sel;
}

/* Are there both bounded and unbounded events, so that each kind has a ring? */
bool events_split(const struct events *ev);
/*
 * May the recorder lengthen the event's period if it takes too many samples? Those for which nobody
 * asked for a rate, beside others or if they are tracepoints; with --event-budget, all that are
 * unbounded.
 */
bool events_thins(const struct events *ev, size_t event);
/*
 * Does each of its descriptors have a period of its own, which off_cpu.h draws again? Inherited
 * events keep theirs: see events_can_set_period().
 */
bool events_varies(const struct events *ev, size_t event);
/* The event of --off-cpu: its index, otherwise SIZE_MAX. It comes with switches. */
size_t events_waits(const struct events *ev);
/* The bytes of records per second and CPU beyond which events are thinned; UINT64_MAX: never. */
uint64_t events_budget(const struct events *ev);
/* Does the file say which events it has? One plain event is described by INFO alone. */
bool events_listed(const struct events *ev);
/* Are the ids of samples needed: are there several events, fields of a tracepoint, or a period that changes? */
bool events_have_ids(const struct events *ev);

/* Memory of the machine, bytes. */
uint64_t events_ram(void);
/*
 * By plan, the maximum size of one sample in a data ring; @extra: in a ring of unbounded events, if they
 * have one. Bytes.
 */
uint64_t events_record(const struct events *ev, bool extra);
/* By plan, bytes of a data ring and of a ring of unbounded events. */
uint64_t events_plan_data(const struct events *ev);
uint64_t events_plan_extra(const struct events *ev);

/* Capacity of a data ring at the current rates and sizes of stack copies, ms. */
uint64_t events_ring_ms(const struct events *ev);

/* By plan, the rings hold several times what arrives between two ticks of the loop. */
bool events_roomy(const struct events *ev);
/*
 * Can the events never fill a roomy data ring faster than planned, whatever runs? True for clocks
 * with only one event of each at a time on a CPU. Then the kernel need not wake the reader.
 */
bool events_paced(const struct events *ev);
/* The event whose samples stand for CPU time: the first clock that is not limited; otherwise 0. */
size_t events_clock(const struct events *ev);

#endif
