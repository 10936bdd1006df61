#include "containers/cgroup_facts_priv.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/procfs.h"

#define FILE_MAX_SIZE 65536
/* Cgroups above a sampled one that are watched for a limit. */
#define LEVELS_MAX 32

void cgroup_facts_look_soon(struct cgroup_facts *cf, struct cgroup_unit *u)
{
	if (u->soon || u->ev.gone)
		return;
	u->soon = true;
	XGROW(cf->soon, cf->nsoon, cf->soon_cap);
	cf->soon[cf->nsoon++] = u;
}

uint64_t cgroup_facts_node(const struct cgroup_facts *cf, const char *own, uint64_t id, const char *path)
{
	struct stat st;

	if (id && !strcmp(own, path))
		return id;
	return fstatat(cf->fs->fd, own + 1, &st, 0) ? 0 : st.st_ino;
}

void cgroup_facts_warn_unnamed(const struct cgroup_facts *cf)
{
	struct containers *cs = container_lookup_known(cf->lk);

	if (cs)
		containers_warn(cs);
}

static struct cgroup_unit *add(struct cgroup_facts *cf, const char *own, const struct container *ctr, uint64_t node)
{
	const struct cgroup *sel = cgroup_list_find(cf->chosen, own);
	struct cgroup_unit *u = cgroup_units_add(&cf->units, own, ctr, node);

	u->chosen = sel && !strcmp(sel->path, own);
	return u;
}

static bool is_born(const struct cgroup_facts *cf, uint64_t node)
{
	return u64map_get(&cf->units.born, node);
}

/* @u is written from now on. */
static void show(struct cgroup_facts *cf, struct cgroup_unit *u)
{
	u->unwritten = false;
	/* The runtime may write the name of a container that has just begun a moment later. */
	if (u->unnamed && !is_born(cf, u->ev.node))
		cgroup_facts_warn_unnamed(cf);
}

/* The unit of cgroup @own with id @node (0 = unknown); NULL = none yet. */
static struct cgroup_unit *find(struct cgroup_facts *cf, const char *own, uint64_t node)
{
	struct cgroup_unit *u = cgroup_units_find(&cf->units, own, strlen(own));

	if (!u || !node || u->ev.node == node)
		return u;
	/* Another cgroup has its path. The counters of the old one stay as last read. */
	u->ev.gone = true;
	if (u->segment == cf->units.segment && !u->unwritten)
		cgroup_units_put(&cf->units, u, false);
	u->segment = 0;
	return NULL;
}

/* @u is met for the first time in this segment, by @pid. With @now it is read at once. */
static void meet(struct cgroup_facts *cf, struct cgroup_unit *u, uint32_t pid, bool now)
{
	u->segment = cf->units.segment;
	cgroup_cpu_find(&cf->units.cpu, u->ev.cgroup, pid, &u->at);
	if (now) {
		cgroup_units_look_first(&cf->units, u);
	} else {
		u->late = true;
		cgroup_facts_look_soon(cf, u);
	}
}

void cgroup_facts_met_own(struct cgroup_facts *cf, const char *own, uint64_t node, const struct container *ctr,
			  uint32_t pid)
{
	const bool born = is_born(cf, node);
	struct cgroup_unit *u = find(cf, own, node);
	bool named = false;

	/* So far it was only known as one that others are in. */
	if (u && ctr && !u->ev.id[0]) {
		cgroup_unit_name(u, ctr);
		named = true;
	}
	if (u && u->segment == cf->units.segment) {
		const bool hidden = u->unwritten;

		if (hidden)
			show(cf, u);
		if (hidden || named)
			cgroup_units_put(&cf->units, u, hidden && born);
		return;
	}
	if (!u)
		show(cf, u = add(cf, own, ctr, node));
	u->unwritten = false;
	u->ev.gone = !node;
	meet(cf, u, pid, cf->spent < ROUND_NS || born);
	cgroup_units_put(&cf->units, u, born);
}

void cgroup_facts_path_of(uint32_t pid, char *path, size_t size)
{
	int fd = nsopen_procfile(pid, "cgroup"), err;
	char *text;

	path[0] = '\0';
	if (fd < 0)
		return;
	text = nsopen_slurp(fd, FILE_MAX_SIZE, NULL, &err);
	close(fd);
	if (!text || !procfs_cgroup_path(text, "perf_event", path, size))
		path[0] = '\0';
	free(text);
}

bool cgroup_facts_look(struct cgroup_facts *cf, struct cgroup_unit *u)
{
	const bool late = u->late, hidden = u->unwritten;
	bool changed = false;

	u->late = false;
	if (late)
		cgroup_units_look_first(&cf->units, u);
	else
		changed = cgroup_units_look(&cf->units, u);
	if (hidden && !u->unwritten)
		show(cf, u);
	return changed || (late && !u->unwritten);
}

/*
 * The limit that holds a thread back may be that of any cgroup it is in: of a pod, of a slice, or of
 * one that a container has made. It may be set at any time. So all of them are watched, and those
 * that have a limit are recorded, too.
 */
void cgroup_facts_met_above(struct cgroup_facts *cf, const char *path, uint32_t pid)
{
	const uint64_t begun = clock_mono_ns();
	struct containers *cs = container_lookup_known(cf->lk);
	char own[PATH_MAX];
	size_t levels = 0;

	for (size_t len = strlen(path); len && levels < LEVELS_MAX; len--) {
		struct cgroup_unit *u;
		uint64_t node;

		if (path[len] && path[len] != '/')
			continue;
		levels++;
		snprintf(own, sizeof(own), "%.*s", (int)len, path);
		node = cgroup_facts_node(cf, own, 0, "");
		if (!node)
			continue;
		u = find(cf, own, node);
		/* Then those above it have been met as well. */
		if (u && u->walked == cf->units.segment)
			return;
		if (!u) {
			const struct container *ctr = cs ? containers_known(cs, own) : NULL;

			u = add(cf, own, ctr && !strcmp(ctr->cgroup, own) ? ctr : NULL, node);
		}
		u->walked = cf->units.segment;
		if (u->segment == cf->units.segment)
			continue;
		u->unwritten = true;
		meet(cf, u, pid, cf->spent + clock_mono_ns() - begun < ROUND_NS);
		if (u->unwritten)
			continue;
		show(cf, u);
		cgroup_units_put(&cf->units, u, is_born(cf, node));
	}
}
