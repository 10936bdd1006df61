/* Waits by stack, against plain sums over what the threads did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "random.h"
#include "replay/wait_reason.h"
#include "replay/waits.h"

#define STACKS 40
#define LIVES 64
#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* A result: ns by life, kind and stack; [STACKS] without a sample. */
struct result {
	uint64_t ns[LIVES][WAIT_KINDS][STACKS + 1];
	uint64_t n[LIVES][WAIT_KINDS];
	uint64_t all[LIVES][WAIT_KINDS];
	uint64_t from, to;	/* of blocked waits without a sample */
	uint64_t order;		/* hash of the parts in their order */
	size_t parts;
};

static void on_part(void *ctx, const struct wait_part *p)
{
	struct result *r = ctx;

	assert_true(p->life < LIVES && (!p->sampled || p->stack < STACKS) && p->ns);
	r->ns[p->life][p->kind][p->sampled ? p->stack : STACKS] += p->ns;
	r->all[p->life][p->kind] += p->ns;
	if (p->kind == WAIT_BLOCKED && !p->sampled) {
		r->from = p->from;
		r->to = p->to;
	}
	r->n[p->life][p->kind] += p->n;
	r->order = r->order * 31 + p->life * 7 + p->kind * 5 + p->stack * 3 + p->ns + p->n + p->from + p->to;
	r->parts++;
}

static struct result *result_of(struct waits *w)
{
	struct result *r = calloc(1, sizeof(*r));

	waits_result(w, on_part, r);
	return r;
}

static void sw(struct waits *w, uint64_t time, uint32_t tid, bool out, bool preempted)
{
	cpu_times_switch(waits_times(w), &(struct ev_switch){ .time = time, .pid = 7, .tid = tid, .out = out, .preempted = preempted });
}

static void sample(struct waits *w, uint64_t time, uint32_t tid, uint32_t stack)
{
	waits_sample(w, &(struct ev_sample){ .time = time, .pid = 7, .tid = tid }, false, stack, 0, 1);
}

static void wake(struct waits *w, uint64_t time, uint32_t tid)
{
	cpu_times_wakeup(waits_times(w), &(struct ev_wakeup){ .time = time, .pid = 7, .tid = tid });
}

static struct waits *begin(void)
{
	return waits_new(&(struct waits_opts){ .start = 0 });
}

/* A wait that began before the recording has no stack, and gets none of another one that is as long. */
static void test_before(void **state)
{
	struct waits *w = begin();
	struct result *r;

	(void)state;
	wake(w, 100, 7);
	sw(w, 200, 7, false, false);
	sample(w, 299, 7, 1);
	sw(w, 300, 7, true, false);
	wake(w, 350, 7);
	sw(w, 400, 7, false, false);
	waits_end(w);
	r = result_of(w);
	assert_int_equal(r->all[0][WAIT_BEFORE], 100);
	assert_int_equal(r->all[0][WAIT_BLOCKED], 50);
	assert_int_equal(r->all[0][WAIT_QUEUED], 100 + 50);
	assert_int_equal(r->ns[0][WAIT_QUEUED][STACKS], 100);
	assert_int_equal(r->ns[0][WAIT_QUEUED][1], 50);
	free(r);
	waits_free(w);
}

