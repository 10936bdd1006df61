#include "sink/sink_cgroups.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "base/xalloc.h"

/* Cgroups that sink_cgroups_watch() looks at: this many, and one in WATCHED_SHARE. */
#define WATCHED_AT_ONCE 4
#define WATCHED_SHARE 16

/* What is known of a cgroup by its id. */
struct known_cgroup {
	bool outside;			/* its samples are not wanted */
	uint32_t segment;		/* the one in which it was last met */
	uint32_t sampled;		/* 1 + the one of its latest first sample; 0 = never */
	uint32_t gone;			/* the first sink_cgroups_watch() that found it removed; 0 = none */
	char path[];			/* "" = its name is not available */
};

void sink_cgroups_init(struct sink_cgroups *sc, const struct cgroup_fs *fs, const struct proctab *pt, struct rec_writer *w)
{
	*sc = (struct sink_cgroups){ .fs = fs, .pt = pt, .w = w };
}

void sink_cgroups_fini(struct sink_cgroups *sc)
{
	uint64_t id, val;
	size_t it = 0;

	while (u64map_next(&sc->known, &it, &id, &val))
		free((void *)(uintptr_t)val);
	u64map_fini(&sc->known);
}

static void met(struct sink_cgroups *sc, uint64_t id, struct known_cgroup *cg)
{
	const struct ev_cgroup ev = { id, cg->path };

	cg->segment = sc->segment;
	if (cg->path[0] && !cg->outside)
		rec_writer_cgroup(sc->w, &ev);
}

static bool is_outside(const struct sink_cgroups *sc, const char *path)
{
	return sc->filter && (!path[0] || !cgroup_list_find(sc->filter, path));
}

void sink_cgroups_filter_again(struct sink_cgroups *sc)
{
	uint64_t id, val;
	size_t it = 0;

	while (u64map_next(&sc->known, &it, &id, &val)) {
		struct known_cgroup *cg = (struct known_cgroup *)(uintptr_t)val;

		if (!cg->outside || is_outside(sc, cg->path))
			continue;
		cg->outside = false;
		met(sc, id, cg);
	}
}

static struct known_cgroup *enter(struct sink_cgroups *sc, uint64_t id, const char *path)
{
	struct known_cgroup *cg = xcalloc(1, sizeof(*cg) + strlen(path) + 1);

	memcpy(cg->path, path, strlen(path));
	cg->outside = is_outside(sc, path);
	cg->segment = sc->segment - 1;
	*u64map_put(&sc->known, id, NULL) = (uintptr_t)cg;
	return cg;
}

/*
 * @path "": its name is not available. The target's cgroups were looked up, so one that has no name
 * any more is not in the target.
 */
static struct known_cgroup *add(struct sink_cgroups *sc, uint64_t id, const char *path)
{
	struct known_cgroup *cg = enter(sc, id, path);

	met(sc, id, cg);
	return cg;
}

/* Forgets @id if nothing came from it since it was made; it can be looked up while it exists. */
static void forget_unmet(struct sink_cgroups *sc, uint64_t id)
{
	const uint64_t *slot = u64map_get(&sc->known, id);
	struct known_cgroup *cg = slot ? (struct known_cgroup *)(uintptr_t)*slot : NULL;

	if (!cg || cg->sampled || cg->segment == sc->segment || (sc->filter && !cg->outside))
		return;
	u64map_del(&sc->known, id);
	free(cg);
}

/* A tenant can make cgroups without end. They are written when a sample needs them. */
static void enter_made(struct sink_cgroups *sc, uint64_t id, const char *path)
{
	uint64_t *oldest = &sc->made[sc->nmade++ % ARRAY_SIZE(sc->made)];

	if (*oldest)
		forget_unmet(sc, *oldest);
	*oldest = id;
	enter(sc, id, path);
}

void sink_cgroups_add(struct sink_cgroups *sc, uint64_t id, const char *path)
{
	if (!u64map_get(&sc->known, id))
		add(sc, id, path);
}

