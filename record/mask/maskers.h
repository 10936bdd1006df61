/*
 * Masking is the work that grows with the bytes of a stack copy, and it needs only the copy and the
 * mappings. So with many CPUs to read, masking is spread over threads. Everything that depends on
 * order stays with the draining thread.
 */
#ifndef NSPROF_MASKERS_H
#define NSPROF_MASKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mask/maskset.h"
#include "stackcopy.h"

struct mask_job {
	const struct maskset *ms;	/* NULL: every word is kept */
	uint64_t sp;			/* runtime address where the copy begins */
	const uint8_t *copy;		/* in the ring, borrowed; NULL when there is none */
	size_t size;			/* bytes of it */
	const struct mask_last *last;	/* as for mask_stack_again(), borrowed; NULL: nothing to compare with */
	struct stack_words *words;	/* where the result goes, borrowed */
	uint32_t same;			/* what mask_stack_again() returned */
};

struct maskers;

/*
 * How many threads other than the caller serve @ncpus rings: none up to 16, then one for each 16.
 */
unsigned int maskers_for_cpus(size_t ncpus);

/* Starts as many of @helpers threads as possible. Release with maskers_free(). */
struct maskers *maskers_new(unsigned int helpers);
void maskers_free(struct maskers *m);		/* accepts NULL */

/* Does @jobs[0 .. n) with the caller's help; returns when all are done. */
void maskers_run(struct maskers *m, struct mask_job *const *jobs, size_t n);

/* The caller's own context, for work outside of jobs. Borrowed. */
struct mask_ctx *maskers_own(struct maskers *m);

#endif
