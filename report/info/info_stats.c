#include "info/info_stats.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "recording/cpu_times.h"
#include "recording/rec_events.h"

struct collect {
	struct info_stats *st;
	struct u64map now;		/* pid -> index of its current image */
	struct u64map dsos;		/* set of ids */
	struct u64map threads;		/* image << 32 | tid */
	struct u64map cgroups;		/* cgroup id -> path */
	struct u64map containers;	/* path -> index; several paths may belong to one container */
	struct u64map members;		/* container << 32 | image */
};

static struct info_process *add_process(struct collect *c, uint32_t pid)
{
	struct info_stats *st = c->st;

	XGROW(st->process, st->nprocesses, st->process_cap);
	st->process[st->nprocesses] = (struct info_process){ .pid = pid };
	*u64map_put(&c->now, pid, NULL) = st->nprocesses;
	return &st->process[st->nprocesses++];
}

static int on_proc(void *ctx, const struct ev_proc *ev)
{
	struct collect *c = ctx;
	const uint64_t *idx = u64map_get(&c->now, ev->pid);
	struct info_process *p = idx ? &c->st->process[*idx] : NULL;

	info_times_name(&c->st->times, ev->pid, ev->pid, ev->comm);
	/* A repetition at the beginning of a segment, or a new image? */
	if (p && ev->serial && p->serial == ev->serial)
		p->again = ev->time;
	else
		p = add_process(c, ev->pid);
	p->serial = ev->serial;
	p->nspid = ev->nspid_n ? ev->nspid[ev->nspid_n - 1] : 0;
	p->comm = intern_add(c->st->strings, ev->comm);
	p->exe = intern_add(c->st->strings, ev->exe);
	/* What a sample said takes precedence. */
	if (ev->cgroup[0])
		p->cgroup = intern_add(c->st->strings, ev->cgroup);
	return 0;
}

/*
 * A process has the name of its main thread. An exec makes a new image, which a proc record
 * describes.
 */
static int on_comm(void *ctx, const struct ev_comm *ev)
{
	struct collect *c = ctx;
	const uint64_t *idx = u64map_get(&c->now, ev->pid);

	info_times_name(&c->st->times, ev->pid, ev->tid, ev->comm);
	if (idx && ev->tid == ev->pid && !ev->exec)
		c->st->process[*idx].comm = intern_add(c->st->strings, ev->comm);
	return 0;
}

static int on_dso(void *ctx, const struct ev_dso *ev)
{
	struct collect *c = ctx;
	bool is_new;

	u64map_put(&c->dsos, ev->id, &is_new);
	c->st->binaries += is_new;
	return 0;
}

static int on_mmap(void *ctx, const struct ev_mmap *ev)
{
	struct collect *c = ctx;
	const uint64_t *idx = u64map_get(&c->now, ev->pid);

	/* Repeated mappings come with their process, at the same time. */
	if (!idx || !c->st->process[*idx].again || c->st->process[*idx].again != ev->time)
		c->st->mappings++;
	return 0;
}

static int on_cgroup(void *ctx, const struct ev_cgroup *ev)
{
	struct collect *c = ctx;

	*u64map_put(&c->cgroups, ev->id, NULL) = intern_add(c->st->strings, ev->path);
	return 0;
}

/* The cgroup that the sample names, otherwise the one in which the process was seen. */
static uint32_t cgroup_of(const struct collect *c, const struct ev_sample *ev,
			  const struct info_process *p)
{
	const uint64_t *path = ev->cgroup ? u64map_get(&c->cgroups, ev->cgroup) : NULL;

	return path ? (uint32_t)*path : p->cgroup;
}

/* Returns the row of exactly the cgroup @path. */
static uint64_t container_at(struct collect *c, uint32_t path)
{
	struct info_stats *st = c->st;
	bool is_new;
	uint64_t *idx = u64map_put(&c->containers, path, &is_new);

	if (is_new) {
		XGROW(st->container, st->ncontainers, st->container_cap);
		st->container[st->ncontainers] = (struct info_container){ .cgroup = path };
		*idx = st->ncontainers++;
	}
	return *idx;
}

static void count_container(struct collect *c, uint32_t cgroup, uint64_t process, uint64_t period)
{
	const uint64_t idx = container_at(c, cgroup);

	c->st->container[idx].samples++;
	c->st->container[idx].periods += period;
	u64map_put(&c->members, idx << 32 | process, NULL);
}

/* Returns the cgroup of the container that @path is or lies in; otherwise @path. */
static uint32_t whole_path(struct collect *c, uint32_t path)
{
	const struct ctr *ctr = ctr_table_of(c->st->ctrs, intern_str(c->st->strings, path));

	return ctr && ctr_is_container(ctr) ? intern_add(c->st->strings, ctr->cgroup) : path;
}

/*
 * Samples were counted by cgroup. The facts about a container may follow its first samples, so its
 * cgroups are merged at the end.
 */
