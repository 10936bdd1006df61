/*
 * unwindbench RECORDING [REPEAT | fresh | reuse]: time of unwinding alone, on the stacks of a
 * recording as replay gives them. Every stack is unwound once to fill the caches, and then REPEAT
 * times (100, because reading the clock is a system call). The result is the CPU time of this
 * thread divided by the frames found. Prints "what samples frames depth ns_frame": "all" and "deep"
 * (30 frames and more) without using the thread's last stack, "all-reuse" and "deep-reuse" with it.
 * Fails when the two do not find the same frames. fresh, reuse: every stack is unwound once in that
 * way, by counted(), so that a tool can count the instructions there.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "modules/module.h"
#include "recording/rec_reader.h"
#include "replay/replay.h"
#include "support/process_alive.h"
#include "unwind/unwind.h"

#define FRAMES_MAX 1024
#define DEEP 30

struct sums {
	uint64_t samples, frames, unwound, ns;
};

struct bench {
	void *priv;
	unsigned long repeat;
	bool once, once_reuse;
	struct frame frames[FRAMES_MAX], again[FRAMES_MAX];
	struct sums sums[2][2];		/* indexed by: with reuse, deep */
	uint64_t different;
};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void add(struct sums *s, uint32_t frames, unsigned long repeat, uint64_t ns)
{
	s->samples++;
	s->frames += frames;
	s->unwound += frames * repeat;
	s->ns += ns;
}

static void measure(struct bench *b, const struct unwind_input *in, struct unwind_result *res)
{
	bool reuse = in->tid != 0;
	uint64_t ns;

	unwind_cached.unwind(b->priv, in, res);
	ns = cpu_ns();
	for (unsigned long i = 0; i < b->repeat; i++)
		unwind_cached.unwind(b->priv, in, res);
	ns = cpu_ns() - ns;
	add(&b->sums[reuse][0], res->n, b->repeat, ns);
	if (res->n >= DEEP)
		add(&b->sums[reuse][1], res->n, b->repeat, ns);
}

static bool same(const struct unwind_result *a, const struct unwind_result *b)
{
	if (a->n != b->n || a->end != b->end || a->at != b->at)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->frames[i].addr.v != b->frames[i].addr.v ||
		    a->frames[i].kind != b->frames[i].kind ||
		    a->frames[i].scanned != b->frames[i].scanned)
			return false;
	return true;
}

/* The function that valgrind's --toggle-collect names. */
__attribute__((noinline)) static void counted(struct bench *b, const struct unwind_input *in,
					      struct unwind_result *res)
{
	unwind_cached.unwind(b->priv, in, res);
}

static int on_sample(void *ctx, const struct replay_sample *rs)
{
	const struct ev_sample *s = rs->ev;
	struct bench *b = ctx;
	struct unwind_result first = { .frames = b->frames }, second = { .frames = b->again };
	struct unwind_input in = {
		.regs = s->regs,
		.stack = &s->stack,
		.copy_full = s->copy_full,
		.cut = s->cut,
		.as = rs->img ? rs->img->as : NULL,
		.max_frames = FRAMES_MAX,
		.changed_end = s->changed_end,
	};

	if (!s->has_regs || rs->in_exec || !in.as) {
		unwind_cached.forget(b->priv, s->tid);
		return 0;
	}
	if (b->once) {
		unwind_cached.unwind(b->priv, &in, &second);	/* fills the caches */
		in.tid = b->once_reuse ? s->tid : 0;
		counted(b, &in, &first);
		add(&b->sums[b->once_reuse][0], first.n, 0, 0);
		return 0;
	}
	/* With reuse first, because it depends on what the thread's last stack left. */
	in.tid = s->tid;
	unwind_cached.unwind(b->priv, &in, &second);
	in.tid = 0;
	measure(b, &in, &first);
	b->different += !same(&first, &second);
	in.tid = s->tid;
	measure(b, &in, &second);
	b->different += !same(&first, &second);
	return 0;
}

static void print(const char *what, const struct sums *s)
{
	printf("%s\t%llu\t%llu\t%.1f\t%.2f\n", what, (unsigned long long)s->samples,
	       (unsigned long long)s->frames, s->samples ? (double)s->frames / s->samples : 0,
	       s->unwound ? (double)s->ns / s->unwound : 0);
}

int main(int argc, char **argv)
{
	struct bench *b = xcalloc(1, sizeof(*b));
	struct rec_reader *r;
	struct modules *mods;
	struct replay *rp;
	int err;

	log_init("unwindbench");
	if (argc < 2) {
		pr_err("usage: unwindbench RECORDING [REPEAT | fresh | reuse]");
		return 2;
	}
	r = rec_reader_open(argv[1]);
	if (!r)
		return 1;
	alive_init(r);
	b->repeat = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
	b->once_reuse = argc > 2 && !strcmp(argv[2], "reuse");
	b->once = b->once_reuse || (argc > 2 && !strcmp(argv[2], "fresh"));
	mods = modules_new();
	rp = replay_new(mods);
	b->priv = unwind_cached.create();
	err = replay_run(rp, r, on_sample, b);
	print("all", &b->sums[0][0]);
	print("deep", &b->sums[0][1]);
	print("all-reuse", &b->sums[1][0]);
	print("deep-reuse", &b->sums[1][1]);
	if (b->different)
		pr_err("%llu stacks are not the same with reuse", (unsigned long long)b->different);
	unwind_cached.destroy(b->priv);
	replay_free(rp);
	modules_free(mods);
	rec_reader_close(r);
	err = err || b->different;
	free(b);
	return err;
}
