/*
 * Containers. Each has a cgroup, so the hierarchy is searched for paths that show an id. The
 * runtimes' state then adds the names, and containers in cgroups with other paths.
 */
#include "containers/containers_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/cgroup_path.h"

static void container_fini(struct container *c)
{
	char *const strings[] = { c->runtime, c->id, c->name, c->image, c->pod, c->pod_ns,
				  c->pod_uid, c->cgroup, c->apart, c->together };

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		free(strings[i]);
}

/* ---- the snapshot ---- */

static void note_group(void *ctx, uint64_t id, const char *path)
{
	struct containers *cs = ctx;
	struct cgroup_path p;

	(void)id;
	u64map_put(&cs->walked, containers_hash(path, strlen(path)), NULL);
	if (containers_parse(ctx, path, &p) && !path[p.own_len])
		containers_note_path(ctx, path, &p);
}

/* Completes @c after all sources were read. */
static void finish(struct container *c)
{
	c->unnamed |= containers_unnamed(c);
	container_learn(&c->name, c->sandbox ? "pause" : c->id);
}

/* The order of names in recordings. */
static int by_name(const struct container *a, const struct container *b)
{
	int cmp = strcmp(a->name, b->name);

	cmp = cmp ? cmp : strcmp(a->pod, b->pod);
	return cmp ? cmp : strcmp(a->pod_ns, b->pod_ns);
}

/*
 * @b runs and has the same name as @a. A container that two runtimes know has one cgroup. What a
 * tenant calls its containers changes no name of the host's.
 */
static bool is_namesake(const struct containers *cs, const struct container *a, const struct container *b)
{
	return !by_name(a, b) && !b->sandbox && (a->voucher || !b->voucher) && strcmp(a->cgroup, b->cgroup) && containers_populated(cs, b);
}

/*
 * Would its name pass for something that outputs call so: processes outside of containers, a
 * placeholder, or, if a tenant chose it, a name that was told apart or has several parts?
 */
static bool passes_for_other(const struct container *c)
{
	if (c->name[0] == '[' || (!c->pod[0] && !strcmp(c->name, "host")))
		return true;
	/* Its own path is no choice of a name. */
	return c->voucher != ROOT_UID && !c->qualified && strpbrk(c->name, ":+/") && strcmp(c->name, c->cgroup) != 0;
}

static void set_apart(struct container *c, bool by_runtime)
{
	struct strbuf sb = STRBUF_INIT;

	if (by_runtime && c->runtime[0])
		strbuf_addf(&sb, ":%s", c->runtime);
	else
		strbuf_addf(&sb, ":%.12s", c->id);
	free(c->apart);
	c->apart = xstrdup(sb.s);
	strbuf_fini(&sb);
}

/*
 * Completes those found since the snapshot. Older ones keep the names under which they were
 * reported.
 */
static void finish_new(struct containers *cs)
{
	for (size_t i = cs->sorted; i < cs->n; i++) {
		finish(&cs->all[i]);
		containers_reserve(cs, &cs->all[i]);
		containers_qualify(cs, &cs->all[i]);
	}
	for (size_t i = cs->sorted; i < cs->n; i++) {
		struct container *c = &cs->all[i];
		bool any = !containers_is_hosts(cs, c) || passes_for_other(c), runtime_too = any;

		for (size_t k = 0; k < i && !c->apart[0] && !c->sandbox; k++) {
			if (!is_namesake(cs, c, &cs->all[k]))
				continue;
			any = true;
			runtime_too |= !strcmp(c->runtime, cs->all[k].runtime);
		}
		if (any && !c->apart[0])
			set_apart(c, !runtime_too);
	}
	cs->finished = cs->n;
}

static int by_name_of(const void *pa, const void *pb)
{
	struct container *const *a = pa, *const *b = pb;

	return by_name(*a, *b);
}

/* Tells apart all containers of the snapshot that have the same name. */
static void tell_apart(struct containers *cs)
{
	struct container **v = xcalloc(cs->n + 1, sizeof(*v));

	for (size_t i = 0; i < cs->n; i++)
		v[i] = &cs->all[i];
	if (cs->n)
		qsort(v, cs->n, sizeof(*v), by_name_of);
	for (size_t i = 0, end; i < cs->n; i = end) {
		for (end = i + 1; end < cs->n && !by_name(v[i], v[end]); end++)
			;
		for (size_t a = i; a < end; a++) {
			bool any = !containers_is_hosts(cs, v[a]) || passes_for_other(v[a]), runtime_too = any;

			for (size_t b = i; b < end && !v[a]->sandbox; b++) {
				if (!is_namesake(cs, v[a], v[b]))
					continue;
				any = true;
				runtime_too |= !strcmp(v[a]->runtime, v[b]->runtime);
			}
			if (any)
				set_apart(v[a], !runtime_too);
		}
	}
	free(v);
}

