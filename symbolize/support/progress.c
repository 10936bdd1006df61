#include "support/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

void progress_begin(struct progress *p, bool on)
{
	*p = (struct progress){ .started = now_ns(), .on = on };
}

void progress_show(struct progress *p, uint64_t samples)
{
	const uint64_t gone = p->on ? now_ns() - p->started : 0;

	if (gone < NS_PER_S)
		return;
	p->shown = true;
	fprintf(stderr, "\r%" PRIu64 " samples, %" PRIu64 " s ", samples, gone / NS_PER_S);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r%*s\r", 50, "");
}
