/* A profile in memory: building, finishing and freeing it (profile.h). */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/profile_priv.h"

struct profile *profile_new(void)
{
	struct profile *p = xcalloc(1, sizeof(*p));
	struct profile_index *x = xcalloc(1, sizeof(*x));

	p->index = x;
	p->strings = intern_new();
	XGROW(p->frames, p->nframes, x->frames_cap);
	XGROW(p->nodes, p->nnodes, x->nodes_cap);
	XGROW(p->threads, p->nthreads, x->threads_cap);
	p->frames[p->nframes++] = (struct profile_frame){ 0 };
	p->nodes[p->nnodes++] = (struct profile_node){ 0 };
	p->threads[p->nthreads++] = (struct profile_thread){ .pid = -1, .tid = -1, .nspid = -1 };
	return p;
}

static void index_free(struct profile *p)
{
	if (!p->index)
		return;
	free(p->index->frames.slots);
	kids_fini(&p->index->kids);
	free(p->index->threads.slots);
	free(p->index);
	p->index = NULL;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	index_free(p);
	intern_free(p->strings);
	free(p->frames);
	free(p->nodes);
	free(p->threads);
	free(p->counts);
	free(p->meta);
	free(p->events);
	free(p);
}

uint32_t profile_string(struct profile *p, const char *text)
{
	return intern_add(p->strings, text);
}

const char *profile_text(const struct profile *p, uint32_t id)
{
	return intern_str(p->strings, id);
}

const char *profile_meta(const struct profile *p, const char *key)
{
	for (uint32_t i = 0; i < p->nmeta; i++)
		if (!strcmp(profile_text(p, p->meta[i].key), key))
			return profile_text(p, p->meta[i].value);
	return NULL;
}

bool profile_by_period(const struct profile *p)
{
	const char *weight = profile_meta(p, "weight");

	return weight && !strcmp(weight, "period");
}

double profile_number(const struct profile *p, const char *key)
{
	const char *v = profile_meta(p, key);

	return v ? strtod(v, NULL) : 0;
}

void profile_set_meta(struct profile *p, const char *key, const char *value)
{
	struct profile_meta m = { profile_string(p, key), profile_string(p, value) };

	p->meta = xrealloc(p->meta, (p->nmeta + 1) * sizeof(*p->meta));
	p->meta[p->nmeta++] = m;
}

void profile_unset_meta(struct profile *p, const char *key)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nmeta; i++)
		if (strcmp(profile_text(p, p->meta[i].key), key))
			p->meta[n++] = p->meta[i];
	p->nmeta = n;
}

/* ---- equal things have equal ids ---- */

static uint64_t frame_hash(const struct profile *p, uint32_t id)
{
	const struct profile_frame *f = &p->frames[id];

	return hash_combine(hash_combine((uint64_t)f->name << 32 | f->dso, (uint64_t)f->srcline << 32 | f->source),
			    (uint64_t)f->kind << 1 | f->joined);
}

static bool frame_equal(const struct profile *p, uint32_t a, uint32_t b)
{
	const struct profile_frame *x = &p->frames[a], *y = &p->frames[b];

	return x->name == y->name && x->dso == y->dso && x->srcline == y->srcline && x->source == y->source &&
	       x->kind == y->kind && x->joined == y->joined;
}

static uint64_t thread_hash(const struct profile *p, uint32_t id)
{
	const struct profile_thread *t = &p->threads[id];
	uint64_t texts = hash_combine((uint64_t)t->container << 32 | t->cgroup, (uint64_t)t->comm << 32 | t->process);

	return hash_combine(texts ^ (uint64_t)t->fields << 13, hash_combine((uint64_t)(uint32_t)t->pid << 32 | (uint32_t)t->tid,
								    (uint64_t)(uint32_t)t->nspid << 1 | t->helper));
}

static bool thread_equal(const struct profile *p, uint32_t a, uint32_t b)
{
	const struct profile_thread *x = &p->threads[a], *y = &p->threads[b];

	return x->container == y->container && x->cgroup == y->cgroup && x->comm == y->comm &&
	       x->process == y->process && x->pid == y->pid && x->tid == y->tid && x->nspid == y->nspid &&
	       x->helper == y->helper && x->fields == y->fields;
}

/*
 * The id of the entry equal to number @n, which is the last one and not in the set yet: an earlier
 * one, or @n itself, which is then added. Inline, so that each caller gets a copy with its
 * functions inlined.
 */
static inline __attribute__((always_inline)) uint32_t
id_of(const struct profile *p, struct idset *s, uint32_t n, uint64_t (*hash)(const struct profile *, uint32_t),
      bool (*equal)(const struct profile *, uint32_t, uint32_t))
{
	size_t at, mask;

	if ((size_t)n * 4 >= s->nslots * 3) {
		size_t want = s->nslots ? s->nslots * 2 : 64;

		free(s->slots);
		s->slots = xcalloc(want, sizeof(*s->slots));
		s->nslots = want;
		for (uint32_t i = 1; i < n; i++) {
			for (at = hash(p, i) & (want - 1); s->slots[at]; at = (at + 1) & (want - 1))
				;
			s->slots[at] = i;
		}
	}
	mask = s->nslots - 1;
	for (at = hash(p, n) & mask; s->slots[at]; at = (at + 1) & mask)
		if (equal(p, s->slots[at], n))
			return s->slots[at];
	s->slots[at] = n;
	return n;
}