static void test_single(void **state)
{
	struct waits *w = begin();
	struct result *r;

	(void)state;
	/* All samples come before the first switch, as when a block holds them. */
	sample(w, 100, 7, 1);
	sample(w, 350, 7, 2);
	sample(w, 480, 7, 3);
	sw(w, 101, 7, true, false);
	sw(w, 300, 7, false, false);
	sw(w, 351, 7, true, true);
	sw(w, 400, 7, false, false);
	sw(w, 481, 7, true, false);
	wake(w, 600, 7);
	sw(w, 650, 7, false, false);
	sw(w, 700, 7, true, false);	/* no sample */
	sw(w, 900, 7, false, false);
	cpu_times_until(waits_times(w), 1000);
	waits_end(w);
	r = result_of(w);
	assert_int_equal(r->all[0][WAIT_BLOCKED], 199 + (600 - 481) + 200);
	assert_int_equal(r->all[0][WAIT_QUEUED], 50);
	assert_int_equal(r->all[0][WAIT_PREEMPTED], 49);
	assert_int_equal(r->ns[0][WAIT_PREEMPTED][2], 49);
	assert_int_equal(r->ns[0][WAIT_QUEUED][3], 50);
	/* 169 and 200 ns are near enough; nothing is without a stack. */
	assert_int_equal(r->ns[0][WAIT_BLOCKED][STACKS], 0);
	assert_int_equal(waits_counts(w).waits, 4);
	assert_int_equal(waits_counts(w).sampled, 3);
	assert_int_equal(waits_counts(w).unmatched, 0);
	free(r);
	waits_free(w);
}

/*
 * A thread that comes into a cgroup has no fork there. Its life begins with its first switch, by which
 * it leaves the CPU: the sample of that wait is older.
 */
static void test_comes_running(void **state)
{
	struct waits *w = begin();
	struct result *r;

	(void)state;
	cpu_times_schedstat(waits_times(w), &(struct ev_schedstat){ .time = 5 * MS, .pid = 7, .tid = 9 });
	sample(w, 3 * MS, 9, 2);		/* of another wait, before it came */
	sample(w, 5 * MS - 20 * US, 9, 1);
	sw(w, 5 * MS, 9, true, false);
	sw(w, 8 * MS, 9, false, false);
	cpu_times_until(waits_times(w), 9 * MS);
	waits_end(w);
	r = result_of(w);
	assert_int_equal(r->ns[0][WAIT_BLOCKED][1], 3 * MS);
	assert_int_equal(r->all[0][WAIT_BLOCKED], 3 * MS);
	assert_int_equal(waits_counts(w).unmatched, 1);
	free(r);
	waits_free(w);
}

/* A wait ends where recording is switched off. What comes when it is on again is another one. */
static void test_toggled(void **state)
{
	struct waits *w = begin();
	struct result *r;

	(void)state;
	sample(w, 2 * MS - 10, 8, 1);
	sw(w, 2 * MS, 8, true, false);
	cpu_times_toggle(waits_times(w), &(struct ev_toggle){ .time = 5 * MS });
	cpu_times_toggle(waits_times(w), &(struct ev_toggle){ .time = 9 * MS, .on = true });
	sw(w, 10 * MS, 8, false, false);
	sample(w, 11 * MS - 10, 8, 2);
	sw(w, 11 * MS, 8, true, false);
	cpu_times_until(waits_times(w), 13 * MS);
	waits_end(w);
	r = result_of(w);
	assert_int_equal(r->ns[0][WAIT_BLOCKED][1], 3 * MS);
	assert_int_equal(r->ns[0][WAIT_BLOCKED][2], 2 * MS);
	assert_int_equal(r->all[0][WAIT_BLOCKED], 5 * MS);
	assert_int_equal(r->all[0][WAIT_BEFORE], 1 * MS);
	assert_int_equal(waits_counts(w).unmatched, 0);
	free(r);
	waits_free(w);
}

static void test_no_sample(void **state)
{
	struct waits *w = begin();
	struct result *r;

	(void)state;
	sw(w, 1 * MS, 8, false, false);		/* off since the beginning */
	sample(w, 2 * MS - 10, 8, 1);
	sw(w, 2 * MS, 8, true, false);
	sw(w, 2 * MS + 10 * US, 8, false, false);
	sw(w, 3 * MS, 8, true, false);		/* 1,000 times as long as the one with a sample */
	sw(w, 13 * MS, 8, false, false);
	sample(w, 14 * MS, 8, 2);		/* its switch was lost: too old for the next */
	sw(w, 16 * MS, 8, true, false);
	sw(w, 17 * MS, 8, false, false);
	sample(w, 18 * MS - 10, 8, WAITS_HIDDEN);
	sw(w, 18 * MS, 8, true, false);
	cpu_times_until(waits_times(w), 518 * MS);
	waits_end(w);
	r = result_of(w);
	assert_int_equal(r->ns[0][WAIT_BEFORE][STACKS], 1 * MS);
	assert_int_equal(r->ns[0][WAIT_BLOCKED][1], 10 * US);
	assert_int_equal(r->ns[0][WAIT_BLOCKED][STACKS], 10 * MS + 1 * MS);
	/* When they were is known without a sample. */
	assert_int_equal(r->from, 3 * MS);
	assert_int_equal(r->to, 17 * MS);
	assert_int_equal(r->all[0][WAIT_BLOCKED], 11 * MS + 10 * US);	/* 500 ms are hidden */
	assert_int_equal(waits_counts(w).unmatched, 1);
	free(r);
	waits_free(w);
}

