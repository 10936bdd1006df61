/*
 * Which cgroup is a container's own (containers_priv.h). Whoever may create cgroups can give them
 * any name, also that of somebody else's container. So the path of a cgroup is a claim. The process
 * that a runtime's state file names proves it.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "containers/containers_priv.h"
#include "host/cgroup_path.h"
#include "host/nsopen.h"
#include "host/procfs.h"

#define TEXT_MAX 65536
#define ID_LEN 64	/* hexadecimal digits of a sha256 */
#define LISTED 3	/* contradictions in messages of one process */

/* Another cgroup that claims to be a container. */
struct claim {
	char *path;	/* owned */
	size_t of;	/* index of the container */
	enum container_claim claim;
};

/* ---- who made a cgroup ---- */

void containers_host(struct containers *cs)
{
	int fd = nsopen_procfile(1, "cgroup"), err;
	struct cgroup_path p;
	char path[PATH_MAX], *text;

	free(cs->host);
	cs->host = NULL;
	if (fd < 0)
		return;
	text = nsopen_slurp(fd, TEXT_MAX, NULL, &err);
	close(fd);
	if (text && procfs_cgroup_path(text, "perf_event", path, sizeof(path)) && cgroup_path_parse(path, &p))
		cs->host = xstrndup(path, p.own_len);
	free(text);
}

/* Bytes of @path that lead to the container that process 1 is in, whose state files we read. */
static size_t host_len(const struct containers *cs, const char *path)
{
	return cs->host && cgroup_path_within(path, cs->host) ? strlen(cs->host) : 0;
}

size_t containers_outermost(const struct containers *cs, const char *path, const char *id)
{
	return cgroup_path_outermost(path, id, host_len(cs, path));
}

static bool is_inner(const struct containers *cs, const char *path, const struct cgroup_path *p)
{
	return p->outer_len > host_len(cs, path);
}

/* The owner of directory @path (@len bytes); a uid that nobody has if all may create cgroups in it. */
static uint32_t owner_of(const struct containers *cs, const char *path, size_t len)
{
	char dir[PATH_MAX];
	struct stat st;

	if ((size_t)snprintf(dir, sizeof(dir), "%.*s", (int)len - 1, path + 1) >= sizeof(dir) || fstatat(cs->fs->fd, dir, &st, 0))
		return ROOT_UID;
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return CONTAINER_TENANT;
	return st.st_uid;
}

/* In a user namespace, the host's root has another number. */
bool containers_is_root(const struct containers *cs, uint32_t uid)
{
	struct stat top;

	return uid == ROOT_UID || (!fstat(cs->fs->fd, &top) && top.st_uid == uid);
}

/*
 * Who could create the cgroup with the first @len bytes of @path: the first owner of a directory
 * above it other than root.
 */
static uint32_t maker_of(const struct containers *cs, const char *path, size_t len)
{
	for (size_t at = host_len(cs, path) + 1; at < len; at++) {
		uint32_t uid = path[at] == '/' ? owner_of(cs, path, at) : ROOT_UID;

		if (!containers_is_root(cs, uid))
			return uid;
	}
	return ROOT_UID;
}

bool containers_is_users(const struct containers *cs, const char *cgroup, uint32_t uid)
{
	const size_t first = containers_outermost(cs, cgroup, NULL);
	const char *at;
	char slice[48];

	snprintf(slice, sizeof(slice), "/user-%" PRIu32 ".slice/", uid);
	at = strstr(cgroup, slice);
	/* In a container, anybody may name a cgroup like that. */
	if (at && (!first || (size_t)(at - cgroup) < first))
		return true;
	return cgroup[0] && uid != ROOT_UID && maker_of(cs, cgroup, first ? first : strlen(cgroup)) == uid;
}

/* ---- claims ---- */

