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
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "events/perf_layout.h"
#include "in_range.h"
#include "recording/rec_reader.h"
#include "sink/drain.h"
#include "sink/execs.h"
#include "sink/sink_side.h"
#include "stackcopy.h"

#define SIZE (256u << 10)
#define NCPU 2
/* Above the largest possible PID: /proc has nothing about them. Side-band has told of the first few. */
#define PID 0x500000u
#define NPIDS 7u
#define STRANGER (PID + NPIDS)

struct rig {
	struct perf_event_mmap_page page[2 * NCPU];
	struct ring data[NCPU], side[NCPU];
	uint64_t head[2 * NCPU];
	struct record_opts o;
	struct cgroup_fs fs;
	struct ledger ledger;
	struct drain drain;
	struct rec_writer *w;
	struct proctab *pt;
	struct sink *sink;
	char path[64];
};

/* Helper threads that mask: every test runs without and with them. */
static unsigned int helpers;

/* @pid begins a program with code at 0x401000 and 0x2000, a page each. */
static void begin_program(struct rig *r, uint32_t pid)
{
	const struct ev_comm comm = { .pid = pid, .tid = pid, .comm = "app", .exec = true };
	struct kmmap m = { .pid = pid, .tid = pid, .len = 0x1000, .prot = PROT_READ | PROT_EXEC, .path = "//anon" };

	sink_comm(r->sink, &comm);
	m.start = 0x401000;
	sink_mmap(r->sink, &m);
	m.start = 0x2000;
	sink_mmap(r->sink, &m);
}

static struct rig *rig_new(enum callgraph cg)
{
	struct rig *r = calloc(1, sizeof(*r));
	int fd, err;

	assert_non_null(r);
	for (int i = 0; i < NCPU; i++) {
		ring_init(&r->data[i], &r->page[i], calloc(1, SIZE), SIZE);
		ring_init(&r->side[i], &r->page[NCPU + i], calloc(1, SIZE), SIZE);
		r->side[i].sideband = true;
	}
	r->o.callgraph = cg;
	r->o.dump_size = 64;
	r->fs.fd = -1;
	snprintf(r->path, sizeof(r->path), "/tmp/nsprof-test-drain.XXXXXX");
	fd = mkstemp(r->path);
	assert_true(fd >= 0);
	r->w = rec_writer_new(fd, &err);
	assert_non_null(r->w);
	r->pt = proctab_new(r->w);
	r->sink = sink_new(&r->o, &r->fs, r->pt, r->w, &r->ledger, true, helpers);
	drain_init(&r->drain, r->data, NCPU, r->side, NCPU);
	for (uint32_t i = 0; i < NPIDS; i++)
		begin_program(r, PID + i);
	return r;
}

/* Rings 0 and 1 are data, 2 and 3 side-band, as in page[]. */
static void put(struct rig *r, int ring, const void *rec, size_t len)
{
	struct ring *to = ring < NCPU ? &r->data[ring] : &r->side[ring - NCPU];

	for (size_t i = 0; i < len; i++)
		to->data[(r->head[ring] + i) % SIZE] = ((const uint8_t *)rec)[i];
	r->head[ring] += len;
	r->page[ring].data_head = r->head[ring];
}

struct sample_spec {
	uint64_t time;
	uint32_t pid;
	uint16_t misc;		/* 1 kernel, 2 user */
	uint64_t chain[3], nchain;
	uint64_t abi, sp, ip;
	uint64_t room, copied;	/* bytes of stack; room 0: no stack */
};

