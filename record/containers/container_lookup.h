/*
 * A separate thread looks containers up. With many state directories or a slow file system, a
 * lookup takes longer than the rings can buffer. The draining thread waits briefly for an answer
 * and then goes on without it.
 */
#ifndef NSPROF_CONTAINER_LOOKUP_H
#define NSPROF_CONTAINER_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/containers.h"

struct container_lookup;

/* ns: total time to wait for answers between two calls of container_lookup_round(). */
#define CONTAINER_LOOKUP_WAIT_NS 50000000ull
/* ns: time for the first lookup, before recording begins. */
#define CONTAINER_LOOKUP_FIRST_NS 1000000000ull
/* ns: how often the callback of container_lookup_while() is called. */
#define CONTAINER_LOOKUP_SLICE_NS 5000000ull

/*
 * @cs is borrowed, and belongs to the thread while the thread works. NULL: the thread creates its
 * own at the first request, from @fs and @roots, both borrowed (containers_new_hurried()). Release
 * with container_lookup_free(), which accepts NULL and waits for the running request.
 */
struct container_lookup *container_lookup_new(const struct cgroup_fs *fs, struct containers *cs, const char *roots);
void container_lookup_free(struct container_lookup *lk);

/*
 * The first lookup, before recording begins; does nothing if @cs was given. What takes longer than
 * CONTAINER_LOOKUP_FIRST_NS goes on in the background.
 */
void container_lookup_first(struct container_lookup *lk);

/* What is known; valid until the next request. NULL while the thread works. */
struct containers *container_lookup_known(struct container_lookup *lk);

enum container_lookup_what {
	/* find the containers of these cgroups, so that containers_of() is fast */
	CONTAINER_LOOKUP_PATHS,
	CONTAINER_LOOKUP_BEGUN,		/* call containers_begun() first */
	CONTAINER_LOOKUP_ALL,		/* call containers_refresh() first */
};

/*
 * Sends a request unless the thread works. @paths: @n cgroups, copied. True: answered. False: not
 * answered yet, or not sent because the thread works. container_lookup_known() tells when the
 * thread is done.
 */
bool container_lookup_ask(struct container_lookup *lk, enum container_lookup_what what, const char *const *paths, size_t n);

enum container_lookup_state {
	CONTAINER_LOOKUP_ANSWERED,
	/* sent; container_lookup_known() tells when it is answered */
	CONTAINER_LOOKUP_UNDER_WAY,
	CONTAINER_LOOKUP_BUSY,		/* not sent because the thread works; try again */
};

/*
 * The container of cgroup @path, as containers_of(). As containers_of_new() if the cgroup began
 * within the recording (@born) or after the snapshot. An older one that is already known is
 * returned at once, even during CONTAINER_LOOKUP_ALL. Valid until the next request.
 */
const struct container *container_lookup_of(struct container_lookup *lk, const char *path, bool born, enum container_lookup_state *state);

/* Waits stop when @may returns false; it is called every CONTAINER_LOOKUP_SLICE_NS. */
void container_lookup_while(struct container_lookup *lk, bool (*may)(void *ctx), void *ctx);
/* ns that the latest answered request took; CPU time of all requests in ns. */
uint64_t container_lookup_took(const struct container_lookup *lk);
uint64_t container_lookup_cpu(const struct container_lookup *lk);
/* Recording has ended: the next request may take as long as the first. */
void container_lookup_last(struct container_lookup *lk);
/* A drain begins: there is time to wait again. */
void container_lookup_round(struct container_lookup *lk);

#endif
