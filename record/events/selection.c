/* From the names people use to cgroups (selection.h). */
#include "events/selection.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/nsopen.h"
#include "host/procfs.h"

#define LISTED 10	/* candidates in one message */
#define ID_LEN 64	/* hexadecimal digits of a sha256 */
#define CGROUP_TEXT_MAX 65536

struct choice {
	const struct cgroup_fs *fs;
	struct containers *cs;
	bool later;
	void (*fn)(void *ctx, const char *path, const char *name);
	void *ctx;
};

bool selection_is_pattern(const char *name)
{
	return strpbrk(name, "*?[") != NULL;
}

bool selection_grows(const struct record_opts *o)
{
	return o->containers || o->pods || (o->cgroups && selection_is_pattern(o->cgroups));
}

bool selection_asked(const struct record_opts *o)
{
	return o->cgroup_of || selection_grows(o);
}

/* ---- messages ---- */

/*
 * "web (docker 0123456789ab)", "shop/front-0/nginx (containerd 0123456789ab)", "db (lxc)" if the
 * name is the id.
 */
static void describe(struct strbuf *sb, const struct container *c)
{
	strbuf_addf(sb, "%s%s", sb->len ? ", " : "", c->pod_ns);
	if (c->pod[0])
		strbuf_addf(sb, "%s%s/", c->pod_ns[0] ? "/" : "", c->pod);
	if (strcmp(c->name, c->id)) {
		strbuf_addf(sb, "%s (%s%s%.12s)", c->name, c->runtime, c->runtime[0] ? " " : "", c->id);
		return;
	}
	/* An id without a name, as docker ps shows it. The ids of lxc are names. */
	if (strlen(c->id) == ID_LEN)
		strbuf_add(sb, c->id, 12);
	else
		strbuf_adds(sb, c->id);
	if (c->runtime[0])
		strbuf_addf(sb, " (%s)", c->runtime);
}

/* How much of @arg @c begins with, by its name, pod or id: what was asked may be mistyped. */
static size_t likeness(const struct container *c, const char *arg)
{
	const char *texts[] = { c->name, c->pod, c->id };
	size_t most = 0;

	for (size_t t = 0; t < ARRAY_SIZE(texts); t++) {
		size_t n = 0;

		while (arg[n] && arg[n] == texts[t][n])
			n++;
		most = n > most ? n : most;
	}
	return most;
}

struct candidate {
	const struct container *c;
	size_t likeness;
};

static int by_likeness(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->likeness != y->likeness)
		return x->likeness > y->likeness ? -1 : 1;
	return x->c < y->c ? -1 : x->c > y->c;
}

/*
 * Lists the running containers for which @is returns true, or all of them; "none" if there are none.
 * Those that are most like @arg come first.
 */
static void list_some(const struct choice *ch, struct strbuf *sb,
		      bool (*is)(const struct container *c, const char *arg), const char *arg)
{
	const struct container *all;
	struct candidate *list;
	size_t n, hits = 0;

	all = containers_all(ch->cs, &n);
	list = xcalloc(n + 1, sizeof(*list));
	for (size_t i = 0; i < n; i++) {
		if (is ? is(&all[i], arg) : !all[i].sandbox && containers_populated(ch->cs, &all[i]))
			list[hits++] = (struct candidate){ &all[i], likeness(&all[i], arg) };
	}
	qsort(list, hits, sizeof(*list), by_likeness);
	for (size_t i = 0; i < hits && i < LISTED; i++)
		describe(sb, list[i].c);
	if (hits > LISTED)
		strbuf_addf(sb, " and %zu more", hits - LISTED);
	if (!hits)
		strbuf_adds(sb, "none");
	free(list);
}

static int none(const struct choice *ch, const char *option, const char *arg)
{
	struct strbuf sb = STRBUF_INIT, why = STRBUF_INIT;

	if (ch->later)
		return 0;
	list_some(ch, &sb, NULL, arg);
	containers_why(ch->cs, &why);
	pr_err("no container for %s %s; running: %s (nsprof ps lists them; --runtime-root names state "
	       "directories in other places)%s%s", option, arg, sb.s, why.len ? "; " : "", why.len ? why.s : "");
	strbuf_fini(&sb);
	strbuf_fini(&why);
	return -ENOENT;
}

static int several(const struct choice *ch, const char *option, const char *arg,
		   bool (*is)(const struct container *c, const char *arg), const char *hint)
{
	struct strbuf sb = STRBUF_INIT;

	if (ch->later)
		return 0;
	list_some(ch, &sb, is, arg);
	pr_err("%s %s is ambiguous: it may be %s; %s", option, arg, sb.s, hint);
	strbuf_fini(&sb);
	return -ENOTUNIQ;
}

/* ---- containers ---- */

static bool has_name(const struct container *c, const char *arg)
{
	return !c->sandbox && !strcmp(c->name, arg);
}

