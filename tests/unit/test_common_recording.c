/* The recording format: what goes in comes out, whatever the threads do. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "crc32c.h"
#include "event.h"
#include "nibble_codec.h"
#include "rec_reader.h"
#include "rec_writer.h"
#include "recgen.h"
#include "recording.h"
#include "sample_codec.h"
#include "shadow.h"
#include "util.h"
#include "word_codec.h"

static int memfd(char path[32])
{
	int fd = memfd_create("recording", 0);

	assert_true(fd >= 0);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

/* ---- an oracle for one sample ---- */

/* A thread's previous copy, remembered word by word. */
struct seen {
	uint32_t pid, tid;
	uint64_t lo, hi;
	uint64_t w[STACK_WORDS_MAX];
};

struct check {
	struct gen gen;
	struct seen *seen;
	size_t nseen;
	uint64_t samples;
	uint64_t cut;	/* of them, with ev_sample.cut */
	bool exact; /* nothing was forgotten on the way: changed_end must be as low as it can be */
	uint64_t loose;	/* samples whose changed_end was higher than necessary */
};

static struct seen *seen_of(struct check *c, uint32_t pid, uint32_t tid)
{
	for (size_t i = 0; i < c->nseen; i++)
		if (c->seen[i].pid == pid && c->seen[i].tid == tid)
			return &c->seen[i];
	c->seen = realloc(c->seen, (c->nseen + 1) * sizeof(*c->seen));
	memset(&c->seen[c->nseen], 0, sizeof(*c->seen));
	c->seen[c->nseen].pid = pid;
	c->seen[c->nseen].tid = tid;
	return &c->seen[c->nseen++];
}

/* Lowest address from which on the copy @now of [@lo, @hi) equals the previous one, by trying. */
static uint64_t lowest_equal(const struct seen *prev, uint64_t lo, uint64_t hi, const uint64_t *now)
{
	uint64_t a = hi;

	if (hi > prev->hi)
		return hi;
	while (a > lo && a - 8 >= prev->lo && a <= prev->hi &&
	       now[(a - 8 - lo) / 8] == prev->w[(a - 8 - prev->lo) / 8])
		a -= 8;
	return a;
}

static void check_stack(struct check *c, const struct sample_in *in, const struct ev_sample *ev)
{
	static uint64_t now[STACK_WORDS_MAX];
	struct seen *seen = seen_of(c, in->pid, in->tid);
	uint64_t lo = 0, hi = 0, val, least;

	if (in->stack) {
		lo = in->stack->base;
		hi = lo + 8 * (uint64_t)in->stack->nwords;
		memset(now, 0, sizeof(now));
		for (uint32_t i = 0; i < in->stack->nkept; i++)
			now[in->stack->idx[i]] = in->stack->val[i];
	}
	assert_int_equal(ev->stack.lo, lo);
	assert_int_equal(ev->stack.hi, hi);
	for (uint64_t a = lo; a < hi; a += 8) {
		assert_int_equal(stack_view_read(&ev->stack, a, &val), 0);
		if (val != now[(a - lo) / 8])
			fail_msg("word at %#lx is %#lx, not %#lx", (long)a, (long)val,
				 (long)now[(a - lo) / 8]);
	}
	if (hi > lo) {
		least = lowest_equal(seen, lo, hi, now);
		assert_true(ev->changed_end >= least);
		assert_true(ev->changed_end <= hi);
		c->loose += ev->changed_end != least;
	}
	seen->lo = lo;
	seen->hi = hi;
	memcpy(seen->w, now, hi - lo);
}

static void check_sample(struct check *c, const struct ev_sample *ev)
{
	const struct sample_in *in = &c->gen.s;

	gen_next(&c->gen);
	assert_int_equal(ev->time, in->time);
	assert_int_equal(ev->pid, in->pid);
	assert_int_equal(ev->tid, in->tid);
	assert_int_equal(ev->cpu, in->cpu);
	assert_int_equal(ev->period, in->period);
	assert_int_equal(ev->cgroup, in->cgroup);
	assert_int_equal(ev->has_regs, in->has_regs);
	assert_int_equal(ev->copy_full, in->copy_full);
	assert_int_equal(ev->unmasked, in->unmasked);
	assert_int_equal(ev->cut, in->cut);
	c->cut += ev->cut;
	assert_memory_equal(ev->regs, in->regs, sizeof(ev->regs));
	assert_int_equal(ev->nchain, in->nchain);
	assert_memory_equal(ev->chain, in->chain, 8 * (size_t)in->nchain);
	check_stack(c, in, ev);
	c->samples++;
}

