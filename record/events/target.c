#include "events/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/numlist.h"
#include "base/xalloc.h"
#include "events/perm.h"
#include "events/selection.h"
#include "host/cgroup_path.h"
#include "host/nsopen.h"

#define CPU_MAX 65535
#define PID_MAX INT32_MAX

static int cmp_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The online CPUs from /proc/stat, which has a line for each: "0,1,5". "" if it cannot be read. */
static void cpus_of_stat(char *text, size_t size)
{
	FILE *f = fopen("/proc/stat", "re");
	char line[256];
	unsigned int cpu;
	size_t len = 0;

	while (f && fgets(line, sizeof(line), f)) {
		char one[16];
		size_t n;

		/* The first line is for all CPUs and has a blank there; sscanf(3) would skip it. */
		if (strncmp(line, "cpu", 3) || line[3] < '0' || line[3] > '9' || sscanf(line + 3, "%u", &cpu) != 1)
			continue;
		n = (size_t)snprintf(one, sizeof(one), "%s%u", len ? "," : "", cpu);
		if (n >= size - len)
			break;
		memcpy(text + len, one, n);
		len += n;
	}
	text[len] = '\0';
	if (f)
		fclose(f);
}

/*
 * /sys/devices/system/cpu/online: "0-3,5". If it is not visible (a chroot, a mount over /sys),
 * /proc/stat is used. If both are missing, assumes one CPU.
 */
static void cpus_online(uint32_t **cpus, size_t *n, char *text, size_t size)
{
	int fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!*text)
		cpus_of_stat(text, size);
	if (!numlist_parse(text, true, CPU_MAX, cpus, n))
		return;
	*cpus = xcalloc(1, sizeof(**cpus));
	*n = 1;
}

static void add_others(struct target *t, const uint32_t *online, size_t n)
{
	t->cpus = xrealloc(t->cpus, n * sizeof(*t->cpus));
	for (size_t i = 0; i < n; i++)
		if (!bsearch(&online[i], t->cpus, t->ncpus, sizeof(*t->cpus), cmp_u32))
			t->cpus[t->nall++] = online[i];
}

static int resolve_cpus(struct target *t, const char *list)
{
	char text[16384];
	uint32_t *online;
	size_t n;

	cpus_online(&online, &n, text, sizeof(text));
	if (!list) {
		t->cpus = online;
		t->ncpus = t->nall = n;
		return 0;
	}
	if (numlist_parse(list, true, CPU_MAX, &t->cpus, &t->ncpus)) {
		pr_err("invalid list of CPUs '%s'; write it like 0,2-4", list);
		free(online);
		return -EINVAL;
	}
	for (size_t i = 0; i < t->ncpus; i++) {
		if (bsearch(&t->cpus[i], online, n, sizeof(*online), cmp_u32))
			continue;
		pr_err("CPU %u is not online: %s; online are %s", t->cpus[i], strerror(ENODEV),
		       text);
		free(online);
		return -ENODEV;
	}
	t->nall = t->ncpus;
	add_others(t, online, n);
	free(online);
	return 0;
}

static int add_threads(uint32_t pid, uint32_t **tids, size_t *n, size_t *cap)
{
	const size_t before = *n;
	char *path = xasprintf("%s/%u/task", nsopen_proc(), pid);
	DIR *dir = opendir(path);
	int err = errno == ENOENT ? -ESRCH : -errno;
	struct dirent *de;

	free(path);
	if (!dir)
		return err;
	while ((de = readdir(dir))) {
		uint32_t tid = (uint32_t)strtoul(de->d_name, NULL, 10);

		if (!tid)
			continue;
		XGROW(*tids, *n, *cap);
		(*tids)[(*n)++] = tid;
	}
	closedir(dir);
	/* It ended in between. */
	return *n > before ? 0 : -ESRCH;
}

/*
 * The threads of all processes now: owned, sorted, without duplicates. 0, or negative errno without
 * a message and *@gone.
 */
