/*
 * From hand-made rings through merge, sink and writer into a recording, and read back: everything
 * put in must come out exactly once, in time order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "drain_rig.h"
#include "host/opener.h"
#include "sink/execs.h"
#include "sink/sink_switches.h"

static void merge(void **state)
{
	static const uint64_t a[] = { 10, 40, 41, 90 }, b[] = { 5, 42, 80, 85, 95 };
	static const uint64_t want[] = { 5, 10, 40, 41, 42, 80, 85, 90, 95 };
	struct rig *r = rig_new(CALLGRAPH_NONE);
	struct result res;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		put_plain(r, 0, a[i]);
	for (size_t i = 0; i < 5; i++)
		put_plain(r, 1, b[i]);
	/* Records younger than the limit stay, although their ring has older ones. */
	assert_int_equal(drain_round(&r->drain, 4, r->sink), 0);
	assert_int_equal(drain_round(&r->drain, 42, r->sink), 5);
	assert_int_equal(drain_round(&r->drain, 42, r->sink), 0);
	assert_int_equal(drain_round(&r->drain, DRAIN_ALL, r->sink), 4);
	for (int i = 0; i < NCPU; i++)
		assert_int_equal(r->page[i].data_tail, r->page[i].data_head);
	assert_int_equal(r->ledger.l.kept, 9);
	assert_int_equal(r->ledger.l.unordered, 0);
	rig_end(r, &res);
	assert_int_equal(res.n, 9);
	for (int i = 0; i < 9; i++) {
		assert_int_equal(res.s[i].time, want[i]);
		assert_int_equal(res.s[i].pid, PID);
		assert_int_equal(res.s[i].tid, PID + 1);
		assert_int_equal(res.s[i].nchain, 2);
		assert_int_equal(res.s[i].chain[0], (uint64_t)-512);	/* PERF_CONTEXT_USER */
		assert_int_equal(res.s[i].chain[1], 0x401000);
	}
	assert_int_equal(res.s[0].cpu, 1);
	assert_int_equal(res.s[1].cpu, 0);
}

static void late_ones(void **state)
{
	struct rig *r = rig_new(CALLGRAPH_NONE);
	struct result res;

	(void)state;
	put_plain(r, 0, 100);
	assert_int_equal(drain_round(&r->drain, 200, r->sink), 1);
	put_plain(r, 1, 50);
	put_plain(r, 1, 150);
	assert_int_equal(drain_round(&r->drain, 200, r->sink), 2);
	assert_int_equal(r->ledger.l.unordered, 1);
	assert_int_equal(r->ledger.l.kept, 3);
	rig_end(r, &res);
	assert_int_equal(res.n, 3);	/* counted, not thrown away */
}

static void sideband_first(void **state)
{
	/* addr, len and type (1 = BPF), "bpf_prog" and its NUL. */
	const uint64_t ksym[] = { 0xffffffffc0001000, 77 | 1ull << 32, 0x676f72705f667062, 0 };
	const uint64_t cgroup[] = { 4711, 0x622f612f };
	struct rig *r = rig_new(CALLGRAPH_NONE);
	struct result res;

	(void)state;
	put_plain(r, 0, 10);
	put_plain(r, 0, 20);
	put_side(r, 3, PERF_RECORD_KSYMBOL, 20, ksym, 4);
	put_side(r, 2, PERF_RECORD_CGROUP, 30, cgroup, 2);
	put_side(r, 2, PERF_RECORD_CGROUP, 31, cgroup, 2);	/* already known */
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	rig_end(r, &res);
	assert_int_equal(res.n, 2);
	assert_int_equal(res.ksymbols, 1);
	assert_int_equal(res.ksymbol_at, 1);
	assert_int_equal(res.cgroups, 0);	/* no sample needs it */
}

/* An opener is ours before its parent tells its number, until somebody else has that number. */
static void openers(void **state)
{
	enum { OPENER = 4000000 };
	struct rig *r = rig_new(CALLGRAPH_NONE);
	struct result res;
	uint64_t pair;

	(void)state;
	assert_int_equal(opener_start(true), 0);
	assert_true(opener_pid() > 0);
	pair = OPENER | (uint64_t)opener_pid() << 32;
	put_side(r, 0, PERF_RECORD_FORK, 5, (const uint64_t[]){ pair, pair, 5 }, 3);
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	assert_true(sink_switches_own(r->sink, OPENER));
	pair = OPENER | (uint64_t)PID << 32;
	put_side(r, 0, PERF_RECORD_FORK, 6, (const uint64_t[]){ pair, pair, 6 }, 3);
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	assert_false(sink_switches_own(r->sink, OPENER));
	opener_stop();
	rig_end(r, &res);
}

