/*
 * The cgroups that the samples of a recording were taken in, and the containers they belong to. A runtime may write down whose a new cgroup is
 * when programs run in it already, and the recorder may be late to read it: then the recording names the container behind samples of it. The
 * name goes for all samples of that cgroup, so the first ones need a second replay that knows it beforehand.
 */
#ifndef NSPROF_SAMPLE_CGROUPS_H
#define NSPROF_SAMPLE_CGROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct ctr_table;
struct ev_container;
struct intern;

/* Names that a replay learned: cgroup id -> id of ctr.label in the table. Strings and map are owned. */
struct container_names {
	struct intern *strings;
	struct u64map by_cgroup;
};

void container_names_init(struct container_names *names);
void container_names_fini(struct container_names *names);

struct sample_cgroups;

/* @strings is borrowed, and gets the paths. */
struct sample_cgroups *sample_cgroups_new(struct intern *strings);
void sample_cgroups_free(struct sample_cgroups *sc);

/* Names known before the first event, or NULL. Borrowed. */
void sample_cgroups_expect(struct sample_cgroups *sc, const struct container_names *names);

/* Events, in the order of the recording: the cgroup @id (as in ev_cgroup) has @path, and what is told of a container. */
void sample_cgroups_path(struct sample_cgroups *sc, uint64_t id, const char *path);
void sample_cgroups_container(struct sample_cgroups *sc, const struct ev_container *ev);

/*
 * Of a sample that says it was taken in the cgroup @id (0: it does not say), by a process that was seen in @path, interned. Returns the path, interned;
 * *@container is its ctr.label, interned, "" when it is in none or the recording does not tell up to here.
 */
const char *sample_cgroups_of(struct sample_cgroups *sc, uint64_t id, const char *path, const char **container);

/* Were samples given out without the name that came later? */
bool sample_cgroups_late(const struct sample_cgroups *sc);
/* Adds the names that came within the recording to @names. */
void sample_cgroups_names(const struct sample_cgroups *sc, struct container_names *names);

/* What the events so far said. Borrowed. */
const struct ctr_table *sample_cgroups_containers(const struct sample_cgroups *sc);

#endif
