/*
 * The end of a segment, and files that must be closed before it: lists what needs rows, and
 * captures at once what cannot wait (contrib/doc/capture.md).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "capture/caplist.h"
#include "capture/capture_job.h"
#include "procs/proc.h"

/* ---- before the end of a segment ---- */

/* The list that is being captured needs rows from what is let go. */
static void capture_closing(struct proctab *pt, const struct pin *pin)
{
	struct caplist *cl = pt->cap.closing;

	for (size_t i = 0; cl && i < cl->n; i++) {
		struct cap_entry *e = &cl->v[i];
		const struct proc_facts *f = e->facts;
		struct capture_job job;

		while (f && pin->obj != f && pin->obj != f->rootpin)
			f = f->up;
		if ((f || (e->dso && pin->obj == e->dso)) && capture_prepare(pt, cl, e, &job))
			capture_now(pt, pt->cap.closing_out, &job);
	}
}

static void capture_dso(struct proctab *pt, struct dso *d)
{
	struct capture_job job;

	if (!capture_prepare_dso(pt, d, &job))
		return;
	if (!job.err)
		d->captured = d->seen.n;
	capture_now(pt, NULL, &job);
}

static bool uses_pin(const struct proc *p, const struct pin *pin)
{
	const struct proc_facts *f;

	for (f = p->facts ? p->facts : p->anc; f; f = f->up) {
		if (pin->obj == f || pin->obj == f->rootpin)
			return true;
	}
	return false;
}

void capture_before_evict(void *ctx, struct pin *pin)
{
	struct proctab *pt = ctx;
	uint64_t pid, val;
	size_t it = 0;

	letgo_settle(pt);
	pt->cap.evicting = true;
	capture_closing(pt, pin);
	if (pin->kind == PIN_ELF)
		capture_dso(pt, pin->obj);
	while (pin->kind != PIN_ELF && u64map_next(&pt->procs, &it, &pid, &val)) {
		struct proc *p = (struct proc *)(uintptr_t)val;

		if (p->jit.n && uses_pin(p, pin))
			capture_jit(p);
	}
	pt->cap.evicting = false;
}

/* ---- the end of a segment ---- */

void proctab_lists(struct proctab *pt, struct caplist *const *kept, size_t nkept,
		   struct caplist *closing, struct rec_out *out)
{
	pt->cap.kept = kept;
	pt->cap.nkept = nkept;
	pt->cap.closing = closing;
	pt->cap.closing_out = out;
}

/* Tries again the files that could not be opened at first (no descriptors left, a race). */
static void pin_missing(struct proctab *pt, struct proc *p)
{
	struct map_user u = { .pid = p->dead ? 0 : p->pid, .mnt_ns = p->mnt_ns };
	uint32_t i;

	proc_on_behalf(p);
	if (p->facts) {
		u.root = p->facts->rootpin;
		u.mnt_ns = p->facts->mnt_ns ? p->facts->mnt_ns : u.mnt_ns;
	}
	for (i = 0; i < p->maps->n; i++) {
		const struct map_entry *e = &p->maps->maps[i];

		if (e->dso && e->dso->pin.fd < 0 && e->dso->seen.n && proc_has_time(p))
			dsotab_pin(&pt->files.dsos, &u, e);
	}
}

static void list_jit(struct proc *p, enum capture_kind kind, struct caplist *cl)
{
	struct cap_entry *e = caplist_add(cl, kind, p->serial, addrset_sorted(&p->jit), p->jit.n);

	cap_entry_hold(e, p->facts ? p->facts : p->anc);
	e->tenant = p->tenant;
	memcpy(e->comm, p->comm, sizeof(e->comm));
	/* Without facts it cannot be captured later. */
	e->done = p->jit_captured || p->pt->detached;
}

static void list_returns(struct proc *p, struct caplist *cl)
{
	size_t n;
	uint64_t *all = returns_of(p, &n);
	struct cap_entry *e;

	if (!n) {
		free(all);
		return;
	}
	e = caplist_add(cl, CAPTURE_JIT_RETURNS, p->serial, all, n);
	memcpy(e->comm, p->comm, sizeof(e->comm));
	e->done = p->jit_captured;
}

static void cut_jit(struct proctab *pt, struct proc *p, struct caplist *cl)
{
	if (pt->detached)
		capture_jit(p);
	if (p->serial && p->jit.n) {
		list_jit(p, CAPTURE_PERF_MAP, cl);
		if (jitdump_there(p->facts ? p->facts : p->anc))
			list_jit(p, CAPTURE_JITDUMP, cl);
		list_returns(p, cl);
	}
	addrset_fini(&p->jit);
	u64map_fini(&p->returns);
	p->jit_captured = false;
}

static void cut_dso(struct proctab *pt, struct dso *d, struct caplist *cl)
{
	struct cap_entry *e;

	/* Not in use any more. */
	if (!d->seen.n)
		slice_drop(&pt->files.dsos.slices, &d->slice);
	if (d->seen.n && !d->not_elf && d->ev.id) {
		e = caplist_add(cl, CAPTURE_ELF, d->ev.id, addrset_sorted(&d->seen), d->seen.n);
		e->dso = d;
		e->done = d->captured == d->seen.n;
		leaf_counts_init(&e->leafs, &d->leafs);
	}
	addrset_fini(&d->seen);
	u64map_fini(&d->leafs);
	d->captured = 0;
}

struct caplist *proctab_cut(struct proctab *pt)
{
	struct caplist *cl = caplist_new();
	uint64_t pid, val;
	size_t it = 0;

	letgo_settle(pt);
	proc_write_budgets(pt);
	returns_take(pt);
	while (u64map_next(&pt->procs, &it, &pid, &val)) {
		struct proc *p = (struct proc *)(uintptr_t)val;

		cut_jit(pt, p, cl);
		if (proc_written(p))
			pin_missing(pt, p);
	}
	for (size_t i = 0; i < pt->files.dsos.n; i++)
		cut_dso(pt, pt->files.dsos.dsos[i], cl);
	if (pt->cap.kernel.n)
		caplist_add(cl, CAPTURE_KALLSYMS, 0, addrset_sorted(&pt->cap.kernel), pt->cap.kernel.n);
	addrset_fini(&pt->cap.kernel);
	pt->cap.leaf_samples = 0;
	tenants_clear(&pt->tenants, HOLD_ADDRS);
	caplist_seal(cl);
	pt->segment++;
	proc_forget(pt, cl);
	return cl;
}

int proctab_capture(struct proctab *pt)
{
	struct caplist *cl = proctab_cut(pt);
	struct cap_entry *e;
	int ret = 0;

	while ((e = caplist_next(cl))) {
		struct capture_job job;
		int err = capture_prepare(pt, cl, e, &job) ? capture_now(pt, NULL, &job) : 0;

		ret = ret ? ret : err;
	}
	proc_write_budgets(pt);
	caplist_free(cl, &pt->files.pins);
	proctab_tell(pt);
	return ret;
}

void proctab_tell(const struct proctab *pt)
{
	pr_verbose("captures written: %" PRIu64 ", kept from an earlier file: %" PRIu64 ", not possible: %" PRIu64 ", files closed early: %"
		   PRIu64, pt->cap.written, pt->cap.served, pt->cap.failed, pt->files.pins.evicted);
	proc_tell_budgets(pt);
	pr_verbose("code captured: %" PRIu64 " byte%s", pt->cap.code_bytes, plural(pt->cap.code_bytes));
}
