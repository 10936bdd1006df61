/*
 * Times in which nobody drained the rings, and why. Samples lost then are not lost because the
 * rings are small.
 */
#ifndef NSPROF_STANDSTILL_H
#define NSPROF_STANDSTILL_H

#include <stdbool.h>
#include <stdint.h>

enum standstill_why {
	STANDSTILL_NONE,
	STANDSTILL_STOPPED,	/* SIGCONT came: somebody had stopped us */
	STANDSTILL_CPU,		/* we could have run, but got no CPU */
	STANDSTILL_FILES,	/* between two drains: a file that we read there did not answer */
	STANDSTILL_FROZEN,	/* in the wait for the rings: freezer, debugger, stopped machine */
};

struct standstill {
	uint64_t limit;		/* ns: shorter gaps do not count */
	uint64_t last;		/* ns, CLOCK_MONOTONIC: latest drain or start of sampling; 0: none */
	uint64_t waited;	/* ns: all waiting for a CPU up to @last */
	uint64_t began_waiting, in_rings;	/* ns: start and length of the latest wait */
	bool continued;		/* SIGCONT has come since the latest drain */
	uint64_t settled;	/* ns: losses reported before it belong to a standstill */
	uint64_t told;		/* lost and dropped, as of the latest drain */
	/* Results: */
	uint64_t longest, total;	/* ns */
	enum standstill_why why;	/* of the longest */
	uint64_t other;		/* lost and dropped at other times */
};

/* @ring_ms: time that the rings hold. */
void standstill_init(struct standstill *st, uint64_t ring_ms);
/*
 * Call before and after the wait for the rings. True: we stood still since the latest drain; a
 * pending signal may tell why.
 */
void standstill_wait(struct standstill *st, uint64_t now);
bool standstill_woke(struct standstill *st, uint64_t now);
/*
 * Call once when sampling begins, and after each drain, which began at @began. @lost: samples known
 * to be lost, dropped or cut so far, for any cause.
 */
void standstill_drained(struct standstill *st, uint64_t began, uint64_t lost);
/* How many of @lost, the final number, do not belong to a standstill. */
uint64_t standstill_other(const struct standstill *st, uint64_t lost);
/* "for 3.2 s: it was stopped by a signal". @text has STANDSTILL_TEXT bytes. */
void standstill_text(const struct standstill *st, char *text);

#define STANDSTILL_TEXT 200

#endif