/* The form that reports use for containers with the same name: "web:docker", "web:0123456789ab". */
static bool has_name_apart(const struct container *c, const char *arg)
{
	const size_t len = strlen(c->name);

	return !c->sandbox && len && !strncmp(c->name, arg, len) && arg[len] == ':' && arg[len + 1] &&
	       (!strcmp(arg + len + 1, c->runtime) || !strncmp(arg + len + 1, c->id, strlen(arg + len + 1)));
}

static bool has_id(const struct container *c, const char *arg)
{
	return !strcmp(c->id, arg);
}

static bool has_id_prefix(const struct container *c, const char *arg)
{
	return !c->sandbox && !strncmp(c->id, arg, strlen(arg));
}

static int no_container(const struct choice *ch, const char *arg)
{
	const struct container *all;
	size_t n;

	all = containers_outside(ch->cs, &n);
	for (size_t i = 0; i < n && !ch->later; i++) {
		if (!has_name(&all[i], arg) && !has_name_apart(&all[i], arg) && !has_id_prefix(&all[i], arg))
			continue;
		pr_err("container '%s' runs without a cgroup of its own, as configured, so nothing tells its processes from others in "
		       "that cgroup; -p %u records its first process", arg, all[i].outside);
		return -ENOENT;
	}
	return none(ch, "--container", arg);
}

/*
 * A name or the beginning of an id may be given by a user's runtime or by a container, too. It does
 * not mean those while a container of the host has it, or had it.
 */
static bool is_meant(const struct choice *ch, const struct container *c, const char *arg)
{
	if (has_id(c, arg) && strlen(arg) == ID_LEN)
		return true;
	if (has_name(c, arg) || (has_name_apart(c, arg) && !strcmp(arg + strlen(c->name) + 1, c->runtime)))
		return containers_is_hosts(ch->cs, c);
	return has_name_apart(c, arg) || containers_is_hosts_id(ch->cs, c, arg);
}

static int choose_container(struct choice *ch, const char *arg)
{
	static bool (*const ways[])(const struct container *c, const char *arg) = {
		has_name, has_name_apart, has_id, has_id_prefix,
	};
	const struct container *all;
	size_t n;

	all = containers_all(ch->cs, &n);
	/*
	 * Each way is tried first on those that run, then on those that left their cgroup behind.
	 */
	for (size_t w = 0; w < 2 * ARRAY_SIZE(ways); w++) {
		const struct container *hit = NULL;

		for (size_t i = 0; i < n; i++) {
			if (!ways[w / 2](&all[i], arg) || !is_meant(ch, &all[i], arg) || (w % 2 == 0 && !containers_populated(ch->cs, &all[i])))
				continue;
			if (hit)
				return several(ch, "--container", arg, ways[w / 2],
					       "give more of the id, NAME:RUNTIME, or --pod POD/CONTAINER");
			hit = &all[i];
		}
		if (hit) {
			ch->fn(ch->ctx, hit->cgroup, arg);
			return 0;
		}
	}
	return no_container(ch, arg);
}

/* ---- pods ---- */

/* "pod", "ns/pod", "pod/container" or "ns/pod/container". Two parts mean whatever fits. */
struct pod_ref {
	const char *ns, *pod, *container;	/* NULL = any */
};

static bool in_pod(const struct container *c, const struct pod_ref *ref)
{
	return c->pod[0] && !strcmp(c->pod, ref->pod) && (!ref->ns || !strcmp(c->pod_ns, ref->ns)) &&
	       (!ref->container || !strcmp(c->name, ref->container));
}

/* Cgroup of @c's pod. New and restarted containers of the pod are created in it. */
static char *pod_cgroup(const struct container *c)
{
	const char *slash = strrchr(c->cgroup, '/');

	return xstrndup(c->cgroup, (size_t)(slash - c->cgroup));
}

static bool is_pods(const struct container *c, const char *arg)
{
	const char *slash = strchr(arg, '/');

	return !strcmp(c->pod, arg) || (slash && !strncmp(c->pod, arg, (size_t)(slash - arg)) &&
					!c->pod[slash - arg]);
}

/* 1: something was selected; 0: nothing fits; negative errno after a message. */
static int choose_pod_as(struct choice *ch, const char *arg, const struct pod_ref *ref)
{
	const struct container *all, *first = NULL;
	size_t n;

	all = containers_all(ch->cs, &n);
	for (size_t i = 0; i < n; i++) {
		char *cgroup;

		if (!in_pod(&all[i], ref) || !containers_is_hosts_pod(ch->cs, &all[i]))
			continue;
		if (first && (strcmp(first->pod_ns, all[i].pod_ns) || strcmp(first->pod_uid, all[i].pod_uid) ||
			      first->voucher != all[i].voucher)) {
			int err = several(ch, "--pod", arg, is_pods, "put the namespace before it: NS/POD");

			return err ? err : 1;
		}
		first = &all[i];
		cgroup = ref->container || !all[i].pod_uid[0] ? xstrdup(all[i].cgroup) : pod_cgroup(&all[i]);
		ch->fn(ch->ctx, cgroup, arg);
		free(cgroup);
	}
	return first != NULL;
}

