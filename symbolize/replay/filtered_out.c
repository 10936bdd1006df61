/* Samples that a filter rejected (filtered_out.h). */
#include "replay/filtered_out.h"

void filtered_out_fini(struct filtered_out *lo)
{
	u64map_fini(&lo->threads);
}

void filtered_out_note(struct filtered_out *lo, uint32_t pid, uint32_t tid, uint32_t flags)
{
	*u64map_put(&lo->threads, (uint64_t)pid << 32 | tid, NULL) |= flags;
}

void filtered_out_add(struct filtered_out *to, const struct filtered_out *from)
{
	uint64_t key, val;
	size_t it = 0;

	for (int k = 0; k < FILTER_KEYS; k++)
		to->by_key[k] += from->by_key[k];
	while (u64map_next(&from->threads, &it, &key, &val))
		*u64map_put(&to->threads, key, NULL) |= val;
}

uint64_t filtered_out_samples(const struct filtered_out *lo)
{
	uint64_t n = 0;

	for (int k = 0; k < FILTER_KEYS; k++)
		n += lo->by_key[k];
	return n;
}

/*
 * Callers are remembered per process, and for a thread they depend on everything that had its tid.
 * So this takes the processes with deep stacks, then all tids that their threads had, then all
 * samples of these tids.
 */
bool filtered_out_matters(const struct filtered_out *lo, struct u64map *tids)
{
	struct u64map pids = U64MAP_INIT;
	uint64_t key, val;
	bool matters = false;
	size_t it = 0;

	while (u64map_next(&lo->threads, &it, &key, &val))
		if (val & LEFTOUT_DEEP)
			u64map_put(&pids, key >> 32, NULL);
	for (it = 0; u64map_next(&lo->threads, &it, &key, &val);)
		if (u64map_get(&pids, key >> 32))
			u64map_put(tids, (uint32_t)key, NULL);
	for (it = 0; u64map_next(&lo->threads, &it, &key, &val);)
		matters |= (val & LEFTOUT_SKIPPED) && u64map_get(tids, (uint32_t)key);
	u64map_fini(&pids);
	return matters;
}
