#include "capture/capture_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "capture/capture.h"
#include "capture/capture_code.h"
#include "elf/elf_fetch.h"
#include "elf/elf_file.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/openwhy.h"
#include "host/opener_loss.h"
#include "host/parser.h"
#include "jit/perfmap_line.h"
#include "jit/perfmap_slice.h"
#include "jitdump.h"

/* Largest file that is copied, bytes. */
#define COPY_MAX (256u << 20)
/* For perfmap_slice(): what the long names of one process may have in a recording. */
#define MAP_NAMES_MAX ((size_t)1 << 20)

void capture_job_init(struct capture_job *job, enum capture_kind kind, uint32_t id,
		      const char *name, uint64_t *addrs, size_t n)
{
	*job = (struct capture_job){
		.kind = kind, .id = id, .name = xstrdup(name), .addrs = addrs, .n = n,
		.fd = -1, .rootfd = -1,
	};
}

struct capture_file capture_file(int fd)
{
	return (struct capture_file){ .fd = fd < 0 ? -1 : fd, .copy = -1 };
}

/* Where the bytes of @f are read; negative: nowhere. */
static int readable(const struct capture_file *f)
{
	return f->copy < 0 ? f->fd : f->copy;
}

/* @rows were read of @f. Leaves only the first @before bytes of them if they may not be used. 0 or negative errno. */
static int keep_own(struct capture_job *job, const struct capture_file *f, const struct file_writer *w, struct strbuf *rows, size_t before)
{
	const char *no = file_writer_changed(w, f->fd);

	if (!no)
		return 0;
	job->why = no;
	strbuf_cut(rows, before);
	return -EPERM;
}

static int slice_map(struct capture_job *job, const struct capture_file *f, const struct file_writer *w, size_t *room)
{
	const size_t before = job->rows.len;
	int ret, no;

	if (readable(f) < 0)
		return -ENOENT;
	ret = perfmap_slice(readable(f), job->addrs, job->n, room, &job->rows);
	no = keep_own(job, f, w, &job->rows, before);
	return no ? no : ret;
}

/*
 * Reads the pinned file, which is known to be the process's own; otherwise the file with its name.
 */
static int run_map(struct capture_job *job, size_t i, size_t *room)
{
	const size_t before = job->rows.len;
	const int ret = slice_map(job, &job->map[i].pinned, &job->map[i].writer, room);

	if (job->rows.len > before)
		return 0;
	if (readable(&job->map[i].named) < 0)
		return ret;
	return slice_map(job, &job->map[i].named, &job->map[i].writer, room);
}

/*
 * Code compiled before a fork is listed in the map of the process that forked. The last entry for
 * an address wins, so the process's own lines come last.
 */
static int run_maps(struct capture_job *job)
{
	size_t room = MAP_NAMES_MAX;
	int ret = -ENOENT;

	if (job->shared)
		strbuf_add(&job->rows, PERFMAP_SHARED "\n", sizeof(PERFMAP_SHARED));
	for (size_t i = 0; i < job->nmaps; i++) {
		int got = run_map(job, i, &room);

		if (!got || ret)
			ret = got;
	}
	if (job->rows.len)
		return 0;
	return ret ? ret : -ENOENT;
}

static int slice_dump(struct capture_job *job, size_t i, struct strbuf *rows)
{
	const struct capture_file *f = &job->dump[i].file;
	int ret, no;

	if (readable(f) < 0)
		return -ENOENT;
	ret = jitdump_slice(readable(f), job->addrs, job->n, job->dump[i].shift, rows);
	no = keep_own(job, f, &job->dump[i].writer, rows, 0);
	return no ? no : ret;
}

static int run_dumps(struct capture_job *job)
{
	int ret = -ENOENT;

	for (size_t i = job->ndumps; i--;) {
		struct strbuf rows = STRBUF_INIT;
		int got = slice_dump(job, i, &rows);

		if (!got || ret)
			ret = got;
		jitdump_join(&rows, &job->rows);
		strbuf_fini(&job->rows);
		job->rows = rows;
	}
	return ret;
}

static int run_elf(struct capture_job *job)
{
	struct strbuf *spans = job->keep ? &job->spans : NULL;
	int err;

	if (job->served)
		return 0;
	if (job->image)
		return capture_elf_mem(job->image, job->image_size, job->addrs, job->n, &job->rows, spans);
	err = capture_elf(job->fd, job->rootfd, job->path, job->addrs, job->n, &job->rows, spans);
	if (err > 0)
		pr_verbose("not all rows captured from '%s': its tables are too large", job->name);
	job->short_of_room = err > 0;
	return err > 0 ? 0 : err;
}

