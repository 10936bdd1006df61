/* Prints on stderr how far a pass over the samples is, if it takes longer than a second. */
#ifndef NSPROF_PROGRESS_H
#define NSPROF_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#define PROGRESS_EVERY 1024	/* samples between two checks of the clock */

struct progress {
	uint64_t started;	/* ns, CLOCK_MONOTONIC here */
	bool on, shown;
};

/* @on: false to print nothing. */
void progress_begin(struct progress *p, bool on);
/* Call every PROGRESS_EVERY samples. @samples: the number so far. */
void progress_show(struct progress *p, uint64_t samples);
/* Clears the line if anything was printed. */
void progress_end(struct progress *p);

#endif
