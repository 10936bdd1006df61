/* Samples by thread and by time (thread_times.h). */
#include "replay/thread_times.h"

#include <assert.h>
#include <stdlib.h>

#include "base/intern.h"
#include "base/xalloc.h"
#include "event.h"

#define BLOCK_BITS 20

void thread_times_init(struct thread_times *s, struct intern *texts)
{
	*s = (struct thread_times){ .texts = texts };
	XGROW(s->slots, s->nslots, s->slots_cap);
	s->slots[s->nslots++] = (struct thread_times_slot){ 0 };
}

void thread_times_fini(struct thread_times *s)
{
	free(s->threads);
	free(s->slots);
	free(s->counts);
	u64map_fini(&s->thread_index);
	u64map_fini(&s->slot_index);
	u64map_fini(&s->count_index);
}

static uint64_t thread_hash(const struct profile_thread *t)
{
	uint64_t texts = hash_combine((uint64_t)t->container << 32 | t->cgroup, (uint64_t)t->comm << 32 | t->process);

	return hash_combine(texts ^ (uint64_t)t->fields << 13, hash_combine((uint64_t)(uint32_t)t->pid << 32 | (uint32_t)t->tid,
								    (uint64_t)(uint32_t)t->nspid << 1 | t->helper));
}

static bool thread_equal(const struct profile_thread *a, const struct profile_thread *b)
{
	return a->container == b->container && a->cgroup == b->cgroup && a->comm == b->comm &&
	       a->process == b->process && a->pid == b->pid && a->tid == b->tid && a->nspid == b->nspid &&
	       a->helper == b->helper && a->fields == b->fields;
}

uint32_t thread_times_thread(struct thread_times *s, const struct profile_thread *t)
{
	/* Try the next hash if another thread has this one. */
	for (uint64_t hash = thread_hash(t);; hash++) {
		bool is_new;
		uint64_t *at = u64map_put(&s->thread_index, hash, &is_new);

		if (is_new) {
			*at = s->nthreads;
			XGROW(s->threads, s->nthreads, s->threads_cap);
			s->threads[s->nthreads++] = *t;
		} else if (!thread_equal(&s->threads[*at], t)) {
			continue;
		}
		return (uint32_t)*at;
	}
}

static_assert(PROFILE_BLOCKS_MAX <= 1u << BLOCK_BITS && SAMPLED_EVENTS_MAX <= 1u << (32 - BLOCK_BITS), "both fit into 32 bits");

uint32_t thread_times_slot(struct thread_times *s, uint32_t thread, uint32_t event, uint32_t block)
{
	bool is_new;
	uint64_t *at = u64map_put(&s->slot_index, (uint64_t)thread << 32 | event << BLOCK_BITS | block, &is_new);

	if (is_new) {
		*at = s->nslots;
		XGROW(s->slots, s->nslots, s->slots_cap);
		s->slots[s->nslots++] = (struct thread_times_slot){ thread, event, block };
	}
	return (uint32_t)*at;
}

static void add_saturated(uint64_t *to, uint64_t n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT64_MAX;
}

void thread_times_count(struct thread_times *s, uint32_t slot, uint32_t node, uint64_t samples, uint64_t period)
{
	bool is_new;
	uint64_t *at = u64map_put(&s->count_index, (uint64_t)slot << 32 | node, &is_new);

	if (is_new) {
		*at = s->ncounts;
		XGROW(s->counts, s->ncounts, s->counts_cap);
		s->counts[s->ncounts++] = (struct thread_times_count){ .slot = slot, .node = node };
	}
	add_saturated(&s->counts[*at].samples, samples);
	add_saturated(&s->counts[*at].period, period);
}

static uint32_t same_text(struct thread_times *s, const struct thread_times *from, uint32_t id)
{
	return intern_add(s->texts, intern_str(from->texts, id));
}

uint32_t *thread_times_slots(struct thread_times *s, const struct thread_times *from)
{
	uint32_t *threads = xcalloc(from->nthreads + 1, sizeof(*threads));
	uint32_t *slots = xcalloc(from->nslots + 1, sizeof(*slots));

	for (size_t i = 0; i < from->nthreads; i++) {
		struct profile_thread t = from->threads[i];

		t.container = same_text(s, from, t.container);
		t.cgroup = same_text(s, from, t.cgroup);
		t.comm = same_text(s, from, t.comm);
		t.fields = same_text(s, from, t.fields);
		threads[i] = thread_times_thread(s, &t);
	}
	for (size_t i = 1; i < from->nslots; i++) {
		const struct thread_times_slot *slot = &from->slots[i];

		slots[i] = thread_times_slot(s, threads[slot->thread], slot->event, slot->block);
	}
	free(threads);
	return slots;
}

void thread_times_add(struct thread_times *s, const struct thread_times *from, const uint32_t *nodes, const uint32_t *slots)
{
	for (size_t i = 0; i < from->ncounts; i++) {
		const struct thread_times_count *c = &from->counts[i];

		thread_times_count(s, slots[c->slot], nodes[c->node], c->samples, c->period);
	}
}