static void check_fini(struct check *c)
{
	gen_fini(&c->gen);
	free(c->seen);
}

/* ---- through a file ---- */

static int on_sample(void *ctx, const struct ev_sample *ev)
{
	check_sample(ctx, ev);
	return 0;
}

static const struct event_ops sample_only = { .sample = on_sample };

static void write_samples(int fd, uint64_t seed, unsigned int nthr, uint32_t max_words,
			  unsigned int n, uint64_t tick)
{
	struct rec_writer *w;
	struct gen *g = calloc(1, sizeof(*g));
	int err;

	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	gen_init(g, seed, nthr, max_words);
	for (unsigned int i = 0; i < n; i++) {
		gen_next(g);
		assert_int_equal(rec_writer_sample(w, &g->s), 0);
		assert_int_equal(rec_writer_tick(w, i * tick), 0);
	}
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	gen_fini(g);
	free(g);
}

static void read_samples(struct rec_reader *r, uint64_t seed, unsigned int nthr, uint32_t max_words,
			 unsigned int n, bool exact)
{
	struct check *c = calloc(1, sizeof(*c));

	gen_init(&c->gen, seed, nthr, max_words);
	assert_int_equal(rec_reader_events(r, &sample_only, c), 0);
	assert_int_equal(c->samples, n);
	assert_int_equal(rec_reader_damage(r)->bad_blocks, 0);
	assert_int_equal(rec_reader_damage(r)->lost_samples, 0);
	assert_false(rec_reader_damage(r)->cut);
	/* Both kinds came by. */
	assert_in_range(c->cut, 1, c->samples - 1);
	if (exact)
		assert_int_equal(c->loose, 0);
	check_fini(c);
	free(c);
}

