/*
 * remask FULL MASKED: rewrites a recording made with --stacks=full as the recorder would have
 * written it with --stacks=masked, using the recorder's own masking code. Both files have the same
 * samples, so any difference after symbolizing is the masking's fault.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "mask/maskset.h"
#include "procs/threads.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"

struct image {
	struct range *exec;	/* unsorted, may overlap: exec_sorted() makes the mask set */
	size_t n, cap;
	uint32_t serial;
};

struct remask {
	struct rec_writer *w;
	struct u64map images;	/* pid -> struct image * */
	struct stack_words *words;
	struct mask_ctx *mask;
	struct threads threads;
	struct range others[THREAD_STACKS];
	uint64_t buf[STACK_WORDS_MAX];
	struct range *sorted;
	size_t sorted_cap;
};

static struct image *image_get(struct remask *rm, uint32_t pid)
{
	uint64_t *slot = u64map_put(&rm->images, pid, NULL);

	if (!*slot)
		*slot = (uintptr_t)xcalloc(1, sizeof(struct image));
	return (struct image *)(uintptr_t)*slot;
}

static void images_free(struct remask *rm)
{
	uint64_t pid, ptr;

	for (size_t it = 0; u64map_next(&rm->images, &it, &pid, &ptr);) {
		struct image *im = (struct image *)(uintptr_t)ptr;

		free(im->exec);
		free(im);
	}
	u64map_fini(&rm->images);
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* A merged copy of the image's ranges: sorted and disjoint, as struct maskset requires. */
static size_t exec_sorted(struct remask *rm, const struct image *im)
{
	size_t i, n = 0;

	if (!im->n)
		return 0;
	if (im->n > rm->sorted_cap) {
		rm->sorted_cap = im->n * 2;
		rm->sorted = xrealloc(rm->sorted, rm->sorted_cap * sizeof(*rm->sorted));
	}
	memcpy(rm->sorted, im->exec, im->n * sizeof(*im->exec));
	qsort(rm->sorted, im->n, sizeof(*rm->sorted), by_start);
	for (i = 1; i < im->n; i++) {
		if (rm->sorted[i].start <= rm->sorted[n].end)
			rm->sorted[n].end = MAX(rm->sorted[n].end, rm->sorted[i].end);
		else
			rm->sorted[++n] = rm->sorted[i];
	}
	return n + 1;
}

static int remask_dso(void *ctx, const struct ev_dso *ev)
{
	return rec_writer_dso(((struct remask *)ctx)->w, ev);
}

static int remask_proc(void *ctx, const struct ev_proc *ev)
{
	struct remask *rm = ctx;
	struct image *im = image_get(rm, ev->pid);

	/*
	 * For the present image they are its facts, and replace its mappings only if the event has
	 * mappings.
	 */
	if (im->serial != ev->serial || ev->maps_known)
		im->n = 0;
	im->serial = ev->serial;
	return rec_writer_proc(rm->w, ev);
}

static int remask_mmap(void *ctx, const struct ev_mmap *ev)
{
	struct remask *rm = ctx;
	struct image *im = image_get(rm, ev->pid);

	if (ev->prot & PROT_EXEC) {
		XGROW(im->exec, im->n, im->cap);
		im->exec[im->n++] = (struct range){ ev->start, ev->start + ev->len };
	}
	return rec_writer_mmap(rm->w, ev);
}

static int remask_comm(void *ctx, const struct ev_comm *ev)
{
	struct remask *rm = ctx;

	if (ev->exec)
		threads_drop(&rm->threads, ev->pid);
	return rec_writer_comm(rm->w, ev);
}

static int remask_fork(void *ctx, const struct ev_task *ev)
{
	struct remask *rm = ctx;

	threads_drop(&rm->threads, ev->tid);
	return rec_writer_fork(rm->w, ev);
}

static int remask_exit(void *ctx, const struct ev_task *ev)
{
	struct remask *rm = ctx;

	threads_drop(&rm->threads, ev->tid);
	return rec_writer_exit(rm->w, ev);
}

static int remask_cgroup(void *ctx, const struct ev_cgroup *ev)
{
	return rec_writer_cgroup(((struct remask *)ctx)->w, ev);
}

static int remask_ksymbol(void *ctx, const struct ev_ksymbol *ev)
{
	return rec_writer_ksymbol(((struct remask *)ctx)->w, ev);
}

static int remask_sample(void *ctx, const struct ev_sample *ev)
{
	struct remask *rm = ctx;
	struct sample_in in = {
		.time = ev->time, .pid = ev->pid, .tid = ev->tid, .cpu = ev->cpu, .period = ev->period,
		.cgroup = ev->cgroup, .chain = ev->chain, .nchain = ev->nchain, .has_regs = ev->has_regs,
		.copy_full = ev->copy_full,
	};
	size_t size = ev->stack.hi - ev->stack.lo, i;
	struct image *im = image_get(rm, ev->pid);
	uint64_t sp = ev->regs[UREG_SP];
	struct maskset ms = { 0 };
	struct thread *t;
	const struct maskset *use = NULL;

	memcpy(in.regs, ev->regs, sizeof(in.regs));
	ms.nexec = exec_sorted(rm, im);
	ms.exec = rm->sorted;
	t = threads_touch(&rm->threads, ev->pid, ev->tid);
	ms.nstacks = thread_learn_stack(t, sp, size, rm->others);
	ms.stacks = rm->others;
	ms.top = size ? t->stacks[0].end : 0;
	/*
	 * With a user ip outside all mappings, the recorder keeps nothing. Here, all stays: there is
	 * nothing to compare.
	 */
	for (i = 0; i < ms.nexec; i++)
		if (ev->regs[UREG_IP] >= ms.exec[i].start && ev->regs[UREG_IP] < ms.exec[i].end)
			use = &ms;
	if (ev->has_regs && size) {
		for (i = 0; i < size / 8; i++)
			if (stack_view_read(&ev->stack, ev->stack.lo + 8 * i, &rm->buf[i]))
				return -EIO;
		mask_stack(rm->mask, use, ev->stack.lo, rm->buf, size, rm->words);
		in.stack = rm->words;
	}
	if (ev->has_regs && use)
		mask_regs(rm->mask, use, sp, size, in.regs);
	in.unmasked = !use;
	return rec_writer_sample(rm->w, &in);
}

static int remask_capture(void *ctx, const struct capture *cap)
{
	return rec_writer_capture(((struct remask *)ctx)->w, cap);
}

int main(int argc, char **argv)
{
	static const struct event_ops ops = {
		.dso = remask_dso, .proc = remask_proc, .mmap = remask_mmap, .comm = remask_comm, .fork = remask_fork,
		.exit = remask_exit, .cgroup = remask_cgroup, .ksymbol = remask_ksymbol, .sample = remask_sample,
	};
	struct remask rm = { .images = U64MAP_INIT };
	struct rec_reader *r;
	struct ev_ledger ledger;
	const char *key, *val;
	size_t it = 0;
	int fd, err;

	log_init("remask");
	if (argc != 3) {
		fprintf(stderr, "usage: remask FULL MASKED\n");
		return 2;
	}
	r = rec_reader_open(argv[1]);
	if (!r)
		return 1;
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	rm.w = fd < 0 ? NULL : rec_writer_new(fd, &err);
	if (!rm.w) {
		perror(argv[2]);
		return 1;
	}
	rec_writer_patient(rm.w);
	rm.words = xmalloc(sizeof(*rm.words));
	rm.mask = mask_ctx_new(false);
	threads_init(&rm.threads);
	while (rec_reader_info_next(r, &it, &key, &val))
		rec_writer_info(rm.w, key, strcmp(key, "stacks") ? val : "masked");
	err = rec_reader_events(r, &ops, &rm);
	if (!err)
		err = rec_reader_captures(r, remask_capture, &rm);
	if (!err && rec_reader_ledger(r, &ledger))
		err = rec_writer_ledger(rm.w, &ledger);
	if (!err)
		err = rec_writer_finish(rm.w);
	rec_writer_free(rm.w);
	rec_reader_close(r);
	images_free(&rm);
	free(rm.sorted);
	free(rm.words);
	mask_ctx_free(rm.mask);
	threads_fini(&rm.threads);
	if (err)
		fprintf(stderr, "remask: %s\n", strerror(-err));
	return err ? 1 : 0;
}
