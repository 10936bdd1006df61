/* Identifying containers by the path of their cgroup (cgroup_path.h). */
#include "host/cgroup_path.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

#define ID_LEN 64	/* hexadecimal digits of a sha256 */

/* One component of a path. */
struct part {
	const char *s;
	size_t len;
};

static bool is_hex(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isdigit((unsigned char)s[i]) && (s[i] < 'a' || s[i] > 'f'))
			return false;
	return true;
}

static bool starts(const struct part *p, const char *prefix)
{
	size_t len = strlen(prefix);

	return p->len > len && !memcmp(p->s, prefix, len);
}

static bool ends(const struct part *p, const char *suffix)
{
	size_t len = strlen(suffix);

	return p->len > len && !memcmp(p->s + p->len - len, suffix, len);
}

static bool is(const struct part *p, const char *name)
{
	return p->len == strlen(name) && !memcmp(p->s, name, p->len);
}

/* What precedes the id. They are tried in this order. */
static const struct {
	const char *prefix, *runtime;
} prefixes[] = {
	{ "docker-", "docker" },
	{ "libpod-payload-", "podman" },
	{ "libpod-", "podman" },
	{ "cri-containerd-", "containerd" },
	{ "nerdctl-", "containerd" },
	{ "crio-", "cri-o" },
	{ "runc-", "runc" },
	{ "crun-", "crun" },
};

/* "<id>", "docker-<id>.scope", "kubepods-...slice:cri-containerd:<id>". */
static bool by_id(const struct part *p, const struct part *before, struct cgroup_path *out)
{
	struct part q = *p;
	const char *colon = memrchr(q.s, ':', q.len);

	if (ends(&q, ".scope"))
		q.len -= strlen(".scope");
	out->runtime = is(before, "docker") ? "docker" : "";
	if (colon) {
		if (memmem(q.s, q.len, ":cri-containerd:", 16))
			out->runtime = "containerd";
		q.len -= (size_t)(colon + 1 - q.s);
		q.s = colon + 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t len = strlen(prefixes[i].prefix);

		if (q.len != ID_LEN + len || memcmp(q.s, prefixes[i].prefix, len))
			continue;
		out->runtime = prefixes[i].runtime;
		q.s += len;
		q.len -= len;
	}
	if (q.len != ID_LEN || !is_hex(q.s, q.len))
		return false;
	out->id = q.s;
	out->id_len = q.len;
	out->named = false;
	return true;
}

