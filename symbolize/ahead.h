/*
 * Names looked up ahead of the naming pass, by as many threads as there are CPUs: binary by binary
 * and, where one has much debug info, unit by unit. What they find stays in the modules, so that
 * the pass itself, which is one thread's, finds everything at hand.
 */
#ifndef NSPROF_AHEAD_H
#define NSPROF_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct locations;

struct ahead_opts {
	unsigned int threads;	/* 0: one for each CPU this process may use */
	bool inlines;		/* inlined functions too */
	bool lines;		/* and lines of the source */
	bool progress;		/* tell on stderr how far it is, after a second */
};

/*
 * Opens what module_retry() can and looks up all LOC_FILE locations of @ls. NULL when all were; else,
 * stopped (stop.h), a byte for each location, 0 for those that must not be asked about: what they
 * need was not read. Owned by the caller.
 */
uint8_t *ahead_lookup(const struct locations *ls, const struct ahead_opts *opts);

#endif
