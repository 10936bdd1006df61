/*
 * For tests of the recording format: a made-up world of threads with stacks, and a file to record
 * it in. The same seed gives the same samples again, so a test can write them, start over and
 * compare.
 */
#ifndef TESTS_UNIT_RECGEN_H
#define TESTS_UNIT_RECGEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "event.h"
#include "random.h"
#include "recording/rec_writer.h"
#include "stackcopy.h"

#define GEN_STACK_WORDS 3000u
#define GEN_STACKS 2u
#define GEN_CHAIN 1024u

struct gen_stack {
	uint64_t base;		/* address of w[0] */
	uint64_t *w;		/* GEN_STACK_WORDS; the top of the stack is after the last one */
	uint8_t *cls;
	uint32_t sp;		/* word number; the stack is [sp, GEN_STACK_WORDS) */
};

struct gen_thread {
	uint32_t pid, tid;
	struct gen_stack stack[GEN_STACKS];
	unsigned int on;	/* which stack it runs on */
	uint64_t regs[UREG_MAX];
	uint64_t cgroup;
};

struct gen {
	uint64_t rnd;
	unsigned int nthr, ncpu;
	uint32_t nevents;	/* of samples; 0: one plain event */
	bool no_waits;		/* else every third one is of ROLE_WAITS */
	uint32_t max_words;	/* of a copy */
	uint64_t now;
	struct gen_thread *thr;
	/* The most recent sample. */
	struct sample_in s;
	struct stack_words sw;
	uint64_t chain[GEN_CHAIN];
	uint32_t event;
	uint8_t payload[PAYLOAD_MAX];
};

/* A file in memory, and the @path by which a reader can open it until it is closed. */
static inline int gen_memfd(char path[32])
{
	int fd = memfd_create("recording", 0);

	if (fd < 0)
		abort();
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static inline uint64_t gen_rnd(struct gen *g)
{
	return random_next(&g->rnd);
}

static inline uint32_t gen_below(struct gen *g, uint32_t n)
{
	return (uint32_t)(gen_rnd(g) >> 20) % n;
}

static inline uint64_t gen_code(struct gen *g)
{
	return 0x555500000000ull + 0x10000000ull * gen_below(g, 3) + 4ull * gen_below(g, 400);
}

static inline void gen_init(struct gen *g, uint64_t seed, unsigned int nthr, uint32_t max_words)
{
	memset(g, 0, sizeof(*g));
	g->rnd = seed;
	g->nthr = nthr;
	g->ncpu = 3;
	g->max_words = max_words;
	g->now = 1000000000ull * seed;
	g->thr = calloc(nthr, sizeof(*g->thr));
	for (unsigned int i = 0; i < nthr; i++) {
		struct gen_thread *t = &g->thr[i];

		t->pid = 100 + i / 3;
		t->tid = t->pid + i % 3;
		for (unsigned int k = 0; k < GEN_STACKS; k++) {
			struct gen_stack *st = &t->stack[k];

			st->base = 0x7f0000000000ull + 0x1000000ull * (i * GEN_STACKS + k) +
				   8 * gen_below(g, 512);
			st->w = calloc(GEN_STACK_WORDS, sizeof(*st->w));
			st->cls = calloc(GEN_STACK_WORDS, 1);
			st->sp = GEN_STACK_WORDS - 20;
		}
	}
}

static inline void gen_fini(struct gen *g)
{
	for (unsigned int i = 0; i < g->nthr; i++)
		for (unsigned int k = 0; k < GEN_STACKS; k++) {
			free(g->thr[i].stack[k].w);
			free(g->thr[i].stack[k].cls);
		}
	free(g->thr);
}

/* Writes words [from, to) as calls would, some of them zero. */
static inline void gen_scribble(struct gen *g, struct gen_stack *st, uint32_t from, uint32_t to,
				bool raw)
{
	for (uint32_t i = from; i < to; i++) {
		uint32_t dice = gen_below(g, 100);

		st->w[i] = 0;
		if (dice < 15) {
			st->w[i] = gen_code(g);
			st->cls[i] = WORD_CODE;
		} else if (dice < 25) {
			st->w[i] =
				st->base + 8 * gen_below(g, GEN_STACK_WORDS) + (dice == 24 ? 3 : 0);
			st->cls[i] = WORD_STACK;
		} else if (raw && dice < 60) {
			st->w[i] = gen_rnd(g) >> gen_below(g, 64);
			st->cls[i] = WORD_RAW;
		}
	}
}

static inline void gen_move(struct gen *g, struct gen_stack *st, bool raw)
{
	uint32_t dice = gen_below(g, 10), n = 1 + gen_below(g, 40), sp = st->sp;

	if (dice == 9)
		n = 1 + gen_below(g, 2500);
	if (dice >= 4 && sp > n) {		/* call deeper */
		st->sp = sp - n;
		gen_scribble(g, st, st->sp, sp, raw);
	} else if (dice >= 1 && sp + n < GEN_STACK_WORDS - 4) {
		st->sp = sp + n; /* return, then change a few of the remaining words */
		gen_scribble(g, st, st->sp, st->sp + gen_below(g, 4), raw);
	}
	/* Dice 0: nothing happens, the sample repeats. */
}

static inline void gen_words(struct gen *g, const struct gen_stack *st, unsigned int odd)
{
	uint32_t first = st->sp + (odd ? 1 : 0), n = GEN_STACK_WORDS - first;

	g->s.copy_full = n >= g->max_words;
	if (g->s.copy_full)
		n = g->max_words;
	g->sw.base = st->base + 8 * (uint64_t)first;
	g->sw.nwords = n;
	g->sw.nkept = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!st->w[first + i])
			continue;
		g->sw.idx[g->sw.nkept] = (uint16_t)i;
		g->sw.cls[g->sw.nkept] = st->cls[first + i];
		g->sw.val[g->sw.nkept++] = st->w[first + i];
	}
	g->s.cut = !g->s.copy_full && g->s.time % 7 == 0;
	g->s.stack = &g->sw;
}