/* The layout of PERF_RECORD_SAMPLE in perf_event_open(2), for the fields we request. */
static void put_sample(struct rig *r, int ring, const struct sample_spec *s)
{
	uint64_t rec[256], n = 1;

	rec[n++] = 1;						/* identifier */
	rec[n++] = s->ip;
	rec[n++] = s->pid | (uint64_t)(s->pid + 1) << 32;
	rec[n++] = s->time;
	rec[n++] = (uint64_t)ring;				/* cpu */
	rec[n++] = 1000;					/* period */
	rec[n++] = s->nchain;
	for (uint64_t i = 0; i < s->nchain; i++)
		rec[n++] = s->chain[i];
	if (r->o.callgraph == CALLGRAPH_DWARF) {
		rec[n++] = s->abi;
		/* ax bx cx dx si di bp sp ip r8-r15 */
		for (int i = 0; s->abi && i < 17; i++)
			rec[n++] = i == 7 ? s->sp : i == 8 ? s->ip : 100 + (uint64_t)i;
		rec[n++] = s->room;
		for (uint64_t i = 0; i < s->room / 8; i++)
			rec[n++] = i < s->copied / 8 ? 0x1111 * (i + 1) : 0xdeadbeefdeadbeef;
		if (s->room)
			rec[n++] = s->copied;
	}
	rec[n++] = 0;						/* cgroup */
	rec[0] = PERF_RECORD_SAMPLE | (uint64_t)s->misc << 32 | n * 8 << 48;
	put(r, ring, rec, n * 8);
}

static void put_side(struct rig *r, int ring, uint32_t type, uint64_t time, const uint64_t *body,
		     size_t n)
{
	uint64_t rec[64];

	rec[0] = type | (uint64_t)(8 + 8 * n + 32) << 48;
	memcpy(rec + 1, body, 8 * n);
	rec[1 + n] = 0;			/* pid, tid */
	rec[2 + n] = time;
	rec[3 + n] = 0;			/* cpu */
	rec[4 + n] = 0;			/* identifier */
	put(r, ring, rec, 8 * (5 + n));
}

static void put_plain(struct rig *r, int ring, uint64_t time)
{
	struct sample_spec s = { .time = time, .pid = PID, .misc = 2, .ip = 0x401000 };

	put_sample(r, ring, &s);
}

#define MAX_SEEN 64

struct seen_sample {
	uint64_t time;
	uint64_t chain[4];
	uint32_t nchain, cpu, pid, tid;
	bool has_regs, copy_full, unmasked;
	uint64_t sp, ip, bp, r15, lo, hi, first, second, last;
};

struct result {
	struct seen_sample s[MAX_SEEN];
	int n, ksymbols, cgroups;
	uint64_t ksymbol_at;	/* samples before it */
};

static int on_sample(void *ctx, const struct ev_sample *ev)
{
	struct result *res = ctx;
	struct seen_sample *s = &res->s[res->n++];

	assert_within(res->n, 1, MAX_SEEN);
	s->time = ev->time;
	s->pid = ev->pid;
	s->tid = ev->tid;
	s->cpu = ev->cpu;
	s->nchain = ev->nchain;
	memcpy(s->chain, ev->chain, (ev->nchain < 4 ? ev->nchain : 4) * 8);
	s->has_regs = ev->has_regs;
	s->copy_full = ev->copy_full;
	s->unmasked = ev->unmasked;
	s->sp = ev->regs[UREG_SP];
	s->ip = ev->regs[UREG_IP];
	s->bp = ev->regs[UREG_BP];
	s->r15 = ev->regs[UREG_R15];
	s->lo = ev->stack.lo;
	s->hi = ev->stack.hi;
	if (s->hi > s->lo) {
		assert_int_equal(stack_view_read(&ev->stack, s->lo, &s->first), 0);
		assert_int_equal(stack_view_read(&ev->stack, s->hi - 8, &s->last), 0);
	}
	if (s->hi > s->lo + 8)
		assert_int_equal(stack_view_read(&ev->stack, s->lo + 8, &s->second), 0);
	return 0;
}

static int on_ksymbol(void *ctx, const struct ev_ksymbol *ev)
{
	struct result *res = ctx;

	assert_int_equal(ev->addr, 0xffffffffc0001000);
	assert_int_equal(ev->len, 77);
	assert_false(ev->gone);
	assert_string_equal(ev->name, "bpf_prog");
	res->ksymbols++;
	res->ksymbol_at = (uint64_t)res->n;
	return 0;
}

