/*
 * Masking is the work that grows with the bytes of a stack copy, and it needs nothing but the copy
 * and the mappings. So it is what is spread over threads when there are many CPUs to read for;
 * everything that has an order stays with the one that drains.
 */
#ifndef NSPROF_MASKERS_H
#define NSPROF_MASKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mask/maskset.h"
#include "stackcopy.h"

struct mask_job {
	const struct maskset *ms;	/* NULL: every word stays */
	uint64_t sp;			/* runtime address where the copy begins */
	const uint8_t *copy;		/* in the ring, borrowed; NULL when there is none */
	size_t size;			/* bytes of it */
	const struct mask_last *last;	/* as for mask_stack_again(), borrowed; NULL: nothing to compare with */
	struct stack_words *words;	/* where the result goes, borrowed */
	uint32_t same;			/* of it, what mask_stack_again() said */
};

struct maskers;

/* How many threads besides the caller serve @ncpus rings: none up to 16, then one for each 16. */
unsigned int maskers_for_cpus(size_t ncpus);

/* As many of the @helpers threads as can be had. Own with maskers_free(). */
struct maskers *maskers_new(unsigned int helpers);
void maskers_free(struct maskers *m);		/* accepts NULL */

/* Do @jobs[0 .. n), the caller helping; returns when all are done. */
void maskers_run(struct maskers *m, struct mask_job *const *jobs, size_t n);

/* What the caller masks with, for work outside of jobs. Borrowed. */
struct mask_ctx *maskers_own(struct maskers *m);

#endif
