/* Unique locations (location.h). */
#include "support/location.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/xalloc.h"

/*
 * Initial capacity, in locations. Unused memory is never touched, and the array rarely has to move.
 */
#define RESERVE (1u << 14)

void locations_init(struct locations *ls)
{
	memset(ls, 0, sizeof(*ls));
	ls->cap = RESERVE;
	ls->locs = xmalloc(ls->cap * sizeof(*ls->locs));
	ls->nslots = 1024;
	ls->slots = xcalloc(ls->nslots, sizeof(*ls->slots));
}

void locations_fini(struct locations *ls)
{
	free(ls->locs);
	free(ls->slots);
	memset(ls, 0, sizeof(*ls));
}

static uint64_t location_hash(const struct location *loc)
{
	return hash_combine((uint64_t)loc->kind << 33 | (uint64_t)loc->joined << 32 | loc->owner, loc->addr);
}

static bool location_equal(const struct location *a, const struct location *b)
{
	if (a->addr != b->addr || a->owner != b->owner || a->kind != b->kind || a->joined != b->joined)
		return false;
	/* The same address may have held something else earlier or later. */
	if (a->kind == LOC_NOELF)
		return a->mod == b->mod && a->off == b->off;
	return a->kind != LOC_ANON || !strcmp(a->path, b->path);
}

static void locations_grow(struct locations *ls)
{
	size_t i, mask = ls->nslots * 2 - 1;
	uint32_t *slots = xcalloc(ls->nslots * 2, sizeof(*slots));

	for (i = 0; i < ls->n; i++) {
		size_t s = location_hash(&ls->locs[i]) & mask;

		while (slots[s])
			s = (s + 1) & mask;
		slots[s] = (uint32_t)i + 1;
	}
	free(ls->slots);
	ls->slots = slots;
	ls->nslots *= 2;
}

uint32_t locations_id(struct locations *ls, const struct location *loc)
{
	size_t mask, s;

	if (ls->n * 2 >= ls->nslots)
		locations_grow(ls);
	mask = ls->nslots - 1;
	for (s = location_hash(loc) & mask; ls->slots[s]; s = (s + 1) & mask) {
		uint32_t id = ls->slots[s] - 1;

		if (location_equal(&ls->locs[id], loc))
			return id;
	}
	ls->slots[s] = (uint32_t)ls->n + 1;
	XGROW(ls->locs, ls->n, ls->cap);
	ls->locs[ls->n] = *loc;
	return (uint32_t)ls->n++;
}

bool location_may_be_jit(const struct location *loc)
{
	return !loc->path || loc->path[0] != '[' || !strncmp(loc->path, "[anon", 5);
}