static int on_cgroup(void *ctx, const struct ev_cgroup *ev)
{
	struct result *res = ctx;

	assert_int_equal(ev->id, 4711);
	assert_string_equal(ev->path, "/a/b");
	res->cgroups++;
	return 0;
}

static void rig_free(struct rig *r)
{
	sink_free(r->sink);
	ledger_fini(&r->ledger);
	proctab_free(r->pt);
	rec_writer_free(r->w);
	drain_fini(&r->drain);
	unlink(r->path);
	for (int i = 0; i < NCPU; i++) {
		free(r->data[i].data);
		free(r->side[i].data);
	}
	free(r);
}

static void rig_end(struct rig *r, struct result *res)
{
	const struct event_ops ops = {
		.sample = on_sample, .ksymbol = on_ksymbol, .cgroup = on_cgroup,
	};
	struct rec_reader *rd;

	memset(res, 0, sizeof(*res));
	assert_int_equal(r->sink->err, 0);
	assert_int_equal(rec_writer_finish(r->w), 0);
	rd = rec_reader_open(r->path);
	assert_non_null(rd);
	assert_int_equal(rec_reader_events(rd, &ops, res), 0);
	assert_false(rec_reader_damage(rd)->cut);
	rec_reader_close(rd);
	rig_free(r);
}

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
	assert_int_equal(res.cgroups, 1);
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

/* Of words and registers only code and stack stay, and of a chain only code. */
static void masked(void **state)
{
	struct sample_spec s = {
		.time = 1, .pid = PID, .misc = 2, .abi = 2, .sp = 0x7ffd00001000, .ip = 0x401000, .room = 64, .copied = 64,
	};
	struct rig *r = rig_new(CALLGRAPH_DWARF);
	struct result res;

	(void)state;
	put_sample(r, 0, &s);
	s.time = 2, s.sp += 4;	/* no stack pointer */
	put_sample(r, 0, &s);
	s.time = 3, s.abi = 0, s.room = 0, s.nchain = 3;	/* 0x402000 is the end of its code */
	s.chain[0] = (uint64_t)-512, s.chain[1] = 0x401010, s.chain[2] = 0x402000;
	put_sample(r, 0, &s);
	s.time = 4, s.chain[2] = 0x402001;
	put_sample(r, 0, &s);
	s.time = 5, s.chain[1] = 0x402001;
	put_sample(r, 0, &s);
	s.time = 6, s.chain[1] = 0x401010, s.chain[2] = 0;	/* the kernel's end of a chain */
	put_sample(r, 0, &s);
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	assert_int_equal(r->ledger.l.kept, 6);
	assert_int_equal(r->ledger.l.withheld + r->ledger.l.maps_unknown, 0);
	rig_end(r, &res);
	for (int i = 0; i < 2; i++) {
		assert_true(res.s[i].has_regs && !res.s[i].unmasked);
		assert_int_equal(res.s[i].ip, 0x401000);
		assert_int_equal(res.s[i].bp, 0);
		assert_int_equal(res.s[i].r15, 0);
		assert_int_equal(res.s[i].lo, 0x7ffd00001000 + (i ? 8 : 0));
		assert_int_equal(res.s[i].first, 0);
		assert_int_equal(res.s[i].last, 0);
	}
	assert_int_equal(res.s[0].second, 0x2222);
	assert_int_equal(res.s[2].nchain, 3);
	assert_int_equal(res.s[2].chain[2], 0x402000);
	assert_int_equal(res.s[3].nchain, 3);
	assert_int_equal(res.s[3].chain[1], 0x401010);
	assert_int_equal(res.s[3].chain[2], CHAIN_UNMAPPED);
	assert_int_equal(res.s[4].nchain, 3);
	assert_int_equal(res.s[4].chain[1], CHAIN_UNMAPPED);
	assert_int_equal(res.s[4].chain[2], CHAIN_UNMAPPED);
	assert_int_equal(res.s[5].nchain, 3);
	assert_int_equal(res.s[5].chain[2], 0);
}