static void losses(void **state)
{
	const uint64_t lost[] = { 1, 30 }, lost_samples[] = { 4 }, throttle[] = { 1, 2, 3 };
	struct rig *r = rig_new(CALLGRAPH_NONE);
	struct result res;

	(void)state;
	put_side(r, 0, PERF_RECORD_LOST, 1, lost, 2);
	put_side(r, 1, PERF_RECORD_LOST, 2, lost, 2);
	put_side(r, 2, PERF_RECORD_LOST, 3, lost, 2);
	put_side(r, 1, PERF_RECORD_LOST_SAMPLES, 4, lost_samples, 1);
	put_side(r, 0, PERF_RECORD_THROTTLE, 5, throttle, 3);
	put_side(r, 0, PERF_RECORD_UNTHROTTLE, 6, throttle, 3);
	put_side(r, 0, 200, 7, throttle, 3);			/* of a newer kernel */
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	assert_int_equal(r->ledger.lost_told, 60);
	assert_int_equal(r->ledger.side_told, 30);
	assert_int_equal(r->ledger.lost_pmu, 4);
	assert_int_equal(r->ledger.l.throttled, 1);
	rig_end(r, &res);
	assert_int_equal(res.n, 0);
}

static void stacks(void **state)
{
	const struct sample_spec base = {
		.pid = PID, .misc = 2, .abi = 2, .sp = 0x7ffd00001000, .ip = 0x401000, .room = 64,
	};
	struct sample_spec s;
	struct rig *r = rig_new(CALLGRAPH_DWARF);
	struct result res;

	(void)state;
	r->o.full_stacks = true;
	s = base;		/* 0: less was copied than there was room for */
	s.time = 1, s.copied = 40;
	put_sample(r, 0, &s);
	s = base;		/* 1: all of it, so there may be more */
	s.time = 2, s.copied = 64;
	put_sample(r, 0, &s);
	s = base;		/* 2: all of it, but it ends where user space does */
	s.time = 3, s.copied = 64, s.sp = 0x7ffffffff000 - 64;
	put_sample(r, 0, &s);
	s = base;		/* 3: in the kernel, of a user thread */
	s.time = 4, s.copied = 8, s.misc = 1, s.nchain = 3;
	s.chain[0] = (uint64_t)-128;
	s.chain[1] = 0xffffffff81000010;
	s.chain[2] = 0xffffffff81000020;
	put_sample(r, 0, &s);
	s.time = 5, s.abi = 0, s.room = 0;	/* 4: a kernel thread */
	put_sample(r, 0, &s);
	s = base;		/* 5: a 32-bit program */
	s.time = 6, s.abi = 1, s.copied = 64;
	put_sample(r, 0, &s);
	s = base;		/* 6: registers, but no stack */
	s.time = 7, s.room = 0;
	put_sample(r, 0, &s);
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	assert_int_equal(r->ledger.l.kept, 7);
	assert_int_equal(r->ledger.l.copy_full, 1);
	assert_int_equal(r->ledger.l.maps_unknown, 0);
	assert_int_equal(r->ledger.l.withheld, 0);
	rig_end(r, &res);
	assert_int_equal(res.n, 7);
	for (int i = 0; i < 4; i++) {
		assert_true(res.s[i].has_regs && res.s[i].unmasked);
		assert_int_equal(res.s[i].ip, 0x401000);
		assert_int_equal(res.s[i].r15, 116);
		assert_int_equal(res.s[i].sp, i == 2 ? 0x7ffffffff000 - 64 : 0x7ffd00001000);
		assert_int_equal(res.s[i].lo, res.s[i].sp);
		assert_int_equal(res.s[i].first, 0x1111);
	}
	assert_int_equal(res.s[0].hi - res.s[0].lo, 40);
	assert_int_equal(res.s[0].last, 0x5555); /* never the bytes after the copy */
	assert_int_equal(res.s[1].hi - res.s[1].lo, 64);
	assert_int_equal(res.s[1].last, 0x8888);
	assert_false(res.s[0].copy_full);
	assert_true(res.s[1].copy_full);
	assert_false(res.s[2].copy_full);
	assert_int_equal(res.s[3].nchain, 3);
	assert_int_equal(res.s[3].chain[2], 0xffffffff81000020);
	assert_false(res.s[4].has_regs);
	assert_false(res.s[5].has_regs);
	assert_int_equal(res.s[5].chain[0], (uint64_t)-512);
	assert_true(res.s[6].has_regs);
	assert_int_equal(res.s[6].hi, res.s[6].lo);
}

