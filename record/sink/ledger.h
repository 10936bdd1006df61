/*
 * What was recorded and what was not, by cause: counted as it happens, dated in the tally, and at
 * the end compared with the kernel's own counts.
 */
#ifndef NSPROF_LEDGER_H
#define NSPROF_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "event.h"
#include "recording/rec_writer.h"
#include "sink/second_counts.h"

struct events;
struct events_count;

/* What became of a sample that was read from a ring: exactly one of these. */
enum ledger_what {
	LEDGER_KEPT,
	LEDGER_CUT,		/* in the file, but its stack copy is cut */
	LEDGER_DROPPED,
	LEDGER_OWN,
};

/* What is counted for each event by itself, beside struct ev_counts. */
struct ledger_event {
	uint64_t period_min;	/* shorter periods are really this long; see ledger_begin() */
};

struct ledger {
	struct ev_ledger l;	/* kept, cut, dropped, own at any time, the rest once settled */
	struct second_counts tally;
	struct u64map standing;	/* id of a throttled event -> begin, ns of CLOCK_MONOTONIC */
	struct u64map standing_cpu;	/* the same ids -> CPU */
	struct u64map standing_event;	/* the same ids -> event */
	struct ledger_event first;	/* event 0 */
	struct ledger_event *more;	/* owned; tally.nmore further ones */
	uint64_t standing_max;	/* ns that an event can stand still at most, as far as known */
	uint64_t lost_told;	/* samples, from PERF_RECORD_LOST in the data rings */
	uint64_t switches_told;	/* records, from PERF_RECORD_LOST in the rings of switches */
	uint64_t wakeups_told;	/* the same in the rings of wake-ups */
	uint64_t lost_pmu;	/* samples, from PERF_RECORD_LOST_SAMPLES: never reached a ring */
	uint64_t side_told;	/* records, from PERF_RECORD_LOST in the side-band rings */
	uint64_t woken;		/* times the drain loop ran; in the whole run */
	/*
	 * As of the last cut, because the kernel's counts, and ours of pool and pressure, are those
	 * of the whole run.
	 */
	struct events_count *counted;	/* owned; as events_counts() gives them; NULL = all 0 */
	struct ev_ledger before;
	bool cut;
};

/* The sums over a part of a recording: a file, or a segment. */
struct ledger_part {
	struct ev_ledger l;
	struct ev_counts *counts;	/* owned */
	size_t ncounts;
	struct ev_tally *rows;		/* owned; rows of the tally that are not written yet */
	size_t nrows;
	uint64_t start;			/* ns of CLOCK_MONOTONIC: second 0 of @rows */
};

/*
 * @w is borrowed. @clock: the event counts ns, and its timer fires at most every 10 us, whatever
 * the period is (perf_swevent_hrtimer() in kernel/events/core.c). @tasks: events belong to threads,
 * which leave their CPU. A zeroed ledger counts samples and losses as well, but writes no tally.
 */
void ledger_begin(struct ledger *lg, struct rec_writer *w, bool clock, bool tasks);
/* There are @n events, of which @clock[i] count ns. After ledger_begin(), before anything is counted. */
void ledger_events(struct ledger *lg, const bool *clock, uint32_t n);
void ledger_fini(struct ledger *lg);

/* What is counted for @event by itself. */
static inline struct ledger_event *ledger_event(struct ledger *lg, uint32_t event)
{
	return event && event <= lg->tally.nmore ? &lg->more[event - 1] : &lg->first;
}
/* The period that @in really has, in the unit of its event's count. */
static inline uint64_t ledger_period(struct ledger *lg, const struct sample_in *in)
{
	const uint64_t min = ledger_event(lg, in->event)->period_min;

	return in->period > min ? in->period : min;
}

/*
 * Samples lost, dropped or cut so far, as far as known: the kernel may report the last losses only
 * at the end.
 */
uint64_t ledger_missed(const struct ledger *lg);
/* Counts @in, by its cpu, time, event and period. */
void ledger_sample(struct ledger *lg, enum ledger_what what, const struct sample_in *in);

/*
 * The kernel's records about what is missing, with the CPU and time (ns) that they carry: @n
 * samples that found no room in a data ring; samples that never came as far
 * (PERF_RECORD_LOST_SAMPLES); records that found no room in a side-band ring. @event: the one that
 * wrote the record. Samples that found no room may be of any event that shares its ring. Only
 * PERF_FORMAT_LOST tells (ledger_cut()); without it, they count for this one.
 */
void ledger_lost(struct ledger *lg, uint32_t cpu, uint32_t event, uint64_t time, uint64_t n);
void ledger_lost_pmu(struct ledger *lg, uint32_t cpu, uint32_t event, uint64_t time, uint64_t n);
void ledger_lost_side(struct ledger *lg, uint32_t cpu, uint64_t time, uint64_t n);

/* The descriptor of @event with stream id @id stands still from @time on (@on), or goes on. */
void ledger_throttle(struct ledger *lg, uint32_t cpu, uint32_t event, uint64_t time, uint64_t id, bool on);

/*
 * Moves what was counted since the last cut, up to @stopped (ns), to *@part, and starts again.
 * Takes from the kernel's counts what only they show. Losses after which no record could be written
 * are dated to @stopped. @elapsed_ns: how long events were enabled since the last cut. @last: all
 * events are stopped, all rings are empty, and throttled events stood still up to @stopped.
 * Otherwise, what is still in the rings counts for the next part.
 */
void ledger_cut(struct ledger *lg, const struct events *ev, uint64_t stopped, uint64_t elapsed_ns,
		bool last, struct ledger_part *part);
/*
 * For what others recorded up to @stopped (ns): counts the losses that records report, and
 * estimates what was throttled. Writes the rest of the tally, the counts of several events, and the
 * ledger. 0 or negative errno.
 */
int ledger_finish_told(struct ledger *lg, struct rec_writer *w, uint64_t stopped);
/* The next part begins at @start (ns). */
void ledger_restart(struct ledger *lg, uint64_t start);

/* Adds @part to @sum, which begins with the start of its first part. */
void ledger_part_add(struct ledger_part *sum, const struct ledger_part *part);
/*
 * Writes the rest of the tally, the kernel's counts, and the ledger to @out, or if that is NULL to
 * the present file. The file began at @start. 0 or negative errno.
 */
int ledger_part_write(const struct ledger_part *part, struct rec_writer *w, struct rec_out *out,
		      uint64_t start);
void ledger_part_fini(struct ledger_part *part);

#endif
