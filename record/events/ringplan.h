/*
 * How large the rings are. By time: what the kernel may write while nobody reads. All rings together
 * have a budget; when it does not reach, time gives way, and the recording says how much there is.
 */
#ifndef NSPROF_RINGPLAN_H
#define NSPROF_RINGPLAN_H

#include <stdint.h>

/* What the reader may be late without a loss, ms. */
#define RING_MS 250
/* Below it a loaded machine has to be expected to lose samples, ms. */
#define RING_MS_SCARCE 50
/* Data rings of all CPUs together, bytes: a host of 128 CPUs is to spare no gigabytes. */
#define RING_BUDGET (512ull << 20)
/* Of the machine's memory at most one in so many. */
#define RING_RAM_SHARE 8
#define RING_MIN (512ull << 10)		/* bytes; one CPU's, however low the rate */

/*
 * Bytes of one CPU's data ring, a power of two: RING_MS at @rate samples a second of @record bytes
 * each, while the rings of @ncpus stay within RING_BUDGET and their share of @ram bytes. Never below
 * RING_MIN.
 */
uint64_t ringplan_bytes(uint64_t rate, uint64_t record, uint64_t ncpus, uint64_t ram);

/* What a ring of @bytes holds, ms; UINT64_MAX when nothing is ever written into it. */
uint64_t ringplan_ms(uint64_t bytes, uint64_t rate, uint64_t record);

#endif