static void test_round_trip(void **state)
{
	static const struct {
		unsigned int nthr;
		uint32_t max_words;
		unsigned int n;
		uint64_t tick;	/* ns between samples for rec_writer_tick() */
	} runs[] = {
		{ 1, 8192, 1500, 0 },
		{ 7, 2000, 4000, 0 },
		{ 40, 512, 4000, 1000000 },
		{ 200, 8192, 3000, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		char path[32];
		int fd = memfd(path);
		struct rec_reader *r;

		write_samples(fd, i + 1, runs[i].nthr, runs[i].max_words, runs[i].n, runs[i].tick);
		r = rec_reader_open(path);
		assert_non_null(r);
		/*
		 * Fewer than 64 blocks: one KEY block, so changed_end is as low as can be. Twice:
		 * passes repeat.
		 */
		for (int pass = 0; pass < 2; pass++)
			read_samples(r, i + 1, runs[i].nthr, runs[i].max_words, runs[i].n, true);
		rec_reader_close(r);
		close(fd);
	}
}

/* A block for every sample or so: many KEY blocks, each of which forgets everything. */
static void test_many_key_blocks(void **state)
{
	char path[32];
	int fd = memfd(path);
	struct rec_reader *r;

	(void)state;
	write_samples(fd, 11, 5, 8192, 1000, 300000000);
	r = rec_reader_open(path);
	assert_non_null(r);
	read_samples(r, 11, 5, 8192, 1000, false);
	rec_reader_close(r);
	close(fd);
}

/* ---- codec alone, with too little memory ---- */

static struct strbuf code;		/* what the decoder reads from */

/* Give @syms to @d as a block of their own. */
static void unpacked(struct sample_dec *d, const struct strbuf *syms)
{
	struct nibble_enc *n = nibble_enc_new();
	struct cursor c;

	strbuf_reset(&code);
	nibble_enc_pack(n, syms, &code);
	nibble_enc_free(n);
	cursor_init(&c, code.s, code.len);
	sample_dec_block(d, &c, syms->len / REC_SYMBOL, false);
}

static void free_code(void)
{
	strbuf_fini(&code);
}

static void test_eviction(void **state)
{
	static const size_t budgets[] = { WORD_CODEC_PAGES, 40, 100 };

	(void)state;
	for (size_t b = 0; b < ARRAY_SIZE(budgets); b++) {
		struct sample_enc *e = sample_enc_new(budgets[b]);
		struct sample_dec *d = sample_dec_new();
		struct check *c = calloc(1, sizeof(*c));
		struct gen *g = calloc(1, sizeof(*g));
		struct strbuf syms = STRBUF_INIT;
		struct ev_sample ev;

		gen_init(g, 77, 30, 4096);
		gen_init(&c->gen, 77, 30, 4096);
		for (int i = 0; i < 3000; i++) {
			gen_next(g);
			sample_enc_add(e, &g->s, &syms);
		}
		unpacked(d, &syms);
		for (int i = 0; i < 3000; i++) {
			assert_int_equal(sample_dec_next(d, &ev), 0);
			check_sample(c, &ev);
		}
		/* All symbols were taken: there is no further sample. */
		assert_int_equal(sample_dec_next(d, &ev), -EINVAL);
		/* If nothing was evicted this tested nothing. */
		assert_true(c->loose > 0);
		strbuf_fini(&syms);
		check_fini(c);
		free(c);
		gen_fini(g);
		free(g);
		sample_enc_free(e);
		sample_dec_free(d);
		free_code();
	}
}

static void test_stack_view(void **state)
{
	struct shadow_pool pool;
	struct shadow_thread st = { 0 };
	struct stack_view sv = { .shadow = &st, .lo = 0x1ff8, .hi = 0x2010 };
	struct shadow_page *p;
	uint64_t val;

	(void)state;
	shadow_pool_init(&pool, 2);
	p = shadow_page_make(&pool, &st, 1);
	shadow_page_set(p, 511, 0x8877665544332211ull);		/* at 0x1ff8 */
	shadow_page_set(p, 510, 1);				/* older, below the view */
	p = shadow_page_make(&pool, &st, 2);
	shadow_page_set(p, 0, 0xffeeddccbbaa9900ull);		/* at 0x2000 */
	assert_null(shadow_page_make(&pool, &st, 3));		/* limit */
	assert_int_equal(stack_view_read(&sv, 0x1ff8, &val), 0);
	assert_int_equal(val, 0x8877665544332211ull);
	/* Little endian: three bytes on, the low bytes of the next word come in at the top. */
	assert_int_equal(stack_view_read(&sv, 0x1ffb, &val), 0);
	assert_int_equal(val, 0xaa99008877665544ull);
	assert_int_equal(stack_view_read(&sv, 0x2008, &val), 0);
	assert_int_equal(val, 0);
	assert_int_equal(stack_view_read(&sv, 0x1ff0, &val), -EFAULT);
	assert_int_equal(stack_view_read(&sv, 0x2009, &val), -EFAULT);
	assert_int_equal(stack_view_read(&sv, 0x2010, &val), -EFAULT);
	assert_int_equal(stack_view_read(&sv, UINT64_MAX, &val), -EFAULT);
	shadow_clear(&pool, &st);
	shadow_pool_fini(&pool);
}

/* ---- a long run ---- */

#define LONG_RUN 1000000u
#define LONG_THREADS 8u
#define LONG_WORDS 16u

/*
 * What a steady program looks like to the recorder: a few threads, stacks of a few frames, always some
 * code that was not seen before. Sample @i has @i in its time and in a word.
 */
static void steady_sample(struct gen *g, uint64_t i)
{
	struct stack_words *sw = &g->sw;
	uint32_t thr = gen_below(g, LONG_THREADS);

	memset(&g->s, 0, sizeof(g->s));
	g->s.time = i * 1000000;
	g->s.pid = 100;
	g->s.tid = 100 + thr;
	g->s.cpu = thr % 2;
	g->s.period = 1010101;
	g->s.has_regs = true;
	g->s.chain = g->chain;
	g->s.nchain = 2;
	g->chain[0] = (uint64_t)-512;
	sw->base = 0x7f0000000000ull + 0x100000ull * thr + 8 * (LONG_WORDS - 8 + gen_below(g, 4));
	sw->nwords = (uint32_t)((0x7f0000000000ull + 0x100000ull * thr + 0x100 - sw->base) / 8);
	sw->nkept = 0;
	for (uint32_t k = 0; k < 3; k++) {
		sw->idx[sw->nkept] = (uint16_t)(k * 4 + gen_below(g, 2));
		sw->cls[sw->nkept] = k % 2 ? WORD_STACK : WORD_CODE;
		sw->val[sw->nkept++] = k % 2 ? sw->base + 8 * gen_below(g, 16) : gen_code(g);
	}
	sw->val[0] = 0x560000000000ull + i;	/* code that is new */
	g->s.stack = sw;
	g->s.regs[UREG_SP] = sw->base;
	g->chain[1] = g->s.regs[UREG_IP] = gen_code(g);
}

/* The most memory this process ever had, in KiB. */
static long peak_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	fclose(f);
	assert_true(kib > 0);
	return kib;
}