static int by_cgroup(const void *pa, const void *pb)
{
	const struct container *a = pa, *b = pb;
	int cmp = cgroup_path_cmp(a->cgroup, b->cgroup);

	return cmp ? cmp : strcmp(a->name, b->name);
}

static void forget(struct containers *cs)
{
	for (size_t i = 0; i < cs->n; i++)
		container_fini(&cs->all[i]);
	for (size_t i = 0; i < cs->noutside; i++)
		container_fini(&cs->outside[i]);
	cs->n = cs->sorted = cs->finished = cs->noutside = 0;
	containers_forget_claims(cs);
	u64map_clear(&cs->walked);
	u64map_clear(&cs->by_id);
	u64map_clear(&cs->by_path);
	u64map_clear(&cs->by_pid);
	u64map_clear(&cs->placed);
}

static void index_again(struct containers *cs)
{
	u64map_clear(&cs->by_id);
	u64map_clear(&cs->by_path);
	u64map_clear(&cs->by_pid);
	u64map_clear(&cs->placed);
	for (size_t i = 0; i < cs->n; i++) {
		const struct container *c = &cs->all[i];

		*u64map_put(&cs->by_id, c->key, NULL) = i + 1;
		*u64map_put(&cs->by_path, containers_hash(c->cgroup, strlen(c->cgroup)), NULL) = i + 1;
		*u64map_put(&cs->placed, containers_hash(c->id, strlen(c->id)), NULL) = i + 1;
	}
}

/*
 * Names containers that share a cgroup, which runc permits: their processes cannot be told apart.
 * Expects the list sorted by cgroup. A container that two runtimes know under different ids has one
 * first process.
 */
static void name_together(struct containers *cs)
{
	for (size_t i = 0, k; i < cs->n; i = k) {
		struct strbuf sb = STRBUF_INIT;
		size_t several = 0;

		for (k = i; k < cs->n && !strcmp(cs->all[k].cgroup, cs->all[i].cgroup); k++) {
			bool again = !cs->all[k].pid;

			for (size_t j = i; j < k; j++)
				again |= cs->all[j].pid == cs->all[k].pid;
			if (again)
				continue;
			strbuf_addf(&sb, "%s%s", several++ ? "+" : "", cs->all[k].name);
		}
		for (size_t j = i; j < k && several > 1; j++) {
			free(cs->all[j].together);
			cs->all[j].together = xstrdup(sb.s);
		}
		strbuf_fini(&sb);
	}
}

static uint64_t hash_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	return containers_hash(path, slash ? (size_t)(slash - path) : 0);
}

/*
 * Drops containers without a cgroup, and podman pods with a cgroup of their own: their paths look
 * like containers, but no runtime knows them. Returns the number kept.
 */
static size_t keep_running(struct containers *cs)
{
	struct u64map pods = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < cs->n; i++)
		if (!strcmp(cs->all[i].runtime, "podman"))
			u64map_put(&pods, hash_parent(cs->all[i].cgroup), NULL);
	for (size_t i = 0; i < cs->n; i++) {
		const struct container *c = &cs->all[i];
		const bool pod = !c->runtime[0] && !c->name[0] && u64map_get(&pods, containers_hash(c->cgroup, strlen(c->cgroup)));

		if (c->cgroup[0] && !pod) {
			cs->all[kept++] = cs->all[i];
		} else if (c->outside && !c->cgroup[0]) {
			XGROW(cs->outside, cs->noutside, cs->outside_cap);
			cs->outside[cs->noutside++] = *c;
		} else {
			container_fini(&cs->all[i]);
		}
	}
	u64map_fini(&pods);
	return kept;
}

void containers_refresh(struct containers *cs)
{
	struct cgroup top = { .path = xstrdup("/"), .fd = cs->fs->fd };

	forget(cs);
	containers_host(cs);
	state_dirs_fini(&cs->homes);
	cgroup_walk(&top, note_group, NULL, cs);
	free(top.path);
	containers_look(cs, 0, NULL);
	for (size_t i = 0; i < cs->n; i++)
		containers_reserve(cs, &cs->all[i]);
	cs->n = cs->sorted = keep_running(cs);
	for (size_t i = 0; i < cs->n; i++) {
		finish(&cs->all[i]);
		/* No runtime names a cgroup that was left behind. */
		cs->all[i].unnamed = cs->all[i].unnamed && containers_populated(cs, &cs->all[i]);
	}
	if (cs->n)
		qsort(cs->all, cs->n, sizeof(*cs->all), by_cgroup);
	index_again(cs);
	for (size_t i = 0; i < cs->n; i++)
		containers_qualify(cs, &cs->all[i]);
	name_together(cs);
	tell_apart(cs);
	cs->finished = cs->n;
}

