/*
 * A sample's frames: the kernel's part from the recorded chain, the user's part from the chain
 * (frame pointers) or from an unwinder (registers and a stack copy).
 */
#ifndef NSPROF_CALLCHAIN_H
#define NSPROF_CALLCHAIN_H

#include <stdint.h>

#include "unwind/unwind.h"

struct callchain;

struct stack {
	const struct frame *frames;	/* leaf first; borrowed until the next callchain_build() */
	uint32_t n;			/* 0 when the sample holds no address */
	enum unwind_end end;		/* how the user part ends */
	const struct module *at;	/* where it ended, NULL when unknown */
	uint32_t joined;		/* as in struct unwind_result: more frames behind the last one */
	uint64_t border;
};

/* @max_stack: frames kept of a stack, from the leaf; 1 to MAXSTACK_LIMIT. */
struct callchain *callchain_new(const struct unwinder_ops *ops, uint32_t max_stack);
void callchain_free(struct callchain *cc);
/* Whether the samples to come were taken with registers and stack copies, which only 32-bit code is without. */
void callchain_copies(struct callchain *cc, bool copies);
/* @as: NULL when the user part of @s is nothing to go by; then it is left out. */
void callchain_build(struct callchain *cc, const struct ev_sample *s, const struct addrspace *as,
		     struct stack *out);
/* For stack.border, when all samples have been seen, by @n of these: do the joined frames belong to the stack? */
bool callchain_join_holds(const struct callchain *const *ccs, size_t n, uint64_t border);

#endif
