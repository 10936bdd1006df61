/*
 * The tally: what became of the samples, by CPU and second of the recording. Each CPU has one
 * running row. Rows of past seconds are collected and written in blocks, so memory does not grow
 * with the length of a recording.
 */
#ifndef NSPROF_SECOND_COUNTS_H
#define NSPROF_SECOND_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "recording/rec_writer.h"

#define SECOND_COUNTS_CPU_MAX 65536u	/* limit of CPU numbers; others count for CPU 0 */

#define SECOND_COUNTS_MAX (1u << 20)	/* limit of CPUs x events: with many events, fewer CPUs */

/* What is counted for one event on one CPU, since second_counts_take(). */
struct second_counts_event {
	struct ev_counts sum;	/* lost: by records until settled */
	uint64_t lost_pmu;	/* samples, from PERF_RECORD_LOST_SAMPLES */
};

struct second_counts_cpu {
	struct ev_tally now;	/* the running row; cpu is its own number */
	uint64_t begin;		/* ns of CLOCK_MONOTONIC at which its second began; 0 = no row yet */
	struct second_counts_event first;	/* of event 0 */
	struct second_counts_event *more;	/* owned; of the events from 1 on */
	uint64_t side_told;	/* side-band records, from PERF_RECORD_LOST */
	uint64_t lost_ahead, side_ahead;	/* settled before PERF_RECORD_LOST; outlive second_counts_take() */
};

struct second_counts {
	struct rec_writer *w;		/* borrowed; NULL: rows are only collected */
	uint64_t start;			/* second 0, ns of CLOCK_MONOTONIC */
	struct second_counts_cpu *cpu;		/* owned, by CPU number */
	size_t ncpu, cap_cpu;
	uint32_t nmore;			/* events beside the first */
	struct ev_tally *row;		/* owned; ended, but not written yet */
	size_t nrow, cap_row;
	int err;			/* first write error, negative errno */
};

/*
 * Seconds count from the writer's start. A zeroed tally works too: it counts from 0 and writes
 * nothing.
 */
void second_counts_init(struct second_counts *t, struct rec_writer *w);
void second_counts_fini(struct second_counts *t);

/* The values of @cpu, with its running row. Valid until the next call for another CPU or row. */
struct second_counts_cpu *second_counts_cpu(struct second_counts *t, uint32_t cpu);
/* The counts of @event on @c. An event that the tally was not told of counts for the first. */
static inline struct second_counts_event *second_counts_event(const struct second_counts *t, struct second_counts_cpu *c,
							      uint32_t event)
{
	return event && event <= t->nmore ? &c->more[event - 1] : &c->first;
}
/* There are @nmore events beside the first. Before anything is counted. */
void second_counts_events(struct second_counts *t, uint32_t nmore);

/*
 * The row of @cpu for @time (ns of CLOCK_MONOTONIC), to add to at once: valid until the next call.
 * If times go back, the same second gets another row. Writes when there is enough.
 */
struct ev_tally *second_counts_at(struct second_counts *t, uint32_t cpu, uint64_t time);

/* Writes everything, also the running rows. 0 or negative errno. */
int second_counts_flush(struct second_counts *t);

/*
 * Ends all rows and returns those that are not written, *@n of them, owned by the caller. Sums
 * start again at 0; the caller sets @start.
 */
struct ev_tally *second_counts_take(struct second_counts *t, size_t *n);

#endif
