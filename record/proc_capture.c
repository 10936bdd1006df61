/*
 * The addresses seen, and at the end the rows for them: symbols and CFI of binaries, lines of perf
 * maps, kernel symbols (DESIGN.md section 4). A missing capture is no failure of the recording: it
 * is counted and told with -v.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "log.h"
#include "nsopen.h"
#include "proc.h"
#include "xalloc.h"

/* 32 bytes each: 128 MiB for a recording that meets code without end. */
#define SEEN_MAX (4u << 20)
#define FORKS_MAX 8	/* ancestors whose perf maps are asked */

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

/* ---- capture ---- */

static int write_capture(struct proctab *pt, enum capture_kind kind, uint32_t id,
			 const struct strbuf *rows)
{
	struct capture cap = { .kind = kind, .id = id, .data = rows->s, .size = rows->len };

	if (!rows->len)
		return 0;
	pt->captures++;
	return rec_writer_capture(pt->w, &cap);
}

/* @why: what the errno does not say; may be NULL. */
static void capture_failed(struct proctab *pt, const char *what, const char *name, int err,
			   const char *why)
{
	pt->captures_failed++;
	pr_verbose("no rows captured from %s '%s': %s", what, name, why ? why : strerror(-err));
}

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

static int capture_dso(struct proctab *pt, struct dso *d)
{
	struct strbuf rows = STRBUF_INIT;
	uint64_t *offs;
	int ret = -ENOENT;

	if (!d->seen.n || d->captured == d->seen.n || d->not_elf || !d->ev.id)
		return 0;
	offs = sorted(&d->seen);
	if (d->vdso && pt->dsos.vdso_image)
		ret = capture_elf_mem(pt->dsos.vdso_image, pt->dsos.vdso_size, offs, d->seen.n,
				      &rows);
	else if (d->pin.fd >= 0 && has_changed(d))
		ret = -ESTALE;
	else if (d->pin.fd >= 0)
		ret = capture_elf(d->pin.fd, d->root ? d->root->root.fd : -1, d->path, offs,
				  d->seen.n, &rows);
	free(offs);
	if (ret < 0) {
		/* Rows of an earlier capture are still there, if not for the newest addresses. */
		capture_failed(pt, "binary", d->ev.path, ret, NULL);
		ret = 0;
	} else {
		d->captured = d->seen.n;
		ret = write_capture(pt, CAPTURE_ELF, d->ev.id, &rows);
	}
	strbuf_fini(&rows);
	return ret;
}

/*
 * May this file be the perf map of a process with facts @f? NULL, or why not. A container can put
 * anything there; and on a shared /tmp the name may be that of another container's process.
 */
static const char *refuse_map(const struct facts *f, const struct stat *st)
{
	const int64_t mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;

	if (st->st_uid && (!f->have_fsuid || st->st_uid != f->fsuid))
		return "it belongs to another user";
	/* One second for the tick of the start time and for file systems with coarse times. */
	if (mtime + 1000000000 < facts_start_wall(f->start_ticks))
		return "it is older than the process";
	return NULL;
}

static int open_map_at(const struct facts *f, int dirfd, const char *path, const char **why)
{
	struct stat st;
	const char *no;
	int fd;

	if (dirfd < 0)
		return -ENOENT;
	fd = nsopen_file(dirfd, path, 0, &st);
	if (fd == -EINVAL)
		*why = "it is not a regular file";
	if (fd < 0)
		return fd;
	no = refuse_map(f, &st);
	if (!no)
		return fd;
	*why = no;
	close(fd);
	return -EPERM;
}

/*
 * The process names the file after the pid it sees itself, so the innermost number comes first;
 * with a pid namespace of its own but libraries that ask the kernel otherwise, an outer one may be
 * right.
 */
