/* Sorted map sets with copy on write: a fork costs one reference. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "procfs/procmaps.h"

/* What an exec maps at once. A fork storm has thousands of processes, most of them with no more. */
#define MAPS_FIRST 4

/* Generations are unique in the program: equal ones mean equal mappings in any set. */
static uint64_t next_gen = 1;

struct mapset *mapset_new(void)
{
	struct mapset *ms = xcalloc(1, sizeof(*ms));

	ms->refs = 1;
	ms->gen = next_gen++;
	return ms;
}

struct mapset *mapset_get(struct mapset *ms)
{
	ms->refs++;
	return ms;
}

void mapset_put(struct mapset *ms)
{
	if (!ms || --ms->refs)
		return;
	free(ms->maps);
	free(ms->ranges);
	free(ms);
}

/* Index of the first mapping that ends above @addr. */
uint32_t mapset_first(const struct mapset *ms, uint64_t addr)
{
	return (uint32_t)BISECT(ms->n, i, ms->ranges[i].end <= addr);
}

struct map_entry *mapset_find(const struct mapset *ms, uint64_t addr)
{
	uint32_t i = mapset_first(ms, addr);

	return i < ms->n && ms->ranges[i].start <= addr ? &ms->maps[i] : NULL;
}

const struct map_entry *mapset_of_kind(const struct mapset *ms, enum mapping_kind kind)
{
	uint32_t i;

	for (i = 0; i < ms->n; i++) {
		if (ms->maps[i].kind == kind)
			return &ms->maps[i];
	}
	return NULL;
}

/*
 * perf may have reported a mapping with a build-id and without device and inode; /proc shows the
 * opposite. What one of them lacks cannot differ.
 */
static bool same_mapping(const struct map_entry *a, const struct map_entry *b)
{
	if (a->start != b->start || a->end != b->end || a->pgoff != b->pgoff ||
	    a->path != b->path || a->deleted != b->deleted)
		return false;
	if (a->dso && b->dso && a->dso != b->dso)
		return false;
	return !a->ino || !b->ino ||
	       (a->ino == b->ino && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor);
}

/* *@ms with room for @n mappings, not shared. */
static struct mapset *writable(struct mapset **msp, uint32_t n)
{
	struct mapset *ms = *msp, *copy;

	if (ms->refs > 1) {
		copy = mapset_new();
		copy->cap = MAX(n, ms->n);
		copy->n = ms->n;
		copy->maps = xcalloc(copy->cap, sizeof(*copy->maps));
		copy->ranges = xcalloc(copy->cap, sizeof(*copy->ranges));
		if (ms->n) {
			memcpy(copy->maps, ms->maps, ms->n * sizeof(*copy->maps));
			memcpy(copy->ranges, ms->ranges, ms->n * sizeof(*copy->ranges));
		}
		mapset_put(ms);
		*msp = ms = copy;
	}
	if (n > ms->cap) {
		ms->cap = MAX(n, ms->cap ? ms->cap * 2 : MAPS_FIRST);
		ms->maps = xrealloc(ms->maps, ms->cap * sizeof(*ms->maps));
		ms->ranges = xrealloc(ms->ranges, ms->cap * sizeof(*ms->ranges));
	}
	return ms;
}

int mapset_add(struct mapset **msp, const struct map_entry *e)
{
	struct map_entry part[3];
	struct mapset *ms = *msp;
	uint32_t lo, hi, n = 0, i, tail;

	if (e->start >= e->end)
		return -EINVAL;
	lo = mapset_first(ms, e->start);
	if (lo < ms->n && same_mapping(&ms->maps[lo], e))
		return 0;
	for (hi = lo; hi < ms->n && ms->maps[hi].start < e->end; hi++)
		;

	/* What is left of the first and of the last overlapped mapping: at most two pieces. */
	if (lo < hi && ms->maps[lo].start < e->start) {
		part[n] = ms->maps[lo];
		part[n++].end = e->start;
	}
	part[n++] = *e;
	if (lo < hi && ms->maps[hi - 1].end > e->end) {
		part[n] = ms->maps[hi - 1];
		part[n].pgoff += e->end - part[n].start;
		part[n++].start = e->end;
	}
	if (ms->n - (hi - lo) + n > MAPSET_MAX)
		return -ENOSPC;

	ms = writable(msp, ms->n - (hi - lo) + n);
	tail = ms->n - hi;
	memmove(&ms->maps[lo + n], &ms->maps[hi], tail * sizeof(*ms->maps));
	memmove(&ms->ranges[lo + n], &ms->ranges[hi], tail * sizeof(*ms->ranges));
	for (i = 0; i < n; i++) {
		ms->maps[lo + i] = part[i];
		ms->ranges[lo + i] = (struct range){ part[i].start, part[i].end };
	}
	ms->n = lo + n + tail;
	ms->gen = next_gen++;
	return 1;
}
