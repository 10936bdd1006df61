/*
 * Containers are looked up by a thread of its own: with many state directories, or on a file system that answers late, that takes
 * longer than the rings hold. Who drains waits a little for an answer, and goes on without it.
 */
#ifndef NSPROF_CONTAINER_LOOKUP_H
#define NSPROF_CONTAINER_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/containers.h"

struct container_lookup;

/* ns: waiting for answers between two calls of container_lookup_round(), all together. */
#define CONTAINER_LOOKUP_WAIT_NS 50000000ull
/* ns: for the first look, before anything is recorded. */
#define CONTAINER_LOOKUP_FIRST_NS 1000000000ull
/* ns: how often is looked whether there is still time (container_lookup_while()). */
#define CONTAINER_LOOKUP_SLICE_NS 5000000ull

/*
 * @cs, borrowed, is the thread's while it works. NULL: it makes one of its own at the first request, from @fs and @roots (containers_new_hurried()), both borrowed. Own
 * with container_lookup_free(), which accepts NULL and waits for what is under way.
 */
struct container_lookup *container_lookup_new(const struct cgroup_fs *fs, struct containers *cs, const char *roots);
void container_lookup_free(struct container_lookup *lk);

/* Before anything is recorded: the first look, unless @cs was given; what is not done in CONTAINER_LOOKUP_FIRST_NS goes on meanwhile. */
void container_lookup_first(struct container_lookup *lk);

/* What is known, to be used until the next request; NULL while the thread works. */
struct containers *container_lookup_known(struct container_lookup *lk);

enum container_lookup_what {
	CONTAINER_LOOKUP_PATHS,		/* whose these cgroups are: containers_of() is fast for them afterwards */
	CONTAINER_LOOKUP_BEGUN,		/* containers_begun() before */
	CONTAINER_LOOKUP_ALL,		/* containers_refresh() before */
};

/*
 * Asks, unless the thread works: @n cgroups in @paths, which are copied. True: the answer is there. False: it is not there yet, or nothing was asked since the
 * thread works; container_lookup_known() tells when that is over.
 */
bool container_lookup_ask(struct container_lookup *lk, enum container_lookup_what what, const char *const *paths, size_t n);

enum container_lookup_state {
	CONTAINER_LOOKUP_ANSWERED,
	CONTAINER_LOOKUP_UNDER_WAY,	/* asked; container_lookup_known() tells when it is answered */
	CONTAINER_LOOKUP_BUSY,		/* not asked, since the thread works; to be asked again */
};

/*
 * The container of cgroup @path: as containers_of(), or as containers_of_new() if it began within the recording (@born) or after the
 * snapshot. An older one that is known is returned at once, even during CONTAINER_LOOKUP_ALL. Valid until the next request.
 */
const struct container *container_lookup_of(struct container_lookup *lk, const char *path, bool born, enum container_lookup_state *state);

/* Wait only as long as @may says so, which is asked every CONTAINER_LOOKUP_SLICE_NS. */
void container_lookup_while(struct container_lookup *lk, bool (*may)(void *ctx), void *ctx);
/* ns that the latest answered request took, and CPU time of all of them. */
uint64_t container_lookup_took(const struct container_lookup *lk);
uint64_t container_lookup_cpu(const struct container_lookup *lk);
/* Nothing is recorded any more: the next request may take as long as the first look. */
void container_lookup_last(struct container_lookup *lk);
/* A drain begins: it may wait again. */
void container_lookup_round(struct container_lookup *lk);

#endif
