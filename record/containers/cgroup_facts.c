#include "containers/cgroup_facts_priv.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "host/clock.h"

/* Processes may end all the time. This interval between readings is enough for a cgroup. */
#define EXIT_PAUSE_NS 20000000ull
/* Cgroups that cgroup_facts_watch() looks at: this many, and one in WATCHED_SHARE as time allows. */
#define WATCHED_AT_ONCE 4
#define WATCHED_SHARE 16
#define WATCH_NS 2000000ull
/* Cgroups known to be new. Further ones count from their first reading on. */
#define BORN_MAX 65536

struct cgroup_facts *cgroup_facts_new(const struct cgroup_fs *fs, const struct cgroup_list *chosen, struct containers *cs,
				      const char *roots, struct rec_writer *w)
{
	struct cgroup_facts *cf = xcalloc(1, sizeof(*cf));

	cf->fs = fs;
	cf->chosen = chosen;
	cf->lk = container_lookup_new(fs, cs, roots);
	cgroup_units_init(&cf->units, fs, w);
	return cf;
}

void cgroup_facts_free(struct cgroup_facts *cf)
{
	if (!cf)
		return;
	cgroup_units_fini(&cf->units);
	free(cf->soon);
	u64map_fini(&cf->sampled);
	container_lookup_free(cf->lk);
	free(cf);
}

struct container_lookup *cgroup_facts_lookup(const struct cgroup_facts *cf)
{
	return cf->lk;
}

const struct cgroup_cpu *cgroup_facts_cpu(const struct cgroup_facts *cf)
{
	return &cf->units.cpu;
}

/* ---- cgroups with samples ---- */

/* A sampled cgroup may have been found to be another one than it says. */
static void warn_claims(const struct cgroup_facts *cf)
{
	struct containers *cs = container_lookup_known(cf->lk);

	if (cs)
		containers_warn_claims(cs);
}

static void met(struct cgroup_facts *cf, uint64_t id, const char *path, uint32_t pid)
{
	bool born = u64map_get(&cf->units.born, id);
	const struct cgroup *sel = cgroup_list_find(cf->chosen, path);
	enum container_lookup_state state;
	const struct container *ctr = container_lookup_of(cf->lk, path, born, &state);

	warn_claims(cf);
	if (sel)
		u64map_put(&cf->sampled, hash_bytes(sel->path, strlen(sel->path)), NULL);
	if (ctr) {
		cgroup_facts_met_own(cf, ctr->cgroup, cgroup_facts_node(cf, ctr->cgroup, id, path), ctr, pid);
		return;
	}
	/* A limit may be set on the target cgroup, above the sampled one. */
	if (sel && strcmp(sel->path, path) && strcmp(sel->path, "/"))
		cgroup_facts_met_own(cf, sel->path, sel->id, NULL, pid);
	cgroup_facts_met_own(cf, path, cgroup_facts_node(cf, path, id, path), NULL, pid);
	/* It was created within the recording, or between the snapshot and the recording. */
	if (born || state != CONTAINER_LOOKUP_ANSWERED || !containers_walked(container_lookup_known(cf->lk), path))
		cgroup_facts_ask_later(cf, path, state);
}

void cgroup_facts_met(struct cgroup_facts *cf, uint64_t id, const char *path, uint32_t pid)
{
	const uint64_t begun = clock_mono_ns();
	char buf[PATH_MAX];

	pid = pid == UINT32_MAX ? 0 : pid;
	if (!path[0] && pid) {
		cgroup_facts_path_of(pid, buf, sizeof(buf));
		path = buf;
	}
	/* The root belongs to no container and has no limit. */
	if (path[0] != '/' || !path[1])
		return;
	met(cf, id, path, pid);
	cgroup_facts_met_above(cf, path, pid);
	cf->spent += clock_mono_ns() - begun;
}

bool cgroup_facts_had_samples(const struct cgroup_facts *cf, const char *path)
{
	return u64map_get(&cf->sampled, hash_bytes(path, strlen(path)));
}

const char *cgroup_facts_name(const struct cgroup_facts *cf, const char *path)
{
	const struct cgroup_unit *u = cgroup_units_find(&cf->units, path, strlen(path));

	return !u ? "" : u->ev.name[0] ? u->ev.name : u->ev.id;
}

struct facts_used cgroup_facts_used(const struct cgroup_facts *cf)
{
	return cgroup_units_used(&cf->units);
}

