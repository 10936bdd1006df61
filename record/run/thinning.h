/*
 * Gives events longer periods when they take too many samples, and shorter ones again (event_budget.h
 * decides). In the kernel where that is possible, as that also saves its time and room in the rings;
 * otherwise the recorder takes one sample of several. Each change is in the recording, with its time.
 */
#ifndef NSPROF_THINNING_H
#define NSPROF_THINNING_H

#include <stdbool.h>
#include <stdint.h>

#include "events/open.h"
#include "sink/sink.h"

struct thinning {
	struct events *ev;	/* borrowed, as sink */
	struct sink *sink;
	bool in_kernel;		/* periods are those of the kernel */
	uint64_t now;		/* ns */
};

void thinning_init(struct thinning *t, struct events *ev, struct sink *sink);
/* After each drain; @now in ns. Does nothing where no event can be thinned. */
void thinning_step(struct thinning *t, uint64_t now);

#endif
