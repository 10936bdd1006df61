/*
 * Captures the rows for the addresses seen: symbols, CFI and code of binaries, lines of perf maps,
 * kernel symbols (contrib/doc/capture.md). A failed capture does not fail the recording: it is
 * counted, and reported with -v.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "capture/caplist.h"
#include "capture/capture_job.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/opener_loss.h"
#include "procs/hostmap.h"
#include "procs/proc.h"

/* ---- preparing a capture ---- */

/*
 * Was the file of @d written to since it was mapped, or since it could be read? With a build-id, its slice
 * shows that itself.
 */
static bool has_changed(const struct dso *d)
{
	struct stat st;

	if (d->ev.build_id_len)
		return false;
	if (!d->ev.size)
		return dsotab_rewritten(d);
	return nsopen_stat(d->pin.fd, &st) || (uint64_t)st.st_size != d->ev.size ||
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

/* Opens the files for the rows of @d. 0 or negative errno. */
static int reach_dso(const struct proctab *pt, const struct dso *d, struct capture_job *job)
{
	bool changed;

	if (d->vdso && pt->files.dsos.vdso_image) {
		job->image = pt->files.dsos.vdso_image;
		job->image_size = pt->files.dsos.vdso_size;
		return 0;
	}
	if (d->pin.fd < 0)
		return -ENOENT;
	job->tenant = d->tenant ? tenant_account(d->tenant) : d->ev.mnt_ns;
	job->cgroup = d->tenant ? xstrdup(d->tenant->cgroup) : NULL;
	job->pid = d->pid;
	opener_for(job->tenant, job->cgroup ? job->cgroup : "", job->pid);
	opener_about(hash_combine(job->kind, job->id), job->name);
	changed = has_changed(d);
	opener_about(0, NULL);
	if (changed)
		return -ESTALE;
	job->fd = dup_fd(d->pin.fd);
	if (job->fd < 0)
		return -errno;
	job->rootfd = d->root ? dup_fd(d->root->root.fd) : -1;
	job->path = d->path ? xstrdup(d->path) : NULL;
	return 0;
}

/* Its time is @t's, if that has some left: others' jobs wait for it. */
static void charge(const struct proctab *pt, struct capture_job *job, struct tenant *t)
{
	job->payer = t;
	if (job->err || job->served || tenant_may_capture(t, pt->detached ? 0 : clock_mono_ns()))
		return;
	tenant_left_out(t, BUDGET_ADDRS, job->n);
	job->err = -EDQUOT;
	job->why = "its tenant has used up the time for captures";
}

/* Takes @addrs and @leafs. */
static void prepare_dso(const struct proctab *pt, struct dso *d, uint64_t *addrs, size_t n,
			const struct leaf_counts *leafs, struct capture_job *job)
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
	charge(pt, job, d->tenant);
}

