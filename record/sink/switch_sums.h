/*
 * How long all recorded threads together were on a CPU and off it, for the recorder's last lines. The
 * rules are those of cpu_times.h, with which readers tell the time of each thread. This keeps only
 * where each live thread stands, so it may run for days.
 */
#ifndef NSPROF_SWITCH_SUMS_H
#define NSPROF_SWITCH_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "event.h"

struct switch_sums {
	uint64_t start, last;	/* ns: since when it has been recorded, and the newest time so far */
	uint64_t stop;		/* if @off: until when it was recorded */
	bool off;		/* recording is switched off */
	struct u64map threads;	/* thread -> since when (ns) << 3 | enum in switch_sums.c */
	size_t sweep_at;	/* number of threads at which those that ended are forgotten */
	uint64_t nthreads;	/* lives of threads */
	uint64_t on_ns, off_ns;
	uint64_t unknown_ns;	/* switches are missing */
};

void switch_sums_fini(struct switch_sums *s);

/* All in the order of time. */

/* The thread was there when the recording began, and the kernel's account of its time on a CPU is @run_ns. */
void switch_sums_found(struct switch_sums *s, uint32_t pid, uint32_t tid, uint64_t run_ns);
/* Recording was switched on or off at @time. Events that are not newer come before this, others after it. */
void switch_sums_toggle(struct switch_sums *s, bool on, uint64_t time);
/* It begins at @time. */
void switch_sums_begin(struct switch_sums *s, uint32_t pid, uint32_t tid, uint64_t time);
/* Since when the thread is on a CPU or off it, ns; 0: it had no switch so far. */
uint64_t switch_sums_since(const struct switch_sums *s, uint32_t pid, uint32_t tid);
/* Is it off the CPU since then? */
bool switch_sums_off(const struct switch_sums *s, uint32_t pid, uint32_t tid);
/* Had it no switch since it was found, and no time on a CPU, now that the kernel's account is @run_ns? */
bool switch_sums_idle(const struct switch_sums *s, uint32_t pid, uint32_t tid, uint64_t run_ns);
void switch_sums_switch(struct switch_sums *s, const struct ev_switch *sw);
void switch_sums_exit(struct switch_sums *s, const struct ev_task *ev);
/* At the end, or as recording was switched off, the kernel's account again. */
void switch_sums_read(struct switch_sums *s, const struct ev_schedstat *ev);
/* After the last event: all lives end at the newest time. */
void switch_sums_end(struct switch_sums *s);

#endif
