/* Reads a recording with several threads (parallel_pass.h). */
#include "cmd/parallel_pass.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cpus.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "debuginfo/debuginfod.h"
#include "modules/module.h"
#include "recording/rec_reader.h"
#include "replay/collect.h"
#include "replay/collect_waits.h"
#include "replay/replay.h"
#include "support/interrupt.h"

#define THREADS_MAX 32u
/*
 * Each thread opens binaries and reads unwind rows again. This many samples, about 20 ms of work,
 * pay for that.
 */
#define SAMPLES_MIN 16384u
/*
 * A second thread that decodes ahead repeats some work and has to hand over the rest. Below this
 * many samples, that does not pay.
 */
#define AHEAD_MIN SAMPLES_MIN

struct share {
	struct collect col;	/* first: the replay calls with it */
	struct replay_share which;
	struct modules *mods;	/* owned */
	struct rec_reader *r;	/* owned */
	atomic_bool *taken;	/* borrowed; by part */
	atomic_int *idle;	/* borrowed; CPUs that no thread uses */
	bool helped;
	pthread_t tid;
	int err;
};

static unsigned int threads_for(const struct collect *c, uint32_t parts, uint64_t samples)
{
	/* Only one thread may query a debuginfod server. */
	if (!c->opts.unwinder->threads || debuginfod_is_on())
		return 1;
	return (unsigned int)MIN(cpus_usable(), MIN(parts, samples / SAMPLES_MIN));
}

/* Each part goes to the first thread that reaches it. */
static bool take_part(void *ctx, uint32_t part)
{
	struct share *s = ctx;

	if (interrupt_requested())
		s->col.stopped = true;
	return !s->col.stopped && !s->which.unsure && !atomic_exchange(&s->taken[part], true);
}

/*
 * A part cannot be split. If a CPU is idle, a helper thread decodes this share's samples from here
 * on.
 */
static void take_help(void *ctx)
{
	struct share *s = ctx;

	if (s->helped || atomic_load_explicit(s->idle, memory_order_relaxed) <= 0)
		return;
	if (atomic_fetch_sub(s->idle, 1) > 0) {
		s->helped = true;
		rec_reader_work_ahead(s->r);
	} else {
		atomic_fetch_add(s->idle, 1);
	}
}

static bool take_none(void *ctx, uint32_t part)
{
	(void)ctx;
	(void)part;
	return false;
}

static int no_sample(void *ctx, const struct replay_sample *s)
{
	(void)ctx;
	(void)s;
	return 0;
}

static void *share_run(void *arg)
{
	struct share *s = arg;

	s->err = collect_run(&s->col, s->r);
	atomic_fetch_add(s->idle, s->helped ? 2 : 1);
	return NULL;
}

/* False if no more files can be opened. */
static bool share_init(struct share *s, const struct collect *c, const struct rec_reader *r,
		       atomic_bool *taken, atomic_int *idle, atomic_uint_fast64_t *samples)
{
	s->r = rec_reader_again(r);
	if (!s->r)
		return false;
	s->mods = modules_new();
	collect_init(&s->col, replay_new(s->mods), &c->opts);
	s->which.wants = take_part;
	s->which.block = take_help;
	s->col.share = &s->which;
	s->col.all_samples = samples;
	s->taken = taken;
	s->idle = idle;
	return true;
}

static void share_fini(struct share *s)
{
	struct replay *rp = s->col.rp;

	collect_fini(&s->col);
	replay_free(rp);
	modules_free(s->mods);
	rec_reader_close(s->r);
}

/* Starts all threads but the first, and runs the first share itself. Returns how many ran. */
static unsigned int run_all(struct share *shares, unsigned int n)
{
	unsigned int up = 1;

	while (up < n && !pthread_create(&shares[up].tid, NULL, share_run, &shares[up]))
		up++;
	if (up > 1)
		share_run(&shares[0]);
	for (unsigned int i = 1; i < up; i++)
		pthread_join(shares[i].tid, NULL);
	return up;
}

/* Merges @shares into @c. Returns as collect_run(); -EAGAIN: the shares cannot be merged. */
static int put_together(struct collect *c, struct rec_reader *r, struct modules *mods,
			struct share *shares, unsigned int n)
{
	struct replay_share none = { .wants = take_none };
	/* @n is not 0, but the compiler cannot know. */
	struct rec_reader *readers[THREADS_MAX] = { shares[0].r };
	struct collect *cols[THREADS_MAX];
	bool stopped = false;
	int err;

	for (unsigned int i = 0; i < n; i++) {
		if (shares[i].err || shares[i].which.unsure)
			return -EAGAIN;
		readers[i] = shares[i].r;
		cols[i] = &shares[i].col;
		stopped |= shares[i].col.stopped;
	}
	/* The pass for names needs the processes, but no samples. */
	err = replay_run_share(c->rp, r, &none, no_sample, c);
	if (err)
		return err;
	collect_waits_end(c);
	rec_reader_join_damage(r, readers, n);
	for (unsigned int i = 0; i < n; i++)
		collect_add(c, cols[i], cols, n, mods);
	collect_settle(c);
	return stopped ? COLLECT_STOPPED : 0;
}

int parallel_pass_run(struct collect *c, struct rec_reader *r, struct modules *mods, unsigned int threads)
{
	uint64_t held;
	uint32_t parts = rec_reader_parts(r, &held);
	atomic_uint_fast64_t samples = 0;
	struct share *shares;
	atomic_bool *taken;
	unsigned int n = 0, up, cpus = cpus_usable();
	atomic_int idle;
	int err = -EAGAIN;

	threads = MIN(threads ? threads : threads_for(c, parts, held), THREADS_MAX);
	if (threads < 2) {
		if (held >= AHEAD_MIN && cpus > 1)
			rec_reader_work_ahead(r);
		return collect_run(c, r);
	}
	shares = xcalloc(threads, sizeof(*shares));
	taken = xcalloc(parts, sizeof(*taken));
	while (n < threads && share_init(&shares[n], c, r, taken, &idle, &samples))
		n++;
	for (unsigned int i = 1; i < n; i++)
		shares[i].col.opts.progress = false;
	atomic_init(&idle, (int)cpus - (int)n);
	up = n > 1 ? run_all(shares, n) : 0;
	if (up > 1)
		err = put_together(c, r, mods, shares, up);
	for (unsigned int i = 0; i < n; i++)
		share_fini(&shares[i]);
	free(shares);
	free(taken);
	if (err != -EAGAIN)
		return err;
	pr_verbose("the parts read by %u threads cannot be merged: reading all again with one thread", up);
	return collect_run(c, r);
}
