/*
 * The cgroups of samples, and their containers. Programs may already run in a new cgroup when the
 * runtime writes down its container, and the recorder may read that late. Then the recording names
 * the container after samples of it. The name is valid for all samples of that cgroup, so a second
 * replay that knows it in advance is needed for the first ones.
 */
#ifndef NSPROF_SAMPLE_CGROUPS_H
#define NSPROF_SAMPLE_CGROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct ctr_table;
struct ev_container;
struct intern;

/* Names that a replay learned: cgroup id -> id of ctr.label in @strings. Owns both members. */
struct container_names {
	struct intern *strings;
	struct u64map by_cgroup;
};

void container_names_init(struct container_names *names);
void container_names_fini(struct container_names *names);

struct sample_cgroups;

/* @strings is borrowed, and stores the paths. */
struct sample_cgroups *sample_cgroups_new(struct intern *strings);
void sample_cgroups_free(struct sample_cgroups *sc);

/* Sets names that are known before the first event, or NULL. Borrowed. */
void sample_cgroups_expect(struct sample_cgroups *sc, const struct container_names *names);

/*
 * Handle events, in the order of the recording: cgroup @id (as in ev_cgroup) has @path; facts about
 * a container.
 */
void sample_cgroups_path(struct sample_cgroups *sc, uint64_t id, const char *path);
void sample_cgroups_container(struct sample_cgroups *sc, const struct ev_container *ev);

/*
 * For a sample with cgroup @id (0: unknown) of a process that was seen in cgroup @path (interned).
 * Returns the path, interned. *@container: its ctr.label, interned; "" if it is in none, or if the
 * recording has no name for it up to here.
 */
const char *sample_cgroups_of(struct sample_cgroups *sc, uint64_t id, const char *path, const char **container);

/* Were samples returned without a name that came later? */
bool sample_cgroups_late(const struct sample_cgroups *sc);
/* Adds the names that were learned during the replay to @names. */
void sample_cgroups_names(const struct sample_cgroups *sc, struct container_names *names);

/* The containers, from the events so far. Borrowed. */
const struct ctr_table *sample_cgroups_containers(const struct sample_cgroups *sc);

#endif