static void join_containers(struct collect *c)
{
	struct info_container *own = c->st->container;
	const size_t n = c->st->ncontainers;
	uint64_t *to = xcalloc(n + 1, sizeof(*to)), key, val;
	struct u64map members = U64MAP_INIT;
	size_t it = 0;
	bool is_new;

	u64map_clear(&c->containers);
	c->st->container = NULL;
	c->st->ncontainers = c->st->container_cap = 0;
	for (size_t i = 0; i < n; i++) {
		to[i] = container_at(c, whole_path(c, own[i].cgroup));
		c->st->container[to[i]].samples += own[i].samples;
		c->st->container[to[i]].periods += own[i].periods;
	}
	while (u64map_next(&c->members, &it, &key, &val)) {
		const uint64_t at = to[key >> 32];

		u64map_put(&members, at << 32 | (uint32_t)key, &is_new);
		c->st->container[at].processes += is_new;
	}
	u64map_fini(&members);
	free(own);
	free(to);
}

/*
 * Attaches the facts about each, and adds rows for cgroups with a CPU limit or throttling, which
 * may be parents of sampled ones.
 */
static void describe_containers(struct collect *c)
{
	struct info_stats *st = c->st;
	size_t n;
	const struct ctr *ctr = ctr_table_all(st->ctrs, &n);

	join_containers(c);
	st->nsampled = st->ncontainers;
	for (size_t i = 0; i < n; i++) {
		uint32_t path = intern_add(st->strings, ctr[i].cgroup);

		if (u64map_get(&c->containers, path) || ctr[i].quota_us || ctr[i].nr_throttled) {
			const uint64_t at = container_at(c, path);	/* may move the rows */

			st->container[at].ctr = &ctr[i];
		}
	}
}

static int on_sample(void *ctx, const struct ev_sample *ev)
{
	struct collect *c = ctx;
	struct info_stats *st = c->st;
	uint64_t *idx = u64map_get(&c->now, ev->pid);
	/* As in folded text. */
	const uint64_t period = st->events.table.n > 1 ? 1 : MAX(ev->period, 1ull);
	uint64_t image;
	bool is_new;

	if (!idx) {
		add_process(c, ev->pid);
		idx = u64map_get(&c->now, ev->pid);
	}
	image = *idx;
	st->process[image].samples++;
	st->process[image].periods += period;
	/*
	 * The process was gone before the recorder could read /proc; the kernel gave the cgroup
	 * with the sample.
	 */
	if (!st->process[image].cgroup)
		st->process[image].cgroup = cgroup_of(c, ev, &st->process[image]);
	u64map_put(&c->threads, image << 32 | ev->tid, &is_new);
	st->threads += is_new;
	count_container(c, cgroup_of(c, ev, &st->process[image]), image, period);
	st->first = st->samples ? MIN(st->first, ev->time) : ev->time;
	st->last = MAX(st->last, ev->time);
	st->period_min = st->samples ? MIN(st->period_min, period) : period;
	st->period_max = MAX(st->period_max, period);
	st->periods += period;
	st->samples++;
	info_events_sample(&st->events, ev);
	st->truncated += ev->copy_full;
	st->cut += ev->cut;
	st->unmasked += ev->unmasked;
	return 0;
}

static int on_absence(void *ctx, const struct ev_absence *ev)
{
	struct collect *c = ctx;

	info_ledger_absence(&c->st->ledger, ev);
	return 0;
}

static int on_container(void *ctx, const struct ev_container *ev)
{
	struct collect *c = ctx;

	ctr_table_add(c->st->ctrs, ev);
	/* The last ones are written when sampling is over. */
	cpu_times_until(c->st->times.times, ev->time);
	return 0;
}

static int on_fork(void *ctx, const struct ev_task *ev)
{
	struct collect *c = ctx;

	cpu_times_fork(c->st->times.times, ev);
	return 0;
}

static int on_task_exit(void *ctx, const struct ev_task *ev)
{
	struct collect *c = ctx;

	cpu_times_exit(c->st->times.times, ev);
	return 0;
}

static int on_switch(void *ctx, const struct ev_switch *ev)
{
	struct collect *c = ctx;

	cpu_times_switch(c->st->times.times, ev);
	return 0;
}

static int on_wakeup(void *ctx, const struct ev_wakeup *ev)
{
	struct collect *c = ctx;

	cpu_times_wakeup(c->st->times.times, ev);
	return 0;
}

static int on_schedstat(void *ctx, const struct ev_schedstat *ev)
{
	struct collect *c = ctx;

	cpu_times_schedstat(c->st->times.times, ev);
	return 0;
}

static int on_toggle(void *ctx, const struct ev_toggle *ev)
{
	struct collect *c = ctx;

	cpu_times_toggle(c->st->times.times, ev);
	return 0;
}

static int on_event(void *ctx, const struct ev_event *ev)
{
	struct collect *c = ctx;

	info_events_add(&c->st->events, ev);
	return 0;
}

