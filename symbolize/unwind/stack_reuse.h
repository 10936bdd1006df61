/*
 * The last stack of each thread. From one sample to the next, the outer frames mostly stay. If a
 * walk reaches a frame that the last walk also reached with the same stack pointer, and everything
 * above it is unchanged, the rest is known. That is not assumed: everything the rest was computed
 * from has to be the same. A stack that ends before its root leaves the previous one in place, for
 * stack_join.h.
 */
#ifndef NSPROF_STACK_REUSE_H
#define NSPROF_STACK_REUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "unwind/unwind.h"
#include "unwind/walk.h"

/* Deeper stacks are not remembered. */
#define REUSE_FRAMES_ONE (1u << 14)

/*
 * What the walk from a frame to the root depends on, in addition to the stack pointer and the words
 * above it.
 */
enum reuse_need {
	NEED_NOTHING,
	NEED_BP,	/* the frame's %rbp */
	NEED_ALL,	/* unknown; not reused */
};

/*
 * A frame as the walk starts from it. What its walk depends on is computed on demand: most frames
 * are gone before.
 */
union reuse_mark {
	struct walk_step step;	/* the step out of the frame; used below past_stack.asked */
	struct {
		uint64_t sp;	/* runtime address; shared with @step */
		uint64_t bp;	/* with NEED_BP: the value of %rbp */
		uint64_t need;	/* enum reuse_need */
	};
};
_Static_assert(offsetof(struct walk_step, sp) == offsetof(union reuse_mark, sp), "the same");

struct past_stack {
	uint32_t generation;	/* generation of the address space; 0: nothing is known */
	bool whole;		/* it was walked to its root, and so was every later stack */
	bool deep;		/* stacks of the thread end before their root: stack_join.h */
	uint64_t live;		/* stack_join.h: frames below this runtime address may have returned */
	uint64_t hi;		/* end of the stack copy */
	struct frame *frames;	/* owned; leaf first, the root at cap - 1 */
	union reuse_mark *marks;	/* owned; parallel to @frames */
	uint32_t start, cap;
	uint32_t asked;		/* from this mark on, the needs are computed */
	const struct module *at;
};

struct reuse {
	struct u64map by_tid;	/* tid -> index in past */
	struct past_stack *past;	/* owned */
	size_t n, cap;
	size_t frames;		/* total room in frames */
	struct u64map callers;	/* stack_join.c */
	/* State of the current walk: */
	struct past_stack *cur;	/* the thread's stack; NULL: none is remembered */
	uint32_t cursor;	/* first frame of @cur that may come next */
	bool valid;		/* @cur can be used in this walk */
};

struct reuse *reuse_new(void);
void reuse_free(struct reuse *ru);

/* Call before a walk of @in. */
void reuse_begin(struct reuse *ru, const struct unwind_input *in);
/* Call if the thread's next stack may differ in any word. */
void reuse_forget(struct reuse *ru, uint32_t tid);

/*
 * Is the frame with return address @addr at @sp in the thread's last stack? Call with ascending
 * stack pointers.
 */
static inline bool reuse_find(struct reuse *ru, uint64_t addr, uint64_t sp)
{
	const struct past_stack *ps = ru->cur;
	uint32_t i = ru->cursor;

	while (i < ps->cap && ps->marks[i].sp < sp)
		i++;
	ru->cursor = i;
	return i < ps->cap && ps->marks[i].sp == sp && ps->frames[i].addr.v == addr &&
	       ps->frames[i].kind == FRAME_RETURN;
}

/* What the walk depends on from the frame that reuse_find() found. Valid until reuse_end(). */
const union reuse_mark *reuse_ask(struct reuse *ru);

/*
 * Takes over the outer frames; the last frame of @out is the one that reuse_find() found. False if
 * @in does not allow that many.
 */
bool reuse_take(struct reuse *ru, const struct unwind_input *in, struct unwind_result *out);

/*
 * Remembers a walk after its end. @taken: the index in @out of the frame from which reuse_take()
 * continued. If it did not, @taken is UINT32_MAX, and @nsteps of @steps, from the leaf on, are
 * filled. @rooted: the last frame was recognized as a root without a look at its stack.
 */
void reuse_end(struct reuse *ru, const struct unwind_input *in, const struct unwind_result *out,
	       const struct walk_step *steps, uint32_t taken, bool rooted, uint32_t nsteps);

#endif