struct long_run {
	uint64_t n;
	long peak;			/* after a tenth of the samples */
};

static int long_sample(void *ctx, const struct ev_sample *ev)
{
	struct long_run *l = ctx;
	uint64_t val = 0;

	if (ev->time != l->n * 1000000)
		return -1;
	for (uint64_t a = ev->stack.lo; a < ev->stack.hi && val >> 40 != 0x56; a += 8)
		stack_view_read(&ev->stack, a, &val);
	if (val != 0x560000000000ull + l->n)
		return -2;
	if (++l->n == LONG_RUN / 10)
		l->peak = peak_kib();
	return 0;
}

/* Both directions: memory after a million samples is what it was after the first tenth. */
static void test_memory_is_flat(void **state)
{
	static const struct event_ops ops = { .sample = long_sample };
	struct gen *g = calloc(1, sizeof(*g));
	struct long_run l = { 0 };
	struct rec_reader *r;
	struct rec_writer *w;
	char path[32];
	int fd = memfd(path), err;
	long peak = 0;

	(void)state;
	g->rnd = 5;
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	for (uint64_t i = 0; i < LONG_RUN; i++) {
		steady_sample(g, i);
		/* Full speed would need ever more of the pool, and drop what does not fit. */
		while (rec_writer_fill(w) > 20)
			usleep(100);
		assert_int_equal(rec_writer_sample(w, &g->s), 0);
		rec_writer_tick(w, g->s.time);
		if (i == LONG_RUN / 10)
			peak = peak_kib();
	}
	assert_true(peak_kib() - peak < 1024);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_events(r, &ops, &l), 0);
	assert_int_equal(l.n, LONG_RUN);
	assert_true(peak_kib() - l.peak < 1024);
	rec_reader_close(r);
	close(fd);
	free(g);
}

/* ---- side-band ---- */

struct log {
	char text[8192];
	size_t len;
};

__attribute__((format(printf, 2, 3)))
static int say(void *ctx, const char *fmt, ...)
{
	struct log *l = ctx;
	va_list ap;

	va_start(ap, fmt);
	l->len += (size_t)vsnprintf(l->text + l->len, sizeof(l->text) - l->len, fmt, ap);
	va_end(ap);
	assert_true(l->len < sizeof(l->text));
	return 0;
}

static int say_dso(void *ctx, const struct ev_dso *e)
{
	return say(ctx, "dso %u %02x%02x/%u %u:%u %lu %lu %lu %ld %lu %s%s\n", e->id,
		   e->build_id[0], e->build_id[19], e->build_id_len, e->dev_major, e->dev_minor,
		   (long)e->ino, (long)e->ino_gen, (long)e->size, (long)e->mtime_ns,
		   (long)e->mnt_ns, e->path, e->deleted ? " gone" : "");
}

static int say_proc(void *ctx, const struct ev_proc *e)
{
	say(ctx, "proc %lu #%u %u<%u %lu ns", (long)e->time, e->serial, e->pid, e->ppid,
	    (long)e->start_ticks);
	for (uint32_t i = 0; i < e->nspid_n; i++)
		say(ctx, " %u", e->nspid[i]);
	return say(ctx, " %lu %lu %lu '%s' '%s' '%s' '%s' %d %d\n", (long)e->mnt_ns,
		   (long)e->pid_ns, (long)e->user_ns, e->comm, e->exe, e->root, e->cgroup,
		   e->maps_known, e->inherited);
}

static int say_mmap(void *ctx, const struct ev_mmap *e)
{
	return say(ctx, "mmap %lu %u/%u %lx+%lx @%lx %x %x %u %s\n", (long)e->time, e->pid, e->tid,
		   (long)e->start, (long)e->len, (long)e->pgoff, e->prot, e->flags, e->dso,
		   e->path);
}

static int say_comm(void *ctx, const struct ev_comm *e)
{
	return say(ctx, "comm %lu %u/%u %s%s\n", (long)e->time, e->pid, e->tid, e->comm,
		   e->exec ? " exec" : "");
}

static int say_fork(void *ctx, const struct ev_task *e)
{
	return say(ctx, "fork %lu %u/%u < %u/%u\n", (long)e->time, e->pid, e->tid, e->ppid,
		   e->ptid);
}

static int say_exit(void *ctx, const struct ev_task *e)
{
	return say(ctx, "exit %lu %u/%u < %u/%u\n", (long)e->time, e->pid, e->tid, e->ppid,
		   e->ptid);
}

