/* Rows of nsprof ps (ps.h). */
#include "containers/ps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/nsopen.h"
#include "host/procfs.h"

#define TEXT_MAX 65536

const char *const ps_ns_names[PS_NS_N] = { "cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts" };

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t ns_of(uint32_t pid, const char *name)
{
	char link[64], target[64];
	int procfd = nsopen_process(pid);
	ssize_t len;

	if (procfd < 0)
		return 0;
	snprintf(link, sizeof(link), "ns/%s", name);
	len = readlinkat(procfd, link, target, sizeof(target) - 1);
	close(procfd);
	target[len > 0 ? len : 0] = '\0';
	return len > 0 ? procfs_ns_inode(target) : 0;
}

int ps_open(struct ps *ps, const char *roots)
{
	int err;

	memset(ps, 0, sizeof(*ps));
	err = cgroup_fs_open(&ps->fs);
	if (err) {
		pr_err("cannot list containers: %s: no cgroup file system is visible; mount one: "
		       "mount -t cgroup2 none /sys/fs/cgroup", strerror(-err));
		return err;
	}
	cgroup_cpu_open(&ps->cpu, &ps->fs);
	for (uint32_t i = 0; i < PS_NS_N; i++) {
		uint64_t init = ns_of(1, ps_ns_names[i]);

		ps->host_ns[i] = init ? init : ns_of((uint32_t)getpid(), ps_ns_names[i]);
	}
	ps->cs = containers_new(&ps->fs, roots);
	containers_warn(ps->cs);
	containers_warn_claims(ps->cs);
	return 0;
}

static void free_rows(struct ps_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cgroup_cpu_at_fini(&rows[i].at);
	free(rows);
}

void ps_close(struct ps *ps)
{
	free_rows(ps->rows, ps->n);
	containers_free(ps->cs);
	cgroup_cpu_close(&ps->cpu);
	cgroup_fs_close(&ps->fs);
}

static char *slurp_and_close(int fd)
{
	char *text;
	int err;

	if (fd < 0)
		return NULL;
	text = nsopen_slurp(fd, TEXT_MAX, NULL, &err);
	close(fd);
	return text;
}

/* ---- processes ---- */

static uint64_t start_of(uint32_t pid)
{
	char *text = slurp_and_close(nsopen_procfile(pid, "stat"));
	uint64_t ticks = UINT64_MAX;
	uint32_t ppid;

	if (!text || procfs_stat_start(text, &ticks, &ppid))
		ticks = UINT64_MAX;
	free(text);
	return ticks;
}

struct members {
	uint32_t n, first;
	uint64_t start;		/* of @first */
};

/* Counts a process. The oldest is the first if the runtime's state does not name one. */
static void note_member(void *ctx, uint32_t pid)
{
	struct members *m = ctx;
	uint64_t start = start_of(pid);

	m->n++;
	if (m->first && start >= m->start)
		return;
	m->first = pid;
	m->start = start;
}

static void read_process(const struct ps *ps, struct ps_row *r)
{
	char *text = slurp_and_close(nsopen_procfile(r->pid, "status"));
	uint32_t levels[32];
	size_t n = text ? procfs_status_nstgid(text, levels, ARRAY_SIZE(levels)) : 0;

	free(text);
	r->nspid = n ? levels[n - 1] : 0;
	for (uint32_t i = 0; i < PS_NS_N; i++) {
		uint64_t own = ns_of(r->pid, ps_ns_names[i]);

		r->ns_known |= own != 0;
		if (own && own == ps->host_ns[i])
			r->shared |= 1u << i;
	}
}

/* ---- counters ---- */

double ps_pressure(const char *text)
{
	double v;

	return sscanf(text, "some avg10=%lf", &v) == 1 ? v : -1;
}

/* Only v2 has cpu.pressure. */
static double read_psi(const struct ps *ps, const char *cgroup)
{
	char path[PATH_MAX], *text;
	double v;

	if (!ps->fs.v2 || (size_t)snprintf(path, sizeof(path), "%s/cpu.pressure", cgroup + 1) >= sizeof(path))
		return -1;
	text = slurp_and_close(openat(ps->fs.fd, path, O_RDONLY | O_CLOEXEC));
	v = text ? ps_pressure(text) : -1;
	free(text);
	return v;
}

static void read_row(struct ps *ps, struct ps_row *r)
{
	struct cgroup cg;
	struct members m = { 0 };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", r->c->cgroup + 1);
	cg = (struct cgroup){ .path = path, .fd = openat(ps->fs.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
	if (cg.fd >= 0) {
		cgroup_walk(&cg, NULL, note_member, &m);
		close(cg.fd);
	}
	r->processes = m.n;
	r->pid = r->c->pid ? r->c->pid : m.first;
	if (r->pid)
		read_process(ps, r);
	cgroup_cpu_find(&ps->cpu, r->c->cgroup, r->pid, &r->at);
	cgroup_cpu_read(&ps->cpu, &r->at, true, &r->before);
}

void ps_begin(struct ps *ps)
{
	const struct container *all;
	size_t n;

	free_rows(ps->rows, ps->n);
	containers_refresh(ps->cs);
	all = containers_all(ps->cs, &n);
	ps->rows = xcalloc(n + 1, sizeof(*ps->rows));
	ps->n = 0;
	ps->begun = now_ns();
	for (size_t i = 0; i < n; i++) {
		/* Skip pods' own containers, and those that do not run. */
		if (all[i].sandbox || containers_left(ps->cs, &all[i]))
			continue;
		ps->rows[ps->n].c = &all[i];
		read_row(ps, &ps->rows[ps->n++]);
	}
}

void ps_end(struct ps *ps)
{
	for (size_t i = 0; i < ps->n; i++) {
		struct ps_row *r = &ps->rows[i];

		r->now = r->before;
		cgroup_cpu_read(&ps->cpu, &r->at, true, &r->now);
		r->psi = read_psi(ps, r->c->cgroup);
	}
	ps->ended = now_ns();
}

double ps_cpu(const struct ps *ps, const struct ps_row *r)
{
	if (!r->before.have_usage || !r->now.have_usage || ps->ended <= ps->begun)
		return -1;
	return (double)(r->now.usage_us - r->before.usage_us) * 1000 / (double)(ps->ended - ps->begun);
}

static int busier(const void *a, const void *b)
{
	const struct ps_row *x = a, *y = b;
	uint64_t dx = x->now.usage_us - x->before.usage_us, dy = y->now.usage_us - y->before.usage_us;

	if (dx != dy)
		return dx < dy ? 1 : -1;
	return strcmp(x->c->cgroup, y->c->cgroup);
}

void ps_sort(struct ps *ps)
{
	if (ps->n)
		qsort(ps->rows, ps->n, sizeof(*ps->rows), busier);
}