static int list_threads(const struct target *t, uint32_t **tids, size_t *n, uint32_t *gone)
{
	size_t cap = 0;

	*tids = NULL;
	*n = 0;
	for (size_t i = 0; i < t->npids; i++) {
		int err = add_threads(t->pids[i], tids, n, &cap);

		if (err) {
			*gone = t->pids[i];
			free(*tids);
			return err;
		}
	}
	*n = numlist_unique(*tids, *n);
	return 0;
}

static int first_threads(struct target *t)
{
	uint32_t gone;
	int err = list_threads(t, &t->tids, &t->ntids, &gone);

	if (err) {
		t->tids = NULL;
		pr_err("no process %u to record: %s", gone, strerror(-err));
	}
	return err;
}

size_t target_threads_again(struct target *t)
{
	size_t n, came = 0;
	uint32_t *tids, gone;

	if (t->kind != TARGET_PIDS || list_threads(t, &tids, &n, &gone))
		return 0;
	for (size_t i = 0; i < n; i++)
		came += !bsearch(&tids[i], t->tids, t->ntids, sizeof(*tids), cmp_u32);
	free(t->tids);
	t->tids = tids;
	t->ntids = n;
	return came;
}

static int resolve_tasks(struct target *t, const char *list)
{
	bool pids = t->kind == TARGET_PIDS;

	if (numlist_parse(list, false, PID_MAX, &t->pids, &t->npids) || t->pids[0] == 0) {
		pr_err("invalid list of %s '%s'; write it like 12,13", pids ? "process IDs" : "thread IDs",
		       list);
		return -EINVAL;
	}
	if (pids)
		return first_threads(t);
	for (size_t i = 0; i < t->npids; i++) {
		char *path = xasprintf("%s/%u", nsopen_proc(), t->pids[i]);
		bool gone = access(path, F_OK);

		free(path);
		if (gone) {
			pr_err("no thread %u to record: %s", t->pids[i], strerror(ESRCH));
			return -ESRCH;
		}
	}
	t->tids = xmemdup(t->pids, t->npids * sizeof(*t->pids));
	t->ntids = t->npids;
	return 0;
}

static int cmp_path(const void *a, const void *b)
{
	return cgroup_path_cmp(((const struct cgroup *)a)->path, ((const struct cgroup *)b)->path);
}

/*
 * Drops cgroups that lie in other cgroups of the list. The kernel counts descendants, too, so each
 * sample would come twice. In the sorted list, a nested one directly follows those kept before it.
 */
static void drop_nested(struct target *t)
{
	size_t kept = 0;

	qsort(t->cgroups.v, t->cgroups.n, sizeof(*t->cgroups.v), cmp_path);
	for (size_t i = 0; i < t->cgroups.n; i++) {
		if (!kept || !cgroup_path_within(t->cgroups.v[i].path, t->cgroups.v[kept - 1].path)) {
			t->cgroups.v[kept++] = t->cgroups.v[i];
			continue;
		}
		pr_verbose("cgroup '%s' is part of '%s'", t->cgroups.v[i].name,
			   t->cgroups.v[kept - 1].name);
		cgroup_fini(&t->cgroups.v[i]);
	}
	t->cgroups.n = kept;
}

struct adding {
	struct target *t;
	size_t cap;
	int err;
};

static int add_cgroup(struct adding *a, const char *path, const char *name)
{
	struct target *t = a->t;
	struct cgroup cg;
	int err = cgroup_find(&cg, &t->fs, path);

	if (err)
		return err;
	free(cg.name);
	cg.name = xstrdup(name);
	XGROW(t->cgroups.v, t->cgroups.n, a->cap);
	t->cgroups.v[t->cgroups.n++] = cg;
	return 0;
}

static void add_chosen(void *ctx, const char *path, const char *name)
{
	struct adding *a = ctx;

	if (!a->err)
		a->err = add_cgroup(a, path, name);
}

