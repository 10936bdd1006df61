/*
 * Reads a recording into a tree of stacks. It takes as many passes as are needed to know the
 * container and the stack of each sample.
 */
#ifndef NSPROF_STACK_PASS_H
#define NSPROF_STACK_PASS_H

#include <stdbool.h>

#include "replay/collect.h"
#include "replay/sample_cgroups.h"

struct cache;
struct modules;
struct rec_reader;
struct replay;

/* Zeroed, then filled by stack_pass_run(). All members except @cache are owned. */
struct stack_pass {
	const struct cache *cache;	/* borrowed; NULL = none */
	bool inlines;			/* inlined functions will be looked up */
	struct modules *mods;
	struct replay *rp;
	struct collect col;
	struct container_names names;	/* of containers that are named after their first samples */
};

/*
 * Reads @r. names and walked of @opts are NULL. A recording is read again if it names a container
 * after samples of that container, or if the filter or the choice of an event leaves out stacks that
 * others need to be joined to (filtered_out.h). Returns as collect_run().
 */
int stack_pass_run(struct stack_pass *p, const struct collect_opts *opts, struct rec_reader *r);
void stack_pass_fini(struct stack_pass *p);

#endif