/* Without mappings nothing of the user part stays. It is counted. */
static void withheld(void **state)
{
	const struct sample_spec base = {
		.pid = STRANGER, .misc = 2, .abi = 2, .sp = 0x7ffd00001000, .ip = 0x401000, .room = 64, .copied = 64,
	};
	const uint32_t lengths[] = { 2, 3, 3, 4, 2, 2 };
	struct rig *r = rig_new(CALLGRAPH_DWARF);
	struct sample_spec s = base;
	struct result res;

	(void)state;
	s.time = 1;		/* 0: of an unknown process */
	put_sample(r, 0, &s);
	s.time = 2, s.pid = PID, s.ip = 0x403000;	/* 1: outside of all mappings */
	put_sample(r, 0, &s);
	s = base, s.time = 3;	/* 2: in the kernel */
	s.misc = 1, s.nchain = 2, s.chain[0] = (uint64_t)-128, s.chain[1] = 0xffffffff81000010;
	put_sample(r, 0, &s);
	s.time = 4, s.copied = 0;	/* 3: the same without a stack, as in an exec */
	put_sample(r, 0, &s);
	s = base, s.time = 5;	/* 4: a callchain */
	s.abi = 0, s.room = 0, s.nchain = 3;
	s.chain[0] = (uint64_t)-512, s.chain[1] = 0x401010, s.chain[2] = 0x401020;
	put_sample(r, 0, &s);
	s.time = 6, s.pid = 0, s.nchain = 2;	/* 5: of a process that we cannot see at all */
	put_sample(r, 0, &s);
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	assert_int_equal(r->ledger.l.kept, 6);
	assert_int_equal(r->ledger.l.withheld, 4);
	assert_int_equal(r->ledger.l.maps_unknown, 0);
	rig_end(r, &res);
	assert_int_equal(res.n, 6);
	for (int i = 0; i < 6; i++) {
		assert_false(res.s[i].has_regs || res.s[i].unmasked || res.s[i].copy_full);
		assert_int_equal(res.s[i].lo, res.s[i].hi);
		assert_int_equal(res.s[i].chain[res.s[i].nchain - 1], i == 3 || i == 5 ? CHAIN_UNMAPPED : CHAIN_WITHHELD);
		assert_int_equal(res.s[i].nchain, lengths[i]);
	}
	assert_int_equal(res.s[1].chain[1], CHAIN_UNMAPPED);
	assert_int_equal(res.s[3].chain[2], (uint64_t)-512);
	assert_int_equal(res.s[2].chain[1], 0xffffffff81000010);
	assert_int_equal(res.s[4].chain[0], (uint64_t)-512);
}

/* With --stacks=full, a sample without mappings keeps all. */
static void kept_in_full(void **state)
{
	const struct sample_spec s = {
		.time = 1, .pid = STRANGER, .misc = 2, .abi = 2, .sp = 0x7ffd00001000, .ip = 0x401000, .room = 64, .copied = 64,
	};
	struct rig *r = rig_new(CALLGRAPH_DWARF);
	struct result res;

	(void)state;
	r->o.full_stacks = true;
	put_sample(r, 0, &s);
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	assert_int_equal(r->ledger.l.maps_unknown, 1);
	assert_int_equal(r->ledger.l.withheld, 0);
	rig_end(r, &res);
	assert_true(res.s[0].has_regs && res.s[0].unmasked);
	assert_int_equal(res.s[0].last, 0x8888);
	assert_int_equal(res.s[0].r15, 116);
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
		cmocka_unit_test(stacks),
		cmocka_unit_test(masked),
		cmocka_unit_test(withheld),
		cmocka_unit_test(kept_in_full),
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
		cmocka_unit_test(masked),
		cmocka_unit_test(withheld),
		cmocka_unit_test(kept_in_full),
		cmocka_unit_test(ourselves),
		cmocka_unit_test(damaged),
		cmocka_unit_test(given_back_after_use),
		cmocka_unit_test(nothing_allocated),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
