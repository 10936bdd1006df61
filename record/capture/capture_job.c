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

/*
 * Reads the pinned file, which is known to be the process's own; otherwise the file with its name.
 */
static int run_map(struct capture_job *job, size_t i, size_t *room)
{
	const size_t before = job->rows.len;
	int ret = -ENOENT;

	if (job->map[i].pinned >= 0)
		ret = perfmap_slice(job->map[i].pinned, job->addrs, job->n, room, &job->rows);
	if (job->rows.len > before)
		return 0;
	if (job->map[i].named < 0)
		return ret;
	return perfmap_slice(job->map[i].named, job->addrs, job->n, room, &job->rows);
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

static int run_dumps(struct capture_job *job)
{
	int ret = -ENOENT;

	for (size_t i = job->ndumps; i--;) {
		struct strbuf rows = STRBUF_INIT;
		int got = jitdump_slice(job->dump[i].fd, job->addrs, job->n, job->dump[i].shift, &rows);

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

static void make_all_readable(struct capture_job *job)
{
	int err = 0;

	make_readable(&job->fd, &job->err);
	for (size_t i = 0; i < job->ndumps; i++)
		make_readable(&job->dump[i].fd, &err);
	for (size_t i = 0; i < job->nmaps; i++) {
		make_readable(&job->map[i].pinned, &err);
		make_readable(&job->map[i].named, &err);
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
		job->why = job->err ? jitdump_why(job->err) : job->why;
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

void capture_job_fini(struct capture_job *job)
{
	close_fd(job->fd);
	close_fd(job->rootfd);
	for (size_t i = 0; i < job->ndumps; i++)
		close_fd(job->dump[i].fd);
	for (size_t i = 0; i < job->nmaps; i++) {
		close_fd(job->map[i].pinned);
		close_fd(job->map[i].named);
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
