#include "events/ringplan.h"

#include "base/util.h"

uint64_t ringplan_bytes(uint64_t load, uint64_t ncpus, uint64_t ram)
{
	const uint64_t budget = MIN(RING_BUDGET, ram / RING_RAM_SHARE);
	uint64_t bytes = RING_MIN;

	/* The kernel needs a power of two. Prefer the next larger one over less time. */
	while (ringplan_ms(bytes, load) < RING_MS && 2 * bytes * ncpus <= budget)
		bytes *= 2;
	return bytes;
}

uint64_t ringplan_side(uint64_t ncpus, uint64_t ram)
{
	const uint64_t budget = MIN(SIDE_BUDGET, ram / SIDE_RAM_SHARE);
	uint64_t bytes = SIDE_MIN;

	while (bytes < SIDE_MAX && 2 * bytes * ncpus <= budget)
		bytes *= 2;
	return bytes;
}

uint64_t ringplan_switches(uint64_t ncpus, uint64_t ram)
{
	uint64_t bytes = SWITCH_MAX;

	while (bytes > SWITCH_MIN && bytes * ncpus > MIN(SIDE_BUDGET, ram / SIDE_RAM_SHARE))
		bytes /= 2;
	return bytes;
}

uint64_t ringplan_ms(uint64_t bytes, uint64_t load)
{
	return load ? bytes * 1000 / load : UINT64_MAX;
}
