#include "input/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/background.h"
#include "base/cpus.h"
#include "base/xalloc.h"

/*
 * Size of a batch: small enough for a CPU's own cache, large enough that handing it over costs
 * nothing in comparison.
 */
#define STACKS_MAX 4096
#define FRAMES_MAX 65536	/* of all its stacks, except the last one */

struct batch {
	struct profile *p;
	struct profile_path *paths;	/* owned, as are the others */
	uint64_t *samples;
	uint32_t *ids;			/* frames, then nodes */
	size_t n, nids, paths_cap, samples_cap, ids_cap;
};

struct stacks {
	struct batch batches[2];
	struct batch *filled;		/* the one being filled */
	struct background *bg;		/* NULL: no thread, or not yet */
	struct background_job *job;	/* job on the other batch; NULL: it is empty */
};

struct stacks *stacks_new(struct profile *p)
{
	struct stacks *s = xcalloc(1, sizeof(*s));

	s->batches[0].p = s->batches[1].p = p;
	s->filled = s->batches;
	return s;
}

static void count_batch(void *arg)
{
	struct batch *b = arg;
	const uint32_t *end = b->ids;

	profile_paths(b->p, b->ids, b->paths, b->n);
	for (size_t i = 0; i < b->n; i++) {
		end += b->paths[i].n;
		profile_count(b->p, &(struct profile_count){ .node = end[-1], .samples = b->samples[i] });
	}
	b->n = b->nids = 0;
}

/* Afterwards the other batch is counted. */
static void wait_for_other(struct stacks *s)
{
	if (s->job)
		background_finish(s->job);
	s->job = NULL;
}

static void hand_over(struct stacks *s)
{
	if (!s->bg && cpus_usable() > 1)
		s->bg = background_new();
	if (!s->bg) {
		count_batch(s->filled);
		return;
	}
	wait_for_other(s);
	s->job = background_add(s->bg, count_batch, s->filled);
	s->filled = s->filled == s->batches ? s->batches + 1 : s->batches;
}

void stacks_add(struct stacks *s, const uint32_t *frames, size_t n, size_t same, uint64_t samples)
{
	struct batch *b = s->filled;

	XGROW(b->paths, b->n, b->paths_cap);
	XGROW(b->samples, b->n, b->samples_cap);
	while (b->ids_cap < b->nids + n)
		XGROW(b->ids, b->ids_cap, b->ids_cap);
	memcpy(b->ids + b->nids, frames, n * sizeof(*frames));
	b->nids += n;
	b->samples[b->n] = samples;
	b->paths[b->n] = (struct profile_path){ .n = (uint32_t)n, .same = b->n ? (uint32_t)same : 0 };
	b->n++;
	if (b->n == STACKS_MAX || b->nids >= FRAMES_MAX)
		hand_over(s);
}

void stacks_finish(struct stacks *s)
{
	if (!s)
		return;
	wait_for_other(s);
	count_batch(s->filled);
	background_free(s->bg);
	for (size_t i = 0; i < 2; i++) {
		free(s->batches[i].paths);
		free(s->batches[i].samples);
		free(s->batches[i].ids);
	}
	free(s);
}