static inline void gen_regs(struct gen *g, struct gen_thread *t, uint64_t sp)
{
	for (unsigned int i = 0; i < UREG_MAX; i++) {
		uint32_t dice = gen_below(g, 10);

		if (!(UREG_MASK >> i & 1))
			continue;
		if (dice == 0)
			t->regs[i] = gen_code(g);
		else if (dice == 1)
			t->regs[i] = sp + 8 * gen_below(g, 100);
		else if (dice == 2)
			t->regs[i] = 0;
		else if (dice == 3 && i == UREG_BP)
			t->regs[i] = gen_rnd(g);
	}
	t->regs[UREG_SP] = sp;
	t->regs[UREG_IP] = gen_code(g);
	memcpy(g->s.regs, t->regs, sizeof(t->regs));
}

/* A recorder for the file @fd, which knows the events. */
static inline struct rec_writer *gen_writer(const struct gen *g, int fd)
{
	int err;
	struct rec_writer *w = g->nevents ? rec_writer_new_events(fd, &err) : rec_writer_new(fd, &err);

	if (!w)
		abort();
	for (uint32_t i = 0; i < g->nevents; i++) {
		char name[32];
		struct ev_event ev = {
			.index = i, .role = i % 3 == 1 && !g->no_waits ? ROLE_WAITS : ROLE_SAMPLES, .leader = i, .name = name, .period = i + 1,
		};

		snprintf(name, sizeof(name), "event-%u", i);
		if (rec_writer_event(w, &ev))
			abort();
	}
	return w;
}

/* The sample's event: mostly the one before, or one that is near it. */
static inline void gen_event(struct gen *g)
{
	uint32_t dice = gen_below(g, 10);

	if (dice < 4)
		g->event = (g->event + dice) % g->nevents;
	else if (dice == 9)
		g->event = gen_below(g, g->nevents);
	g->s.event = g->event;
}

/*
 * The record of a tracepoint: fields that stay, count, repeat or are noise. Every third event has
 * none; the fifth has as much as there may be.
 */
