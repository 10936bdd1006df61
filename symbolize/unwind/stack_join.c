/* Stacks deeper than their copy (stack_join.h). */
#include "unwind/stack_join.h"

#include <string.h>

#include "modules/addrspace.h"
#include "stackcopy.h"

/* Maximum number of recorded callers, 24 to 48 bytes each. Beyond it, nothing is joined. */
#define CALLERS_MAX (1u << 20)

/* Values in reuse.callers that are not a caller's key. Keys are at least KEY_MIN. */
enum { CALLER_SEVERAL = 1, CALLER_NONE = 2, KEY_MIN = 4 };

/*
 * Hashes frame @i by process, address and distance from the stack's root, so that threads that do
 * the same have the same keys. Two frames with the same hash would only look like one with several
 * callers.
 */
static uint64_t frame_key(const struct past_stack *ps, uint32_t pid, uint32_t i)
{
	uint32_t root = ps->cap - 1;
	uint64_t base = ps->marks[root].sp, sp = ps->marks[i].sp;

	/* A root found by a search has no place: measure from the frame before it. */
	if (base == UINT64_MAX && root > ps->start)
		base = ps->marks[root - 1].sp;
	return hash_combine(ps->frames[i].addr.v ^ (uint64_t)pid << 40, base - sp) | KEY_MIN;
}

void join_note(struct reuse *ru, uint32_t pid, uint32_t n)
{
	const struct past_stack *ps = ru->cur;
	uint32_t i = ps->start + n;
	uint64_t caller = i < ps->cap ? frame_key(ps, pid, i) : CALLER_NONE;

	/* The leaf is not a caller. */
	while (i-- > ps->start + 1 && ru->callers.n <= CALLERS_MAX) {
		uint64_t key = frame_key(ps, pid, i);
		bool is_new;
		uint64_t *slot = u64map_put(&ru->callers, key, &is_new);

		if (is_new)
			*slot = caller;
		else if (*slot != caller)
			*slot = CALLER_SEVERAL;
		caller = key;
	}
}

void join_outer(struct reuse *ru, const struct unwind_input *in, struct unwind_result *out,
		const struct walk_step *steps, uint64_t fault)
{
	struct past_stack *ps = ru->cur;
	const struct frame *last = &out->frames[out->n - 1];
	uint64_t sp = steps[out->n - 1].sp;
	uint32_t n;

	if (!ps)
		return;
	if (!ps->deep) {
		ps->deep = true;
		join_note(ru, in->pid, ps->cap - ps->start);
	}
	if (ps->generation != in->as->generation || last->kind != FRAME_RETURN ||
	    sp - 8 < ps->live || !reuse_find(ru, last->addr.v, sp))
		return;
	n = ps->cap - ru->cursor - 1;
	if (!n || n > in->max_frames - out->n || ps->marks[ru->cursor + 1].sp != fault + 8)
		return;
	memcpy(out->frames + out->n, ps->frames + ru->cursor + 1, n * sizeof(*ps->frames));
	for (uint32_t i = 0; i < n; i++)
		out->frames[out->n + i].joined = true;
	out->joined = n;
	out->border = frame_key(ps, in->pid, ru->cursor);
}

/*
 * Returns the key of the sole caller, CALLER_NONE or CALLER_SEVERAL; 0: the frame was never seen.
 */
static uint64_t sole_caller(const struct reuse *const *all, size_t n, uint64_t key)
{
	uint64_t sole = 0;

	for (size_t i = 0; i < n; i++) {
		const uint64_t *caller = u64map_get(&all[i]->callers, key);

		if (all[i]->callers.n > CALLERS_MAX || (caller && sole && *caller != sole))
			return CALLER_SEVERAL;
		if (caller)
			sole = *caller;
	}
	return sole;
}

bool join_holds(const struct reuse *const *all, size_t n, uint64_t border)
{
	/* At most as many steps as a stack can have frames: hashes may form a cycle. */
	for (uint32_t i = 0; i < REUSE_FRAMES_ONE; i++) {
		border = sole_caller(all, n, border);
		if (border < KEY_MIN)
			return border == CALLER_NONE;
	}
	return false;
}
