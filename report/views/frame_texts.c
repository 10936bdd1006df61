/*
 * Texts of frames (frame_texts.h): a hash table with linear probing. A million stacks have tens of
 * millions of frames. Most of the time to read them goes into finding the end of each frame,
 * hashing it and looking it up. The first two are one pass, eight bytes at a time.
 */
#include "views/frame_texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/xalloc.h"

struct slot {
	uint64_t hash;
	const char *s;	/* in frame_texts.texts; NULL: free */
	size_t len;
	uint32_t value;
};

struct frame_texts {
	struct slot *slots;	/* owned; at most half full */
	size_t n;
	unsigned int bits;	/* 1 << bits slots */
	struct intern *texts;	/* owned */
	uint32_t (*make)(void *ctx, const char *s, size_t len);
	void *ctx;
};

#define EACH_BYTE(c) (0x0101010101010101ull * (c))

struct frame_texts *frame_texts_new(uint32_t (*make)(void *ctx, const char *s, size_t len), void *ctx)
{
	struct frame_texts *t = xcalloc(1, sizeof(*t));

	t->make = make;
	t->ctx = ctx;
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

/* A bit of a factor affects all higher bits of the product; the shift brings these down again. */
static inline uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ull;
	return hash ^ hash >> 32;
}

static size_t home(const struct frame_texts *t, uint64_t hash)
{
	return (hash * 0x9fb21c651e98df25ull) >> (64 - t->bits);
}

/*
 * Length of the text at the beginning of @s, and its hash over words of eight bytes. The last word
 * is padded with zeros. No text contains a NUL byte.
 */
static inline size_t hash_text(const char *s, size_t len, uint64_t *hash)
{
	uint64_t h = 0, word = 0, differs, found;
	size_t at;

	for (at = 0; at + 8 <= len; at += 8) {
		memcpy(&word, s + at, 8);
		differs = word ^ EACH_BYTE(';');
		/*
		 * The lowest bit set is the high bit of the first zero byte. Bits above it may be
		 * meaningless.
		 */
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

/* Texts are a few words long: a call of memcmp(3) would take as long as the comparison. */
static bool equal(const char *a, const char *b, size_t n)
{
	if (n < 8) {
		for (size_t i = 0; i < n; i++)
			if (a[i] != b[i])
				return false;
		return true;
	}
	for (size_t at = 0; at + 8 < n; at += 8)
		if (memcmp(a + at, b + at, 8))
			return false;
	return !memcmp(a + n - 8, b + n - 8, 8);
}

/*
 * Puts the text into the free slot @at. A separate function, so that the loop over frames keeps its
 * registers.
 */
static __attribute__((noinline)) uint32_t
add_text(struct frame_texts *t, size_t at, uint64_t hash, const char *s, size_t len)
{
	size_t mask = ((size_t)1 << t->bits) - 1;
	uint32_t value = t->make(t->ctx, s, len);

	if (2 * (t->n + 1) > mask) {
		grow(t);
		mask = ((size_t)1 << t->bits) - 1;
		for (at = home(t, hash); t->slots[at].s; at = (at + 1) & mask)
			;
	}
	t->n++;
	t->slots[at] = (struct slot){
		.hash = hash, .s = intern_str(t->texts, intern_addn(t->texts, s, len)), .len = len, .value = value,
	};
	return value;
}

static inline uint32_t value_of(struct frame_texts *t, uint64_t hash, const char *s, size_t len)
{
	size_t mask = ((size_t)1 << t->bits) - 1, at;

	for (at = home(t, hash); t->slots[at].s; at = (at + 1) & mask) {
		const struct slot *slot = &t->slots[at];

		if (slot->hash == hash && slot->len == len && equal(slot->s, s, len))
			return slot->value;
	}
	return add_text(t, at, hash, s, len);
}

bool frame_texts_split(struct frame_texts *t, const char *s, size_t len, size_t pos, struct frame_list *to)
{
	bool whole = true;
	size_t n;

	for (; pos <= len; pos += n + 1) {
		uint64_t hash;

		n = hash_text(s + pos, len - pos, &hash);
		if (!n) {
			whole = false;
			continue;
		}
		if (to->n == to->cap) {
			to->cap = to->cap ? to->cap * 2 : 64;
			to->ends = xrealloc(to->ends, to->cap * sizeof(*to->ends));
			to->ids = xrealloc(to->ids, to->cap * sizeof(*to->ids));
		}
		to->ends[to->n] = (uint32_t)(pos + n);
		to->ids[to->n++] = value_of(t, hash, s + pos, n);
	}
	return whole;
}
