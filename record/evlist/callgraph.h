/* How stacks are taken, as --call-graph says it for all events and terms for one. */
#ifndef NSPROF_CALLGRAPH_H
#define NSPROF_CALLGRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"

/* The kernel's maximum for attr.sample_stack_user: below USHRT_MAX and a multiple of 8. */
#define DUMP_SIZE_MAX 65528

/* The terms call-graph=, stack-size= and max-stack= of an event. Zeroed: it has none of them. */
struct stack_terms {
	enum callgraph callgraph;	/* CALLGRAPH_UNSET: not given */
	uint32_t dump_size;		/* bytes, a multiple of 8; 0: not given */
	uint32_t max_stack;		/* frames; 0: not given */
};

/*
 * The value @text of --call-graph or call-graph=, @len bytes: dwarf[,SIZE], fp, no or none. Sets
 * @out->callgraph, and the size if there is one. 0. Without a message: -EINVAL if there is no such
 * value; -ERANGE if the size is not 1 to DUMP_SIZE_MAX; -ENOTSUP if only perf has it: *@why says why.
 */
int callgraph_parse(const char *text, size_t len, struct stack_terms *out, const char **why);
/* A size of stack copies, rounded up to a multiple of 8. 0 or -ERANGE without a message. */
int callgraph_size(const char *text, size_t len, uint32_t *size);

#endif
