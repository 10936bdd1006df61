/*
 * What cgroup_facts.c (when cgroups are read), cgroup_facts_asks.c (which container a new cgroup
 * belongs to) and cgroup_facts_met.c (a cgroup that has samples, and those it is in) share. Each uses
 * those after it only.
 */
#ifndef NSPROF_CGROUP_FACTS_PRIV_H
#define NSPROF_CGROUP_FACTS_PRIV_H

#include "base/hash.h"
#include "containers/cgroup_facts.h"
#include "containers/cgroup_units.h"
#include "containers/container_lookup.h"

/* Time for reading per drain; the rings buffer fifty times as much. */
#define ROUND_NS 5000000ull

struct cgroup_facts {
	const struct cgroup_fs *fs;
	const struct cgroup_list *chosen;
	struct container_lookup *lk;		/* owned */
	struct cgroup_units units;
	struct u64map sampled;	/* set of the hashes of target cgroups' paths, of all segments */
	struct cgroup_unit **soon;		/* owned; to be read again */
	size_t nsoon, soon_cap;
	size_t next;			/* index for cgroup_facts_watch() */
	uint32_t watches;		/* calls of it */
	uint64_t spent;			/* ns since the round began */
	bool asking, ask_last;		/* a request is pending; it is the last one */
	bool again;			/* something was executed meanwhile: ask again */
	unsigned int tries;		/* timed requests left for units with @begun */
	uint64_t ask_next, ask_pause;	/* ns */
	uint64_t asked_until;		/* ns: no requests before this time, except with credit */
};

/* cgroup_facts_asks.c */

/* No container is known for cgroup @path, which has a unit. @state: why. It is asked for later. */
void cgroup_facts_ask_later(struct cgroup_facts *cf, const char *path, enum container_lookup_state state);
/* Takes the answer if it has come, and makes the next request if it is time. */
void cgroup_facts_ask_again(struct cgroup_facts *cf);
/* The recording ends: asks once more, and waits for the answer. */
void cgroup_facts_ask_at_last(struct cgroup_facts *cf);

/* cgroup_facts_met.c */

/* The cgroup that @pid is in now; "" if unknown. */
void cgroup_facts_path_of(uint32_t pid, char *path, size_t size);
/* The id of cgroup @own; @id is that of @path. 0: it is gone. */
uint64_t cgroup_facts_node(const struct cgroup_facts *cf, const char *own, uint64_t id, const char *path);
/*
 * Cgroup @own, never the root, with id @node has its first sample in this segment, by @pid. @ctr: its
 * container, or NULL.
 */
void cgroup_facts_met_own(struct cgroup_facts *cf, const char *own, uint64_t node, const struct container *ctr,
			  uint32_t pid);
/* The same for the cgroups that @path is in. They are written once they have a limit. */
void cgroup_facts_met_above(struct cgroup_facts *cf, const char *path, uint32_t pid);
/* Reads @u. Returns true if it should be put. */
bool cgroup_facts_look(struct cgroup_facts *cf, struct cgroup_unit *u);
/* To be read again after the next drain. */
void cgroup_facts_look_soon(struct cgroup_facts *cf, struct cgroup_unit *u);
/* Says why a container's name is not known, once. */
void cgroup_facts_warn_unnamed(const struct cgroup_facts *cf);

#endif
