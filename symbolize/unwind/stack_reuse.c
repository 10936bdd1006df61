/* The last stack of each thread (stack_reuse.h). */
#include "unwind/stack_reuse.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "modules/addrspace.h"
#include "stackcopy.h"
#include "unwind/rules.h"
#include "unwind/stack_join.h"

/* Limit for all threads together, 40 bytes per frame; beyond it, everything is forgotten. */
#define FRAMES_ALL	(1u << 20)

struct reuse *reuse_new(void)
{
	return xcalloc(1, sizeof(struct reuse));
}

static void forget_all(struct reuse *ru)
{
	for (size_t i = 0; i < ru->n; i++) {
		free(ru->past[i].frames);
		free(ru->past[i].marks);
	}
	ru->n = 0;
	ru->frames = 0;
	u64map_clear(&ru->by_tid);
}

void reuse_free(struct reuse *ru)
{
	if (!ru)
		return;
	forget_all(ru);
	u64map_fini(&ru->by_tid);
	u64map_fini(&ru->callers);
	free(ru->past);
	free(ru);
}

void reuse_begin(struct reuse *ru, const struct unwind_input *in)
{
	struct past_stack *ps;
	uint64_t *slot;
	bool is_new;

	ru->cur = NULL;
	ru->valid = false;
	if (!in->tid || in->stack->lo == in->stack->hi) {
		reuse_forget(ru, in->tid);
		return;
	}
	if (ru->frames > FRAMES_ALL)
		forget_all(ru);
	slot = u64map_put(&ru->by_tid, in->tid, &is_new);
	if (is_new) {
		*slot = ru->n;
		XGROW(ru->past, ru->n, ru->cap);
		ru->past[ru->n++] = (struct past_stack){ 0 };
	}
	ps = ru->cur = &ru->past[*slot];
	/* A copy that ends lower may lack words that the last walk read. */
	if (in->known_end == UINT64_MAX) {
		ps->generation = 0;
		ps->deep = false;
		ps->start = ps->cap;
	}
	ru->valid = ps->whole && ps->generation == in->as->generation && in->stack->hi >= ps->hi;
	ru->cursor = ps->start;
	ps->live = MAX(ps->live, MAX(in->stack->lo, in->known_end));
}

void reuse_forget(struct reuse *ru, uint32_t tid)
{
	uint64_t *slot = u64map_get(&ru->by_tid, tid);

	if (slot)
		ru->past[*slot].generation = 0;
}

bool reuse_take(struct reuse *ru, const struct unwind_input *in, struct unwind_result *out)
{
	const struct past_stack *ps = ru->cur;
	uint32_t n = ps->cap - ru->cursor - 1;

	if (n > in->max_frames - out->n)
		return false;
	memcpy(out->frames + out->n, ps->frames + ru->cursor + 1, n * sizeof(*ps->frames));
	out->n += n;
	out->end = UNWIND_COMPLETE;
	out->at = ps->at;
	return true;
}

/* Makes room for @n more frames in front of frame @keep. */
static void make_room(struct reuse *ru, struct past_stack *ps, uint32_t keep, uint32_t n)
{
	uint32_t tail = ps->cap - keep, cap;
	union reuse_mark *marks;
	struct frame *frames;

	ps->asked = MAX(ps->asked, keep);
	if (n <= keep) {
		ps->start = keep - n;
		return;
	}
	cap = (n + tail) * 2;
	frames = xcalloc(cap, sizeof(*frames));
	marks = xcalloc(cap, sizeof(*marks));
	if (tail) {
		memcpy(frames + cap - tail, ps->frames + keep, tail * sizeof(*frames));
		memcpy(marks + cap - tail, ps->marks + keep, tail * sizeof(*marks));
	}
	free(ps->frames);
	free(ps->marks);
	ru->frames += cap - ps->cap;
	ps->asked += cap - ps->cap;
	ps->frames = frames;
	ps->marks = marks;
	ps->cap = cap;
	ps->start = cap - tail - n;
}

/*
 * Returns what the walk depends on from step @s on; it leads to a frame whose walk depends on
 * @outer. Registers other than %rbp matter only to steps without a rule.
 */
static union reuse_mark mark_of(const struct walk_step *s, const union reuse_mark *outer)
{
	uint64_t cfa = outer->sp, slot = cfa - 8 * (rule_saved(s->rule) >> 5 & RULE_SAVED_MAX);
	union reuse_mark m = { .sp = s->sp, .need = NEED_NOTHING };

	if (!s->rule || outer->need == NEED_ALL) {
		m.need = NEED_ALL;
	} else if (rule_base_is_bp(s->rule)) {
		m.need = NEED_BP;
		m.bp = s->bp;
	} else if (outer->need == NEED_BP && !(slot < cfa && slot >= s->sp)) {
		/* The frame does not save the caller's %rbp. */
		m.need = NEED_BP;
		m.bp = outer->bp;
	}
	return m;
}

const union reuse_mark *reuse_ask(struct reuse *ru)
{
	struct past_stack *ps = ru->cur;

	while (ps->asked > ru->cursor) {
		union reuse_mark *m = &ps->marks[--ps->asked];

		*m = mark_of(&m->step, m + 1);
	}
	return &ps->marks[ru->cursor];
}

void reuse_end(struct reuse *ru, const struct unwind_input *in, const struct unwind_result *out,
	       const struct walk_step *steps, uint32_t taken, bool rooted, uint32_t nsteps)
{
	struct past_stack *ps = ru->cur;
	bool met = taken != UINT32_MAX;
	uint32_t n = met ? taken : out->n, i = n;
	union reuse_mark *marks;

	if (!ps)
		return;
	ps->whole = out->end == UNWIND_COMPLETE && out->n <= REUSE_FRAMES_ONE;
	if (!ps->whole && (!out->joined || out->n + out->joined > REUSE_FRAMES_ONE))
		return;
	make_room(ru, ps, met ? ru->cursor : ps->cap, n);
	/* The frame in both stacks is copied, too: the current walk shows how it was reached. */
	memcpy(ps->frames + ps->start, out->frames, (n + met) * sizeof(*ps->frames));
	marks = ps->marks + ps->start;
	/* The last frame; behind @nsteps there may be another one, a root found by a search. */
	while (!met && i && i >= nsteps) {
		i--;
		marks[i] = (union reuse_mark){
			.sp = i < nsteps ? steps[i].sp : UINT64_MAX,
			.need = rooted ? NEED_NOTHING : NEED_ALL,
		};
		ps->asked = ps->start + i;
	}
	memcpy(marks, steps, i * sizeof(*marks));
	ps->generation = in->as->generation;
	ps->hi = in->stack->hi;
	ps->at = out->at;
	ps->live = in->stack->lo;
	if (ps->deep)
		join_note(ru, in->pid, n);
}
