/* Times in which nobody drained, and why: samples that are lost then are not lost because the rings are small. */
#ifndef NSPROF_STANDSTILL_H
#define NSPROF_STANDSTILL_H

#include <stdbool.h>
#include <stdint.h>

enum standstill_why {
	STANDSTILL_NONE,
	STANDSTILL_STOPPED,	/* SIGCONT came: somebody had stopped us */
	STANDSTILL_CPU,		/* we could have run, and were given no CPU */
	STANDSTILL_FILES,	/* between two drains: something that is read there did not answer */
	STANDSTILL_FROZEN,	/* while we waited for the rings: a freezer, a debugger, a machine that stood still */
};

struct standstill {
	uint64_t limit;		/* ns: shorter ones are none */
	uint64_t last;		/* ns, CLOCK_MONOTONIC: of the latest drain, or when sampling began; 0 = not yet */
	uint64_t waited;	/* ns of all time that the thread waited for a CPU, as of then */
	uint64_t began_waiting, in_rings;	/* ns: the latest wait for the rings, when and how long */
	bool continued;		/* SIGCONT has come since the latest drain */
	uint64_t settled;	/* ns: what is told lost before is of a standstill */
	uint64_t told;		/* lost and dropped, as of the latest drain */
	/* What came of it: */
	uint64_t longest, total;	/* ns */
	enum standstill_why why;	/* of the longest */
	uint64_t other;		/* lost and dropped at other times */
};

/* @ring_ms: what the rings hold. */
void standstill_init(struct standstill *st, uint64_t ring_ms);
/* Around the wait for the rings. True: we stood still since the latest drain, and signals may tell why. */
void standstill_wait(struct standstill *st, uint64_t now);
bool standstill_woke(struct standstill *st, uint64_t now);
/* Once when sampling begins, and after each drain, which began at @began. @lost: samples known to be lost, dropped or cut so far, whatever the cause. */
void standstill_drained(struct standstill *st, uint64_t began, uint64_t lost);
/* How many of @lost, all there are in the end, belong to no standstill. */
uint64_t standstill_other(const struct standstill *st, uint64_t lost);
/* "for 3.2 s: it was stopped by a signal". @text is as large as STANDSTILL_TEXT. */
void standstill_text(const struct standstill *st, char *text);

#define STANDSTILL_TEXT 200

#endif