void sink_cgroups_made(struct sink_cgroups *sc, uint64_t id, const char *path)
{
	if (!u64map_get(&sc->known, id))
		enter_made(sc, id, path);
	if (sc->on_made)
		sc->on_made(sc->on_made_ctx, path);
	if (sc->facts)
		cgroup_facts_born(sc->facts, id);
}

void sink_cgroups_on_made(struct sink_cgroups *sc, void (*fn)(void *ctx, const char *path), void *ctx)
{
	sc->on_made = fn;
	sc->on_made_ctx = ctx;
}

bool sink_cgroups_wanted(struct sink_cgroups *sc, uint64_t id, uint32_t pid)
{
	struct known_cgroup *cg;
	const uint64_t *slot;
	char path[PATH_MAX];

	if (!id)
		return !sc->filter;
	slot = u64map_get(&sc->known, id);
	if (slot) {
		cg = (struct known_cgroup *)(uintptr_t)*slot;
		if (cg->segment != sc->segment)
			met(sc, id, cg);
	} else {
		if (cgroup_path_by_id(sc->fs, id, path, sizeof(path)))
			path[0] = '\0';
		cg = add(sc, id, path);
	}
	if (cg->sampled != sc->segment + 1 && !cg->outside) {
		cg->sampled = sc->segment + 1;
		if (sc->facts)
			cgroup_facts_met(sc->facts, id, cg->path, pid);
	}
	return !cg->outside;
}

/* The cgroup that process @pid was seen in. 0: unknown yet. */
static uint64_t seen_in(const struct sink_cgroups *sc, uint32_t pid)
{
	const char *path = proctab_cgroup(sc->pt, pid);
	struct stat st;

	if (!strcmp(path, "/"))
		return CGROUP_ROOT_ID;
	/* Outside of our cgroup namespace. */
	if (!path[0] || !strncmp(path, "/..", 3))
		return 0;
	return fstatat(sc->fs->fd, path + 1, &st, 0) ? 0 : st.st_ino;
}

uint64_t sink_cgroups_guess(const struct sink_cgroups *sc, uint64_t id, uint32_t pid)
{
	if (id)
		id = seen_in(sc, pid);
	return id ? id : proctab_cgroup_id(sc->pt, pid);
}

/*
 * Names of a target's own cgroups stay. They decide what is left out when they cannot be looked up
 * any more.
 */
static bool must_stay(const struct sink_cgroups *sc, const struct known_cgroup *cg)
{
	return sc->filter && !cg->outside;
}

void sink_cgroups_watch(struct sink_cgroups *sc)
{
	char path[PATH_MAX];
	uint64_t id, val;

	sc->watches++;
	for (size_t n = WATCHED_AT_ONCE + sc->known.n / WATCHED_SHARE; n; n--) {
		struct known_cgroup *cg;

		if (!u64map_next(&sc->known, &sc->watched, &id, &val)) {
			sc->watched = 0;
			return;
		}
		cg = (struct known_cgroup *)(uintptr_t)val;
		if (must_stay(sc, cg) || cgroup_path_by_id(sc->fs, id, path, sizeof(path)) != -ESTALE)
			continue;
		if (!cg->gone) {
			cg->gone = sc->watches;
		} else if (cg->gone != sc->watches) {
			u64map_del(&sc->known, id);
			free(cg);
		}
	}
}

static void forget(struct sink_cgroups *sc)
{
	struct u64map live = U64MAP_INIT;
	uint64_t id, val;
	size_t it = 0;

	while (u64map_next(&sc->known, &it, &id, &val)) {
		struct known_cgroup *cg = (struct known_cgroup *)(uintptr_t)val;

		if (must_stay(sc, cg) || (cg->segment == sc->segment && cg->path[0]))
			*u64map_put(&live, id, NULL) = val;
		else
			free(cg);
	}
	u64map_fini(&sc->known);
	sc->known = live;
}

void sink_cgroups_cut(struct sink_cgroups *sc)
{
	forget(sc);
	sc->segment++;
}