static int say_cgroup(void *ctx, const struct ev_cgroup *e)
{
	return say(ctx, "cgroup %lu %s\n", (long)e->id, e->path);
}

static int say_ksymbol(void *ctx, const struct ev_ksymbol *e)
{
	return say(ctx, "ksymbol %lu %lx+%x %s%s\n", (long)e->time, (long)e->addr, e->len, e->name,
		   e->gone ? " gone" : "");
}

static int say_pressure(void *ctx, const struct ev_pressure *e)
{
	return say(ctx, "pressure %lu %u %u\n", (long)e->time, e->level, e->cause);
}

static int say_sample(void *ctx, const struct ev_sample *e)
{
	return say(ctx, "sample %lu %u/%u\n", (long)e->time, e->pid, e->tid);
}

static const struct event_ops say_all = {
	.dso = say_dso, .proc = say_proc, .mmap = say_mmap, .comm = say_comm, .fork = say_fork,
	.exit = say_exit, .cgroup = say_cgroup, .ksymbol = say_ksymbol, .pressure = say_pressure,
	.sample = say_sample,
};

/* Each event is said as it is handed to the writer and again as it comes from the reader. */
static void test_order_of_events(void **state)
{
	static const uint64_t chain[] = { (uint64_t)-128, 0xffffffff81234567ull };
	struct ev_dso dso = {
		.id = 1, .build_id = { 0xab, [19] = 0xcd }, .build_id_len = 20, .dev_major = 254,
		.dev_minor = UINT32_MAX, .ino = UINT64_MAX, .ino_gen = 7, .size = 1ull << 40,
		.mtime_ns = -5, .mnt_ns = 4026531841, .path = "/usr/lib/x.so", .deleted = true,
	};
	struct ev_dso none = { .id = UINT32_MAX, .path = "" };
	struct ev_proc proc = {
		.time = 50,
		.serial = 3,
		.pid = 20908,
		.ppid = 1,
		.start_ticks = 123456789,
		.nspid = { 20908, 2, 1 },
		.nspid_n = 3,
		.mnt_ns = 1,
		.pid_ns = 2,
		.user_ns = 3,
		.comm = "a b\tc",
		.exe = "/bin/x",
		.root = "/",
		.cgroup = "/docker/1",
		.maps_known = true,
	};
	struct ev_proc bare = { .time = UINT64_MAX,
				.serial = 4,
				.pid = 1,
				.inherited = true,
				.comm = "",
				.exe = "",
				.root = "",
				.cgroup = "" };
	struct ev_mmap map = {
		.time = 49, .pid = 20908, .tid = 20909, .start = 0x7f5c8e200000, .len = 0x28000,
		.pgoff = 0x28000, .prot = 5, .flags = 2, .dso = 1, .path = "/usr/lib/x.so",
	};
	struct ev_comm comm = {
		.time = 60, .pid = 20908, .tid = 20908, .exec = true, .comm = "new"
	};
	struct ev_task task = { .time = 61, .pid = 5, .tid = 6, .ppid = 7, .ptid = 8 };
	struct ev_cgroup cg = { .id = 1ull << 63, .path = "/docker/1" };
	struct ev_ksymbol ks = { .time = 62,
				 .addr = 0xffffffffc0000000ull,
				 .len = 256,
				 .gone = true,
				 .name = "bpf_prog_1" };
	struct ev_pressure press = { .time = 69,
				     .level = PRESSURE_CUT,
				     .cause = PRESSURE_RINGS };
	struct sample_in s = {
		.time = 70, .pid = 20908, .tid = 20909, .chain = chain, .nchain = 2,
	};
	struct ev_sample es = { .time = 70, .pid = 20908, .tid = 20909 };
	struct log *in = calloc(1, sizeof(*in)), *out = calloc(1, sizeof(*out));
	struct rec_writer *w;
	struct rec_reader *r;
	char path[32];
	int fd = memfd(path), err;

	(void)state;
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	for (int i = 0; i < 3; i++) {
#define BOTH(kind, ev) (rec_writer_##kind(w, &(ev)), say_##kind(in, &(ev)))
#define SAMPLE() (rec_writer_sample(w, &s), say_sample(in, &es))
		BOTH(dso, dso);
		SAMPLE();
		SAMPLE();
		BOTH(proc, proc);
		BOTH(mmap, map);
		SAMPLE();
		BOTH(comm, comm);
		BOTH(fork, task);
		BOTH(exit, task);
		BOTH(dso, none);
		BOTH(proc, bare);
		SAMPLE();
		BOTH(cgroup, cg);
		BOTH(ksymbol, ks);
		BOTH(pressure, press);
		if (i == 1) {	/* over a block's end, too */
			rec_writer_tick(w, 1);
			rec_writer_tick(w, 1000000000);
		}
#undef BOTH
#undef SAMPLE
	}
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_events(r, &say_all, out), 0);
	assert_string_equal(out->text, in->text);
	assert_int_equal(rec_reader_damage(r)->bad_blocks, 0);
	rec_reader_close(r);
	close(fd);
	free(in);
	free(out);
}

