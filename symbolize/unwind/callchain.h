/*
 * Turns a sample into frames: the kernel part from the recorded chain, the user part from the chain
 * (frame pointers) or from an unwinder (registers and a stack copy).
 */
#ifndef NSPROF_CALLCHAIN_H
#define NSPROF_CALLCHAIN_H

#include <stdint.h>

#include "unwind/unwind.h"

struct callchain;

struct stack {
	const struct frame *frames;	/* leaf first; borrowed until the next callchain_build() */
	uint32_t n;			/* 0 if the sample holds no address */
	enum unwind_end end;		/* how the user part ends */
	const struct module *at;	/* module in which it ended, NULL if unknown */
	uint32_t joined;		/* as in struct unwind_result: number of further frames
					 * behind the last one */
	uint64_t border;
};

/* @max_stack: frames kept of a stack, from the leaf; 1 to MAXSTACK_LIMIT. */
struct callchain *callchain_new(const struct unwinder_ops *ops, uint32_t max_stack);
void callchain_free(struct callchain *cc);
/*
 * The @n events that the samples are of, by index, which say how their stacks were taken. Borrowed.
 * Without any, samples are shown as they are.
 */
void callchain_events(struct callchain *cc, const struct ev_event *events, uint32_t n);
/* @as: NULL if the user part of @s cannot be used; it is then left out. */
void callchain_build(struct callchain *cc, const struct ev_sample *s, const struct addrspace *as,
		     struct stack *out);
/*
 * For stack.border, after all samples were passed to these @n: do the joined frames belong to the
 * stack?
 */
bool callchain_join_holds(const struct callchain *const *ccs, size_t n, uint64_t border);

#endif
