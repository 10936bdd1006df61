/*
 * Containers are looked up by a thread of its own: with many state directories, or on a file system that answers late, that takes
 * longer than the rings hold. Who drains waits a little for an answer, and goes on without it.
 */
#ifndef NSPROF_LOOKUP_H
#define NSPROF_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/containers.h"

struct lookup;

/* ns: waiting for answers between two calls of lookup_round(), all together. */
#define LOOKUP_WAIT_NS 50000000ull
/* ns: for the first look, before anything is recorded. */
#define LOOKUP_FIRST_NS 1000000000ull
/* ns: how often is looked whether there is still time (lookup_while()). */
#define LOOKUP_SLICE_NS 5000000ull

/*
 * @cs, borrowed, is the thread's while it works. NULL: it makes one of its own at the first request, from @fs and @roots (containers_new_hurried()), both borrowed. Own
 * with lookup_free(), which accepts NULL and waits for what is under way.
 */
struct lookup *lookup_new(const struct cgroup_fs *fs, struct containers *cs, const char *roots);
void lookup_free(struct lookup *lk);

/* Before anything is recorded: the first look, unless @cs was given; what is not done in LOOKUP_FIRST_NS goes on meanwhile. */
void lookup_first(struct lookup *lk);

/* What is known, to be used until the next request; NULL while the thread works. */
struct containers *lookup_known(struct lookup *lk);

enum lookup_what {
	LOOKUP_PATHS,		/* whose these cgroups are: containers_of() is fast for them afterwards */
	LOOKUP_BEGUN,		/* containers_begun() before */
	LOOKUP_ALL,		/* containers_refresh() before */
};

/*
 * Asks, unless the thread works: @n cgroups in @paths, which are copied. True: the answer is there. False: it is not there yet, or nothing was asked since the
 * thread works; lookup_known() tells when that is over.
 */
bool lookup_ask(struct lookup *lk, enum lookup_what what, const char *const *paths, size_t n);

enum lookup_state {
	LOOKUP_ANSWERED,
	LOOKUP_UNDER_WAY,	/* asked; lookup_known() tells when it is answered */
	LOOKUP_BUSY,		/* not asked, since the thread works; to be asked again */
};

/*
 * The container of cgroup @path: as containers_of(), or as containers_of_new() if it began within the recording (@born) or after the
 * snapshot. An older one that is known is returned at once, even during LOOKUP_ALL. Valid until the next request.
 */
const struct container *lookup_of(struct lookup *lk, const char *path, bool born, enum lookup_state *state);

/* Wait only as long as @may says so, which is asked every LOOKUP_SLICE_NS. */
void lookup_while(struct lookup *lk, bool (*may)(void *ctx), void *ctx);
/* ns that the latest answered request took, and CPU time of all of them. */
uint64_t lookup_took(const struct lookup *lk);
uint64_t lookup_cpu(const struct lookup *lk);
/* Nothing is recorded any more: the next request may take as long as the first look. */
void lookup_last(struct lookup *lk);
/* A drain begins: it may wait again. */
void lookup_round(struct lookup *lk);

#endif