/* As perfmap_prepare(), for those of @addrs with lines that can be told from others'. */
static void prepare_map(struct proctab *pt, const struct proc_facts *f, uint32_t serial, const char *comm, uint64_t *addrs, size_t n,
			struct capture_job *job)
{
	const struct proc_facts *up = f;
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
		e->leafs = (struct leaf_counts){ .v = NULL };
		job->code_max = code_budget_take(&cl->code, job->leafs.samples);
		job->budget = &cl->code;
		break;
	case CAPTURE_PERF_MAP:
		prepare_map(pt, e->facts, e->id, e->comm, addrs, e->n, job);
		charge(pt, job, e->tenant);
		break;
	case CAPTURE_JITDUMP:
		jitdump_prepare(e->facts, e->id, e->comm, addrs, e->n, job);
		charge(pt, job, e->tenant);
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

/*
 * There was a perf map or jitdump, and it was not used: readers say why, instead of that there was
 * none.
 */
static int write_refused(struct proctab *pt, struct rec_out *out, const struct capture_job *job)
{
	struct strbuf note = STRBUF_INIT;
	struct capture cap = { .kind = CAPTURE_PERF_MAP, .id = job->id };
	int ret;

	if (!capture_job_refused(job, &note))
		return 0;
	cap.data = note.s;
	cap.size = note.len;
	ret = write_capture(pt, out, &cap);
	strbuf_fini(&note);
	return ret == -EFBIG ? 0 : ret;
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

	tenant_captured(job->payer, job->ns);
	if (job->short_of_room)
		tenant_left_out(job->payer, BUDGET_ADDRS, job->n);
	if (job->budget)
		code_budget_return(job->budget, job->code_max - job->code_bytes);
	/* Rows of an earlier capture are still there, only not for the newest addresses. */
	if (job->err) {
		pt->cap.failed++;
		pr_verbose("no rows captured from %s '%s': %s", from[job->kind], job->name,
			   job->why ? job->why : strerror(-job->err));
		ret = write_refused(pt, out, job);
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

int capture_now(struct proctab *pt, struct rec_out *out, struct capture_job *job)
{
	capture_job_run(job);
	return capture_finish(pt, out, job);
}

/* ---- with what earlier segments keep ---- */

/*
 * Merges @all, of *@n (taken), with the addresses kept for the same thing; in order, owned by the
 * caller. The kept ones need no other capture: their rows are now in the present segment, which
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

static uint64_t *all_addresses(struct proctab *pt, const struct addrset *set,
			       enum capture_kind kind, uint32_t id, size_t *n)
{
	*n = set->n;
	return with_kept(pt, addrset_sorted(set), kind, id, n);
}

/* The perf map of a process that was recorded earlier, on this host: the next program may write to it while it is read. */
static void capture_hostmap(const struct proc *p, struct capture_job *job)
{
	job->map[0].pinned = capture_file(-1);
	job->map[0].named = capture_file(hostmap_of(p));
	job->map[0].writer = (struct file_writer)FILE_WRITER_ANY;
	job->nmaps = 1;
	capture_job_run(job);
	if (!job->rows.len || hostmap_still(p, job->map[0].named.fd))
		return;
	strbuf_reset(&job->rows);
	job->err = -EPERM;
	job->why = "another program wrote to it while it was read";
}

/* True if there were rows. */
static bool capture_jit_kind(struct proc *p, enum capture_kind kind)
{
	const struct proc_facts *f = p->facts ? p->facts : p->anc;
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
	if (kind == CAPTURE_PERF_MAP && pt->detached)
		capture_hostmap(p, &job);
	else
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

bool capture_jit(struct proc *p)
{
	uint64_t work;
	bool got = false;

	proc_on_behalf(p);
	if (!p->serial || p->jit_captured || (!p->jit.n && !p->pt->cap.nkept))
		return true;
	/* A map may have 256 MiB, and this thread reads it. */
	if (tenant_in_debt(p->tenant, clock_mono_ns()))
		return false;
	work = proc_work_begin();
	if (jitdump_there(p->facts ? p->facts : p->anc))
		got = capture_jit_kind(p, CAPTURE_JITDUMP);
	if (capture_jit_kind(p, CAPTURE_PERF_MAP))
		got = true;
	capture_returns(p);
	p->jit_captured = p->dead && got;
	proc_work_end(p, work);
	return true;
}

static struct leaf_counts all_leafs(const struct proctab *pt, const struct dso *d)
{
	struct leaf_counts all;

	leaf_counts_init(&all, &d->leafs);
	for (size_t i = 0; i < pt->cap.nkept; i++) {
		const struct cap_entry *e = caplist_find(pt->cap.kept[i], CAPTURE_ELF, d->ev.id);

		if (e)
			leaf_counts_add(&all, &e->leafs);
	}
	return all;
}

/* The room for code that a binary with @samples would get if the recording ended now. */
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
	struct leaf_counts leafs;
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