bool containers_path_populated(const struct containers *cs, const char *cgroup)
{
	char path[PATH_MAX], *text = NULL;
	bool populated;
	int fd, err;

	if (!cgroup[0] || (size_t)snprintf(path, sizeof(path), "%s/cgroup.events", cgroup + 1) >= sizeof(path))
		return false;
	fd = openat(cs->fs->fd, path, O_RDONLY | O_CLOEXEC);
	/* v1 has no such file. */
	if (fd < 0)
		return containers_populated(cs, &(struct container){ .cgroup = (char *)cgroup });
	text = nsopen_slurp(fd, TEXT_MAX, NULL, &err);
	close(fd);
	populated = text && !strstr(text, "populated 0");
	free(text);
	return populated;
}

static void add_claim(struct containers *cs, const char *path, size_t len, const struct container *c, enum container_claim claim)
{
	XGROW(cs->claims, cs->nclaims, cs->claims_cap);
	cs->claims[cs->nclaims++] = (struct claim){ xstrndup(path, len), (size_t)(c - cs->all), claim };
}

static void set_cgroup(struct containers *cs, struct container *c, const char *path, size_t len, enum container_claim claim)
{
	char *own = xstrndup(path, len);

	free(c->cgroup);
	c->cgroup = own;
	c->claim = claim;
	*u64map_put(&cs->by_path, containers_hash(own, len), NULL) = (uint64_t)(c - cs->all) + 1;
	*u64map_put(&cs->placed, containers_hash(c->id, strlen(c->id)), NULL) = (uint64_t)(c - cs->all) + 1;
}

struct container *containers_place(struct containers *cs, struct container *c, const char *path, size_t len, enum container_claim claim)
{
	const size_t at = (size_t)(c - cs->all);

	if (strlen(c->cgroup) == len && !memcmp(c->cgroup, path, len)) {
		c->claim = MAX(c->claim, claim);
		return c;
	}
	/*
	 * Equal ones: take the one that has processes. Others were left by an earlier start.
	 */
	if (c->cgroup[0] && (claim < c->claim ||
			     (claim == c->claim && claim < CLAIM_PROVEN && containers_path_populated(cs, c->cgroup)))) {
		add_claim(cs, path, len, c, claim);
		return c;
	}
	/* It was reported already, and keeps its name. Two runtimes may use the same short id. */
	if (at < cs->finished || (claim == CLAIM_PROVEN && c->claim == CLAIM_PROVEN))
		c = containers_again(cs, c);
	else if (c->cgroup[0])
		add_claim(cs, c->cgroup, strlen(c->cgroup), c, c->claim);
	set_cgroup(cs, c, path, len, claim);
	return c;
}

enum container_claim containers_claim_of_path(const struct containers *cs, const char *path, const struct cgroup_path *p)
{
	if (is_inner(cs, path, p) || maker_of(cs, path, p->own_len) != ROOT_UID)
		return CLAIM_TENANT;
	return CLAIM_PATH;
}

size_t containers_outer(const struct containers *cs, const char *path, const struct cgroup_path *p)
{
	/* The ids of docker and others are unique. */
	return p->id_len == ID_LEN && !p->named ? 0 : is_inner(cs, path, p) ? p->outer_len : 0;
}

/* ---- contradictions ---- */

static void describe(const struct container *c, struct strbuf *sb)
{
	if (c->name[0] && strcmp(c->name, c->id))
		strbuf_addf(sb, "'%s' (%s%s%.12s)", c->name, c->runtime, c->runtime[0] ? " " : "", c->id);
	else
		strbuf_addf(sb, "%s%s%.12s", c->runtime, c->runtime[0] ? " " : "", c->id);
}