int perfmap_open(const struct facts *f, const char **why)
{
	const struct rootpin *r = f->rootpin;
	uint32_t i;

	for (i = f->nspid_n; r && i--;) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", f->nspid[i]);
		fd = open_map_at(f, r->root.fd, path, why);
		/* A container that is gone: its root leads no longer to a /tmp that was a mount. */
		if (fd < 0)
			fd = open_map_at(f, r->tmp.fd, path + strlen("/tmp/"), why);
		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

/* Rows from the map of one process: from the pinned file, known to be its own, else by name. */
static int capture_map_of(const struct facts *f, const uint64_t *addrs, size_t n,
			  struct strbuf *rows, const char **why)
{
	const size_t before = rows->len;
	int fd, ret = -ENOENT;

	if (f->map.fd >= 0)
		ret = capture_perf_map(f->map.fd, addrs, n, rows);
	if (rows->len > before)
		return 0;
	fd = perfmap_open(f, why);
	if (fd < 0)
		return ret;
	ret = capture_perf_map(fd, addrs, n, rows);
	close(fd);
	return ret;
}

void capture_jit(struct proc *p)
{
	const struct facts *chain[FORKS_MAX], *f = p->facts ? p->facts : p->anc;
	struct strbuf rows = STRBUF_INIT;
	const char *why = NULL;
	size_t n = 0;
	uint64_t *addrs;
	int ret = -ENOENT, got;

	if (!p->jit.n || !p->serial || p->jit_captured)
		return;
	for (; f && n < FORKS_MAX; f = f->up)
		chain[n++] = f;
	addrs = sorted(&p->jit);
	/*
	 * Code compiled before a fork is named in the map of the process that forked. The last
	 * entry for an address wins, so the process's own lines come last.
	 */
	while (n--) {
		got = capture_map_of(chain[n], addrs, p->jit.n, &rows, &why);
		if (!got || ret)
			ret = got;
	}
	free(addrs);
	if (rows.len)
		write_capture(p->pt, CAPTURE_PERF_MAP, p->serial, &rows);
	else
		capture_failed(p->pt, "the perf map of process", p->comm, ret ? ret : -ENOENT, why);
	p->jit_captured = p->dead && rows.len;
	strbuf_fini(&rows);
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

	if (pin->kind == PIN_ELF) {
		capture_dso(pt, pin->obj);
		return;
	}
	while (u64map_next(&pt->procs, &it, &pid, &val)) {
		struct proc *p = (struct proc *)(uintptr_t)val;

		if (p->jit.n && uses_pin(p, pin))
			capture_jit(p);
	}
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

		if (e->dso && e->dso->pin.fd < 0 && e->dso->captured != e->dso->seen.n)
			dsotab_pin(&pt->dsos, &u, e);
	}
}

static int capture_kernel(struct proctab *pt)
{
	struct strbuf rows = STRBUF_INIT;
	uint64_t *addrs;
	int ret;

	if (!pt->kernel.n)
		return 0;
	addrs = sorted(&pt->kernel);
	ret = capture_kallsyms(addrs, pt->kernel.n, &rows);
	free(addrs);
	if (ret < 0) {
		capture_failed(pt, "kernel symbols", "/proc/kallsyms", ret, NULL);
		ret = 0;
	} else {
		ret = write_capture(pt, CAPTURE_KALLSYMS, 0, &rows);
	}
	strbuf_fini(&rows);
	return ret;
}

int proctab_capture(struct proctab *pt)
{
	uint64_t pid, val;
	size_t it = 0, i;
	int ret = 0, err;

	while (u64map_next(&pt->procs, &it, &pid, &val)) {
		struct proc *p = (struct proc *)(uintptr_t)val;

		if (!p->serial)
			continue;
		capture_jit(p);
		pin_missing(pt, p);
	}
	for (i = 0; i < pt->dsos.n; i++) {
		err = capture_dso(pt, pt->dsos.dsos[i]);
		ret = ret ? ret : err;
	}
	err = capture_kernel(pt);
	ret = ret ? ret : err;

	pr_verbose("%" PRIu64 " captures written, %" PRIu64 " not possible, %" PRIu64
		   " files let go early",
		   pt->captures, pt->captures_failed, pt->pins.evicted);
	if (pt->seen_refused || pt->maps_refused || pt->dsos.refused)
		pr_verbose("beyond the limits: %" PRIu64 " addresses, %" PRIu64
			   " mappings, %" PRIu64 " binaries",
			   pt->seen_refused, pt->maps_refused, pt->dsos.refused);
	return ret;
}
