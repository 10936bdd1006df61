/*
 * What a profile lacks: incomplete stacks and frames without a name, by the binary they are in,
 * each with the reason and what to do about it.
 */
#ifndef NSPROF_MISSING_H
#define NSPROF_MISSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modules/module.h"
#include "naming/naming.h"
#include "replay/collect.h"

struct rec_reader;

/* The results of reading a recording. All borrowed. */
struct missing_input {
	const struct collect *col;
	const struct naming *nm;
	struct modules *mods;
	struct rec_reader *reader;
	const char *unwinder;	/* its name */
};

struct missing {
	bool name;		/* true: frames without a name; false: incomplete stacks */
	const struct module *mod;	/* borrowed; NULL: no file */
	char *where;	/* owned, clean: "/usr/lib/libx.so", "[jit] of java", "-": unknown */
	const char *reason;	/* "no symbol table"; static */
	const char *remedy;	/* what the user can do; static. NULL: nothing is known to help */
	uint64_t samples;	/* each sample counts once, however many such frames it has */
};

struct missing_list {
	struct missing *list;	/* owned; most samples first */
	size_t n, cap;
};

/* Never fails. Locations that naming skipped (naming.skipped) are not included. */
void missing_find(struct missing_list *g, const struct missing_input *in);
void missing_fini(struct missing_list *g);

#endif