static void ourselves(void **state)
{
	struct sample_spec s = { .time = 1, .pid = (uint32_t)getpid(), .misc = 2, .ip = 0x401000 };
	struct rig *r = rig_new(CALLGRAPH_NONE);
	struct result res;

	(void)state;
	put_sample(r, 0, &s);
	s.time = 2;
	s.pid = PID;
	put_sample(r, 0, &s);
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	assert_int_equal(r->ledger.l.kept, 1);
	assert_int_equal(r->ledger.l.dropped, 0);
	rig_end(r, &res);
	assert_int_equal(res.n, 1);
	assert_int_equal(res.s[0].pid, PID);
}

/* Lengths inside a record that lead past its end. */
static void damaged(void **state)
{
	struct rig *r = rig_new(CALLGRAPH_DWARF);
	struct sample_spec s = {
		.pid = PID, .misc = 2, .abi = 2, .sp = 0x7ffd00001000, .ip = 0x401000
	};
	struct result res;

	(void)state;
	s.time = 1;
	put_sample(r, 0, &s);
	((uint64_t *)(void *)r->data[0].data)[7] = 1000;		/* chain */
	s.time = 2, s.room = 64, s.copied = 72;				/* more copied than room */
	put_sample(r, 1, &s);
	s.time = 3, s.copied = 64;
	put_sample(r, 1, &s);
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	assert_int_equal(r->ledger.l.dropped, 2);
	assert_int_equal(r->ledger.l.kept, 1);
	rig_end(r, &res);
	assert_int_equal(res.n, 1);
	assert_int_equal(res.s[0].time, 3);
}

/* The kernel immediately overwrites what was given back to it. */
struct scribbler {
	struct ring *ring;
	uint64_t done;
	atomic_bool stop;
};

static void *scribble(void *arg)
{
	struct scribbler *sc = arg;

	while (!atomic_load(&sc->stop)) {
		uint64_t tail = __atomic_load_n(&sc->ring->page->data_tail, __ATOMIC_ACQUIRE);

		for (; sc->done < tail; sc->done++)
			sc->ring->data[sc->done % SIZE] = 0xa5;
	}
	return NULL;
}

static int on_many(void *ctx, const struct ev_sample *ev)
{
	uint64_t *n = ctx, val;

	/* As put_sample() wrote it, in the same order. */
	assert_int_equal(ev->time, 1000 + *n);
	assert_int_equal(ev->pid, PID + *n % 7);
	assert_int_equal(ev->stack.hi - ev->stack.lo, 1280);
	for (uint64_t i = 0; i < 160; i++) {
		assert_int_equal(stack_view_read(&ev->stack, ev->stack.lo + 8 * i, &val), 0);
		assert_int_equal(val, 0x1111 * (i + 1));
	}
	++*n;
	return 0;
}

/* Nothing is given back to the kernel while it is still being read, and the order is kept. */
static void given_back_after_use(void **state)
{
	const struct event_ops ops = { .sample = on_many };
	struct rig *r = rig_new(CALLGRAPH_DWARF);
	struct scribbler sc = { .ring = &r->data[0] };
	uint64_t n = 0, start = SIZE - 5000;
	struct rec_reader *rd;
	pthread_t t;

	(void)state;
	r->o.full_stacks = true;
	/* The first records wrap around the end of the ring. */
	r->head[0] = start;
	r->page[0].data_head = r->page[0].data_tail = start;
	r->data[0].head = r->data[0].tail = r->data[0].released = sc.done = start;
	for (; n < 160; n++) {
		struct sample_spec s = {
			.time = 1000 + n, .pid = PID + (uint32_t)(n % 7), .misc = 2,
			.ip = 0x401000, .abi = 2, .sp = 0x7ffd00001000 - n % 3 * 64,
			.room = 1280, .copied = 1280,
		};

		put_sample(r, 0, &s);
	}
	assert_int_equal(pthread_create(&t, NULL, scribble, &sc), 0);
	assert_int_equal(drain_round(&r->drain, DRAIN_ALL, r->sink), 160);
	atomic_store(&sc.stop, true);
	pthread_join(t, NULL);
	assert_int_equal(r->page[0].data_tail, r->head[0]);
	assert_int_equal(rec_writer_finish(r->w), 0);
	n = 0;
	rd = rec_reader_open(r->path);
	assert_non_null(rd);
	assert_int_equal(rec_reader_events(rd, &ops, &n), 0);
	assert_int_equal(n, 160);
	rec_reader_close(rd);
	rig_free(r);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static void nothing_allocated(void **state)
{
	(void)state;
	print_message("malloc(3) is the sanitizer's\n");
	skip();
}
#else
/* This thread's malloc(3) calls; the writer's thread has a count of its own. */
static __thread unsigned long allocations;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	allocations++;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	allocations++;
	return __libc_realloc(p, size);
}

