/*
 * For tests of the drain, after cmocka.h: hand-made rings, the sink behind them, and what is then in
 * the recording.
 */
#ifndef NSPROF_DRAIN_RIG_H
#define NSPROF_DRAIN_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "events/perf_layout.h"
#include "in_range.h"
#include "recording/rec_reader.h"
#include "sink/drain.h"
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

__attribute__((unused))
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
	r->sink = sink_new(&r->o, &r->fs, r->pt, r->w, &r->ledger, helpers);
	r->sink->layout = (struct sample_layout){ .has_stack = cg == CALLGRAPH_DWARF, .no_chain = cg == CALLGRAPH_NONE, .has_cgroup = true };
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
__attribute__((unused))
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

__attribute__((unused))
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

__attribute__((unused))
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

__attribute__((unused))
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

#endif
