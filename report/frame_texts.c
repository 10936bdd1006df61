/*
 * Texts of frames (frame_texts.h): a hash table with linear probing. A million stacks have tens of millions of
 * frames: to find where each ends, to hash it and to look it up is most of what reading them takes. The
 * first two are one pass, eight bytes at a time.
 */
#include "frame_texts.h"

#include <stdlib.h>
#include <string.h>

#include "intern.h"
#include "xalloc.h"

struct slot {
	uint64_t hash;
	const char *s;	/* in frame_texts.texts; NULL: free */
	size_t len;
	uint32_t value;
};

struct frame_texts {
	struct slot *slots;	/* owned; at most half of them taken */
	size_t n;
	unsigned int bits;	/* 1 << bits slots */
	struct intern *texts;	/* owned */
};

#define EACH_BYTE(c) (0x0101010101010101ull * (c))

struct frame_texts *frame_texts_new(void)
{
	struct frame_texts *t = xcalloc(1, sizeof(*t));

	t->bits = 10;
	t->slots = xcalloc((size_t)1 << t->bits, sizeof(*t->slots));
	t->texts = intern_new();
	return t;
}

void frame_texts_free(struct frame_texts *t)
{
	if (!t)
		return;
	intern_free(t->texts);
	free(t->slots);
	free(t);
}

/* A bit of a factor reaches all above it in the product, and the shift brings these down again. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ull;
	return hash ^ hash >> 32;
}

static size_t home(const struct frame_texts *t, uint64_t hash)
{
	return (hash * 0x9fb21c651e98df25ull) >> (64 - t->bits);
}

/*
 * Length of the text at the beginning of @s, and its hash: of words of eight bytes, the last of which has less and is filled
 * up with zeros. No text has a NUL byte.
 */
static size_t hash_text(const char *s, size_t len, uint64_t *hash)
{
	uint64_t h = 0, word = 0, differs, found;
	size_t at;

	for (at = 0; at + 8 <= len; at += 8) {
		memcpy(&word, s + at, 8);
		differs = word ^ EACH_BYTE(';');
		/* The lowest bit set is the high one of the first byte that is zero; above it they may mean nothing. */
		found = (differs - EACH_BYTE(1)) & ~differs & EACH_BYTE(0x80);
		if (found) {
			unsigned int n = (unsigned int)__builtin_ctzll(found) & ~7u;

			*hash = mix(h, word & ((1ull << n) - 1));
			return at + n / 8;
		}
		h = mix(h, word);
	}
	word = 0;
	for (unsigned int shift = 0; at < len && s[at] != ';'; shift += 8)
		word |= (uint64_t)(uint8_t)s[at++] << shift;
	*hash = mix(h, word);
	return at;
}

static void grow(struct frame_texts *t)
{
	size_t old = (size_t)1 << t->bits++, mask = 2 * old - 1, at;
	struct slot *slots = xcalloc(mask + 1, sizeof(*slots));

	for (size_t i = 0; i < old; i++) {
		if (!t->slots[i].s)
			continue;
		for (at = home(t, t->slots[i].hash); slots[at].s; at = (at + 1) & mask)
			;
		slots[at] = t->slots[i];
	}
	free(t->slots);
	t->slots = slots;
}

uint32_t *frame_texts_find(struct frame_texts *t, const char *s, size_t len, size_t *n)
{
	size_t mask = ((size_t)1 << t->bits) - 1, at;
	struct slot *slot;
	uint64_t hash;

	*n = hash_text(s, len, &hash);
	for (at = home(t, hash); t->slots[at].s; at = (at + 1) & mask) {
		slot = &t->slots[at];
		if (slot->hash == hash && slot->len == *n && !memcmp(slot->s, s, *n))
			return &slot->value;
	}
	if (2 * (t->n + 1) > mask) {
		grow(t);
		return frame_texts_find(t, s, len, n);
	}
	t->n++;
	slot = &t->slots[at];
	*slot = (struct slot){ .hash = hash, .s = intern_str(t->texts, intern_addn(t->texts, s, *n)), .len = *n };
	return &slot->value;
}