/* The kernel's account: each wake-up waited for a CPU, and none longer than its wait lasted. */
static void test_schedstat(void **state)
{
	struct waits *w = begin();
	struct result *r;

	(void)state;
	cpu_times_schedstat(waits_times(w), &(struct ev_schedstat){ .time = 0, .pid = 7, .tid = 7, .wait_ns = 1000 });
	sample(w, 1 * MS, 7, 1);
	sw(w, 1 * MS, 7, true, false);
	sw(w, 1 * MS + 30 * US, 7, false, false);
	sample(w, 2 * MS, 7, 2);
	sw(w, 2 * MS, 7, true, false);
	sw(w, 7 * MS, 7, false, false);
	sample(w, 8 * MS, 7, 3);
	sw(w, 8 * MS, 7, true, true);
	sw(w, 8 * MS + 50 * US, 7, false, false);
	cpu_times_schedstat(waits_times(w), &(struct ev_schedstat){ .time = 10 * MS, .pid = 7, .tid = 7, .wait_ns = 1000 + 150 * US });
	waits_end(w);
	r = result_of(w);
	assert_int_equal(r->ns[0][WAIT_PREEMPTED][3], 50 * US);
	assert_int_equal(r->all[0][WAIT_QUEUED], 100 * US);
	assert_int_equal(r->ns[0][WAIT_QUEUED][1], 30 * US);
	assert_int_equal(r->ns[0][WAIT_QUEUED][2], 70 * US);
	assert_int_equal(r->ns[0][WAIT_BLOCKED][1], 0);
	assert_int_equal(r->ns[0][WAIT_BLOCKED][2], 5 * MS - 70 * US);
	free(r);
	waits_free(w);
}

/*
 * Two waits in turn, 2 and 7 ms with some jitter, and every P-th leaves a sample: also if P is fixed
 * and even, so that samples meet one of them only.
 */
static void test_alternating(void **state)
{
	static const uint32_t periods[] = { 1, 2, 3, 4, 7, 16, 64 };

	(void)state;
	for (size_t k = 0; k < 2 * ARRAY_SIZE(periods); k++) {
		const uint32_t p = periods[k / 2];
		const bool varies = k & 1;
		uint64_t rnd = k + 1, time = 1 * MS, truth[2] = { 0 }, left = p;
		struct waits *w = begin();
		struct result *r;

		for (int i = 0; i < 2000; i++) {
			const uint64_t ns = (i & 1 ? 7 : 2) * MS + random_next(&rnd) % (200 * US);

			if (!--left) {
				sample(w, time - 1, 7, 1 + (i & 1));
				left = varies ? 1 + random_next(&rnd) % (2 * p) : p;
			}
			sw(w, time, 7, true, false);
			sw(w, time + ns, 7, false, false);
			truth[i & 1] += ns;
			time += ns + 100 * US;
		}
		waits_end(w);
		r = result_of(w);
		assert_int_equal(r->all[0][WAIT_BLOCKED], truth[0] + truth[1]);
		for (int i = 0; i < 2; i++) {
			const uint64_t got = r->ns[0][WAIT_BLOCKED][1 + i], without = r->ns[0][WAIT_BLOCKED][STACKS];

			/* Aliased, the one that samples never met has no stack, and is not the other one. */
			if (!varies && !(p & 1) && i == 0)
				assert_true(got == 0 && without == truth[0]);
			else
				assert_int_equal(got, truth[i]);
		}
		free(r);
		waits_free(w);
	}
}

