#include "samples/sample_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "samples/sample_ctx.h"

void sample_state_key(struct sample_state *st)
{
	if (!st->used)
		return;
	st->used = false;
	for (uint32_t i = 0; i < st->nthr; i++)
		shadow_clear(&st->pool, &st->thr[i]->shadow);
	st->nthr = 0;
	st->full_words = 0;
	st->marked = 0;
	memset(st->cpu, 0, sizeof(st->cpu));
	memset(st->clock, 0, (st->events ? REC_CLOCK_SLOTS : REC_CPU_SLOTS) * sizeof(*st->clock));
	memset(st->last_cpu, 0, sizeof(st->last_cpu));
	memset(st->cpu_guess, 0, sizeof(st->cpu_guess));
	memset(st->thread_guess, 0, sizeof(st->thread_guess));
	memset(st->event_guess, 0, sizeof(st->event_guess));
	if (st->payloads)
		payload_model_key(st->payloads);
	memset(&st->regs, 0, sizeof(st->regs));
	memset(&st->words, 0, sizeof(st->words));
}

void sample_state_fini(struct sample_state *st)
{
	for (uint32_t i = 0; i < st->nthr; i++)
		shadow_clear(&st->pool, &st->thr[i]->shadow);
	shadow_pool_fini(&st->pool);
	if (st->payloads)
		payload_model_fini(st->payloads);
	free(st->payloads);
	for (uint32_t i = 0; i < st->nalloc; i++) {
		free(st->thr[i]->places);
		free(st->thr[i]);
	}
	free(st->thr);
}

struct payload_model *sample_state_payloads(struct sample_state *st)
{
	if (!st->payloads)
		st->payloads = xcalloc(1, sizeof(*st->payloads));
	return st->payloads;
}

struct sample_thread *sample_state_add(struct sample_state *st, uint32_t pid, uint32_t tid)
{
	struct sample_places *places;
	struct sample_thread *t;

	if (st->nthr == st->nalloc) {
		XGROW(st->thr, st->nalloc, st->cap);
		t = st->thr[st->nalloc++] = xmalloc(sizeof(*t));
		t->places = st->events ? xmalloc(sizeof(*t->places)) : NULL;
	}
	t = st->thr[st->nthr++];
	places = t->places;
	memset(t, 0, sizeof(*t));
	t->places = places;
	if (places)
		*places = (struct sample_places){ .last = PLACE_OTHER };
	t->pid = pid;
	t->tid = tid;
	return t;
}

void sample_state_forget(struct sample_state *st, struct sample_thread *t)
{
	shadow_clear(&st->pool, &t->shadow);
	t->serial = 0;
	t->lo = t->hi = 0;
}

uint64_t sample_usual_base(const struct sample_thread *t)
{
	return align_up(t->regs[UREG_SP], 8);
}

uint64_t sample_predict_words(const struct sample_state *st, const struct sample_thread *t,
			      uint64_t lo, bool full, const struct sample_place *place)
{
	if (full)
		return st->full_words;
	if (place && place->words)
		return place->words;
	return t->hi > lo ? (t->hi - lo) / 8 : 0;
}

uint32_t *sample_guess_cpu(struct sample_state *st)
{
	const uint32_t *c = st->last_cpu;
	uint64_t h = hash_u64(c[0] + ((uint64_t)c[1] << 20) + ((uint64_t)c[2] << 40));

	return &st->cpu_guess[h % SAMPLE_GUESSES];
}

void sample_note_cpu(struct sample_state *st, uint32_t *guess, uint32_t cpu)
{
	*guess = cpu;
	st->last_cpu[2] = st->last_cpu[1];
	st->last_cpu[1] = st->last_cpu[0];
	st->last_cpu[0] = cpu;
}

uint32_t *sample_guess_thread(struct sample_state *st, const struct sample_cpu *cpu)
{
	uint64_t h = hash_u64((uint64_t)cpu->thread << 32 | cpu->before);

	return &st->thread_guess[h % SAMPLE_GUESSES];
}

void sample_note_thread(struct sample_cpu *cpu, uint32_t *guess, uint32_t idx)
{
	*guess = idx + 1;
	cpu->before = cpu->thread;
	cpu->thread = idx + 1;
}

uint32_t *sample_guess_event(struct sample_state *st, const struct sample_cpu *cpu, const struct sample_thread *t)
{
	uint64_t h = hash_u64((uint64_t)t->event << 32 | cpu->event);

	return &st->event_guess[h % SAMPLE_GUESSES];
}

void sample_note_event(struct sample_cpu *cpu, struct sample_thread *t, uint32_t *guess, uint32_t event)
{
	*guess = event;
	cpu->event = event;
	t->event = event;
}

uint32_t sample_find_place(const struct sample_thread *t, uint64_t sp, uint64_t ip)
{
	const struct sample_places *p = t->places;
	uint32_t found = PLACE_OTHER;

	for (uint32_t i = 0; i < p->n; i++) {
		if (p->v[i].sp != sp)
			continue;
		if (p->v[i].ip == ip)
			return i;
		if (found == PLACE_OTHER)
			found = i;
	}
	return found;
}

uint32_t sample_place_ctx(const struct sample_thread *t)
{
	return CTX_PLACE + (t->event % CTX_PLACE_EVENTS << 4 | t->places->last);
}

void sample_note_place(struct sample_thread *t, uint32_t which, const struct sample_place *now)
{
	struct sample_places *p = t->places;

	p->last = which;
	if (which == PLACE_OTHER) {
		which = MIN(p->n, REC_PLACES - 1);
		p->n = MIN(p->n + 1, REC_PLACES);
	}
	memmove(p->v + 1, p->v, which * sizeof(*p->v));
	p->v[0] = *now;
}
