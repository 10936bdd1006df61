/*
 * Which cgroup is a container's own (containers_priv.h). Whoever may create cgroups can give them
 * any name, also that of somebody else's container. So the path of a cgroup is a claim. The process
 * that a runtime's state file names proves it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "containers/containers_priv.h"
#include "host/cgroup_path.h"

#define ID_LEN 64	/* hexadecimal digits of a sha256 */
#define LISTED 3	/* contradictions in messages of one process */

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
	if (!containers_parse(cs, path, &p) || !containers_is_inner(cs, path, &p)) {
		struct container *c = containers_add(cs, "", 0);

		container_learn(&c->name, path);
		c->stated = c->told = true;
		containers_set_cgroup(cs, c, path, len, CLAIM_PATH);
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

/* @path has processes. The cgroup of the container at @at has none: an earlier start left it behind. */
static void move_to(struct containers *cs, size_t at, const char *path, enum container_claim claim)
{
	struct container *c = &cs->all[at], *to = c;

	/* What was reported keeps its name. */
	if (at < cs->finished) {
		to = containers_again(cs, c);
		c = &cs->all[at];
		container_learn(&to->name, c->name);
		container_learn(&to->image, c->image);
		container_learn(&to->pod, c->pod);
		container_learn(&to->pod_ns, c->pod_ns);
		container_learn(&to->pod_uid, c->pod_uid);
		container_learn(&to->runtime, c->runtime);
		to->stated = c->stated;
		to->told = c->told;
		to->stated_by = c->stated_by;
		to->given = c->given;
	}
	containers_set_cgroup(cs, to, path, strlen(path), claim);
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
		if (containers_path_populated(cs, c->cgroup))
			dispute(cs, k->of, k->path);
		else
			move_to(cs, k->of, k->path, k->claim);
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

	c->voucher = c->claim >= CLAIM_PATH ? c->stated_by : containers_maker(cs, c->cgroup, strlen(c->cgroup));
	if (!containers_parse(cs, c->cgroup, &p) || c->cgroup[p.own_len] || strlen(c->id) != p.id_len || memcmp(c->id, p.id, p.id_len))
		return;
	c->inner = containers_is_inner(cs, c->cgroup, &p) && c->claim <= CLAIM_USER;
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
