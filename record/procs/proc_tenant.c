/* Whose budget a process uses, and what becomes of what is beyond it (contrib/doc/budgets.md). */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/procfs.h"
#include "procs/proc.h"

/* What the interner needs for a string beside its bytes. */
#define PATH_COST 64
/* An event beside its strings, bytes, at most. */
#define EVENT_COST 32
/*
 * Each image of a process with samples may have as much in the recording and of the drain's time,
 * whatever others of its tenant do.
 */
#define IMAGE_BYTES 2048
#define IMAGE_NS 2000000
/* Bytes of new paths, the same for all images. */
#define IMAGE_PATHS 4096
/* With -v, tenants are named that have used so much of a budget. */
#define TOLD_PERCENT 2
/* All of user space; the lowest page is never mapped. */
#define USER_BEGIN 0x1000ull
#define USER_END 0x7ffffffff000ull

/* ---- which tenant ---- */

/* What it holds by itself moves with it. */
static void move_to(struct proc *p, struct tenant *t)
{
	struct tenants *ts = &p->pt->tenants;

	if (t == p->tenant)
		return;
	tenants_give(ts, p->tenant, HOLD_MAPS, p->held_maps);
	tenants_add(ts, t, HOLD_MAPS, p->held_maps);
	if (p->dead)
		proc_dead_account(p)->dead--;
	p->tenant = t;
	if (p->dead)
		proc_dead_account(p)->dead++;
}

void proc_in_tenant(struct proc *p, const char *cgroup, uint32_t uid)
{
	move_to(p, tenants_of(&p->pt->tenants, cgroup, uid));
	p->tenant_sure = true;
}

/* It is gone. Nobody leaves the budget of a parent by ending early. */
static struct tenant *of_parent(const struct proc *p)
{
	const struct proc *parent = proctab_find(p->pt, p->ppid);

	return parent && parent->tenant ? parent->tenant : p->pt->tenants.v[0];
}

static void look_up(struct proc *p)
{
	int procfd = nsopen_process(p->pid);
	char *text = procfd < 0 ? NULL : proc_facts_text(procfd, "cgroup"), path[PATH_MAX];
	char *status = text ? proc_facts_text(procfd, "status") : NULL;
	uint32_t uid = 0;

	if (text && procfs_cgroup_path(text, "perf_event", path, sizeof(path)) && status && procfs_status_fsuid(status, &uid))
		proc_in_tenant(p, path, uid);
	else if (!p->tenant)
		move_to(p, of_parent(p));
	/* Whatever came out: to ask again would tell no more. */
	p->tenant_sure = true;
	free(status);
	free(text);
	if (procfd >= 0)
		close(procfd);
}

struct tenant *proc_tenant(struct proc *p)
{
	if (!p->tenant && !p->pt->detached)
		look_up(p);
	return p->tenant;
}

void proc_tenant_of_parent(struct proc *p, struct proc *parent)
{
	move_to(p, proc_tenant(parent));
	p->tenant_sure = parent->tenant && parent->tenant_sure && parent->tenant->fixed;
}

bool proc_may_hold(struct proc *p, enum tenant_hold what, uint64_t n)
{
	struct tenants *ts = &p->pt->tenants;

	if (tenants_take(ts, proc_tenant(p), what, n))
		return true;
	/* It may have moved since it was forked. */
	if (p->tenant_sure)
		return false;
	look_up(p);
	return tenants_take(ts, p->tenant, what, n);
}

/* ---- paths ---- */

uint64_t proc_path_cost(size_t len)
{
	return len + PATH_COST;
}

uint32_t proc_path(struct proc *p, const char *path, size_t len)
{
	struct intern *paths = p->pt->files.paths;
	const uint32_t id = intern_findn(paths, path, len);
	const uint64_t cost = proc_path_cost(len);

	if (id != UINT32_MAX)
		return id;
	p->named += cost;
	if ((p->named <= IMAGE_PATHS || tenant_may_name(proc_tenant(p), cost, p->pt->detached ? 0 : clock_mono_ns())) &&
	    proc_may_hold(p, HOLD_PATHS, cost))
		return intern_addn(paths, path, len);
	tenant_left_out(p->tenant, BUDGET_PATHS, 1);
	return intern_add(paths, PATH_LEFT_OUT);
}

/* ---- time ---- */

bool proc_has_time(struct proc *p)
{
	return (p->sampled && p->spent_ns < IMAGE_NS) || tenant_has_time(proc_tenant(p), p->pt->detached ? 0 : clock_mono_ns());
}

uint64_t proc_work_begin(void)
{
	return clock_thread_ns();
}

void proc_work_end(struct proc *p, uint64_t begun)
{
	const uint64_t ns = clock_thread_ns() - begun;

	p->spent_ns += ns;
	tenant_spent(proc_tenant(p), ns);
}

