/*
 * Writes samples as a processed profile of the Firefox Profiler, version 60. firefox_tables.h has
 * the source of the format; contrib/doc/firefox.md explains the choice of the version.
 */
#ifndef NSPROF_TO_FIREFOX_H
#define NSPROF_TO_FIREFOX_H

#include <stdbool.h>
#include <stdio.h>

struct collect;
struct ev_event;
struct naming;
struct rec_reader;

struct to_firefox {
	/* with opts.each; if @event is weighed by switches, with opts.block_ns instead, and opts.ordered */
	const struct collect *col;
	const struct naming *nm;	/* with opts.detail */
	struct rec_reader *reader;
	const struct ev_event *event;	/* of the samples */
	bool period;			/* weights are periods, not samples */
};

/* Write errors are left in @to's error flag. */
void to_firefox(const struct to_firefox *in, FILE *to);

#endif
