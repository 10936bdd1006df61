/* The times that a filter accepts, as spans, for what has a beginning and an end. */
#ifndef NSPROF_TIME_WINDOWS_H
#define NSPROF_TIME_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

struct filter;

struct time_windows {
	struct { uint64_t from, to; } *v;	/* owned; in order, apart; ns as in ev_sample.time */
	size_t n;
};

/* @f: NULL for all times, and after filter_begin(). */
void time_windows_init(struct time_windows *w, const struct filter *f);
void time_windows_fini(struct time_windows *w);
/* How much of [@from, @to) they hold, ns. */
uint64_t time_windows_within(const struct time_windows *w, uint64_t from, uint64_t to);

#endif