/* Samples of known threads allocate nothing, except that buffers rarely grow, by doubling. */
static void nothing_allocated(void **state)
{
	struct rig *r = rig_new(CALLGRAPH_DWARF);
	unsigned long before = 0;
	uint64_t n = 0;

	(void)state;
	for (int round = 0; round < 400; round++) {
		if (round == 100)
			before = allocations;
		for (int i = 0; i < 100; i++, n++) {
			struct sample_spec s = {
				.time = 1000 + n, .pid = PID + (uint32_t)(n % 7), .misc = 2,
				.ip = 0x401000 + n % 50, .abi = 2, .sp = 0x7ffd00001000 - n % 9 * 64,
				.room = 256, .copied = 256,
			};

			put_sample(r, (int)(n % NCPU), &s);
		}
		assert_int_equal(drain_round(&r->drain, DRAIN_ALL, r->sink), 100);
		/*
		 * A writer that lags behind needs more than two blocks of the pool, whose buffers
		 * grow, too.
		 */
		while (rec_writer_fill(r->w) > 12)
			usleep(100);
	}
	print_message("# %lu allocations for 30000 samples\n", allocations - before);
	assert_within(allocations - before, 0, 30);
	rig_free(r);
}
#endif

static int with_helpers(void **state)
{
	(void)state;
	helpers = 3;
	return 0;
}

/* The layout of PERF_RECORD_COMM. */
static void put_comm(struct rig *r, int ring, uint32_t pid, uint64_t time, bool exec)
{
	uint64_t misc = exec ? PERF_RECORD_MISC_COMM_EXEC : 0;
	uint64_t rec[7] = { PERF_RECORD_COMM | misc << 32 | sizeof(rec) << 48, pid | (uint64_t)pid << 32, 'x',
			    pid | (uint64_t)pid << 32, time, 0, 0 };

	put(r, ring, rec, sizeof(rec));
}

/* Execs in the rings are known before they are delivered, and are delivered as well. */
static void execs_ahead(void **state)
{
	struct rig *r = rig_new(CALLGRAPH_NONE);
	const uint64_t lost[2] = { 1, 7 };
	struct execs x;

	(void)state;
	execs_init(&x, r->drain.rings, r->drain.n, false);
	assert_false(execs_since(&x, PID, 0));
	put_comm(r, 2, PID, 100, true);
	put_comm(r, 3, PID + 1, 50, true);
	put_comm(r, 3, PID + 2, 60, false);
	assert_true(execs_since(&x, PID, 99));
	assert_false(execs_since(&x, PID, 100));
	assert_true(execs_since(&x, PID + 1, 10));
	assert_false(execs_since(&x, PID + 2, 0));
	assert_int_equal(drain_round(&r->drain, DRAIN_ALL, r->sink), 3);
	put_comm(r, 2, PID, 200, true);
	assert_true(execs_since(&x, PID, 150));
	assert_false(execs_lost_since(&x, 0));
	put_side(r, 2, PERF_RECORD_LOST, 300, lost, 2);
	assert_true(execs_lost_since(&x, 299));
	assert_false(execs_lost_since(&x, 300));
	/* Twice around the ring, and more execs than are remembered. */
	for (uint32_t i = 0; i < 10000; i++) {
		put_comm(r, 2, PID + i, 1000 + i, true);
		assert_true(execs_since(&x, PID + i, 999 + i));
		assert_false(execs_since(&x, PID + i, 1000 + i));
		drain_round(&r->drain, DRAIN_ALL, r->sink);
	}
	assert_within(x.last.n, 1, 5000);
	/*
	 * The kernel does not write such a record: the look-ahead stops there, and the drain
	 * reports it.
	 */
	put_comm(r, 3, PID, 20000, true);
	r->side[1].data[(r->head[3] - 56 + 6) % SIZE] = 4;
	assert_false(execs_since(&x, PID, 19999));
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	assert_int_equal(r->side[1].broken, 1);
	execs_fini(&x);
	rig_free(r);
}

int main(void)
{
	/* The second time with threads that mask, from the setup of the first test on. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merge),
		cmocka_unit_test(late_ones),
		cmocka_unit_test(sideband_first),
		cmocka_unit_test(losses),
		cmocka_unit_test(openers),
		cmocka_unit_test(stacks),
		cmocka_unit_test(ourselves),
		cmocka_unit_test(damaged),
		cmocka_unit_test(given_back_after_use),
		cmocka_unit_test(nothing_allocated),
		cmocka_unit_test(execs_ahead),
		cmocka_unit_test_setup(merge, with_helpers),
		cmocka_unit_test(late_ones),
		cmocka_unit_test(sideband_first),
		cmocka_unit_test(losses),
		cmocka_unit_test(stacks),
		cmocka_unit_test(ourselves),
		cmocka_unit_test(damaged),
		cmocka_unit_test(given_back_after_use),
		cmocka_unit_test(nothing_allocated),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
