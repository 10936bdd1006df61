/*
 * The size of the rings, by time: what the kernel may write while nobody reads. All rings together
 * have a budget. If it is too small, the time is cut, and the recording says how much is left.
 */
#ifndef NSPROF_RINGPLAN_H
#define NSPROF_RINGPLAN_H

#include <stdint.h>

/* How late the reader may be without a loss, ms. */
#define RING_MS 250
/* Below this, a loaded machine is likely to lose samples, ms. */
#define RING_MS_SCARCE 50
/* Data rings of all CPUs together, bytes, so that a host of 128 CPUs does not need gigabytes. */
#define RING_BUDGET (512ull << 20)
/* At most 1/RING_RAM_SHARE of the machine's memory. */
#define RING_RAM_SHARE 8
/* The same for the side-band rings of all processes. */
#define SIDE_BUDGET (64ull << 20)
#define SIDE_RAM_SHARE 128
#define SIDE_MIN (512ull << 10)		/* bytes per CPU */
#define SIDE_MAX (4ull << 20)
#define SWITCH_MIN (128ull << 10)	/* bytes per CPU */
#define SWITCH_MAX (1ull << 20)	/* 20,000 records: a quarter of a second of 40,000 switches per second */
#define RING_MIN (512ull << 10)		/* bytes per CPU, however low the rate */

/*
 * Bytes of one CPU's data ring, a power of two: RING_MS at @load bytes per second. The rings of
 * @ncpus stay within RING_BUDGET and their share of @ram bytes, but one is never below RING_MIN.
 */
uint64_t ringplan_bytes(uint64_t load, uint64_t ncpus, uint64_t ram);

/*
 * Bytes of one CPU's side-band ring if any process may write to it, a power of two. A flood of one
 * process must not push out what others write until it is drained, so this is as much as all rings
 * of @ncpus together may have, up to SIDE_MAX.
 */
uint64_t ringplan_side(uint64_t ncpus, uint64_t ram);

/* Bytes of one CPU's ring of switches, a power of two: SWITCH_MAX, unless @ncpus are too many for that. */
uint64_t ringplan_switches(uint64_t ncpus, uint64_t ram);

/* Capacity of a ring of @bytes at @load bytes per second, in ms; UINT64_MAX if nothing is ever written to it. */
uint64_t ringplan_ms(uint64_t bytes, uint64_t load);

#endif
