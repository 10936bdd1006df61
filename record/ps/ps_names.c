/* Names for completion (ps_names.h). */
#include "ps/ps_names.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "containers/cgroup.h"
#include "containers/containers.h"

#define ID_SHOWN 12

struct names {
	char **v;	/* owned */
	size_t n, cap;
};

/*
 * Consumes @name. Bash does not quote what is offered, and takes more than its operators for
 * something else: "{x,-o/etc/motd}" becomes two arguments. A comma separates names.
 */
static void add(struct names *names, char *name)
{
	const char *p = name;

	while (isalnum((unsigned char)*p) || (*p && strchr("._-+@:/%", *p)))
		p++;
	if (!*name || *name == '-' || *p) {
		free(name);
		return;
	}
	XGROW(names->v, names->n, names->cap);
	names->v[names->n++] = name;
}

static void add_container(struct names *names, const struct container *c)
{
	/* Without a name: the beginning of its ID, which is long. */
	if (!strcmp(c->name, c->id))
		add(names, xasprintf("%.*s", ID_SHOWN, c->id));
	else
		add(names, xasprintf("%s%s", c->name, c->apart));
}

/* With and without its namespace: nsprof record accepts both. */
static void add_pod(struct names *names, const struct container *c)
{
	if (!c->pod[0])
		return;
	add(names, xstrdup(c->pod));
	if (c->pod_ns[0])
		add(names, xasprintf("%s/%s", c->pod_ns, c->pod));
}

static void add_cgroup(void *ctx, uint64_t id, const char *path)
{
	(void)id;
	add(ctx, xstrdup(*path == '/' ? path + 1 : path));
}

static int list_containers(struct names *names, const struct cgroup_fs *fs, const char *roots,
			   void (*take)(struct names *names, const struct container *c))
{
	struct containers *cs = containers_new(fs, roots);
	const struct container *all;
	size_t n;

	all = containers_all(cs, &n);
	for (size_t i = 0; i < n; i++)
		if (!all[i].sandbox && !containers_left(cs, &all[i]))
			take(names, &all[i]);
	containers_free(cs);
	return 0;
}

static int list_cgroups(struct names *names, const struct cgroup_fs *fs)
{
	char root[] = "/";
	const struct cgroup top = { .path = root, .fd = fs->fd };

	cgroup_walk(&top, add_cgroup, NULL, names);
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void write_names(struct names *names, FILE *to)
{
	if (names->n)
		qsort(names->v, names->n, sizeof(*names->v), compare);
	for (size_t i = 0; i < names->n; i++)
		if (!i || strcmp(names->v[i], names->v[i - 1]))
			fprintf(to, "%s\n", names->v[i]);
}

int ps_names(const char *kind, const char *roots, FILE *to)
{
	struct names names = { 0 };
	struct cgroup_fs fs;
	int err = cgroup_fs_open(&fs);

	if (err)
		return err;
	if (!strcmp(kind, "containers"))
		err = list_containers(&names, &fs, roots, add_container);
	else if (!strcmp(kind, "pods"))
		err = list_containers(&names, &fs, roots, add_pod);
	else
		err = strcmp(kind, "cgroups") ? -EINVAL : list_cgroups(&names, &fs);
	cgroup_fs_close(&fs);
	write_names(&names, to);
	for (size_t i = 0; i < names.n; i++)
		free(names.v[i]);
	free(names.v);
	return err;
}
