/*
 * The addresses seen, and the rows for them when a segment ends: symbols and CFI of binaries, lines
 * of perf maps, kernel symbols (DESIGN.md section 4). A missing capture is no failure of the
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
#include "xalloc.h"

/* 32 bytes each: 128 MiB for a recording that meets code without end. */
#define SEEN_MAX (4u << 20)

/* ---- seen ---- */

static void add_address(struct proctab *pt, struct u64map *set, uint64_t addr)
{
	bool is_new = false;

	if (u64map_get(set, addr))
		return;
	if (pt->nseen >= SEEN_MAX) {
		pt->seen_refused++;
		return;
	}
	u64map_put(set, addr, &is_new);
	pt->nseen += is_new;
}

static void saw_mapped(struct proctab *pt, struct proc *p, const struct map_entry *e, uint64_t addr)
{
	uint64_t off = addr - e->start;

	switch (e->kind) {
	case MAPPING_SPECIAL:
		return;
	case MAPPING_VDSO:
		break;
	default:
		off += e->pgoff;
	}
	if (e->dso && !e->dso->not_elf)
		add_address(pt, &e->dso->seen, off);
	else
		add_address(pt, &p->jit, addr);
}

void proc_saw_code(struct proctab *pt, struct proc *p, uint64_t addr)
{
	const struct map_entry *e;

	/*
	 * A leaf is looked up as it is, a caller one byte before: which of them this is, the
	 * unwinder finds out. The byte before may lie in the mapping before, or be the last of one
	 * that ends here.
	 */
	e = mapset_find(p->maps, addr);
	if (e)
		saw_mapped(pt, p, e, addr);
	if (addr && (!e || addr == e->start))
		e = mapset_find(p->maps, addr - 1);
	if (addr && e)
		saw_mapped(pt, p, e, addr - 1);
}

void proctab_saw_kernel(struct proctab *pt, uint64_t addr)
{
	add_address(pt, &pt->kernel, addr);
	add_address(pt, &pt->kernel, addr - 1);
}