static inline void gen_payload(struct gen *g)
{
	uint32_t len = g->event == 4 ? PAYLOAD_MAX - gen_below(g, 2) : 1 + 7 * (g->event % 16) + (gen_below(g, 30) ? 0 : gen_below(g, 50));

	if (g->event % 3 == 2)
		return;
	for (uint32_t i = 0; i < len; i += 4) {
		uint32_t dice = gen_below(g, 40), v = 0;

		memcpy(&v, g->payload + i, len - i < 4 ? len - i : 4);
		if (dice < 4)
			v += dice * dice * dice;
		else if (dice < 8)
			v = (uint32_t)gen_rnd(g) >> gen_below(g, 32);
		else if (dice < 10)
			v = gen_below(g, 12);
		else if (dice == 10)
			v = g->s.tid;
		else if (dice == 11)
			v = g->s.pid;
		memcpy(g->payload + i, &v, len - i < 4 ? len - i : 4);
	}
	g->s.payload = g->payload;
	g->s.payload_len = len;
}

/* Makes the next sample, in g->s. */
static inline void gen_next(struct gen *g)
{
	struct gen_thread *t = &g->thr[gen_below(g, g->nthr)];
	struct gen_stack *st;
	unsigned int odd = gen_below(g, 40) ? 0 : 1 + gen_below(g, 7);
	bool raw = !gen_below(g, 30);

	if (!gen_below(g, 12))
		t->on = gen_below(g, GEN_STACKS);
	st = &t->stack[t->on];
	gen_move(g, st, raw);
	g->now += 1000000 + gen_below(g, 5000);
	memset(&g->s, 0, sizeof(g->s));
	g->s.time = g->now;
	g->s.pid = t->pid;
	g->s.tid = t->tid;
	g->s.cpu = gen_below(g, g->ncpu);
	g->s.period = gen_below(g, 5) ? 1010101 : gen_rnd(g) >> 30;
	if (!gen_below(g, 50))
		t->cgroup = gen_rnd(g);
	g->s.cgroup = t->cgroup;
	g->s.unmasked = raw || odd;
	g->s.chain = g->chain;
	g->chain[g->s.nchain++] = (uint64_t)-512;	/* PERF_CONTEXT_USER */
	if (gen_below(g, 20)) {
		g->s.has_regs = true;
		gen_regs(g, t, st->base + 8 * (uint64_t)st->sp + odd);
		if (gen_below(g, 10))
			gen_words(g, st, odd);
		g->chain[g->s.nchain++] = g->s.regs[UREG_IP];
	}
	if (!gen_below(g, 3)) {
		uint32_t n = gen_below(g, 100) ? gen_below(g, 12) : GEN_CHAIN - 2;

		g->s.nchain = 0;
		g->chain[g->s.nchain++] = (uint64_t)-128;	/* PERF_CONTEXT_KERNEL */
		while (g->s.nchain <= n) {
			g->chain[g->s.nchain] =
				0xffffffff81000000ull + g->s.nchain * 64 + gen_below(g, 2);
			g->s.nchain++;
		}
	}
	if (g->nevents) {
		gen_event(g);
		gen_payload(g);
	}
}

/*
 * A digest of everything in a sample, including its stack and what is known around it; continues
 * from @h.
 */
static inline uint64_t gen_digest(uint64_t h, const struct ev_sample *ev)
{
	const uint64_t head[] = {
		ev->time, ev->pid, ev->tid, ev->cpu, ev->period, ev->cgroup, ev->event, ev->nchain, ev->has_regs, ev->stack.lo,
		ev->stack.hi, ev->changed_end, ev->known_end, ev->copy_full, ev->unmasked, ev->cut,
	};
	uint64_t val;

	h = hash_combine(h, hash_bytes(head, sizeof(head)));
	h = hash_combine(h, hash_bytes(ev->chain, ev->nchain * sizeof(*ev->chain)));
	h = hash_combine(h, hash_bytes(ev->payload, ev->payload_len));
	h = hash_combine(h, hash_bytes(ev->regs, sizeof(ev->regs)));
	if (!ev->stack.shadow)
		return h;
	for (uint64_t a = ev->stack.lo; a < ev->stack.hi; a += 8)
		h = hash_combine(h, stack_view_read(&ev->stack, a, &val) ? 1 : val);
	for (uint64_t page = 0; page < 8; page++)
		h = hash_combine(h, stack_view_page(&ev->stack, ev->stack.hi + 4096 * page) != NULL);
	return h;
}

#endif