/* ---- shares ---- */

struct deed {
	enum { D_SWITCH, D_SAMPLE, D_RUNNING, D_FORK, D_EXIT, D_WAKE, D_STAT } what;
	uint64_t time, value;
	uint32_t tid, stack, share;
	bool out, preempted;
};

#define DEEDS 20000
#define SHARES 4

static void do_deed(struct waits *w, const struct deed *d, uint32_t share, uint32_t shares)
{
	const struct ev_task task = { .time = d->time, .pid = 7, .tid = d->tid, .ppid = 7, .ptid = 7 };
	const struct ev_sample s = { .time = d->time, .pid = 7, .tid = d->tid };

	switch (d->what) {
	case D_SWITCH:
		sw(w, d->time, d->tid, d->out, d->preempted);
		break;
	case D_SAMPLE:
	case D_RUNNING:
		if (d->share % shares == share)
			waits_sample(w, &s, d->what == D_RUNNING, d->stack, d->tid, d->value);
		break;
	case D_FORK:
		cpu_times_fork(waits_times(w), &task);
		break;
	case D_EXIT:
		cpu_times_exit(waits_times(w), &task);
		break;
	case D_WAKE:
		wake(w, d->time, d->tid);
		break;
	case D_STAT:
		cpu_times_schedstat(waits_times(w), &(struct ev_schedstat){ .time = d->time, .pid = 7, .tid = d->tid, .wait_ns = d->value });
		break;
	}
}

/* Threads that run, wait, are woken or preempted, begin and end; some waits have samples. */
static size_t make_deeds(struct deed *d, uint64_t *rnd)
{
	struct { bool on, alive; uint64_t wait; } th[10] = { 0 };
	uint64_t time = 10;
	size_t n = 0;

	while (n < DEEDS - 8) {
		const uint32_t i = (uint32_t)(random_next(rnd) % ARRAY_SIZE(th)), tid = 100 + i;
		/* Samples of a share are of successive times, as those of a part. */
		const uint32_t share = (uint32_t)(n / 1500), stack = (uint32_t)(random_next(rnd) % STACKS);

		time += 1 + random_next(rnd) % 5000;
		if (!th[i].alive) {
			if (i & 1)
				d[n++] = (struct deed){ .what = D_FORK, .time = time++, .tid = tid };
			if (i % 3 == 0)
				d[n++] = (struct deed){ .what = D_STAT, .time = time++, .tid = tid, .value = 77 };
			d[n++] = (struct deed){ .what = D_SWITCH, .time = time, .tid = tid };
			th[i].alive = th[i].on = true;
		} else if (th[i].on && random_next(rnd) % 100 == 0) {
			d[n++] = (struct deed){ .what = D_EXIT, .time = time, .tid = tid };
			th[i].alive = false;
		} else if (th[i].on) {
			const bool preempted = random_next(rnd) % 3 == 0;

			if (random_next(rnd) % 2)
				d[n++] = (struct deed){ .what = D_RUNNING, .time = time++, .tid = tid, .stack = stack, .share = share, .value = 1 + random_next(rnd) % 9 };
			if (random_next(rnd) % 3)
				d[n++] = (struct deed){ .what = D_SAMPLE, .time = time++, .tid = tid, .share = share,
							.stack = random_next(rnd) % 20 ? stack : WAITS_HIDDEN };
			d[n++] = (struct deed){ .what = D_SWITCH, .time = time, .tid = tid, .out = true, .preempted = preempted };
			th[i].on = false;
		} else {
			if (i > 6)
				d[n++] = (struct deed){ .what = D_WAKE, .time = time++, .tid = tid };
			d[n++] = (struct deed){ .what = D_SWITCH, .time = time, .tid = tid };
			th[i].on = true;
			th[i].wait += random_next(rnd) % 900;
			if (i % 3 == 0 && random_next(rnd) % 30 == 0)
				d[n++] = (struct deed){ .what = D_STAT, .time = ++time, .tid = tid, .value = 77 + th[i].wait };
		}
	}
	return n;
}

