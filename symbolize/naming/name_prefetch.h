/*
 * Looks up names before the naming pass, with as many threads as there are CPUs: one binary at a
 * time or, if a binary has much debug info, one unit at a time. The results stay in the modules or
 * in prefetch_found, so the naming pass, which has one thread, finds everything ready.
 */
#ifndef NSPROF_NAME_PREFETCH_H
#define NSPROF_NAME_PREFETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/symbol.h"

struct locations;

struct prefetch_opts {
	unsigned int threads;	/* 0: one per CPU that this process may use */
	bool inlines;		/* inlined functions, too */
	bool lines;		/* source lines, too */
	bool demangle;		/* demangle the symbols' names, too */
	bool progress;		/* show progress on stderr, after a second */
};

/* A location whose symbol was looked up. */
struct prefetch_symbol {
	struct symbol sym;
	bool asked;	/* false: not looked up, since it is in no file */
	bool found;	/* @sym is set: module_symbol() found one */
};

/* A name and the result of demangle(). */
struct prefetch_name {
	const char *raw;	/* borrowed from a module's symbols */
	char *plain;		/* NULL: not demangled, as it was stopped or long names were too many */
};

struct prefetch_found {
	struct prefetch_symbol *syms;	/* by location */
	struct prefetch_name *names;	/* some may occur twice */
	size_t nnames;
	/*
	 * NULL if all were looked up. If stopped (interrupt.h): a byte per location, 0 for those
	 * that must not be looked up, since their data was not read.
	 */
	uint8_t *done;
};

/*
 * Opens what module_retry() can and looks up all LOC_FILE locations of @ls. The caller owns the
 * contents of *@found.
 */
void prefetch_lookup(const struct locations *ls, const struct prefetch_opts *opts, struct prefetch_found *found);
void prefetch_found_fini(struct prefetch_found *found);

#endif