/* A callback's return value ends the pass and comes back. */
static int stop_at_third(void *ctx, const struct ev_sample *ev)
{
	(void)ev;
	return ++*(int *)ctx == 3 ? -1234 : 0;
}

static void test_callback_stops(void **state)
{
	struct event_ops ops = { .sample = stop_at_third };
	struct rec_reader *r;
	char path[32];
	int fd = memfd(path), n = 0;

	(void)state;
	write_samples(fd, 3, 2, 100, 50, 0);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_events(r, &ops, &n), -1234);
	assert_int_equal(n, 3);
	rec_reader_close(r);
	close(fd);
}

/* ---- the other blocks ---- */

struct caps {
	const struct capture *want;
	size_t n, at;
};

static int on_capture(void *ctx, const struct capture *cap)
{
	struct caps *c = ctx;

	assert_true(c->at < c->n);
	assert_int_equal(cap->kind, c->want[c->at].kind);
	assert_int_equal(cap->id, c->want[c->at].id);
	assert_int_equal(cap->size, c->want[c->at].size);
	if (cap->size)
		assert_memory_equal(cap->data, c->want[c->at].data, cap->size);
	c->at++;
	return 0;
}

static void test_captures_info_ledger(void **state)
{
	size_t big = REC_CAPTURE_CHUNK * 2 + 12345;
	uint8_t *noise = malloc(big);
	struct capture caps[] = {
		{ CAPTURE_ELF, 7,
		  "\x7f"
		  "ELF...",
		  7 },
		{ CAPTURE_PERF_MAP, 1, noise,
		  big }, /* noise: more than one block even compressed */
		{ CAPTURE_KALLSYMS, 0, "", 0 },
		{ CAPTURE_ELF, 8, noise, REC_CAPTURE_CHUNK },
	};
	struct caps ctx = { caps, ARRAY_SIZE(caps), 0 };
	struct ev_ledger in = { .kept = 1,
				.lost_kernel = 2,
				.lost_sideband = 3,
				.dropped = 4,
				.throttled = 5,
				.unordered = 6,
				.maps_unknown = 7,
				.copy_full = 8,
				.cut = 9,
				.own = 10,
				.throttled_ns = 11,
				.throttled_samples = 12,
				.count = UINT64_MAX,
				.periods = 14,
				.pool_waits = 15,
				.pool_peak = 16,
				.pressure_n = { 17, 18, 19, 20, 21 },
				.pressure_ns = { 22, 23, 24, 25, 26 },
				.have_format_lost = true,
				.exact = true };
	struct ev_ledger out;
	struct capture huge = { CAPTURE_ELF, 9, noise, (size_t)REC_CAPTURE_MAX + 1 };
	struct gen *g = calloc(1, sizeof(*g));
	time_t before = time(NULL);
	const char *key, *val;
	struct rec_writer *w;
	struct rec_reader *r;
	char path[32];
	size_t it = 0;
	int fd = memfd(path), err;

	(void)state;
	g->rnd = 42;
	for (size_t i = 0; i + 8 <= big; i += 8) {
		uint64_t v = gen_rnd(g);

		memcpy(noise + i, &v, 8);
	}
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	rec_writer_info(w, "event", "cycles");
	rec_writer_info(w, "cmdline", "");
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		assert_int_equal(rec_writer_capture(w, &caps[i]), 0);
	assert_int_equal(rec_writer_capture(w, &huge), -EFBIG);
	rec_writer_info(w, "event", "cpu-clock");	/* the later value holds */
	assert_int_equal(rec_writer_ledger(w, &in), 0);
	assert_int_equal(rec_writer_finish(w), 0);
	assert_int_equal(rec_writer_bytes(w), lseek(fd, 0, SEEK_END));
	rec_writer_free(w);

	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_captures(r, on_capture, &ctx), 0);
	assert_int_equal(ctx.at, ARRAY_SIZE(caps));
	assert_string_equal(rec_reader_info(r, "event"), "cpu-clock");
	assert_string_equal(rec_reader_info(r, "cmdline"), "");
	assert_null(rec_reader_info(r, "nothing"));
	/* The first comes from the file header. */
	assert_true(rec_reader_info_next(r, &it, &key, &val));
	assert_string_equal(key, "start_wall_ns");
	assert_true(strtoull(val, NULL, 10) / 1000000000 >= (unsigned long long)before);
	assert_true(strtoull(val, NULL, 10) / 1000000000 <= (unsigned long long)time(NULL));
	assert_true(rec_reader_info_next(r, &it, &key, &val));
	assert_string_equal(key, "event");
	assert_true(rec_reader_info_next(r, &it, &key, &val));
	assert_string_equal(key, "cmdline");
	assert_false(rec_reader_info_next(r, &it, &key, &val));
	memset(&out, 0xff, sizeof(out));
	assert_true(rec_reader_ledger(r, &out));
	assert_int_equal(out.kept, 1);
	assert_int_equal(out.lost_kernel, 2);
	assert_int_equal(out.lost_sideband, 3);
	assert_int_equal(out.dropped, 4);
	assert_int_equal(out.throttled, 5);
	assert_int_equal(out.unordered, 6);
	assert_int_equal(out.maps_unknown, 7);
	assert_int_equal(out.copy_full, 8);
	assert_int_equal(out.cut, 9);
	assert_int_equal(out.own, 10);
	assert_int_equal(out.throttled_ns, 11);
	assert_int_equal(out.throttled_samples, 12);
	assert_true(out.count == UINT64_MAX);
	assert_int_equal(out.periods, 14);
	assert_int_equal(out.pool_waits, 15);
	assert_int_equal(out.pool_peak, 16);
	for (uint64_t i = 0; i < PRESSURE_LEVELS; i++) {
		assert_int_equal(out.pressure_n[i], 17 + i);
		assert_int_equal(out.pressure_ns[i], 22 + i);
	}
	assert_true(out.have_format_lost);
	assert_false(out.have_count);
	assert_true(out.exact);
	assert_int_equal(rec_reader_size(r), lseek(fd, 0, SEEK_END));
	rec_reader_close(r);
	close(fd);
	free(noise);
	free(g);
}