/* Reverses the numbers of a share's stacks, as each share has its own. */
static void own_number(void *ctx, uint32_t *stack, uint32_t *thread)
{
	(void)thread;
	*stack = *(uint32_t *)ctx - *stack;
}

static void test_shares(void **state)
{
	struct deed *deeds = calloc(DEEDS, sizeof(*deeds));

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		uint64_t rnd = seed, totals[WAIT_KINDS], sums[WAIT_KINDS] = { 0 };
		const size_t n = make_deeds(deeds, &rnd);
		const struct waits_opts opts = { .start = 5, .running = seed & 1, .long_ns = seed & 2 ? 20000 : 0 };
		struct waits *alone = waits_new(&opts), *all = waits_new(&opts);
		uint32_t last = STACKS - 1;
		struct result *a, *b;

		for (size_t i = 0; i < n; i++) {
			do_deed(alone, &deeds[i], 0, 1);
			do_deed(all, &deeds[i], SHARES, SHARES);	/* no samples */
		}
		waits_end(alone);
		waits_end(all);
		for (uint32_t share = SHARES; share--;) {
			struct waits *w = waits_new(&opts);

			for (size_t i = 0; i < n; i++) {
				struct deed d = deeds[i];

				if ((d.what == D_SAMPLE || d.what == D_RUNNING) && d.stack != WAITS_HIDDEN)
					d.stack = last - d.stack;
				do_deed(w, &d, share, SHARES);
			}
			waits_end(w);
			waits_map(w, own_number, &last);
			waits_add(all, w);
			waits_free(w);
		}
		a = result_of(alone);
		b = result_of(all);
		assert_memory_equal(a, b, sizeof(*a));
		assert_int_equal(waits_counts(alone).sampled, waits_counts(all).sampled);
		assert_int_equal(waits_counts(alone).unmatched, waits_counts(all).unmatched);
		assert_int_equal(waits_counts(alone).dropped, 0);
		assert_true(a->parts > 1000);
		waits_totals(alone, totals);
		for (int life = 0; life < LIVES; life++)
			for (int k = 0; k < WAIT_KINDS; k++)
				sums[k] += a->all[life][k];
		assert_true(sums[WAIT_BLOCKED] && sums[WAIT_QUEUED] && sums[WAIT_PREEMPTED] && sums[WAIT_STARTING]);
		/* Hidden samples hide their share, which is a twentieth. */
		assert_in_range(sums[WAIT_PREEMPTED], totals[WAIT_PREEMPTED] / 10 * 8, totals[WAIT_PREEMPTED]);
		free(a);
		free(b);
		waits_free(alone);
		waits_free(all);
	}
	free(deeds);
}

/* Without hidden samples, each life's parts are its exact times. */
static void test_exact_sums(void **state)
{
	struct deed *deeds = calloc(DEEDS, sizeof(*deeds));

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		uint64_t rnd = seed * 77;
		const size_t n = make_deeds(deeds, &rnd);
		struct waits *w = waits_new(&(struct waits_opts){ .start = 5, .running = true });
		const struct cpu_thread *th;
		struct result *r;
		size_t lives;

		for (size_t i = 0; i < n; i++) {
			if (deeds[i].stack == WAITS_HIDDEN)
				deeds[i].stack = 0;
			do_deed(w, &deeds[i], 0, 1);
		}
		waits_end(w);
		r = result_of(w);
		th = cpu_times_threads(waits_times(w), &lives);
		for (size_t i = 0; i < lives; i++) {
			assert_int_equal(r->all[i][WAIT_RUNNING], th[i].ns[CPU_ON]);
			assert_int_equal(r->all[i][WAIT_BLOCKED] + r->all[i][WAIT_QUEUED], th[i].ns[CPU_BLOCKED]);
			assert_int_equal(r->all[i][WAIT_PREEMPTED], th[i].ns[CPU_PREEMPTED]);
			assert_int_equal(r->all[i][WAIT_STARTING], th[i].ns[CPU_STARTING]);
			assert_int_equal(r->all[i][WAIT_BEFORE], th[i].ns[CPU_BEFORE]);
			if (th[i].queued)
				assert_int_equal(r->all[i][WAIT_QUEUED], th[i].queued_ns);
		}
		free(r);
		waits_free(w);
	}
	free(deeds);
}