static struct containers *make(const struct cgroup_fs *fs, const char *roots, bool hurried)
{
	struct containers *cs = xcalloc(1, sizeof(*cs));

	cs->fs = fs;
	cs->roots = roots;
	cs->hurried = hurried;
	containers_refresh(cs);
	return cs;
}

struct containers *containers_copy(const struct containers *cs)
{
	struct containers *copy = xcalloc(1, sizeof(*copy));
	uint64_t key, val;

	copy->fs = cs->fs;
	copy->n = copy->cap = copy->sorted = cs->n;
	copy->all = xcalloc(cs->n + 1, sizeof(*copy->all));
	for (size_t i = 0; i < cs->n; i++) {
		struct container *c = &copy->all[i];
		char **const strings[] = { &c->runtime, &c->id, &c->name, &c->image, &c->pod, &c->pod_ns, &c->pod_uid, &c->cgroup,
					   &c->apart, &c->together };

		*c = cs->all[i];
		for (size_t k = 0; k < ARRAY_SIZE(strings); k++)
			*strings[k] = xstrdup(*strings[k]);
	}
	copy->host = cs->host ? xstrdup(cs->host) : NULL;
	for (size_t it = 0; u64map_next(&cs->refused, &it, &key, &val);)
		u64map_put(&copy->refused, key, NULL);
	index_again(copy);
	return copy;
}

struct containers *containers_new(const struct cgroup_fs *fs, const char *roots)
{
	return make(fs, roots, false);
}

struct containers *containers_new_hurried(const struct cgroup_fs *fs, const char *roots)
{
	return make(fs, roots, true);
}

void containers_hurry(struct containers *cs)
{
	cs->hurried = true;
}

void containers_free(struct containers *cs)
{
	if (!cs)
		return;
	forget(cs);
	state_dirs_fini(&cs->dirs);
	state_dirs_fini(&cs->homes);
	state_budgets_fini(&cs->budgets);
	containers_free_claims(cs);
	free(cs->all);
	free(cs->outside);
	u64map_fini(&cs->by_id);
	u64map_fini(&cs->by_path);
	u64map_fini(&cs->by_pid);
	u64map_fini(&cs->placed);
	u64map_fini(&cs->walked);
	u64map_fini(&cs->dead);
	free(cs);
}

const struct container *containers_all(const struct containers *cs, size_t *n)
{
	*n = cs->sorted;
	return cs->all;
}

const struct container *containers_outside(const struct containers *cs, size_t *n)
{
	*n = cs->noutside;
	return cs->outside;
}

/* Does the path show a container further in than @c, which may be NULL? Sets @p then. */
static bool shows_newer(const struct containers *cs, const char *path, const struct container *c, struct cgroup_path *p)
{
	return containers_parse(cs, path, p) && (!c || strlen(c->cgroup) < p->own_len) && !containers_refused(cs, path, p->own_len);
}

const struct container *containers_known(const struct containers *cs, const char *path)
{
	const struct container *c = containers_above(cs, path);
	struct cgroup_path p;

	return c && shows_newer(cs, path, c, &p) ? NULL : c;
}

const struct container *containers_of(struct containers *cs, const char *path)
{
	const struct container *c = containers_above(cs, path);
	struct cgroup_path p;
	char *id;

	/* The path shows a newer container. Look up only this one. */
	if (!shows_newer(cs, path, c, &p))
		return c;
	id = xstrndup(p.id, p.id_len);
	containers_note_path(cs, path, &p);
	containers_look(cs, cs->sorted, id);
	free(id);
	finish_new(cs);
	return containers_above(cs, path);
}

bool containers_walked(const struct containers *cs, const char *path)
{
	return u64map_get(&cs->walked, containers_hash(path, strlen(path)));
}

void containers_begun(struct containers *cs)
{
	containers_look_new(cs);
	finish_new(cs);
}

const struct container *containers_of_new(struct containers *cs, const char *path)
{
	const struct container *c;
	struct cgroup_path p;

	/* Another cgroup may have had the path. */
	if (containers_parse(cs, path, &p))
		containers_unrefuse(cs, path, p.own_len);
	c = containers_of(cs, path);
	if (c)
		return c;
	cs->begun = path;
	containers_begun(cs);
	cs->begun = NULL;
	return containers_above(cs, path);
}