static int u64_cmp(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The members of @set in order, owned by the caller. */
static uint64_t *sorted(const struct u64map *set)
{
	uint64_t *out = xmalloc((set->n + 1) * sizeof(*out)), key, val;
	size_t it = 0, n = 0;

	while (u64map_next(set, &it, &key, &val))
		out[n++] = key;
	qsort(out, n, sizeof(*out), u64_cmp);
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
	pt->dsos.slices.max = SLICES_BYTES;
}

/* Takes @addrs. */
static void prepare_dso(const struct proctab *pt, struct dso *d, uint64_t *addrs, size_t n,
			struct capture_job *job)
{
	struct strbuf rows = STRBUF_INIT;
	bool served = slice_serve(&d->slice, &addrs, &n, &rows);

	capture_job_init(job, CAPTURE_ELF, d->ev.id, d->ev.path, addrs, n);
	job->served = served;
	job->rows = rows;
	if (served)
		return;
	if (pt->dsos.slices.max)
		job->keep = &d->slice;
	if (d->vdso && pt->dsos.vdso_image) {
		job->image = pt->dsos.vdso_image;
		job->image_size = pt->dsos.vdso_size;
	} else if (d->pin.fd < 0) {
		job->err = -ENOENT;
	} else if (has_changed(d)) {
		job->err = -ESTALE;
	} else {
		job->fd = dup_fd(d->pin.fd);
		job->err = job->fd < 0 ? -errno : 0;
		job->rootfd = d->root ? dup_fd(d->root->root.fd) : -1;
		job->path = d->path ? xstrdup(d->path) : NULL;
	}
}

bool capture_prepare(struct proctab *pt, struct cap_entry *e, struct capture_job *job)
{
	uint64_t *addrs = e->addrs;

	if (e->done)
		return false;
	e->done = true;
	e->addrs = NULL;
	switch (e->kind) {
	case CAPTURE_ELF:
		prepare_dso(pt, e->dso, addrs, e->n, job);
		break;
	case CAPTURE_PERF_MAP:
		perfmap_prepare(pt, e->facts, e->id, e->comm, addrs, e->n, job);
		break;
	case CAPTURE_JITDUMP:
		jitdump_prepare(e->facts, e->id, e->comm, addrs, e->n, job);
		break;
	case CAPTURE_CODE:	/* comes with its binary's rows */
		return false;
	case CAPTURE_KALLSYMS:
		capture_job_init(job, e->kind, e->id, "/proc/kallsyms", addrs, e->n);
		break;
	}
	return true;
}

int capture_finish(struct proctab *pt, struct rec_out *out, struct capture_job *job)
{
	static const char *const from[] = {
		[CAPTURE_ELF] = "binary",
		[CAPTURE_PERF_MAP] = "the perf map of process",
		[CAPTURE_KALLSYMS] = "kernel symbols",
		[CAPTURE_JITDUMP] = "the jitdump of process",
	};
	const struct capture cap = {
		.kind = job->kind, .id = job->id, .data = job->rows.s, .size = job->rows.len,
	};
	int ret = 0;

	/* Rows of an earlier capture are still there, if not for the newest addresses. */
	if (job->err) {
		pt->captures_failed++;
		pr_verbose("no rows captured from %s '%s': %s", from[job->kind], job->name,
			   job->why ? job->why : strerror(-job->err));
	} else if (cap.size) {
		pt->captures++;
		pt->captures_served += job->served;
		ret = out ? rec_out_capture(pt->w, out, &cap) : rec_writer_capture(pt->w, &cap);
		if (ret == -EFBIG) {
			pt->captures_failed++;
			ret = 0;
		} else if (job->keep) {
			slice_keep(&pt->dsos.slices, job->keep, job);
		}
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
	pt->kept = kept;
	pt->nkept = nkept;
	pt->closing = closing;
	pt->closing_out = out;
}

/*
 * The members of @set and of what is kept of that thing, in order, owned by the caller. What is
 * captured now need not be again: rows of the kept are in the segment that is written now, which
 * outlives theirs.
 */
static uint64_t *all_addresses(struct proctab *pt, const struct u64map *set,
			       enum capture_kind kind, uint32_t id, size_t *n)
{
	uint64_t *all = sorted(set);

	*n = set->n;
	for (size_t i = 0; i < pt->nkept; i++) {
		struct cap_entry *e = caplist_find(pt->kept[i], kind, id);
		uint64_t *both;

		if (!e)
			continue;
		both = caplist_union(all, *n, e->addrs, e->n, n);
		free(all);
		all = both;
		e->done = kind == CAPTURE_PERF_MAP || kind == CAPTURE_JITDUMP;
	}
	return all;
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
		perfmap_prepare(pt, f, p->serial, p->comm, addrs, n, &job);
	capture_job_run(&job);
	got = job.rows.len;
	capture_finish(pt, NULL, &job);
	return got;
}

void capture_jit(struct proc *p)
{
	bool got = false;

	if (!p->serial || p->jit_captured || (!p->jit.n && !p->pt->nkept))
		return;
	if (jitdump_fd(p->facts ? p->facts : p->anc) >= 0)
		got = capture_jit_kind(p, CAPTURE_JITDUMP);
	if (capture_jit_kind(p, CAPTURE_PERF_MAP))
		got = true;
	p->jit_captured = p->dead && got;
}

/* The list that is being captured wants rows from what is let go. */
static void capture_closing(struct proctab *pt, const struct pin *pin)
{
	struct caplist *cl = pt->closing;

	for (size_t i = cl ? cl->next : 0; cl && i < cl->n; i++) {
		struct cap_entry *e = &cl->v[i];
		const struct facts *f = e->facts;
		struct capture_job job;

		while (f && pin->obj != f && pin->obj != f->rootpin)
			f = f->up;
		if ((f || (e->dso && pin->obj == e->dso)) && capture_prepare(pt, e, &job))
			capture_now(pt, pt->closing_out, &job);
	}
}

static void capture_dso(struct proctab *pt, struct dso *d)
{
	struct capture_job job;
	uint64_t *addrs;
	size_t n;

	if (d->not_elf || !d->ev.id || (d->captured == d->seen.n && !pt->nkept))
		return;
	addrs = all_addresses(pt, &d->seen, CAPTURE_ELF, d->ev.id, &n);
	if (!n) {
		free(addrs);
		return;
	}
	prepare_dso(pt, d, addrs, n, &job);
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

	pt->evicting = true;
	capture_closing(pt, pin);
	if (pin->kind == PIN_ELF)
		capture_dso(pt, pin->obj);
	while (pin->kind != PIN_ELF && u64map_next(&pt->procs, &it, &pid, &val)) {
		struct proc *p = (struct proc *)(uintptr_t)val;

		if (p->jit.n && uses_pin(p, pin))
			capture_jit(p);
	}
	pt->evicting = false;
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
			dsotab_pin(&pt->dsos, &u, e);
	}
}

/* ---- the end of a segment ---- */

static void list_jit(struct proc *p, enum capture_kind kind, struct caplist *cl)
{
	struct cap_entry *e = caplist_add(cl, kind, p->serial, sorted(&p->jit), p->jit.n);

	e->facts = facts_get(p->facts ? p->facts : p->anc);
	memcpy(e->comm, p->comm, sizeof(e->comm));
	e->done = p->jit_captured;
}

static void cut_jit(struct proctab *pt, struct proc *p, struct caplist *cl)
{
	if (p->serial && p->jit.n) {
		list_jit(p, CAPTURE_PERF_MAP, cl);
		if (jitdump_fd(p->facts ? p->facts : p->anc) >= 0)
			list_jit(p, CAPTURE_JITDUMP, cl);
	}
	pt->nseen -= p->jit.n;
	u64map_fini(&p->jit);
	p->jit_captured = false;
}

static void cut_dso(struct proctab *pt, struct dso *d, struct caplist *cl)
{
	struct cap_entry *e;

	/* Not in use any more. */
	if (!d->seen.n)
		slice_drop(&pt->dsos.slices, &d->slice);
	if (d->seen.n && !d->not_elf && d->ev.id) {
		e = caplist_add(cl, CAPTURE_ELF, d->ev.id, sorted(&d->seen), d->seen.n);
		e->dso = d;
		e->done = d->captured == d->seen.n;
	}
	pt->nseen -= d->seen.n;
	u64map_fini(&d->seen);
	d->captured = 0;
}

struct caplist *proctab_cut(struct proctab *pt)
{
	struct caplist *cl = caplist_new();
	uint64_t pid, val;
	size_t it = 0;

	while (u64map_next(&pt->procs, &it, &pid, &val)) {
		struct proc *p = (struct proc *)(uintptr_t)val;

		cut_jit(pt, p, cl);
		if (proc_written(p))
			pin_missing(pt, p);
	}
	for (size_t i = 0; i < pt->dsos.n; i++)
		cut_dso(pt, pt->dsos.dsos[i], cl);
	if (pt->kernel.n)
		caplist_add(cl, CAPTURE_KALLSYMS, 0, sorted(&pt->kernel), pt->kernel.n);
	pt->nseen -= pt->kernel.n;
	u64map_fini(&pt->kernel);
	caplist_seal(cl);
	pt->segment++;
	proctab_forget(pt, cl);
	return cl;
}

int proctab_capture(struct proctab *pt)
{
	struct caplist *cl = proctab_cut(pt);
	int ret = 0;

	for (size_t i = 0; i < cl->n; i++) {
		struct capture_job job;
		int err = capture_prepare(pt, &cl->v[i], &job) ? capture_now(pt, NULL, &job) : 0;

		ret = ret ? ret : err;
	}
	caplist_free(cl, &pt->pins);
	proctab_tell(pt);
	return ret;
}

void proctab_tell(const struct proctab *pt)
{
	pr_verbose("%" PRIu64 " captures written, %" PRIu64 " of them kept from an earlier file, %" PRIu64
		   " not possible, %" PRIu64 " files let go early",
		   pt->captures, pt->captures_served, pt->captures_failed, pt->pins.evicted);
	if (pt->seen_refused || pt->maps_refused || pt->dsos.refused)
		pr_verbose("beyond the limits: %" PRIu64 " addresses, %" PRIu64
			   " mappings, %" PRIu64 " binaries",
			   pt->seen_refused, pt->maps_refused, pt->dsos.refused);
}