/* "lxc.payload.web", "machine-web.scope", "systemd-nspawn@web.service". */
static bool by_name(const struct part *p, const struct part *before, struct cgroup_path *out)
{
	static const struct {
		const char *prefix, *suffix, *runtime;
	} shapes[] = {
		{ "lxc.payload.", "", "lxc" },
		{ "machine-", ".scope", "nspawn" },
		{ "systemd-nspawn@", ".service", "nspawn" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		size_t pre = strlen(shapes[i].prefix), post = strlen(shapes[i].suffix);

		if (p->len <= pre + post || !starts(p, shapes[i].prefix) ||
		    (post && !ends(p, shapes[i].suffix)))
			continue;
		/*
		 * libvirt's machines are virtual machines: the host does not see their processes.
		 */
		if (starts(p, "machine-qemu"))
			return false;
		out->runtime = shapes[i].runtime;
		out->id = p->s + pre;
		out->id_len = p->len - pre - post;
		out->named = true;
		return true;
	}
	/* lxc before 4.0. */
	if (is(before, "lxc") || is(before, "lxc.payload")) {
		out->runtime = "lxc";
		out->id = p->s;
		out->id_len = p->len;
		out->named = true;
		return true;
	}
	return false;
}

/*
 * "kubepods", "kubepods-burstable.slice"; "kubelet-kubepods.slice" with --cgroup-root, as in kind.
 */
static bool is_kube(const struct part *p)
{
	return is(p, "kubepods") || starts(p, "kubepods") || memmem(p->s, p->len, "-kubepods", 9);
}

/* "pod<uid>", "kubepods-burstable-pod<uid with _>.slice". */
static bool pod_of(const struct part *p, char uid[POD_UID_LEN + 1])
{
	struct part q = *p;
	const char *at = NULL;
	size_t len;

	if (ends(&q, ".slice"))
		q.len -= strlen(".slice");
	if (starts(&q, "pod"))
		at = q.s;
	else if (is_kube(&q))
		at = memmem(q.s, q.len, "-pod", 4);
	if (!at)
		return false;
	at += *at == '-' ? strlen("-pod") : strlen("pod");
	len = (size_t)(q.s + q.len - at);
	if (!len || len > POD_UID_LEN)
		return false;
	memcpy(uid, at, len);
	uid[len] = '\0';
	for (char *c = uid; *c; c++)
		if (*c == '_')
			*c = '-';
	return true;
}

/* The last run of exactly ID_LEN hexadecimal digits in @p, or NULL. */
static const char *find_id(const struct part *p)
{
	const char *id = NULL;

	for (size_t i = 0, run; i < p->len; i += run ? run : 1) {
		for (run = 0; i + run < p->len && is_hex(p->s + i + run, 1); run++)
			;
		if (run == ID_LEN)
			id = p->s + i;
	}
	return id;
}

/*
 * Cgroups that only serve a container, even if its id is in their name: conmon, lxc's monitor, and
 * systemd units other than scopes and slices (podman's health checks, mounts, units written by
 * "podman generate systemd").
 */
static bool is_helper(const struct part *p)
{
	static const char *const prefixed[] = { "libpod-conmon-", "crio-conmon-", "lxc.monitor." };
	static const char *const units[] = { ".service", ".timer", ".mount", ".automount", ".socket", ".swap", ".path", ".target" };

	for (size_t i = 0; i < ARRAY_SIZE(prefixed); i++)
		if (starts(p, prefixed[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (ends(p, units[i]) && find_id(p))
			return true;
	return false;
}

/* True if @p below @before is not a container, although it looks like one. */
static bool is_other(const struct part *p, const struct part *before)
{
	/*
	 * With the systemd driver, containers are scopes. CRI-O creates this cgroup for cAdvisor,
	 * for a pod without a process of its own.
	 */
	if (ends(before, ".slice") && starts(p, "crio-") && !ends(p, ".scope"))
		return true;
	/* A podman pod. Its containers are called libpod-ID. */
	if (is(before, "libpod_parent") && p->len == ID_LEN && is_hex(p->s, p->len))
		return true;
	return is_helper(p);
}

/* Takes the first component of *@path. */
static struct part next_part(const char **path)
{
	struct part p;

	*path += strspn(*path, "/");
	p = (struct part){ *path, strcspn(*path, "/") };
	*path += p.len;
	return p;
}

static const char *id_in(const char *path, bool first)
{
	struct part p, before = { "", 0 };
	const char *id = NULL;

	for (; *path && !(id && first); before = p) {
		const char *here;

		p = next_part(&path);
		here = is_other(&p, &before) || ends(&p, ".slice") ? NULL : find_id(&p);
		id = here ? here : id;
	}
	return id;
}

const char *cgroup_path_id(const char *path)
{
	return id_in(path, false);
}

const char *cgroup_path_outer_id(const char *path)
{
	return id_in(path, true);
}

/* A path that is being read, component by component. */
struct steps {
	const char *path, *at;
	struct part before;
	bool kube;
	char pod_uid[POD_UID_LEN + 1];	/* of the innermost pod so far */
	size_t pod_len;
};

/* The next container in the path, from the outside to the inside. False: no more. */
static bool next_container(struct steps *st, struct cgroup_path *out)
{
	while (*st->at) {
		struct part p = next_part(&st->at), before = st->before;
		const size_t here = (size_t)(st->at - st->path);
		struct cgroup_path in = { .runtime = "" };

		st->before = p;
		st->kube |= is_kube(&p);
		if (st->kube && pod_of(&p, in.pod_uid)) {
			memcpy(st->pod_uid, in.pod_uid, sizeof(st->pod_uid));
			st->pod_len = here;
		}
		if (is_other(&p, &before))
			continue;
		/* Directly below a pod, any other cgroup is a container too, whatever its name. */
		if (!by_id(&p, &before, &in) && !by_name(&p, &before, &in) && st->pod_len &&
		    st->pod_len == (size_t)(before.s + before.len - st->path)) {
			in.id = p.s;
			in.id_len = p.len;
			in.runtime = "";
		}
		if (!in.id_len)
			continue;
		*out = in;
		out->own_len = here;
		return true;
	}
	return false;
}

static void take_pod(const struct steps *st, struct cgroup_path *out)
{
	memcpy(out->pod_uid, st->pod_uid, sizeof(out->pod_uid));
	out->pod_len = st->pod_len;
}

bool cgroup_path_parse(const char *path, struct cgroup_path *out)
{
	struct steps st = { .path = path, .at = path, .before = { "", 0 } };
	struct cgroup_path in;
	bool found = false;

	*out = (struct cgroup_path){ .runtime = "" };
	while (next_container(&st, &in)) {
		in.outer_len = out->own_len;
		*out = in;
		found = true;
		/* Not later: any container can make a cgroup below its own that is called like a pod. */
		take_pod(&st, out);
	}
	if (!found)
		take_pod(&st, out);
	return found;
}

size_t cgroup_path_outermost(const char *path, const char *id, size_t from)
{
	struct steps st = { .path = path, .at = path, .before = { "", 0 } };
	struct cgroup_path in;

	while (next_container(&st, &in))
		if (in.own_len > from && (!id || (strlen(id) == in.id_len && !memcmp(id, in.id, in.id_len))))
			return in.own_len;
	return 0;
}

void cgroup_path_unescape(const char *in, size_t len, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < size; i++) {
		unsigned int byte;

		if (in[i] == '\\' && i + 3 < len && in[i + 1] == 'x' && is_hex(in + i + 2, 2) &&
		    sscanf(in + i + 2, "%2x", &byte) == 1) {
			out[n++] = (char)byte;
			i += 3;
			continue;
		}
		out[n++] = in[i];
	}
	if (size)
		out[n] = '\0';
}

bool cgroup_path_within(const char *path, const char *ancestor)
{
	size_t len = strlen(ancestor);

	if (!strcmp(ancestor, "/"))
		return true;
	return !strncmp(path, ancestor, len) && (!path[len] || path[len] == '/');
}