static void run_code(struct capture_job *job)
{
	struct elf_file *ef;
	int err;

	/* The rows may be kept ones, and their file no longer available. */
	if (!job->leafs.n || (!job->image && job->fd < 0))
		return;
	ef = job->image ? elf_file_open_mem(job->image, job->image_size, &err) : elf_file_open_fd(job->fd, &err);
	if (ef)
		job->code_bytes = capture_code(ef, job->rows.s, job->rows.len, &job->leafs, job->code_max,
					       &job->code);
	elf_file_close(ef);
}

/* A file whose file system may not answer is copied first; -1 if it does not. */
static void make_readable(int *fd, int *err)
{
	bool part;
	int copy;

	if (*fd < 0 || !nsopen_is_remote(*fd))
		return;
	copy = elf_fetch(*fd, COPY_MAX, &part);
	nsopen_close(*fd);
	*fd = copy < 0 ? -1 : copy;
	if (copy < 0)
		*err = copy;
}

/* The file itself stays open for file_writer_changed(). */
static void copy_remote(struct capture_file *f)
{
	bool part;

	if (f->fd < 0 || !nsopen_is_remote(f->fd))
		return;
	f->copy = elf_fetch(f->fd, COPY_MAX, &part);
	if (f->copy >= 0)
		return;
	nsopen_close(f->fd);
	f->fd = -1;
}

static void make_all_readable(struct capture_job *job)
{
	make_readable(&job->fd, &job->err);
	for (size_t i = 0; i < job->ndumps; i++)
		copy_remote(&job->dump[i].file);
	for (size_t i = 0; i < job->nmaps; i++) {
		copy_remote(&job->map[i].pinned);
		copy_remote(&job->map[i].named);
	}
}

static void run(struct capture_job *job)
{
	switch (job->kind) {
	case CAPTURE_ELF:
		job->err = run_elf(job);
		if (!job->err)
			run_code(job);
		break;
	case CAPTURE_PERF_MAP:
		job->err = run_maps(job);
		if (job->err && !job->why)
			job->why = openwhy(OPENWHY_IT, job->err);
		break;
	case CAPTURE_JITDUMP:
		job->err = run_dumps(job);
		if (job->err && job->err != -EPERM)
			job->why = jitdump_why(job->err);
		break;
	case CAPTURE_JIT_RETURNS:	/* they are the rows */
		strbuf_add(&job->rows, (const char *)job->addrs, job->n * sizeof(*job->addrs));
		break;
	case CAPTURE_CODE:	/* comes with the rows of its binary */
		break;
	case CAPTURE_KALLSYMS:
		job->err = capture_ksyms(job->addrs, job->n, &job->rows);
		break;
	}
}

void capture_job_run(struct capture_job *job)
{
	const uint64_t begun = clock_thread_ns(), what = hash_combine(job->kind, job->id);
	/* For parser_working_on(): 0 is nothing. */
	const uint32_t work = (uint32_t)what | 1;

	if (job->err)
		return;
	if (parser_avoids(work)) {
		job->err = -ECANCELED;
		job->why = "reading it ended the process that did it";
		return;
	}
	if (job->tenant)
		opener_for(job->tenant, job->cgroup ? job->cgroup : "", job->pid);
	opener_about(what, job->name);
	make_all_readable(job);
	opener_about(0, NULL);
	if (job->err)
		return;
	parser_working_on(work, job->name);
	run(job);
	parser_working_on(0, NULL);
	job->ns = clock_thread_ns() - begun;
}

bool capture_job_refused(const struct capture_job *job, struct strbuf *out)
{
	if (!job->err || !job->why || (job->kind != CAPTURE_PERF_MAP && job->kind != CAPTURE_JITDUMP))
		return false;
	strbuf_addf(out, PERFMAP_REFUSED "its %s is not used: %s\n", job->kind == CAPTURE_JITDUMP ? "jitdump" : "perf map", job->why);
	return true;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		nsopen_close(fd);
}

static void close_file(const struct capture_file *f)
{
	close_fd(f->fd);
	close_fd(f->copy);
}

void capture_job_fini(struct capture_job *job)
{
	close_fd(job->fd);
	close_fd(job->rootfd);
	for (size_t i = 0; i < job->ndumps; i++)
		close_file(&job->dump[i].file);
	for (size_t i = 0; i < job->nmaps; i++) {
		close_file(&job->map[i].pinned);
		close_file(&job->map[i].named);
	}
	free(job->name);
	free(job->path);
	free(job->cgroup);
	free(job->addrs);
	leaf_counts_fini(&job->leafs);
	strbuf_fini(&job->rows);
	strbuf_fini(&job->spans);
	strbuf_fini(&job->code);
}
