/* How far a pass over the samples is, on stderr, when it takes longer than a second. */
#ifndef NSPROF_PROGRESS_H
#define NSPROF_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define PROGRESS_EVERY 1024	/* samples between two looks at the clock */

struct progress {
	uint64_t started;	/* ns, CLOCK_MONOTONIC here */
	bool on, shown;
};

/* @on: false, nothing will be shown. */
void progress_begin(struct progress *p, bool on);
/* Every PROGRESS_EVERY samples: so many there were. */
void progress_show(struct progress *p, uint64_t samples);
/* Leaves an empty line if anything was shown. */
void progress_end(struct progress *p);

#endif