static int resolve_cgroups(struct target *t, const struct record_opts *o)
{
	char *names = xstrdup(o->cgroups ? o->cgroups : ""), *save = NULL;
	struct adding a = { .t = t };
	int err = 0;

	perm_raise_nofile();
	for (char *name = strtok_r(names, ",", &save); name && !err;
	     name = strtok_r(NULL, ",", &save))
		if (!selection_is_pattern(name))
			err = add_cgroup(&a, name, name);
	free(names);
	if (!err && selection_asked(o)) {
		t->containers = containers_new(&t->fs, o->runtime_roots);
		err = selection_each(o, &t->fs, t->containers, false, add_chosen, &a);
		containers_warn_claims(t->containers);
		if (!err)
			err = a.err;
	}
	if (!err && !t->cgroups.n) {
		if (o->containers || o->pods)
			pr_err("%s needs a name; nsprof ps lists them", o->containers ? "--container" : "--pod");
		else
			pr_err("-G needs the name of a cgroup, for instance -G system.slice");
		return -EINVAL;
	}
	if (!err)
		drop_nested(t);
	return err;
}

int target_resolve(struct target *t, const struct record_opts *o)
{
	const char *tasks = o->pids ? o->pids : o->tids;
	const bool groups = o->cgroups || selection_asked(o);
	int err;

	memset(t, 0, sizeof(*t));
	t->fs.fd = -1;
	if (groups && tasks) {
		pr_err("%s cannot be combined with -%c: the kernel filters by cgroup on a whole "
		       "CPU, not in single tasks; drop one of them", o->cgroups ? "-G" :
		       o->containers ? "--container" : o->pods ? "--pod" : "--cgroup-of",
		       o->pids ? 'p' : 't');
		return -EINVAL;
	}
	if (o->pids && o->tids)
		pr_warn("-p overrides -t");
	if (tasks && o->all_cpus)
		pr_warn("-%c overrides -a", o->pids ? 'p' : 't');
	t->cpu_list = o->cpus;
	err = resolve_cpus(t, o->cpus);
	if (err)
		return err;
	if (groups) {
		t->kind = TARGET_CGROUPS;
		err = cgroup_fs_open(&t->fs);
		if (!err)
			return resolve_cgroups(t, o);
		pr_err("cannot record cgroups: %s: no cgroup file system is visible; mount "
		       "one: mount -t cgroup2 none /sys/fs/cgroup", strerror(-err));
		return err;
	}
	if (tasks) {
		t->kind = o->pids ? TARGET_PIDS : TARGET_TIDS;
		return resolve_tasks(t, tasks);
	}
	/*
	 * As perf: with a CPU list the command only sets the duration, and no target means
	 * everything.
	 */
	t->kind = o->command && !o->all_cpus && !o->cpus ? TARGET_COMMAND : TARGET_ALL;
	return 0;
}

void target_set_child(struct target *t, uint32_t pid)
{
	t->tids = xmalloc(sizeof(*t->tids));
	t->tids[0] = pid;
	t->ntids = 1;
}

bool target_is_tasks(const struct target *t)
{
	return t->kind == TARGET_PIDS || t->kind == TARGET_TIDS || t->kind == TARGET_COMMAND;
}

void target_describe(const struct target *t, struct strbuf *out)
{
	switch (t->kind) {
	case TARGET_ALL:
		if (t->cpu_list)
			strbuf_addf(out, "CPU %s", t->cpu_list);
		else
			strbuf_adds(out, "all CPUs");
		break;
	case TARGET_COMMAND:
		strbuf_adds(out, "command");
		break;
	case TARGET_CGROUPS:
		for (size_t i = 0; i < t->cgroups.n; i++)
			strbuf_addf(out, "%s%s", i ? "," : "cgroup ", t->cgroups.v[i].path);
		break;
	case TARGET_PIDS:
	case TARGET_TIDS:
		for (size_t i = 0; i < t->npids; i++)
			strbuf_addf(out, "%s%u", i ? "," : t->kind == TARGET_PIDS ? "pid " : "tid ",
				    t->pids[i]);
		break;
	}
}

void target_fini(struct target *t)
{
	for (size_t i = 0; i < t->cgroups.n; i++)
		cgroup_fini(&t->cgroups.v[i]);
	free(t->cgroups.v);
	free(t->pids);
	free(t->tids);
	free(t->cpus);
	containers_free(t->containers);
	cgroup_fs_close(&t->fs);
}