void cgroup_facts_born(struct cgroup_facts *cf, uint64_t id)
{
	if (cf->units.born.n < BORN_MAX)
		u64map_put(&cf->units.born, id, NULL);
}

void cgroup_facts_exit(struct cgroup_facts *cf, const char *path)
{
	size_t len = strlen(path);

	for (const size_t all = len; len; len--) {
		struct cgroup_unit *u = len == all || path[len] == '/' ? cgroup_units_find(&cf->units, path, len) : NULL;

		/* Those without a limit have time: they are shared by many, or go with their last child. */
		if (u && u->segment == cf->units.segment && !u->unwritten)
			cgroup_facts_look_soon(cf, u);
	}
}

/* ---- later ---- */

void cgroup_facts_round(struct cgroup_facts *cf)
{
	const uint64_t begun = clock_mono_ns(), until = begun + ROUND_NS;
	size_t kept = 0;

	cf->spent = 0;
	container_lookup_round(cf->lk);
	cgroup_facts_ask_again(cf);
	for (size_t i = 0; i < cf->nsoon; i++) {
		struct cgroup_unit *u = cf->soon[i];

		if ((u->read_at && begun - u->read_at < EXIT_PAUSE_NS) || clock_mono_ns() >= until) {
			cf->soon[kept++] = u;
			continue;
		}
		u->soon = false;
		if (cgroup_facts_look(cf, u))
			cgroup_units_put(&cf->units, u, false);
	}
	cf->nsoon = kept;
}

/* Is @u the container of a cgroup whose container is still unknown? */
static bool is_awaited(const struct cgroup_facts *cf, const struct cgroup_unit *u)
{
	const size_t len = strlen(u->ev.cgroup);

	for (size_t i = 0; i < cf->units.n; i++) {
		const struct cgroup_unit *in = cf->units.v[i];

		if (in->begun && !strncmp(in->ev.cgroup, u->ev.cgroup, len) && in->ev.cgroup[len] == '/')
			return true;
	}
	return false;
}

/*
 * Can unit @u, which is gone, be dropped? All its samples have been drained since the call before
 * has met it.
 */
static bool is_over(const struct cgroup_facts *cf, struct cgroup_unit *u)
{
	if (!u->over)
		u->over = cf->watches;
	return u->over != cf->watches && !u->soon && !u->begun && !u->asked && !is_awaited(cf, u);
}

static void drop(struct cgroup_facts *cf, size_t at)
{
	const struct cgroup_unit *u = cf->units.v[at];

	if (u->unnamed && !u->unwritten)
		cgroup_facts_warn_unnamed(cf);
	cgroup_units_drop(&cf->units, at);
}

void cgroup_facts_watch(struct cgroup_facts *cf)
{
	const size_t looks = MIN(cf->units.n, WATCHED_AT_ONCE + cf->units.n / WATCHED_SHARE);
	const uint64_t until = clock_mono_ns() + WATCH_NS;

	cf->watches++;
	for (size_t i = 0; i < looks && (i < WATCHED_AT_ONCE || clock_mono_ns() < until); i++) {
		const size_t at = cf->next++ % cf->units.n;
		struct cgroup_unit *u = cf->units.v[at];

		if (u->ev.gone && is_over(cf, u))
			drop(cf, at);
		else if (u->segment == cf->units.segment && !u->ev.gone && cgroup_facts_look(cf, u))
			cgroup_units_put(&cf->units, u, false);
		if (!cf->units.n)
			break;
	}
}

/* The last look in this segment at units that are @unwritten, or at the others. */
static void look_last(struct cgroup_facts *cf, bool unwritten, bool last, uint64_t until)
{
	for (size_t i = 0; i < cf->units.n; i++) {
		struct cgroup_unit *u = cf->units.v[i];

		if (u->segment != cf->units.segment || u->unwritten != unwritten)
			continue;
		if (clock_mono_ns() < until)
			cgroup_facts_look(cf, u);
		if (u->unwritten)
			continue;
		if (u->read_at)
			cgroup_units_put(&cf->units, u, false);
		if (last && u->unnamed)
			cgroup_facts_warn_unnamed(cf);
	}
}

void cgroup_facts_cut(struct cgroup_facts *cf, bool last)
{
	const uint64_t until = last ? UINT64_MAX : clock_mono_ns() + ROUND_NS;

	if (last)
		cgroup_facts_ask_at_last(cf);
	look_last(cf, false, last, until);
	look_last(cf, true, last, until);
	cgroup_units_cut(&cf->units);
	cf->nsoon = cf->next = 0;
}
