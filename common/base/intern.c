/*
 * Strings to dense ids. The bytes live in chunks that never move, so a returned pointer stays valid
 * while the table grows.
 */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/xalloc.h"

#define CHUNK_SIZE ((size_t)64 * 1024)

struct entry {
	const char *s;	/* in a chunk, NUL-terminated */
	size_t len;
	uint64_t hash;
};

struct chunk {
	struct chunk *next;
	char bytes[];
};

struct intern {
	struct entry *entries;	/* by id */
	size_t n, cap;
	uint32_t *slots;	/* id + 1, 0 = free; open addressing, linear probing */
	size_t nslots;		/* power of two */
	struct chunk *chunks;	/* all chunks, newest first */
	char *at;		/* free bytes in the chunk being filled */
	size_t room;
	size_t bytes;		/* of all strings */
};

struct intern *intern_new(void)
{
	struct intern *in = xcalloc(1, sizeof(*in));

	in->nslots = 64;
	in->slots = xcalloc(in->nslots, sizeof(*in->slots));
	intern_addn(in, "", 0);
	return in;
}

void intern_free(struct intern *in)
{
	struct chunk *c, *next;

	if (!in)
		return;
	for (c = in->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(in->entries);
	free(in->slots);
	free(in);
}

static char *new_chunk(struct intern *in, size_t size)
{
	struct chunk *c = xmalloc(sizeof(*c) + size);

	c->next = in->chunks;
	in->chunks = c;
	return c->bytes;
}

/*
 * A string that would waste much of a chunk gets a chunk of its own; the current chunk stays in
 * use.
 */
static const char *store(struct intern *in, const char *s, size_t len)
{
	size_t need = len + 1;
	char *p;

	in->bytes += need;
	if (need > CHUNK_SIZE / 8) {
		p = new_chunk(in, need);
	} else {
		if (need > in->room) {
			in->at = new_chunk(in, CHUNK_SIZE);
			in->room = CHUNK_SIZE;
		}
		p = in->at;
		in->at += need;
		in->room -= need;
	}
	if (len)
		memcpy(p, s, len);
	p[len] = '\0';
	return p;
}

static void rehash(struct intern *in)
{
	size_t id, i;

	free(in->slots);
	in->nslots *= 2;
	in->slots = xcalloc(in->nslots, sizeof(*in->slots));
	for (id = 0; id < in->n; id++) {
		i = in->entries[id].hash & (in->nslots - 1);
		while (in->slots[i])
			i = (i + 1) & (in->nslots - 1);
		in->slots[i] = (uint32_t)id + 1;
	}
}

/* The slot that has these bytes, or the free slot where they belong. */
static size_t slot_of(const struct intern *in, const char *s, size_t len, uint64_t hash)
{
	size_t mask = in->nslots - 1, i;

	for (i = hash & mask; in->slots[i]; i = (i + 1) & mask) {
		const struct entry *e = &in->entries[in->slots[i] - 1];

		if (e->hash == hash && e->len == len && !memcmp(e->s, s, len))
			break;
	}
	return i;
}

uint32_t intern_findn(const struct intern *in, const char *s, size_t len)
{
	size_t i = slot_of(in, s, len, hash_bytes(s, len));

	return in->slots[i] ? in->slots[i] - 1 : UINT32_MAX;
}

uint32_t intern_find(const struct intern *in, const char *s)
{
	return intern_findn(in, s, strlen(s));
}

uint32_t intern_addn(struct intern *in, const char *s, size_t len)
{
	uint64_t hash = hash_bytes(s, len);
	size_t i = slot_of(in, s, len, hash);

	if (in->slots[i])
		return in->slots[i] - 1;
	if (in->n >= UINT32_MAX - 1) {
		pr_err("too many different strings: the limit is %u", UINT32_MAX - 1);
		exit(EXIT_FAILURE);
	}
	XGROW(in->entries, in->n, in->cap);
	in->entries[in->n] = (struct entry){ store(in, s, len), len, hash };
	in->slots[i] = (uint32_t)++in->n;
	if (in->n * 4 > in->nslots * 3)
		rehash(in);
	return (uint32_t)in->n - 1;
}

uint32_t intern_add(struct intern *in, const char *s)
{
	return intern_addn(in, s, strlen(s));
}

const char *intern_str(const struct intern *in, uint32_t id)
{
	return in->entries[id].s;
}

size_t intern_len(const struct intern *in, uint32_t id)
{
	return in->entries[id].len;
}

uint32_t intern_count(const struct intern *in)
{
	return (uint32_t)in->n;
}

size_t intern_bytes(const struct intern *in)
{
	return in->bytes;
}