static void say(struct containers *cs, const char *path, const struct container *c, bool tie)
{
	struct strbuf sb = STRBUF_INIT;
	bool is_new;

	u64map_put(&cs->told, hash_combine(containers_hash(path, strlen(path)), containers_hash(c->id, strlen(c->id))), &is_new);
	if (!is_new || cs->nsaid++ >= LISTED)
		return;
	if (tie) {
		strbuf_addf(&sb, "cgroups '%s' and '%s' both have the ID of container ", path, c->cgroup);
		describe(c, &sb);
		strbuf_addf(&sb, ", and nothing proves which one it is: both are reported by their paths; run as root, or name the "
			    "runtime's state directory with --runtime-root");
	} else {
		strbuf_addf(&sb, "cgroup '%s' has the ID of container ", path);
		describe(c, &sb);
		if (c->cgroup[0])
			strbuf_addf(&sb, ", which is in cgroup '%s': it is not reported as that container", c->cgroup);
		else
			strbuf_addf(&sb, ", but no process of that container is in it: it is not reported as that container");
	}
	if (cs->nsaid == LISTED)
		strbuf_adds(&sb, "; further ones are not named");
	XGROW(cs->said, cs->unsaid, cs->said_cap);
	cs->said[cs->unsaid++] = xstrdup(sb.s);
	strbuf_fini(&sb);
}

void containers_warn_claims(struct containers *cs)
{
	for (size_t i = 0; i < cs->unsaid; i++) {
		pr_warn("%s", cs->said[i]);
		free(cs->said[i]);
	}
	cs->unsaid = 0;
}

/*
 * Cgroup @path is not the container whose id it shows. In another container, it is a part of that
 * one. Elsewhere it is a cgroup of its own.
 */
static void refuse(struct containers *cs, const char *path)
{
	const size_t len = strlen(path);
	struct cgroup_path p;

	u64map_put(&cs->refused, containers_hash(path, len), NULL);
	if (!containers_parse(cs, path, &p) || !is_inner(cs, path, &p)) {
		struct container *c = containers_add(cs, "", 0);

		container_learn(&c->name, path);
		c->stated = c->told = true;
		set_cgroup(cs, c, path, len, CLAIM_PATH);
	}
}

bool containers_refused(const struct containers *cs, const char *path, size_t len)
{
	return u64map_get(&cs->refused, containers_hash(path, len));
}

void containers_unrefuse(struct containers *cs, const char *path, size_t len)
{
	u64map_del(&cs->refused, containers_hash(path, len));
}

/* Neither of them can be shown to be it. */
static void dispute(struct containers *cs, size_t at, const char *path)
{
	struct container *c = &cs->all[at];
	char *own = xstrdup(c->cgroup);

	say(cs, path, c, true);
	c->cgroup[0] = '\0';
	refuse(cs, path);
	refuse(cs, own);
	free(own);
}

static void settle_claim(struct containers *cs, const struct claim *k)
{
	struct container *c = &cs->all[k->of];

	if (!strcmp(c->cgroup, k->path) || !containers_path_populated(cs, k->path))
		return;
	/* Cgroups of the container itself, and what holds it. */
	if (c->cgroup[0] && (cgroup_path_within(k->path, c->cgroup) || cgroup_path_within(c->cgroup, k->path))) {
		u64map_put(&cs->refused, containers_hash(k->path, strlen(k->path)), NULL);
		return;
	}
	if (c->cgroup[0] && c->claim == k->claim && k->claim < CLAIM_PROVEN) {
		dispute(cs, k->of, k->path);
		return;
	}
	say(cs, k->path, c, false);
	refuse(cs, k->path);
}

/* What the path of its own cgroup says. */
static void learn_path(struct containers *cs, struct container *c)
{
	struct cgroup_path p;
	char name[256];

	c->voucher = c->claim >= CLAIM_PATH ? c->stated_by : maker_of(cs, c->cgroup, strlen(c->cgroup));
	if (!containers_parse(cs, c->cgroup, &p) || c->cgroup[p.own_len] || strlen(c->id) != p.id_len || memcmp(c->id, p.id, p.id_len))
		return;
	c->inner = is_inner(cs, c->cgroup, &p) && c->claim <= CLAIM_USER;
	if (c->inner)
		c->voucher = CONTAINER_TENANT;
	/* Docker's state may be containerd's as well. The path tells which of them made the cgroup. */
	if (p.runtime[0] && strcmp(p.runtime, "runc") && strcmp(p.runtime, "crun")) {
		free(c->runtime);
		c->runtime = xstrdup(p.runtime);
	}
	container_learn(&c->runtime, p.runtime);
	container_learn(&c->pod_uid, p.pod_uid);
	c->stated |= p.named;
	if (p.named) {
		cgroup_path_unescape(p.id, p.id_len, name, sizeof(name));
		container_learn(&c->name, name);
	}
}