/* ---- tally and counts ---- */

#define TALLY_ROWS 3000

/* Row @i: every field another number, with steps down as well as up, and the largest there is. */
static struct ev_tally tally_made(uint64_t i)
{
	return (struct ev_tally){
		.second = i / 7, .cpu = (uint32_t)(i % 7 * 100), .kept = i * i, .cut = i % 5,
		.dropped = 3000 - i, .own = i & 1, .lost = i % 100 ? 0 : UINT64_MAX - i,
		.throttled = 17, .throttled_ns = i * 1000003, .side_lost = i / 1000,
	};
}

static struct ev_counts counts_made(uint64_t i)
{
	return (struct ev_counts){
		.cpu = (uint32_t)i, .events = (uint32_t)(i % 3), .count = UINT64_MAX / (i + 1),
		.samples = 99 * i, .periods = i << 40, .lost = 7 * i, .enabled = 5 * i,
		.running = 4 * i,
	};
}

static int on_tally(void *ctx, const struct ev_tally *row)
{
	const struct ev_tally want = tally_made((*(uint64_t *)ctx)++);

	assert_int_equal(row->second, want.second);
	assert_int_equal(row->cpu, want.cpu);
	assert_int_equal(row->kept, want.kept);
	assert_int_equal(row->cut, want.cut);
	assert_int_equal(row->dropped, want.dropped);
	assert_int_equal(row->own, want.own);
	assert_true(row->lost == want.lost);
	assert_int_equal(row->throttled, want.throttled);
	assert_int_equal(row->throttled_ns, want.throttled_ns);
	assert_int_equal(row->side_lost, want.side_lost);
	return 0;
}

static int on_counts(void *ctx, const struct ev_counts *row)
{
	const struct ev_counts want = counts_made((*(uint64_t *)ctx)++);

	assert_int_equal(row->cpu, want.cpu);
	assert_int_equal(row->events, want.events);
	assert_true(row->count == want.count);
	assert_int_equal(row->samples, want.samples);
	assert_int_equal(row->periods, want.periods);
	assert_int_equal(row->enabled, want.enabled);
	assert_int_equal(row->running, want.running);
	assert_int_equal(row->lost, want.lost);
	return 0;
}

