/*
 * The rows for the addresses seen when a segment ends: symbols, CFI and code of binaries, lines
 * of perf maps, kernel symbols (contrib/doc/capture.md). A missing capture is no failure of the
 * recording: it is counted and told with -v.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caplist.h"
#include "capture_job.h"
#include "log.h"
#include "nsopen.h"
#include "proc.h"
#include "sort_u64.h"
#include "util.h"
#include "xalloc.h"

/* The members of @set in order, owned by the caller. */
static uint64_t *sorted(const struct u64map *set)
{
	uint64_t *out = xmalloc((set->n + 1) * sizeof(*out)), key, val;
	size_t it = 0, n = 0;

	while (u64map_next(set, &it, &key, &val))
		out[n++] = key;
	sort_u64(out, n);
	return out;
}

/* ---- getting a capture ready ---- */

/*
 * Was the file of @d written to since it was mapped? A slice of one with a build-id says so itself.
 */
static bool has_changed(const struct dso *d)
{
	struct stat st;

	if (d->ev.build_id_len)
		return false;
	return fstat(d->pin.fd, &st) || (uint64_t)st.st_size != d->ev.size ||
	       (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec != d->ev.mtime_ns;
}

static int dup_fd(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

void proctab_keep_slices(struct proctab *pt)
{
	pt->files.dsos.slices.max = SLICES_BYTES;
}

/* Files for the rows of @d. 0 or negative errno. */
static int reach_dso(const struct proctab *pt, const struct dso *d, struct capture_job *job)
{
	if (d->vdso && pt->files.dsos.vdso_image) {
		job->image = pt->files.dsos.vdso_image;
		job->image_size = pt->files.dsos.vdso_size;
		return 0;
	}
	if (d->pin.fd < 0)
		return -ENOENT;
	if (has_changed(d))
		return -ESTALE;
	job->fd = dup_fd(d->pin.fd);
	if (job->fd < 0)
		return -errno;
	job->rootfd = d->root ? dup_fd(d->root->root.fd) : -1;
	job->path = d->path ? xstrdup(d->path) : NULL;
	return 0;
}

/* Takes @addrs and @leafs. */
static void prepare_dso(const struct proctab *pt, struct dso *d, uint64_t *addrs, size_t n,
			const struct leafs *leafs, struct capture_job *job)
{
	struct strbuf rows = STRBUF_INIT;
	bool served = slice_serve(&d->slice, &addrs, &n, &rows);
	int err;

	capture_job_init(job, CAPTURE_ELF, d->ev.id, d->ev.path, addrs, n);
	job->served = served;
	job->rows = rows;
	job->leafs = *leafs;
	if (pt->files.dsos.slices.max && !served)
		job->keep = &d->slice;
	err = served && !leafs->n ? 0 : reach_dso(pt, d, job);
	job->err = served ? 0 : err;
}

/* As perfmap_prepare(), for those of @addrs whose lines can be told from others'. */
static void prepare_map(struct proctab *pt, const struct facts *f, uint32_t serial, const char *comm, uint64_t *addrs, size_t n,
			struct capture_job *job)
{
	const struct facts *up = f;
	const size_t all = n;
	bool shared = false;

	for (size_t len = 0; up && len < CAPTURE_FORKS_MAX; up = up->up, len++) {
		if (up->map.fd >= 0)
			rivals_seek(pt, up);
		if (up->rivals)
			n = rivals_leave(pt, up, addrs, n);
		shared |= up->rivals;
	}
	perfmap_prepare(f, serial, comm, addrs, n, job);
	job->shared = shared;
	if (!n && all) {
		pt->cap.failed++;
		pr_verbose("no rows captured from the perf map of process '%s': processes of other containers write to the "
			   "same file, and have code at these addresses, too", comm);
	}
}

bool capture_prepare(struct proctab *pt, struct caplist *cl, struct cap_entry *e,
		     struct capture_job *job)
{
	uint64_t *addrs = e->addrs;

	if (e->done)
		return false;
	e->done = true;
	e->addrs = NULL;
	switch (e->kind) {
	case CAPTURE_ELF:
		prepare_dso(pt, e->dso, addrs, e->n, &e->leafs, job);
		e->leafs = (struct leafs){ .v = NULL };
		job->code_max = code_budget_take(&cl->code, job->leafs.samples);
		job->budget = &cl->code;
		break;
	case CAPTURE_PERF_MAP:
		prepare_map(pt, e->facts, e->id, e->comm, addrs, e->n, job);
		break;
	case CAPTURE_JITDUMP:
		jitdump_prepare(e->facts, e->id, e->comm, addrs, e->n, job);
		break;
	case CAPTURE_JIT_RETURNS:
		capture_job_init(job, e->kind, e->id, e->comm, addrs, e->n);
		break;
	case CAPTURE_CODE:	/* comes with its binary's rows */
		return false;
	case CAPTURE_KALLSYMS:
		capture_job_init(job, e->kind, e->id, "/proc/kallsyms", addrs, e->n);
		break;
	}
	return true;
}

static int write_capture(struct proctab *pt, struct rec_out *out, const struct capture *cap)
{
	return out ? rec_out_capture(pt->w, out, cap) : rec_writer_capture(pt->w, cap);
}

/* 0 or a write error. */
static int write_code(struct proctab *pt, struct rec_out *out, const struct capture_job *job)
{
	const struct capture cap = {
		.kind = CAPTURE_CODE, .id = job->id, .data = job->code.s, .size = job->code.len,
	};

	if (!cap.size)
		return 0;
	pt->cap.code_bytes += job->code_bytes;
	return write_capture(pt, out, &cap);
}

int capture_finish(struct proctab *pt, struct rec_out *out, struct capture_job *job)
{
	static const char *const from[] = {
		[CAPTURE_ELF] = "binary",
		[CAPTURE_PERF_MAP] = "the perf map of process",
		[CAPTURE_KALLSYMS] = "kernel symbols",
		[CAPTURE_JITDUMP] = "the jitdump of process",
		[CAPTURE_JIT_RETURNS] = "the memory of process",
	};
	const struct capture cap = {
		.kind = job->kind, .id = job->id, .data = job->rows.s, .size = job->rows.len,
	};
	int ret = 0;

	if (job->budget)
		code_budget_return(job->budget, job->code_max - job->code_bytes);
	/* Rows of an earlier capture are still there, if not for the newest addresses. */
	if (job->err) {
		pt->cap.failed++;
		pr_verbose("no rows captured from %s '%s': %s", from[job->kind], job->name,
			   job->why ? job->why : strerror(-job->err));
	} else if (cap.size) {
		pt->cap.written++;
		pt->cap.served += job->served;
		ret = write_capture(pt, out, &cap);
		if (ret == -EFBIG) {
			pt->cap.failed++;
			ret = 0;
		} else if (job->keep) {
			slice_keep(&pt->files.dsos.slices, job->keep, job);
		}
		if (!ret)
			ret = write_code(pt, out, job);
	}
	capture_job_fini(job);
	return ret;
}

/* Run it here and now. @out NULL: the present file. */
static int capture_now(struct proctab *pt, struct rec_out *out, struct capture_job *job)
{
	capture_job_run(job);
	return capture_finish(pt, out, job);
}

/* ---- before the end of a segment ---- */

void proctab_lists(struct proctab *pt, struct caplist *const *kept, size_t nkept,
		   struct caplist *closing, struct rec_out *out)
{
	pt->cap.kept = kept;
	pt->cap.nkept = nkept;
	pt->cap.closing = closing;
	pt->cap.closing_out = out;
}

/*
 * @all, of *@n (taken), and what is kept of that thing, in order, owned by the caller. What is
 * captured now need not be again: rows of the kept are in the segment that is written now, which
 * outlives theirs.
 */
static uint64_t *with_kept(struct proctab *pt, uint64_t *all, enum capture_kind kind, uint32_t id, size_t *n)
{
	for (size_t i = 0; i < pt->cap.nkept; i++) {
		struct cap_entry *e = caplist_find(pt->cap.kept[i], kind, id);
		uint64_t *both;

		if (!e)
			continue;
		both = caplist_union(all, *n, e->addrs, e->n, n);
		free(all);
		all = both;
		e->done = kind != CAPTURE_ELF;
	}
	return all;
}

static uint64_t *all_addresses(struct proctab *pt, const struct u64map *set,
			       enum capture_kind kind, uint32_t id, size_t *n)
{
	*n = set->n;
	return with_kept(pt, sorted(set), kind, id, n);
}

/* True when there were rows. */
static bool capture_jit_kind(struct proc *p, enum capture_kind kind)
{
	const struct facts *f = p->facts ? p->facts : p->anc;
	struct proctab *pt = p->pt;
	struct capture_job job;
	uint64_t *addrs;
	size_t n;
	bool got;

	addrs = all_addresses(pt, &p->jit, kind, p->serial, &n);
	if (!n) {
		free(addrs);
		return false;
	}
	if (kind == CAPTURE_JITDUMP)
		jitdump_prepare(f, p->serial, p->comm, addrs, n, &job);
	else
		prepare_map(pt, f, p->serial, p->comm, addrs, n, &job);
	if (kind == CAPTURE_PERF_MAP && pt->detached) {
		job.map[0].pinned = -1;
		job.map[0].named = hostmap_open(p);
		job.nmaps = 1;
	}
	capture_job_run(&job);
	got = job.rows.len;
	capture_finish(pt, NULL, &job);
	return got;
}

static void capture_returns(struct proc *p)
{
	struct capture_job job;
	uint64_t *all;
	size_t n;

	returns_take(p->pt);
	all = returns_of(p, &n);
	all = with_kept(p->pt, all, CAPTURE_JIT_RETURNS, p->serial, &n);
	if (!n) {
		free(all);
		return;
	}
	capture_job_init(&job, CAPTURE_JIT_RETURNS, p->serial, p->comm, all, n);
	capture_job_run(&job);
	capture_finish(p->pt, NULL, &job);
}

void capture_jit(struct proc *p)
{
	bool got = false;

	if (!p->serial || p->jit_captured || (!p->jit.n && !p->pt->cap.nkept))
		return;
	if (jitdump_there(p->facts ? p->facts : p->anc))
		got = capture_jit_kind(p, CAPTURE_JITDUMP);
	if (capture_jit_kind(p, CAPTURE_PERF_MAP))
		got = true;
	capture_returns(p);
	p->jit_captured = p->dead && got;
}

/* The list that is being captured wants rows from what is let go. */
static void capture_closing(struct proctab *pt, const struct pin *pin)
{
	struct caplist *cl = pt->cap.closing;

	for (size_t i = 0; cl && i < cl->n; i++) {
		struct cap_entry *e = &cl->v[i];
		const struct facts *f = e->facts;
		struct capture_job job;

		while (f && pin->obj != f && pin->obj != f->rootpin)
			f = f->up;
		if ((f || (e->dso && pin->obj == e->dso)) && capture_prepare(pt, cl, e, &job))
			capture_now(pt, pt->cap.closing_out, &job);
	}
}

static struct leafs all_leafs(const struct proctab *pt, const struct dso *d)
{
	struct leafs all;

	leafs_init(&all, &d->leafs);
	for (size_t i = 0; i < pt->cap.nkept; i++) {
		const struct cap_entry *e = caplist_find(pt->cap.kept[i], CAPTURE_ELF, d->ev.id);

		if (e)
			leafs_add(&all, &e->leafs);
	}
	return all;
}

/* How much room for code a binary with @samples would have if the recording ended now. */
static uint64_t early_share(const struct proctab *pt, uint64_t samples)
{
	uint64_t all = pt->cap.leaf_samples;
	struct code_budget b;

	for (size_t i = 0; i < pt->cap.nkept; i++)
		all += pt->cap.kept[i]->code.samples;
	code_budget_init(&b, all);
	return code_budget_take(&b, samples);
}

bool capture_prepare_dso(struct proctab *pt, struct dso *d, struct capture_job *job)
{
	struct leafs leafs;
	uint64_t *addrs;
	size_t n;

	if (d->not_elf || !d->ev.id || (d->captured == d->seen.n && !pt->cap.nkept))
		return false;
	addrs = all_addresses(pt, &d->seen, CAPTURE_ELF, d->ev.id, &n);
	if (!n) {
		free(addrs);
		return false;
	}
	leafs = all_leafs(pt, d);
	prepare_dso(pt, d, addrs, n, &leafs, job);
	job->code_max = early_share(pt, leafs.samples);
	return true;
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
	const struct facts *f;

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

/* Files that could not be had when they were met first (no descriptors left, a race): once more. */
static void pin_missing(struct proctab *pt, struct proc *p)
{
	struct map_user u = { .pid = p->dead ? 0 : p->pid, .mnt_ns = p->mnt_ns };
	uint32_t i;

	if (p->facts) {
		u.root = p->facts->rootpin;
		u.mnt_ns = p->facts->mnt_ns ? p->facts->mnt_ns : u.mnt_ns;
	}
	for (i = 0; i < p->maps->n; i++) {
		const struct map_entry *e = &p->maps->maps[i];

		if (e->dso && e->dso->pin.fd < 0 && e->dso->seen.n)
			dsotab_pin(&pt->files.dsos, &u, e);
	}
}

/* ---- the end of a segment ---- */

static void list_jit(struct proc *p, enum capture_kind kind, struct caplist *cl)
{
	struct cap_entry *e = caplist_add(cl, kind, p->serial, sorted(&p->jit), p->jit.n);

	e->facts = facts_get(p->facts ? p->facts : p->anc);
	memcpy(e->comm, p->comm, sizeof(e->comm));
	/* It has no facts by which that could be done later. */
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
	pt->cap.nseen -= p->jit.n;
	u64map_fini(&p->jit);
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
		e = caplist_add(cl, CAPTURE_ELF, d->ev.id, sorted(&d->seen), d->seen.n);
		e->dso = d;
		e->done = d->captured == d->seen.n;
		leafs_init(&e->leafs, &d->leafs);
	}
	pt->cap.nseen -= d->seen.n + d->leafs.n;
	u64map_fini(&d->seen);
	u64map_fini(&d->leafs);
	d->captured = 0;
}

struct caplist *proctab_cut(struct proctab *pt)
{
	struct caplist *cl = caplist_new();
	uint64_t pid, val;
	size_t it = 0;

	letgo_settle(pt);
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
		caplist_add(cl, CAPTURE_KALLSYMS, 0, sorted(&pt->cap.kernel), pt->cap.kernel.n);
	pt->cap.nseen -= pt->cap.kernel.n;
	u64map_fini(&pt->cap.kernel);
	pt->cap.leaf_samples = 0;
	caplist_seal(cl);
	pt->segment++;
	proctab_forget(pt, cl);
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
	caplist_free(cl, &pt->files.pins);
	proctab_tell(pt);
	return ret;
}

void proctab_tell(const struct proctab *pt)
{
	pr_verbose("captures written: %" PRIu64 ", kept from an earlier file: %" PRIu64 ", not possible: %" PRIu64 ", files let go early: %"
		   PRIu64, pt->cap.written, pt->cap.served, pt->cap.failed, pt->files.pins.evicted);
	pr_verbose("code captured: %" PRIu64 " byte%s", pt->cap.code_bytes, plural(pt->cap.code_bytes));
	if (pt->cap.seen_refused || pt->files.maps_refused || pt->files.dsos.refused)
		pr_verbose("beyond the limits: addresses: %" PRIu64 ", mappings: %" PRIu64 ", binaries: %" PRIu64, pt->cap.seen_refused,
			   pt->files.maps_refused, pt->files.dsos.refused);
}
