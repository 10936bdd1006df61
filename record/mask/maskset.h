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
	uint64_t top;	/* the stack reaches up to this runtime address; 0 = unknown */
};

/* What a masking thread remembers of earlier samples. One for each thread, no locks. */
struct mask_ctx;

/* Owned by the caller. @plain: without the CPU's vector instructions, for tests. */
struct mask_ctx *mask_ctx_new(bool plain);
void mask_ctx_free(struct mask_ctx *mc);	/* accepts NULL */

/*
 * Reduces a stack copy. @sp: user stack pointer (runtime address); @copy: bytes of the copy, any
 * alignment; @size: bytes really copied (dyn_size). If @sp is not 8-aligned, words begin at the
 * next aligned address. @ms NULL keeps every non-zero word: only for --stacks=full.
 */
void mask_stack(struct mask_ctx *mc, const struct maskset *ms, uint64_t sp, const void *copy, size_t size,
		struct stack_words *out);

/* An earlier copy of the same stack, and what it was reduced to. */
struct mask_last {
	const void *copy;		/* the bytes that were reduced, unchanged since; borrowed */
	uint64_t sp;			/* as for mask_stack(), like @size */
	size_t size;
	const struct stack_words *words;	/* borrowed; not where the result goes */
};

/*
 * As mask_stack(), with as little work as possible for what equals @last. @last was reduced with
 * the same mappings: @ms has a version, equal to the one used then, and the same top. There are no
 * other stacks, neither now nor then. Returns how many words at the end of @out equal those at the
 * end of @last's.
 */
uint32_t mask_stack_again(struct mask_ctx *mc, const struct maskset *ms, const struct mask_last *last, uint64_t sp,
			  const void *copy, size_t size, struct stack_words *out);

/*
 * Zeroes registers that are neither code nor stack. ip and sp stay: the caller knows that ip is in
 * a mapping, and the copy began at sp. @regs: UREG_MAX entries. @ms NULL keeps all of them.
 */
void mask_regs(struct mask_ctx *mc, const struct maskset *ms, uint64_t sp, size_t size, uint64_t *regs);

#endif
