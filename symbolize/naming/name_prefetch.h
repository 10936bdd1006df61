/*
 * Names looked up ahead of the naming pass, by as many threads as there are CPUs: binary by binary
 * and, where one has much debug info, unit by unit. What they find stays in the modules or in the answer, so that
 * the pass itself, which is one thread's, finds everything at hand.
 */
#ifndef NSPROF_NAME_PREFETCH_H
#define NSPROF_NAME_PREFETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/symbol.h"

struct locations;

struct prefetch_opts {
	unsigned int threads;	/* 0: one for each CPU this process may use */
	bool inlines;		/* inlined functions too */
	bool lines;		/* and lines of the source */
	bool demangle;		/* the symbols' names too */
	bool progress;		/* tell on stderr how far it is, after a second */
};

/* A location whose symbol was looked up. */
struct prefetch_symbol {
	struct symbol sym;
	bool asked;	/* else nothing was looked up: it is in no file */
	bool found;	/* @sym is set: module_symbol() found one */
};

/* A name and what demangle() makes of it. */
struct prefetch_name {
	const char *raw;	/* borrowed from a module's symbols */
	char *plain;		/* NULL: nobody came to it */
};

struct prefetch_found {
	struct prefetch_symbol *syms;	/* by location */
	struct prefetch_name *names;	/* some may be there twice */
	size_t nnames;
	/*
	 * NULL when all were looked up; else, stopped (interrupt.h), a byte for each location, 0 for those that must not
	 * be asked about: what they need was not read.
	 */
	uint8_t *done;
};

/* Opens what module_retry() can and looks up all LOC_FILE locations of @ls. What is in *@found is the caller's. */
void prefetch_lookup(const struct locations *ls, const struct prefetch_opts *opts, struct prefetch_found *found);
void prefetch_found_fini(struct prefetch_found *found);

#endif