void containers_settle(struct containers *cs, size_t from)
{
	/* A runtime of the host knows it, and does not have it there. */
	for (size_t i = from, n = cs->n; i < n; i++) {
		char *path = cs->all[i].cgroup;

		if (!path[0] || !cs->all[i].given || cs->all[i].claim > CLAIM_USER)
			continue;
		cs->all[i].cgroup = xstrdup("");
		cs->all[i].pid = 0;
		if (containers_path_populated(cs, path)) {
			say(cs, path, &cs->all[i], false);
			refuse(cs, path);
		}
		free(path);
	}
	for (size_t i = 0; i < cs->nclaims; i++) {
		settle_claim(cs, &cs->claims[i]);
		free(cs->claims[i].path);
	}
	cs->nclaims = 0;
	for (size_t i = from; i < cs->n; i++)
		if (cs->all[i].cgroup[0])
			learn_path(cs, &cs->all[i]);
}

/* ---- names of the host's containers ---- */

static uint64_t name_key(const char *name)
{
	return containers_hash(name, strlen(name));
}

void containers_reserve(struct containers *cs, const struct container *c)
{
	if (c->voucher != ROOT_UID || !(c->given || c->cgroup[0]) || c->inner)
		return;
	if (c->name[0])
		u64map_put(&cs->reserved, name_key(c->name), NULL);
	if (c->pod[0])
		u64map_put(&cs->reserved, hash_combine(name_key(c->pod), 1), NULL);
	if (c->cgroup[0])
		return;
	XGROW(cs->asleep, cs->nasleep, cs->asleep_cap);
	cs->asleep[cs->nasleep++] = xstrdup(c->id);
}

bool containers_is_hosts(const struct containers *cs, const struct container *c)
{
	return c->voucher == ROOT_UID || !u64map_get(&cs->reserved, name_key(c->name));
}

bool containers_is_hosts_pod(const struct containers *cs, const struct container *c)
{
	return c->voucher == ROOT_UID || !u64map_get(&cs->reserved, hash_combine(name_key(c->pod), 1));
}

bool containers_is_hosts_id(const struct containers *cs, const struct container *c, const char *prefix)
{
	for (size_t i = 0; i < cs->nasleep && c->voucher != ROOT_UID; i++)
		if (!strncmp(cs->asleep[i], prefix, strlen(prefix)))
			return false;
	return true;
}

/* A name that a container gave to what is in it is only unique there. */
void containers_qualify(struct containers *cs, struct container *c)
{
	const struct container *outer;
	char *parent, *name;

	if (!c->inner || c->qualified || strlen(c->id) == ID_LEN)
		return;
	parent = xstrndup(c->cgroup, (size_t)(strrchr(c->cgroup, '/') - c->cgroup));
	outer = containers_above(cs, parent);
	free(parent);
	if (!outer)
		return;
	name = xasprintf("%s/%s", outer->name[0] ? outer->name : outer->id, c->name);
	free(c->name);
	c->name = name;
	c->qualified = true;
}

void containers_forget_claims(struct containers *cs)
{
	for (size_t i = 0; i < cs->nclaims; i++)
		free(cs->claims[i].path);
	for (size_t i = 0; i < cs->nasleep; i++)
		free(cs->asleep[i]);
	cs->nclaims = cs->nasleep = 0;
	u64map_clear(&cs->refused);
}

void containers_free_claims(struct containers *cs)
{
	containers_forget_claims(cs);
	for (size_t i = 0; i < cs->unsaid; i++)
		free(cs->said[i]);
	free(cs->said);
	free(cs->claims);
	free(cs->asleep);
	free(cs->host);
	u64map_fini(&cs->refused);
	u64map_fini(&cs->reserved);
	u64map_fini(&cs->told);
}
