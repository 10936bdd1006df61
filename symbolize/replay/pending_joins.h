/*
 * Samples with joined stacks (stack_join.h). Only after all samples it is known whether the outer
 * frames belong to them. Until then they are counted here, by the two nodes at which they may end.
 */
#ifndef NSPROF_PENDING_JOINS_H
#define NSPROF_PENDING_JOINS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "unwind/unwind.h"

struct pending_join {
	uint64_t border;	/* struct stack */
	uint32_t joined;	/* node of the stack with its outer frames */
	uint32_t cut;		/* node of the stack without them, marked as incomplete */
	enum unwind_end end;	/* how the stack at @cut ends */
	uint32_t at;		/* id of the module in which it ends; 0: none */
	uint32_t slot;		/* thread_times.h; 0: not counted there */
	uint32_t event;
	uint64_t samples, period;
};

struct pending_joins {
	struct pending_join *list;	/* owned */
	size_t n, cap;
	struct u64map index;	/* hash -> one in @list */
};

/* Adds @p's samples and period to those of the equal entry, or adds an entry. */
void pending_joins_add(struct pending_joins *ps, const struct pending_join *p);
void pending_joins_fini(struct pending_joins *ps);

#endif
