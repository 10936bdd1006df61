/* A hash of bytes, and an open-addressing map with linear probing. */
#include "hash.h"

#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

/* Eight bytes at a time through hash_u64(); the length keeps "a" and "a\0" apart. */
uint64_t hash_bytes(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t h = hash_u64(len + 0x9e3779b97f4a7c15ull);
	uint64_t chunk;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&chunk, p, 8);
		h = hash_u64(h ^ chunk) + 0x9e3779b97f4a7c15ull;
	}
	if (len) {
		chunk = 0;
		memcpy(&chunk, p, len);
		h = hash_u64(h ^ chunk);
	}
	return h;
}

/*
 * Slot of @key, or the free slot where it belongs. The map is never full, so this ends. The hash moves
 * 0 to 0, which is as good a slot as any.
 */
static size_t slot_of(const struct u64map *m, uint64_t key)
{
	size_t mask = m->cap - 1;
	size_t i = hash_u64(key) & mask;

	while (m->used[i] && m->slots[i].key != key)
		i = (i + 1) & mask;
	return i;
}

static void grow(struct u64map *m)
{
	struct u64map old = *m;
	size_t i, s;

	m->cap = old.cap ? old.cap * 2 : 16;
	m->slots = xmalloc(m->cap * sizeof(*m->slots));
	m->used = xcalloc(m->cap, sizeof(*m->used));
	for (i = 0; i < old.cap; i++) {
		if (!old.used[i])
			continue;
		s = slot_of(m, old.slots[i].key);
		m->used[s] = 1;
		m->slots[s] = old.slots[i];
	}
	free(old.slots);
	free(old.used);
}

uint64_t *u64map_get(const struct u64map *m, uint64_t key)
{
	size_t s;

	if (!m->cap)
		return NULL;
	s = slot_of(m, key);
	return m->used[s] ? &m->slots[s].val : NULL;
}

uint64_t *u64map_put(struct u64map *m, uint64_t key, bool *is_new)
{
	size_t s = m->cap ? slot_of(m, key) : 0;
	bool found = m->cap && m->used[s];

	if (is_new)
		*is_new = !found;
	if (found)
		return &m->slots[s].val;
	/* At most three quarters full: probes stay short and slot_of() always meets a free slot. */
	if ((m->n + 1) * 4 > m->cap * 3) {
		grow(m);
		s = slot_of(m, key);
	}
	m->used[s] = 1;
	m->slots[s] = (struct u64map_slot){ key, 0 };
	m->n++;
	return &m->slots[s].val;
}

/*
 * Deletion without tombstones (Knuth, TAOCP 3, 6.4, algorithm R): entries behind the hole move into it
 * unless that would put them before the slot their probe starts at.
 */
bool u64map_del(struct u64map *m, uint64_t key)
{
	size_t mask = m->cap - 1;
	size_t hole, i;

	if (!u64map_get(m, key))
		return false;
	hole = slot_of(m, key);
	for (i = (hole + 1) & mask; m->used[i]; i = (i + 1) & mask) {
		size_t home = hash_u64(m->slots[i].key) & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->used[hole] = 0;
	m->n--;
	return true;
}

void u64map_clear(struct u64map *m)
{
	if (m->n)
		memset(m->used, 0, m->cap);
	m->n = 0;
}

void u64map_fini(struct u64map *m)
{
	free(m->slots);
	free(m->used);
	*m = (struct u64map)U64MAP_INIT;
}

bool u64map_next(const struct u64map *m, size_t *it, uint64_t *key, uint64_t *val)
{
	for (; *it < m->cap; ++*it) {
		if (!m->used[*it])
			continue;
		*key = m->slots[*it].key;
		*val = m->slots[*it].val;
		++*it;
		return true;
	}
	return false;
}
