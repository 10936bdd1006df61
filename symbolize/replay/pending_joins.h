/*
 * Samples with joined stacks (stack_join.h): whether the outer frames belong to them is known when all samples have
 * been seen. Until then they are counted here, by the two nodes they may end at.
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
	uint32_t cut;		/* node of the stack as it was copied, marked */
	enum unwind_end end;	/* what it ends with then */
	uint32_t at;		/* in the module of this id; 0: none */
	uint32_t slot;		/* thread_times.h; 0: that is not counted */
	uint64_t samples, period;
};

struct pending_joins {
	struct pending_join *list;	/* owned */
	size_t n, cap;
	struct u64map index;	/* hash -> one in @list */
};

/* Adds @p's samples and period to those of its like. */
void pending_joins_add(struct pending_joins *ps, const struct pending_join *p);
void pending_joins_fini(struct pending_joins *ps);

#endif
