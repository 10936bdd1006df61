/* A recording read into a tree of stacks, as often as it takes to know whose each sample is and what its stack was. */
#ifndef NSPROF_STACK_PASS_H
#define NSPROF_STACK_PASS_H

#include <stdbool.h>

#include "replay/collect.h"
#include "replay/sample_cgroups.h"

struct cache;
struct modules;
struct rec_reader;
struct replay;

/* Zeroed, and filled by stack_pass_run(). All but @cache is owned. */
struct stack_pass {
	const struct cache *cache;	/* borrowed; NULL = none */
	bool inlines;			/* inlined functions will be asked for */
	struct modules *mods;
	struct replay *rp;
	struct collect col;
	struct container_names names;	/* of containers, that came behind samples */
};

/*
 * Reads @r. @opts: names and walked are NULL. A recording that names a container behind samples of it is read once more, and so
 * is one with a filter that leaves out stacks which others were kept from (filtered_out.h). Returns as collect_run().
 */
int stack_pass_run(struct stack_pass *p, const struct collect_opts *opts, struct rec_reader *r);
void stack_pass_fini(struct stack_pass *p);

#endif
