/* Hash functions and one open-addressing map from 64-bit keys to 64-bit values. */
#ifndef NSPROF_HASH_H
#define NSPROF_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finalizer of splitmix64 (public domain algorithm): good for addresses and ids. */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static inline uint64_t hash_combine(uint64_t a, uint64_t b)
{
	return hash_u64(a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2)));
}

uint64_t hash_bytes(const void *data, size_t len);

struct u64map_slot {
	uint64_t key, val;
};

/* Any key is allowed, including 0. Initialise with U64MAP_INIT. */
struct u64map {
	/* owned, @cap + 1 of them; key and value share a cache line */
	struct u64map_slot *slots;
	size_t cap;		/* power of two or 0 */
	size_t n;
};

#define U64MAP_INIT { NULL, 0, 0 }

/* Pointer to the value of @key, or NULL. Valid until the next insertion. */
uint64_t *u64map_get(const struct u64map *m, uint64_t key);
/*
 * Prefetches the slot where @key is or would be, for callers that have other work before the
 * lookup.
 */
void u64map_prefetch(const struct u64map *m, uint64_t key);
/*
 * Pointer to the value of @key, inserted as 0 if new. *@is_new (may be NULL) tells whether it was.
 */
uint64_t *u64map_put(struct u64map *m, uint64_t key, bool *is_new);
/* True if @key was there. */
bool u64map_del(struct u64map *m, uint64_t key);
void u64map_clear(struct u64map *m);	/* keeps the memory */
void u64map_fini(struct u64map *m);
/* Iterate: start with *@it = 0; false at the end. */
bool u64map_next(const struct u64map *m, size_t *it, uint64_t *key, uint64_t *val);

#endif
