#include "procs/file_aliases.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/util.h"
#include "base/xalloc.h"

/* A round is at least this many new keys long. */
#define ROUND_MIN 2048
/* With so many in use at the same time, all are forgotten. */
#define LIMIT_MAX 65536

static uint64_t key_hash(const struct file_key *k)
{
	uint64_t h = hash_combine(hash_u64(k->mnt_ns), k->dev);

	h = hash_combine(hash_combine(h, k->ino), k->gen);
	h = hash_combine(hash_combine(h, k->size), (uint64_t)k->mtime_ns);
	return hash_combine(h, k->path);
}

static bool key_equal(const struct file_key *a, const struct file_key *b)
{
	return a->mnt_ns == b->mnt_ns && a->dev == b->dev && a->ino == b->ino && a->gen == b->gen &&
	       a->size == b->size && a->mtime_ns == b->mtime_ns && a->path == b->path;
}

static struct file_alias *find(const struct file_aliases *fa, const struct file_key *k)
{
	const uint64_t *slot = u64map_get(&fa->by_key, key_hash(k));

	for (uint32_t i = slot ? (uint32_t)*slot : 0; i; i = fa->v[i - 1].next) {
		if (key_equal(&fa->v[i - 1].key, k))
			return &fa->v[i - 1];
	}
	return NULL;
}

static void use(struct file_aliases *fa, struct file_alias *a)
{
	fa->reused += a->round != fa->round;
	a->round = fa->round;
}

uint32_t file_aliases_get(struct file_aliases *fa, const struct file_key *k)
{
	struct file_alias *a = find(fa, k);

	if (!a)
		return UINT32_MAX;
	use(fa, a);
	return a->dso;
}

static void enter(struct file_aliases *fa, size_t i)
{
	uint64_t *slot = u64map_put(&fa->by_key, key_hash(&fa->v[i].key), NULL);

	fa->v[i].next = (uint32_t)*slot;
	*slot = i + 1;
}

static void end_round(struct file_aliases *fa)
{
	size_t kept = 0;

	for (size_t i = 0; i < fa->n; i++) {
		if (fa->v[i].round == fa->round)
			fa->v[kept++] = fa->v[i];
	}
	fa->n = kept < LIMIT_MAX ? kept : 0;
	u64map_clear(&fa->by_key);
	for (size_t i = 0; i < fa->n; i++)
		enter(fa, i);
	/* The more keys are used again, the longer a round: it has to see them all. */
	fa->limit = MIN(fa->n + MAX(2 * fa->reused, (size_t)ROUND_MIN), (size_t)LIMIT_MAX);
	fa->reused = 0;
	fa->round++;
}

void file_aliases_put(struct file_aliases *fa, const struct file_key *k, uint32_t dso)
{
	struct file_alias *a = find(fa, k);

	if (a) {
		a->dso = dso;
		use(fa, a);
		return;
	}
	if (fa->n >= MAX(fa->limit, (size_t)ROUND_MIN))
		end_round(fa);
	XGROW(fa->v, fa->n, fa->cap);
	fa->v[fa->n] = (struct file_alias){ *k, dso, 0, fa->round };
	enter(fa, fa->n++);
}

void file_aliases_fini(struct file_aliases *fa)
{
	free(fa->v);
	u64map_fini(&fa->by_key);
	*fa = (struct file_aliases){ .v = NULL };
}