static int on_budget(void *ctx, const struct ev_budget *ev)
{
	struct collect *c = ctx;

	info_budgets_add(&c->st->budgets, ev);
	return 0;
}

static int on_pressure(void *ctx, const struct ev_pressure *ev)
{
	struct collect *c = ctx;

	info_ledger_pressure(&c->st->ledger, ev);
	return 0;
}

/* If one binary's code was captured several times, the last one counts. */
static void add_code(struct info_stats *st, const struct capture *cap)
{
	struct code_pack *cp = code_pack_read(cap->data, cap->size);
	struct code_counts *counts;
	uint64_t *slot;

	if (!cp)
		return;
	slot = u64map_put(&st->code_of, cap->id, NULL);
	if (!*slot)
		*slot = (uintptr_t)xcalloc(1, sizeof(*counts));
	counts = (struct code_counts *)(uintptr_t)*slot;
	*counts = *code_pack_counts(cp);
	code_pack_free(cp);
}

static void sum_code(struct info_stats *st)
{
	uint64_t id, val;
	size_t it = 0;

	while (u64map_next(&st->code_of, &it, &id, &val)) {
		struct code_counts *counts = (struct code_counts *)(uintptr_t)val;

		st->code.samples += counts->samples;
		st->code.missed += counts->missed;
		st->code.missed_functions += counts->missed_functions;
		free(counts);
	}
	u64map_fini(&st->code_of);
}

static int on_capture(void *ctx, const struct capture *cap)
{
	struct info_stats *st = ctx;
	unsigned int kind = (unsigned int)cap->kind < INFO_CAPTURE_KINDS ? cap->kind : 0;

	st->captures[kind]++;
	st->capture_bytes[kind] += cap->size;
	if (kind == CAPTURE_CODE)
		add_code(st, cap);
	return 0;
}

static int larger(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int by_process(const void *a, const void *b)
{
	const struct info_process *x = a, *y = b;
	int d = larger(x->periods, y->periods);

	if (!d)
		d = x->pid < y->pid ? -1 : x->pid > y->pid;
	return d ? d : x->serial < y->serial ? -1 : x->serial > y->serial;
}

static int by_container(const void *a, const void *b)
{
	const struct info_container *x = a, *y = b;
	int d = larger(x->periods, y->periods);

	return d ? d : x->cgroup < y->cgroup ? -1 : x->cgroup > y->cgroup;
}

/* @target: as the recorder describes it, or NULL. */
static bool counts_by_thread(const char *target)
{
	return target && (!strncmp(target, "pid ", 4) || !strncmp(target, "tid ", 4) || !strcmp(target, "command"));
}

int info_stats_collect(struct rec_reader *r, struct info_stats *st)
{
	static const struct event_ops ops = {
		.dso = on_dso, .proc = on_proc, .mmap = on_mmap, .comm = on_comm,
		.cgroup = on_cgroup, .sample = on_sample, .pressure = on_pressure,
		.absence = on_absence, .container = on_container, .budget = on_budget,
		.event = on_event,
		.fork = on_fork, .exit = on_task_exit, .cpu_switch = on_switch, .wakeup = on_wakeup, .schedstat = on_schedstat,
		.toggle = on_toggle,
	};
	struct collect c = { .st = st };
	int err;

	memset(st, 0, sizeof(*st));
	st->events.tasks = counts_by_thread(rec_reader_info(r, "target"));
	st->strings = intern_new();
	st->ctrs = ctr_table_new();
	info_times_init(&st->times, rec_reader_start(r), st->strings);
	if (rec_reader_misses_wakeups(r))
		cpu_times_miss_wakeups(st->times.times);
	err = rec_reader_events(r, &ops, &c);
	info_times_end(&st->times);
	rec_events_stacks(&st->events.table, r);
	if (!err)
		err = rec_reader_captures(r, on_capture, st);
	if (!err)
		err = info_ledger_read(&st->ledger, r);
	sum_code(st);
	describe_containers(&c);
	if (st->nprocesses)
		qsort(st->process, st->nprocesses, sizeof(*st->process), by_process);
	if (st->ncontainers)
		qsort(st->container, st->ncontainers, sizeof(*st->container), by_container);
	/* Targets have facts written even without samples; leave those out. */
	while (st->nprocesses && !st->process[st->nprocesses - 1].samples)
		st->nprocesses--;
	u64map_fini(&c.now);
	u64map_fini(&c.dsos);
	u64map_fini(&c.threads);
	u64map_fini(&c.cgroups);
	u64map_fini(&c.containers);
	u64map_fini(&c.members);
	return err;
}

void info_stats_fini(struct info_stats *st)
{
	intern_free(st->strings);
	ctr_table_free(st->ctrs);
	free(st->container);
	free(st->process);
	info_budgets_fini(&st->budgets);
	info_events_fini(&st->events);
	info_times_fini(&st->times);
	info_ledger_fini(&st->ledger);
}
