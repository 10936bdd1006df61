/* Cgroups and containers of samples (sample_cgroups.h). */
#include "replay/sample_cgroups.h"

#include <stdlib.h>

#include "base/intern.h"
#include "base/xalloc.h"
#include "event.h"
#include "host/cgroup_path.h"
#include "recording/ctr_table.h"

struct group {
	uint64_t id;		/* 0: only the path is known */
	const char *path;	/* interned */
	const char *container;	/* ctr.label; NULL = not looked up yet */
	uint32_t asked;		/* nevents at the lookup: repeat it when that has changed */
	const char *learned;	/* the first name that came after its path; NULL: none */
	bool nameless;		/* samples were returned without a name */
};

struct sample_cgroups {
	struct intern *strings;	/* borrowed */
	struct ctr_table *ctrs;
	uint32_t nevents;	/* number of container events */
	const struct container_names *expected;	/* borrowed; NULL: none */
	struct u64map by_id;	/* cgroup id -> index of its group */
	struct group *groups;	/* owned */
	size_t n, cap;
	/*
	 * Groups without a learned name. A group whose path now belongs to another cgroup is gone,
	 * and gets none.
	 */
	uint32_t *unnamed;	/* owned; indices */
	size_t nunnamed, unnamed_cap;
	struct group last;	/* for samples without a cgroup id */
	bool late;
};

void container_names_init(struct container_names *names)
{
	*names = (struct container_names){ .strings = intern_new() };
}

void container_names_fini(struct container_names *names)
{
	intern_free(names->strings);
	u64map_fini(&names->by_cgroup);
}

struct sample_cgroups *sample_cgroups_new(struct intern *strings)
{
	struct sample_cgroups *sc = xcalloc(1, sizeof(*sc));

	sc->strings = strings;
	sc->ctrs = ctr_table_new();
	return sc;
}

void sample_cgroups_free(struct sample_cgroups *sc)
{
	if (!sc)
		return;
	u64map_fini(&sc->by_id);
	free(sc->groups);
	free(sc->unnamed);
	ctr_table_free(sc->ctrs);
	free(sc);
}

void sample_cgroups_expect(struct sample_cgroups *sc, const struct container_names *names)
{
	sc->expected = names;
}

static void drop_unnamed(struct sample_cgroups *sc, size_t at)
{
	sc->unnamed[at] = sc->unnamed[--sc->nunnamed];
}

void sample_cgroups_path(struct sample_cgroups *sc, uint64_t id, const char *path)
{
	const char *kept = intern_str(sc->strings, intern_add(sc->strings, path));
	bool is_new;
	uint64_t *slot = u64map_put(&sc->by_id, id, &is_new);

	/* Segments repeat what is known. */
	if (!is_new && sc->groups[*slot].path == kept)
		return;
	for (size_t i = sc->nunnamed; i--;) {
		if (cgroup_path_within(sc->groups[sc->unnamed[i]].path, kept))
			drop_unnamed(sc, i);
	}
	XGROW(sc->groups, sc->n, sc->cap);
	XGROW(sc->unnamed, sc->nunnamed, sc->unnamed_cap);
	sc->unnamed[sc->nunnamed++] = (uint32_t)sc->n;
	*slot = sc->n;
	sc->groups[sc->n++] = (struct group){ .id = id, .path = kept };
}

void sample_cgroups_container(struct sample_cgroups *sc, const struct ev_container *ev)
{
	ctr_table_add(sc->ctrs, ev);
	sc->nevents++;
	for (size_t i = sc->nunnamed; i--;) {
		struct group *g = &sc->groups[sc->unnamed[i]];
		const struct ctr *c = cgroup_path_within(g->path, ev->cgroup) ? ctr_table_of(sc->ctrs, g->path) : NULL;

		if (!c || !ctr_is_container(c))
			continue;
		g->learned = c->label;
		sc->late |= g->nameless;
		drop_unnamed(sc, i);
	}
}

static const char *expected_name(const struct sample_cgroups *sc, uint64_t id)
{
	const uint64_t *name = sc->expected && id ? u64map_get(&sc->expected->by_cgroup, id) : NULL;

	return name ? intern_str(sc->expected->strings, (uint32_t)*name) : NULL;
}

const char *sample_cgroups_of(struct sample_cgroups *sc, uint64_t id, const char *path, const char **container)
{
	const uint64_t *slot = id ? u64map_get(&sc->by_id, id) : NULL;
	struct group *g = slot ? &sc->groups[*slot] : &sc->last;

	if (!slot && g->path != path)
		*g = (struct group){ .path = path };
	if (!g->container || g->asked != sc->nevents) {
		const struct ctr *c = ctr_table_of(sc->ctrs, g->path);
		const char *known = c && ctr_is_container(c) ? c->label : expected_name(sc, g->id);

		g->container = known ? known : "";
		g->nameless |= !known;
		g->asked = sc->nevents;
	}
	*container = g->container;
	return g->path;
}

bool sample_cgroups_late(const struct sample_cgroups *sc)
{
	return sc->late;
}

void sample_cgroups_names(const struct sample_cgroups *sc, struct container_names *names)
{
	for (size_t i = 0; i < sc->n; i++) {
		if (sc->groups[i].learned)
			*u64map_put(&names->by_cgroup, sc->groups[i].id, NULL) = intern_add(names->strings, sc->groups[i].learned);
	}
}

const struct ctr_table *sample_cgroups_containers(const struct sample_cgroups *sc)
{
	return sc->ctrs;
}