/* Rows come back in the order they were given, over blocks among samples, and 0 rows are none. */
static void test_tables(void **state)
{
	struct ev_tally *rows = calloc(TALLY_ROWS, sizeof(*rows));
	struct ev_counts counts[128];
	struct gen *g = calloc(1, sizeof(*g));
	struct rec_writer *w;
	struct rec_reader *r;
	uint64_t n = 0;
	char path[32];
	int fd = memfd(path), err;

	(void)state;
	for (uint64_t i = 0; i < TALLY_ROWS; i++)
		rows[i] = tally_made(i);
	for (uint64_t i = 0; i < ARRAY_SIZE(counts); i++)
		counts[i] = counts_made(i);
	gen_init(g, 4, 2, 100);
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	assert_int_equal(rec_writer_tally(w, rows, 0), 0);
	for (int i = 0; i < 3; i++) {
		gen_next(g);
		assert_int_equal(rec_writer_sample(w, &g->s), 0);
		assert_int_equal(rec_writer_tally(w, rows + 1000 * i, 1000), 0);
	}
	assert_int_equal(rec_writer_counts(w, counts, ARRAY_SIZE(counts)), 0);
	assert_int_equal(rec_writer_finish(w), 0);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_true(rec_reader_start(r) == rec_writer_start(w));
	assert_true(rec_reader_start(r) > 0);
	assert_int_equal(rec_reader_tally(r, on_tally, &n), 0);
	assert_int_equal(n, TALLY_ROWS);
	n = 0;
	assert_int_equal(rec_reader_counts(r, on_counts, &n), 0);
	assert_int_equal(n, ARRAY_SIZE(counts));
	rec_reader_close(r);
	rec_writer_free(w);
	gen_fini(g);
	free(g);
	free(rows);
	close(fd);
}

/* ---- where bytes go ---- */

/* Written to a pipe, read from standard input at its other end. */
static void test_pipes(void **state)
{
	int in[2], status, saved = dup(STDIN_FILENO);
	struct rec_reader *r;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(in), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		write_samples(in[1], 21, 6, 3000, 2500, 0);
		_exit(0);
	}
	close(in[1]);
	dup2(in[0], STDIN_FILENO);
	close(in[0]);
	r = rec_reader_open("-");
	dup2(saved, STDIN_FILENO);
	close(saved);
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	assert_non_null(r);
	read_samples(r, 21, 6, 3000, 2500, true);
	rec_reader_close(r);
}

static void test_write_errors(void **state)
{
	struct rlimit old, low = { 4096, RLIM_INFINITY };
	struct gen *g = calloc(1, sizeof(*g));
	struct rec_writer *w;
	char path[32];
	FILE *full = fopen("/dev/full", "w");
	int fd = memfd(path), err = 0;

	(void)state;
	/* Known at once. */
	assert_non_null(full);
	assert_null(rec_writer_new(fileno(full), &err));
	assert_int_equal(err, -ENOSPC);
	fclose(full);
	/* Found out on the way; said by every call from then on, and by the last. */
	getrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &low);
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	gen_init(g, 5, 3, 8192);
	for (int i = 0; i < 3000; i++) {
		gen_next(g);
		err = rec_writer_sample(w, &g->s);
	}
	assert_true(err == 0 || err == -EFBIG);		/* the thread may lag behind */
	assert_int_equal(rec_writer_finish(w), -EFBIG);
	assert_int_equal(rec_writer_sample(w, &g->s), -EFBIG);
	rec_writer_free(w);
	setrlimit(RLIMIT_FSIZE, &old);
	gen_fini(g);
	free(g);
	close(fd);
}

static void test_crc32c(void **state)
{
	uint8_t zeros[32] = { 0 }, up[32];

	(void)state;
	for (int i = 0; i < 32; i++)
		up[i] = (uint8_t)i;
	/* The check value of the CRC catalogue, and RFC 3720 B.4. */
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(0, zeros, 32), 0x8a9136aa);
	assert_int_equal(crc32c(0, up, 32), 0x46dd794e);
	assert_int_equal(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc32c),
		cmocka_unit_test(test_stack_view),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_many_key_blocks),
		cmocka_unit_test(test_eviction),
		cmocka_unit_test(test_memory_is_flat),
		cmocka_unit_test(test_order_of_events),
		cmocka_unit_test(test_callback_stops),
		cmocka_unit_test(test_captures_info_ledger),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_pipes),
		cmocka_unit_test(test_write_errors),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
