/*
 * What a profile does not tell: stacks that are not whole and frames without a name, by the binary
 * they end or lie in, each with the reason and what to do about it.
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

/* What came of a recording. All borrowed. */
struct missing_input {
	const struct collect *col;
	const struct naming *nm;
	struct modules *mods;
	struct rec_reader *reader;
	const char *unwinder;	/* its name */
};

struct missing {
	bool name;		/* frames without a name; else stacks that are not whole */
	const struct module *mod;	/* borrowed; NULL: no file */
	char *where;	/* owned, clean: "/usr/lib/libx.so", "[jit] of java", "-": not known */
	const char *reason;	/* "no symbol table"; static */
	const char *remedy;	/* an action, as one says it to a person; static. NULL: none is known */
	uint64_t samples;	/* each counts once, however many such frames it has */
};

struct missing_list {
	struct missing *list;	/* owned; most samples first */
	size_t n, cap;
};

/* Never fails. What naming did not come to (naming.skipped) is in no gap. */
void missing_find(struct missing_list *g, const struct missing_input *in);
void missing_fini(struct missing_list *g);

#endif
