/*
 * The last stack of each thread. From one sample to the next the outer frames mostly stay: where a walk
 * comes to a frame that the last one came to with the same stack pointer and all above it unchanged, the
 * rest of it is known. That is not assumed: what the rest was made of has to be the same. A stack that ends
 * before its root leaves the one before in place, for stack_join.h.
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

/* What the walk from a frame to the root goes by, besides the stack pointer and the words above it. */
enum reuse_need {
	NEED_NOTHING,
	NEED_BP,	/* the frame's %rbp */
	NEED_ALL,	/* who knows: it is not reused */
};

/* A frame as it is walked from. Most frames are gone before anybody asks what their walk goes by. */
union reuse_mark {
	struct walk_step step;	/* how it was stepped out of: past_stack.asked is behind it */
	struct {
		uint64_t sp;	/* runtime address; that of @step, too */
		uint64_t bp;	/* with NEED_BP: its value */
		uint64_t need;	/* enum reuse_need */
	};
};
_Static_assert(offsetof(struct walk_step, sp) == offsetof(union reuse_mark, sp), "the same");

struct past_stack {
	uint32_t generation;	/* of the address space; 0: nothing is known */
	bool whole;		/* it was walked to its root, and no stack came after it that was not */
	bool deep;		/* stacks of the thread end before their root: stack_join.h */
	uint64_t live;		/* stack_join.h: below this runtime address its frames may be over */
	uint64_t hi;		/* end of the stack copy */
	struct frame *frames;	/* owned; leaf first, the root at cap - 1 */
	union reuse_mark *marks;	/* owned; beside them */
	uint32_t start, cap;
	uint32_t asked;		/* from this mark on it is known what the walk goes by */
	const struct module *at;
};

struct reuse {
	struct u64map by_tid;	/* index in past */
	struct past_stack *past;	/* owned */
	size_t n, cap;
	size_t frames;		/* room for so many in all */
	struct u64map callers;	/* stack_join.c */
	/* Of the walk that goes on: */
	struct past_stack *cur;	/* the thread's; NULL: nothing is remembered */
	uint32_t cursor;	/* first frame of @cur that may come next */
	bool valid;		/* @cur is of use for this walk */
};

struct reuse *reuse_new(void);
void reuse_free(struct reuse *ru);

/* Before a walk of @in. */
void reuse_begin(struct reuse *ru, const struct unwind_input *in);
/* The thread's next stack may differ in any word. */
void reuse_forget(struct reuse *ru, uint32_t tid);

/* Is frame @addr (a return address) at @sp one of the thread's last stack? Stack pointers ascend. */
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

/* What the walk from the frame that reuse_find() has found goes by. Valid until reuse_end(). */
const union reuse_mark *reuse_ask(struct reuse *ru);

/*
 * The last frame of @out is that of the last reuse_find(): take over the outer ones. False when they are
 * too many for @in.
 */
bool reuse_take(struct reuse *ru, const struct unwind_input *in, struct unwind_result *out);

/*
 * After a walk: remember it. @taken: the index in @out of the frame that reuse_take() went on from;
 * UINT32_MAX when it did not, and then @nsteps of @steps, from the leaf on, are filled. @rooted: the
 * last frame was known for a root without a look at its stack.
 */
void reuse_end(struct reuse *ru, const struct unwind_input *in, const struct unwind_result *out,
	       const struct walk_step *steps, uint32_t taken, bool rooted, uint32_t nsteps);

#endif
