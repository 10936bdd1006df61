/* A hash of bytes, and an open-addressing map with linear probing. */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

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
 * Slots behind the table. The last one belongs to key 0, because a 0 in the table marks a free
 * slot.
 */
#define ZERO_SLOTS 1

/*
 * * Slot of @key, or the free slot where it belongs. The map is never full, so the search ends. Key
 * 0 has its own slot, which is taken if the key stored there is not 0.
 */
static size_t slot_of(const struct u64map *m, uint64_t key)
{
	size_t mask = m->cap - 1;
	size_t i = hash_u64(key) & mask;

	if (!key)
		return m->cap;
	while (m->slots[i].key && m->slots[i].key != key)
		i = (i + 1) & mask;
	return i;
}

static void grow(struct u64map *m)
{
	struct u64map old = *m;

	m->cap = old.cap ? old.cap * 2 : 16;
	m->slots = xcalloc(m->cap + ZERO_SLOTS, sizeof(*m->slots));
	xtouch(m->slots, (m->cap + ZERO_SLOTS) * sizeof(*m->slots));
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].key)
			m->slots[slot_of(m, old.slots[i].key)] = old.slots[i];
	if (old.cap)
		m->slots[m->cap] = old.slots[old.cap];
	free(old.slots);
}

uint64_t *u64map_get(const struct u64map *m, uint64_t key)
{
	size_t s;

	if (!m->cap)
		return NULL;
	s = slot_of(m, key);
	return m->slots[s].key ? &m->slots[s].val : NULL;
}

void u64map_prefetch(const struct u64map *m, uint64_t key)
{
	if (m->cap)
		__builtin_prefetch(&m->slots[hash_u64(key) & (m->cap - 1)]);
}

uint64_t *u64map_put(struct u64map *m, uint64_t key, bool *is_new)
{
	size_t s = m->cap ? slot_of(m, key) : 0;
	bool found = m->cap && m->slots[s].key;

	if (is_new)
		*is_new = !found;
	if (found)
		return &m->slots[s].val;
	/* At most three quarters full: probes stay short and slot_of() always finds a free slot. */
	if ((m->n + 1) * 4 > m->cap * 3) {
		grow(m);
		s = slot_of(m, key);
	}
	m->slots[s] = (struct u64map_slot){ key ? key : 1, 0 };
	m->n++;
	return &m->slots[s].val;
}

/*
 * Deletion without tombstones (Knuth, TAOCP 3, 6.4, algorithm R): an entry behind the hole moves
 * into it unless that would put the entry before the slot where its probe starts.
 */
bool u64map_del(struct u64map *m, uint64_t key)
{
	size_t mask = m->cap - 1;
	size_t hole, i;

	if (!u64map_get(m, key))
		return false;
	hole = slot_of(m, key);
	for (i = (hole + 1) & mask; key && m->slots[i].key; i = (i + 1) & mask) {
		size_t home = hash_u64(m->slots[i].key) & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole].key = 0;
	m->n--;
	return true;
}

void u64map_clear(struct u64map *m)
{
	if (m->n)
		memset(m->slots, 0, (m->cap + ZERO_SLOTS) * sizeof(*m->slots));
	m->n = 0;
}

void u64map_fini(struct u64map *m)
{
	free(m->slots);
	*m = (struct u64map)U64MAP_INIT;
}

bool u64map_next(const struct u64map *m, size_t *it, uint64_t *key, uint64_t *val)
{
	for (; m->cap && *it < m->cap + ZERO_SLOTS; ++*it) {
		if (!m->slots[*it].key)
			continue;
		*key = *it < m->cap ? m->slots[*it].key : 0;
		*val = m->slots[*it].val;
		++*it;
		return true;
	}
	return false;
}
