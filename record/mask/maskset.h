/*
 * Which words of a stack copy can matter to an unwinder: addresses of code, and addresses inside a
 * stack (contrib/doc/masking.md).
 */
#ifndef NSPROF_MASKSET_H
#define NSPROF_MASKSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackcopy.h"

struct range {
	uint64_t start, end;	/* runtime addresses [start, end) */
};

struct maskset {
	const struct range *exec;	/* executable mappings, sorted, disjoint; borrowed */
	size_t nexec;
	const struct range *stacks;	/* other stacks known for this thread; borrowed */
	size_t nstacks;
	uint64_t version;	/* of @exec: equal ones mean equal ranges; 0 = not comparable */
	uint64_t top;	/* the stack in use is known to reach up to this runtime address; 0 = no further than its copy */
};

/* What a thread that masks remembers of earlier samples. One for each thread, no locks. */
struct mask_ctx;

/* Owned by the caller. @plain: without the CPU's vector instructions, for tests. */
struct mask_ctx *mask_ctx_new(bool plain);
void mask_ctx_free(struct mask_ctx *mc);	/* accepts NULL */

/*
 * Reduce a stack copy. @sp: user stack pointer (runtime address); @copy: bytes of the copy, any
 * alignment; @size: bytes really copied (dyn_size). @ms NULL keeps every non-zero word. A stack pointer
 * that is not 8-aligned keeps every word, from the next aligned address on.
 */
void mask_stack(struct mask_ctx *mc, const struct maskset *ms, uint64_t sp, const void *copy, size_t size,
		struct stack_words *out);

/* An earlier copy of the same stack, with what it was reduced to. */
struct mask_last {
	const void *copy;		/* bytes, still those that were reduced; borrowed */
	uint64_t sp;			/* as of mask_stack(), as @size */
	size_t size;
	const struct stack_words *words;	/* borrowed; not where the result goes */
};

/*
 * The same as mask_stack(), with as little work as can be for what is as in @last, which was reduced with the same mappings: @ms has
 * a version, equal to the one of then, as has its top, and no other stacks, neither now nor then. How many words at
 * the end of @out are as the words at the end of @last's.
 */
uint32_t mask_stack_again(struct mask_ctx *mc, const struct maskset *ms, const struct mask_last *last, uint64_t sp,
			  const void *copy, size_t size, struct stack_words *out);

/* Zero registers that are neither code nor stack; ip, sp and bp stay. @regs: UREG_MAX entries. */
void mask_regs(struct mask_ctx *mc, const struct maskset *ms, uint64_t sp, size_t size, uint64_t *regs);

#endif