static uint64_t second_half(const void *ctx, uint64_t from, uint64_t to)
{
	const uint64_t begin = *(const uint64_t *)ctx;

	return to > begin ? to - MAX(from, begin) : 0;
}

static void test_window(void **state)
{
	uint64_t half = 500;
	struct waits *w = waits_new(&(struct waits_opts){ .start = 0, .within = second_half, .ctx = &half });
	struct result *r;

	(void)state;
	sample(w, 100, 7, 1);
	sw(w, 100, 7, true, false);
	sw(w, 400, 7, false, false);
	sample(w, 450, 7, 2);
	sw(w, 450, 7, true, false);
	sw(w, 700, 7, false, false);
	cpu_times_until(waits_times(w), 900);
	waits_end(w);
	r = result_of(w);
	assert_int_equal(r->all[0][WAIT_BLOCKED], 200);
	assert_int_equal(r->ns[0][WAIT_BLOCKED][2], 200);
	free(r);
	waits_free(w);
}

/* Kernel stacks as Linux has them; leaf first. */
static void test_reasons(void **state)
{
	static const struct {
		const char *reason, *stack[10];
	} cases[] = {
		{ "[futex]", { "__schedule", "schedule", "futex_wait_queue_me", "futex_wait", "do_futex" } },	/* 5.10 */
		{ "[futex]", { "schedule", "futex_do_wait", "__futex_wait", "futex_wait", "do_futex" } },	/* 6.18 */
		{ "[epoll]", { "schedule", "schedule_hrtimeout_range_clock", "ep_poll", "do_epoll_wait" } },
		{ "[epoll]", { "schedule", "schedule_hrtimeout_range", "do_epoll_wait", "__x64_sys_epoll_wait" } },
		{ "[poll]", { "schedule", "schedule_hrtimeout_range", "poll_schedule_timeout.constprop.0", "do_sys_poll" } },
		{ "[poll]", { "schedule", "schedule_hrtimeout_range", "do_select", "core_sys_select" } },
		{ "[pipe]", { "schedule", "pipe_read", "vfs_read", "ksys_read" } },
		{ "[pipe]", { "schedule", "anon_pipe_read", "vfs_read", "ksys_read" } },
		{ "[socket]", { "schedule_timeout", "wait_woken", "sk_wait_data", "tcp_recvmsg_locked" } },
		{ "[socket]", { "schedule_timeout", "unix_stream_read_generic", "unix_stream_recvmsg", "sock_recvmsg" } },
		{ "[disk]", { "schedule", "io_schedule", "folio_wait_bit_common", "filemap_read", "vfs_read" } },
		{ "[disk]", { "schedule", "io_schedule", "wait_on_page_bit_common", "generic_file_buffered_read" } },
		{ "[disk]", { "schedule", "jbd2_log_wait_commit", "ext4_sync_file", "do_fsync" } },
		{ "[page fault]", { "io_schedule", "folio_wait_bit_common", "filemap_fault", "exc_page_fault", "asm_exc_page_fault" } },
		{ "[page fault]", { "rwsem_down_read_slowpath", "down_read", "do_user_addr_fault", "exc_page_fault" } },
		{ "[kernel lock]", { "schedule_preempt_disabled", "__mutex_lock.constprop.0", "pipe_write" } },
		{ "[sleep]", { "schedule", "do_nanosleep", "hrtimer_nanosleep", "common_nsleep", "__x64_sys_clock_nanosleep" } },
		{ "[wait child]", { "schedule", "do_wait", "kernel_wait4" } },
		{ "[signal]", { "schedule", "do_sigtimedwait.isra.0", "__x64_sys_rt_sigtimedwait" } },
		{ "[throttled]", { "schedule", "throttle_cfs_rq_work", "task_work_run", "exit_to_user_mode_loop" } },
		/* It may have been throttled by this work, or preempted after other work. */
		{ NULL, { "__cond_resched", "task_work_run", "irqentry_exit_to_user_mode" } },
		{ NULL, { "preempt_schedule", "_raw_spin_unlock_irqrestore", "task_work_run", "irqentry_exit" } },	/* 7.2 */
		{ "[poll]", { "preempt_schedule", "_raw_spin_unlock_irqrestore", "add_wait_queue", "do_sys_poll" } },
		{ "[socket]", { "__cond_resched", "__release_sock", "tcp_recvmsg", "sock_recvmsg" } },
		{ NULL, { "schedule", "task_work_run", "exit_to_user_mode_loop" } },
		{ NULL, { "schedule", "exit_to_user_mode_loop", "asm_sysvec_apic_timer_interrupt" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		wait_reason reason = 0;

		for (int k = 0; k < 10 && cases[i].stack[k]; k++)
			reason = wait_reason_add(reason, wait_reason_of(cases[i].stack[k], true));
		if (cases[i].reason)
			assert_string_equal(wait_reason_text(reason), cases[i].reason);
		else
			assert_null(wait_reason_text(reason));
	}
}

/* Whether a preempted thread is throttled, if the kernel's counters say that its cgroup was not, or was. */
static void test_reasons_of_preempted(void **state)
{
	static const struct {
		bool never, limited;
		const char *stack[10];
	} cases[] = {
		{ true, true, { "schedule", "throttle_cfs_rq_work", "task_work_run", "exit_to_user_mode_loop" } },
		{ false, true, { "__cond_resched", "task_work_run", "irqentry_exit_to_user_mode" } },
		{ false, true, { "preempt_schedule", "preempt_schedule_thunk", "_raw_spin_unlock_irqrestore", "task_work_run", "irqentry_exit" } },
		{ false, false, { "preempt_schedule", "_raw_spin_unlock_irqrestore", "fput", "task_work_run", "irqentry_exit" } },
		{ false, false, { "__cond_resched", "__release_sock", "tcp_recvmsg", "sock_recvmsg" } },
		{ false, false, { "schedule", "exit_to_user_mode_loop", "asm_sysvec_apic_timer_interrupt" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		wait_reason reason = 0, before_6_18 = 0;

		for (int k = 0; k < 10 && cases[i].stack[k]; k++) {
			reason = wait_reason_add(reason, wait_reason_of(cases[i].stack[k], true));
			before_6_18 = wait_reason_add(before_6_18, wait_reason_of(cases[i].stack[k], false));
		}
		assert_int_equal(wait_reason_is_throttled(reason, false), cases[i].never);
		assert_int_equal(wait_reason_is_throttled(reason, true), cases[i].limited);
		assert_false(wait_reason_is_throttled(before_6_18, true));
	}
}

static void test_releases(void **state)
{
	(void)state;
	assert_true(wait_reason_throttles("6.18.44-x"));
	assert_true(wait_reason_throttles("7.0.0"));
	assert_false(wait_reason_throttles("6.17.9"));
	assert_false(wait_reason_throttles("5.10.0-30-amd64"));
	assert_false(wait_reason_throttles(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_releases), cmocka_unit_test(test_before), cmocka_unit_test(test_single),
		cmocka_unit_test(test_comes_running), cmocka_unit_test(test_toggled), cmocka_unit_test(test_no_sample), cmocka_unit_test(test_schedstat),
		cmocka_unit_test(test_alternating), cmocka_unit_test(test_shares), cmocka_unit_test(test_exact_sums),
		cmocka_unit_test(test_window), cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_reasons_of_preempted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