uint32_t profile_frame(struct profile *p, const struct profile_frame *f)
{
	uint32_t id;

	profile_check_room(p->nframes, "frames");
	XGROW(p->frames, p->nframes, p->index->frames_cap);
	p->frames[p->nframes] = *f;
	id = id_of(p, &p->index->frames, p->nframes, frame_hash, frame_equal);
	p->nframes += id == p->nframes;
	return id;
}

uint32_t profile_thread(struct profile *p, const struct profile_thread *t)
{
	uint32_t id;

	profile_check_room(p->nthreads, "threads");
	XGROW(p->threads, p->nthreads, p->index->threads_cap);
	p->threads[p->nthreads] = *t;
	/* The unknown thread has number 0, which the set does not hold. */
	if (thread_equal(p, 0, p->nthreads))
		return 0;
	id = id_of(p, &p->index->threads, p->nthreads, thread_hash, thread_equal);
	p->nthreads += id == p->nthreads;
	return id;
}

/* ---- counts ---- */

void profile_count(struct profile *p, const struct profile_count *c)
{
	if (!c->samples && !c->period)
		return;
	XGROW(p->counts, p->ncounts, p->index->counts_cap);
	p->counts[p->ncounts++] = *c;
}

void profile_event(struct profile *p, const struct profile_event *ev)
{
	p->events = xrealloc(p->events, (p->nevents + 1) * sizeof(*p->events));
	p->events[p->nevents++] = *ev;
}

void profile_same_events(struct profile *to, const struct profile *from)
{
	for (uint32_t i = 0; i < from->nevents; i++) {
		struct profile_event ev = from->events[i];

		ev.name = profile_string(to, profile_text(from, ev.name));
		ev.modifier = profile_string(to, profile_text(from, ev.modifier));
		ev.unit = profile_string(to, profile_text(from, ev.unit));
		ev.call_graph = profile_string(to, profile_text(from, ev.call_graph));
		ev.samples = ev.period = 0;
		profile_event(to, &ev);
	}
}

static int compare_counts(const struct profile_count *x, const struct profile_count *y)
{
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

enum count_key { COUNT_NODE, COUNT_BLOCK, COUNT_THREAD, COUNT_EVENT };

static uint32_t count_key(const struct profile_count *c, enum count_key key)
{
	return key == COUNT_NODE ? c->node : key == COUNT_BLOCK ? c->block : key == COUNT_THREAD ? c->thread : c->event;
}

/* Stable sort by one key, whose values are below @end. */
static void sort_by(struct profile *p, enum count_key key, uint32_t end)
{
	struct profile_count *to = xcalloc(p->ncounts, sizeof(*to));
	size_t *at = xcalloc((size_t)end + 1, sizeof(*at));

	for (size_t i = 0; i < p->ncounts; i++)
		at[count_key(&p->counts[i], key) + 1]++;
	for (uint32_t i = 0; i < end; i++)
		at[i + 1] += at[i];
	for (size_t i = 0; i < p->ncounts; i++)
		to[at[count_key(&p->counts[i], key)]++] = p->counts[i];
	free(at);
	free(p->counts);
	p->counts = to;
}

/* Sorts by the last key first. Ids are small numbers, so a counting sort is used. */
static void sort_counts(struct profile *p)
{
	uint32_t blocks = 0;

	for (size_t i = 0; i < p->ncounts; i++)
		blocks = MAX(blocks, p->counts[i].block + 1);
	sort_by(p, COUNT_NODE, p->nnodes);
	if (blocks > 1)
		sort_by(p, COUNT_BLOCK, blocks);
	if (p->nthreads > 1)
		sort_by(p, COUNT_THREAD, p->nthreads);
	if (p->nevents)
		sort_by(p, COUNT_EVENT, p->nevents);
}

static void add_saturated(uint64_t *to, uint64_t n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT64_MAX;
}

void profile_finish(struct profile *p)
{
	bool sorted = true;
	size_t i, n = 0;

	index_free(p);
	for (i = 1; i < p->ncounts && sorted; i++)
		sorted = compare_counts(&p->counts[i - 1], &p->counts[i]) < 0;
	if (!sorted)
		sort_counts(p);
	for (i = 0; i < p->ncounts; i++) {
		const struct profile_count c = p->counts[i];

		add_saturated(&p->samples, c.samples);
		add_saturated(&p->period, c.period);
		if (p->nevents) {
			add_saturated(&p->events[c.event].samples, c.samples);
			add_saturated(&p->events[c.event].period, c.period);
		}
		if (p->block_ns)
			p->nblocks = MAX(p->nblocks, c.block + 1);
		if (n && !compare_counts(&p->counts[n - 1], &c)) {
			add_saturated(&p->counts[n - 1].samples, c.samples);
			add_saturated(&p->counts[n - 1].period, c.period);
		} else {
			p->counts[n++] = c;
		}
	}
	p->ncounts = n;
}