static int choose_pod(struct choice *ch, const char *arg)
{
	char *text = xstrdup(arg), *part[3], *save = NULL;
	int n = 0, err = 0;

	for (char *p = strtok_r(text, "/", &save); p; p = strtok_r(NULL, "/", &save)) {
		if (n == 3) {
			n = 0;
			break;
		}
		part[n++] = p;
	}
	if (!n) {
		pr_err("invalid pod '%s'; --pod takes POD, NS/POD or NS/POD/CONTAINER", arg);
		free(text);
		return -EINVAL;
	}
	if (n == 1)
		err = choose_pod_as(ch, arg, &(struct pod_ref){ NULL, part[0], NULL });
	else if (n == 3)
		err = choose_pod_as(ch, arg, &(struct pod_ref){ part[0], part[1], part[2] });
	if (n == 2)
		err = choose_pod_as(ch, arg, &(struct pod_ref){ part[0], part[1], NULL });
	if (n == 2 && !err)
		err = choose_pod_as(ch, arg, &(struct pod_ref){ NULL, part[0], part[1] });
	free(text);
	return err < 0 ? err : err ? 0 : none(ch, "--pod", arg);
}

/* ---- a process's cgroup, and patterns ---- */

static int choose_by_pid(struct choice *ch, const char *arg)
{
	char path[PATH_MAX], *end, *text = NULL;
	unsigned long pid = strtoul(arg, &end, 10);
	int fd, err = 0;

	if (arg[0] < '0' || arg[0] > '9' || *end || !pid || pid > INT32_MAX) {
		pr_err("invalid process ID '%s'; --cgroup-of takes a number", arg);
		return -EINVAL;
	}
	fd = nsopen_procfile((uint32_t)pid, "cgroup");
	if (fd >= 0) {
		text = nsopen_slurp(fd, CGROUP_TEXT_MAX, NULL, &err);
		close(fd);
	} else {
		err = fd;
	}
	if (text && !procfs_cgroup_path(text, "perf_event", path, sizeof(path)))
		err = -ENOENT;
	free(text);
	if (err) {
		pr_err("cannot find the cgroup of process %lu: %s", pid,
		       strerror(err == -ENOENT ? ESRCH : -err));
		return err;
	}
	if (!strcmp(path, "/") || !strncmp(path, "/..", 3)) {
		pr_err("process %lu is in %s: use -p %lu for the process, or -a for the host", pid,
		       path[1] ? "a cgroup that is not visible from here" : "no cgroup other than the root", pid);
		return -EINVAL;
	}
	ch->fn(ch->ctx, path, arg);
	return 0;
}

struct pattern {
	struct choice *ch;
	const char *text;
	size_t hits;
};

static void try_pattern(void *ctx, uint64_t id, const char *path)
{
	struct pattern *p = ctx;

	(void)id;
	/* As in a shell, '*' does not match a '/'. */
	if (fnmatch(p->text, path + 1, FNM_PATHNAME))
		return;
	p->hits++;
	p->ch->fn(p->ch->ctx, path, path + 1);
}

static int choose_pattern(struct choice *ch, const char *arg)
{
	struct cgroup top = { .path = xstrdup("/"), .fd = ch->fs->fd };
	struct pattern p = { ch, arg + strspn(arg, "/"), 0 };
	size_t len = strlen(ch->fs->mount);

	if (arg[0] == '/' && !strncmp(arg, ch->fs->mount, len) && arg[len] == '/')
		p.text = arg + len + 1;
	cgroup_walk(&top, try_pattern, NULL, &p);
	free(top.path);
	if (p.hits || ch->later)
		return 0;
	pr_err("no cgroup matches -G '%s' in '%s'; * stands for one name, as in docker/* or */*.scope; "
	       "list cgroups with: find %s -type d", arg, ch->fs->mount, ch->fs->mount);
	return -ENOENT;
}

/* ---- all of them ---- */

static int each_of(struct choice *ch, const char *list, int (*choose)(struct choice *ch, const char *arg))
{
	char *names = xstrdup(list ? list : ""), *save = NULL;
	int err = 0;

	for (char *name = strtok_r(names, ",", &save); name && !err; name = strtok_r(NULL, ",", &save))
		if (choose != choose_pattern || selection_is_pattern(name))
			err = choose(ch, name);
	free(names);
	return err;
}

int selection_each(const struct record_opts *o, const struct cgroup_fs *fs, struct containers *cs,
		   bool later, void (*fn)(void *ctx, const char *path, const char *name), void *ctx)
{
	struct choice ch = { fs, cs, later, fn, ctx };
	int err = each_of(&ch, o->containers, choose_container);

	if (!err)
		err = each_of(&ch, o->pods, choose_pod);
	if (!err && !later)
		err = each_of(&ch, o->cgroup_of, choose_by_pid);
	if (!err)
		err = each_of(&ch, o->cgroups, choose_pattern);
	return err;
}