void proc_resolve(struct proc *p, struct map_user *u, struct map_entry *e, const uint8_t *build_id, size_t len)
{
	struct dsotab *dt = &p->pt->files.dsos;
	const enum mapping_kind kind = mapping_kind(intern_str(p->pt->files.paths, e->path));
	const bool sure = p->tenant_sure;
	uint64_t work;

	u->tenant = proc_tenant(p);
	/* Without a file this takes less time than measuring it would. */
	if (kind == MAPPING_JIT || kind == MAPPING_SPECIAL) {
		dsotab_resolve(dt, u, e, NULL, 0);
		return;
	}
	work = proc_work_begin();
	dsotab_resolve(dt, u, e, build_id, len);
	if (e->kind == MAPPING_FILE && !e->dso && !sure && !p->pt->detached) {
		look_up(p);
		u->tenant = p->tenant;
		dsotab_resolve(dt, u, e, build_id, len);
	}
	if (e->kind == MAPPING_FILE && !e->dso) {
		tenant_left_out(p->tenant, BUDGET_FILES, 1);
		e->path = intern_add(p->pt->files.paths, PATH_LEFT_OUT);
		e->kind = MAPPING_SPECIAL;
	}
	proc_work_end(p, work);
}

/* ---- side-band in the recording ---- */

uint64_t proc_event_cost(const char *text)
{
	return EVENT_COST + strlen(text);
}

bool proc_may_write(struct proc *p, uint64_t n, uint64_t time)
{
	return p->wrote + n <= IMAGE_BYTES || tenant_may_write(proc_tenant(p), time);
}

void proc_wrote(struct proc *p, uint64_t n)
{
	p->wrote += n;
	tenant_wrote(proc_tenant(p), n);
}

/* One mapping of everything: it tells what the process's own would have told nobody. */
void proc_write_left_out(struct proc *p, uint64_t time)
{
	const struct ev_mmap ev = {
		.time = time, .pid = p->pid, .tid = p->pid, .start = USER_BEGIN, .len = USER_END - USER_BEGIN,
		.prot = PROT_EXEC, .path = PATH_LEFT_OUT,
	};

	rec_writer_mmap(p->pt->w, &ev);
	proc_wrote(p, proc_event_cost(ev.path));
}

void proc_write_budgets(struct proctab *pt)
{
	const uint64_t time = pt->detached ? 0 : clock_mono_ns();

	for (size_t i = 0; i < pt->tenants.n; i++)
		for (uint32_t kind = 1; kind < BUDGET_KINDS; kind++) {
			struct ev_budget ev;

			if (!tenants_left_out(pt->tenants.v[i], kind, false, &ev))
				continue;
			ev.time = time;
			rec_writer_budget(pt->w, &ev);
		}
	tenants_cut(&pt->tenants);
}

void proc_tell_budgets(const struct proctab *pt)
{
	for (size_t i = 0; i < pt->tenants.n; i++) {
		const struct tenant *t = pt->tenants.v[i];
		struct strbuf text = STRBUF_INIT;

		if (tenants_used(t, TOLD_PERCENT, &text))
			pr_verbose("budgets of '%s': %s", t->cgroup, text.s);
		strbuf_fini(&text);
	}
}

void proctab_left_out(const struct proctab *pt, void (*fn)(void *ctx, const struct ev_budget *ev), void *ctx)
{
	for (size_t i = 0; i < pt->tenants.n; i++)
		for (uint32_t kind = 1; kind < BUDGET_KINDS; kind++) {
			struct ev_budget ev;

			if (tenants_left_out(pt->tenants.v[i], kind, true, &ev))
				fn(ctx, &ev);
		}
}

/* ---- mappings ---- */

/* The set of @p is its own, or nobody's: what is shared after a fork is another's. */
static uint32_t own_maps(const struct proc *p)
{
	return p->maps->refs == 1 ? p->maps->n : 0;
}

/* The process of @p's tenant that holds most mappings. */
static struct proc *largest(struct proc *p)
{
	struct proc *most = p;
	uint64_t pid, val;

	for (size_t it = 0; u64map_next(&p->pt->procs, &it, &pid, &val);) {
		struct proc *q = (struct proc *)(uintptr_t)val;

		if (q->tenant == p->tenant && q->held_maps > most->held_maps)
			most = q;
	}
	return most;
}

void proc_give_up_maps(struct proc *p)
{
	tenant_left_out(p->tenant, BUDGET_MAPS, p->maps->n);
	mapset_put(p->maps);
	p->maps = mapset_new();
	p->known = false;
	p->overfull = p->stale = true;
	proc_hold_maps(p);
}

void proc_hold_maps(struct proc *p)
{
	const uint32_t now = own_maps(p), was = p->held_maps;

	p->held_maps = now;
	if (now <= was) {
		tenants_give(&p->pt->tenants, p->tenant, HOLD_MAPS, was - now);
		return;
	}
	if (proc_may_hold(p, HOLD_MAPS, now - was))
		return;
	tenants_add(&p->pt->tenants, p->tenant, HOLD_MAPS, now - was);
	proc_give_up_maps(largest(p));
}
