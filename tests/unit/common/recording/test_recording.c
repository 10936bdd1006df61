/* The recording format: the samples that go in come out, whatever the threads do. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "bytes/crc32c.h"
#include "event.h"
#include "in_range.h"
#include "random.h"
#include "recgen.h"
#include "recording.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"
#include "samples/nibble_codec.h"
#include "samples/sample_codec.h"
#include "samples/shadow.h"
#include "samples/word_codec.h"

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
	uint64_t cut;	/* of these, with ev_sample.cut */
	bool exact; /* nothing was forgotten so far: changed_end must be as low as possible */
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

/*
 * The lowest address from which on the copy @now of [@lo, @hi) equals the previous one, found by
 * trying.
 */
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
	assert_int_equal(ev->event, in->event);
	assert_int_equal(ev->has_regs, in->has_regs);
	assert_int_equal(ev->copy_full, in->copy_full);
	assert_int_equal(ev->unmasked, in->unmasked);
	assert_int_equal(ev->cut, in->cut);
	c->cut += ev->cut;
	assert_memory_equal(ev->regs, in->regs, sizeof(ev->regs));
	assert_int_equal(ev->nchain, in->nchain);
	assert_memory_equal(ev->chain, in->chain, 8 * (size_t)in->nchain);
	assert_int_equal(ev->payload_len, in->payload_len);
	if (in->payload_len)
		assert_memory_equal(ev->payload, in->payload, in->payload_len);
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

static void write_samples(int fd, uint64_t seed, unsigned int nthr, uint32_t max_words, uint32_t events,
			  unsigned int n, uint64_t tick)
{
	struct rec_writer *w;
	struct gen *g = calloc(1, sizeof(*g));

	gen_init(g, seed, nthr, max_words);
	g->nevents = events;
	w = gen_writer(g, fd);
	rec_writer_patient(w);
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
			 uint32_t events, unsigned int n, bool exact)
{
	struct check *c = calloc(1, sizeof(*c));

	gen_init(&c->gen, seed, nthr, max_words);
	c->gen.nevents = events;
	assert_int_equal(rec_reader_events(r, &sample_only, c), 0);
	assert_int_equal(c->samples, n);
	assert_int_equal(rec_reader_damage(r)->bad_blocks, 0);
	assert_int_equal(rec_reader_damage(r)->lost_samples, 0);
	assert_false(rec_reader_damage(r)->cut);
	/* Both kinds occurred. */
	assert_within(c->cut, 1, c->samples - 1);
	if (exact)
		assert_int_equal(c->loose, 0);
	check_fini(c);
	free(c);
}

static void test_round_trip(void **state)
{
	static const struct {
		unsigned int nthr;
		uint32_t max_words, events;
		unsigned int n;
		uint64_t tick;	/* ns between samples for rec_writer_tick() */
	} runs[] = {
		{ 1, 8192, 0, 1500, 0 },
		{ 7, 2000, 0, 4000, 0 },
		{ 40, 512, 0, 4000, 1000000 },
		{ 200, 8192, 0, 3000, 0 },
		{ 7, 300, 2, 3000, 0 },
		{ 7, 300, 20, 2000, 0 },
		{ 3, 100, SAMPLED_EVENTS_MAX, 2000, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		char path[32];
		int fd = gen_memfd(path);
		struct rec_reader *r;

		write_samples(fd, i + 1, runs[i].nthr, runs[i].max_words, runs[i].events, runs[i].n, runs[i].tick);
		r = rec_reader_open(path);
		assert_non_null(r);
		/*
		 * Fewer than 64 blocks: one KEY block, so changed_end is as low as possible. Run
		 * twice: passes repeat.
		 */
		for (int pass = 0; pass < 2; pass++)
			read_samples(r, i + 1, runs[i].nthr, runs[i].max_words, runs[i].events, runs[i].n, true);
		rec_reader_close(r);
		close(fd);
	}
}

/* About one block per sample: many KEY blocks, each of which forgets everything. */
static void test_many_key_blocks(void **state)
{
	(void)state;
	for (uint32_t events = 0; events <= 20; events += 20) {
		char path[32];
		int fd = gen_memfd(path);
		struct rec_reader *r;

		write_samples(fd, 11, 5, 8192, events, 1000, 300000000);
		r = rec_reader_open(path);
		assert_non_null(r);
		read_samples(r, 11, 5, 8192, events, 1000, false);
		rec_reader_close(r);
		close(fd);
	}
}

/* ---- codec alone, with too little memory ---- */

static struct strbuf code;		/* what the decoder reads from */

/* Gives @syms to @d as a block of its own. */
static void unpacked(struct sample_dec *d, const struct strbuf *syms)
{
	struct sample_block block = { .symbols = syms->len / REC_SYMBOL };
	struct nibble_enc *n = nibble_enc_new();

	strbuf_reset(&code);
	nibble_enc_pack(n, syms, &code);
	nibble_enc_free(n);
	cursor_init(&block.code, code.s, code.len);
	sample_dec_block(d, &block);
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
			sample_enc_add(e, &g->s, MARKS_NONE, &syms);
		}
		unpacked(d, &syms);
		for (int i = 0; i < 3000; i++) {
			assert_int_equal(sample_dec_next(d, &ev), 0);
			check_sample(c, &ev);
		}
		/* All symbols were consumed: there is no further sample. */
		assert_int_equal(sample_dec_next(d, &ev), -EINVAL);
		/* Without evictions this would test nothing. */
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

/*
 * How many words at the end of both have the same address and value; 0 if the copies end at
 * different addresses.
 */
static uint32_t same_words(const struct stack_words *a, const struct stack_words *b)
{
	uint32_t n = 0;

	if (a->base + 8 * (uint64_t)a->nwords != b->base + 8 * (uint64_t)b->nwords)
		return 0;
	while (n < a->nkept && n < b->nkept) {
		uint32_t i = a->nkept - n - 1, k = b->nkept - n - 1;

		if (a->base + 8 * (uint64_t)a->idx[i] != b->base + 8 * (uint64_t)b->idx[k] || a->val[i] != b->val[k])
			break;
		n++;
	}
	return n;
}

/*
 * What a sample states about the previous one saves comparing and changes no result; nor does a
 * statement about any other sample.
 */
static void test_hints(void **state)
{
	enum { NTHR = 9 };
	struct stack_words *last = calloc(NTHR, sizeof(*last));
	struct sample_enc *told = sample_enc_new(60), *untold = sample_enc_new(60);
	struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
	uint64_t serial[NTHR] = { 0 }, hints = 0;
	struct gen *g = calloc(1, sizeof(*g));

	(void)state;
	assert_true(last && g);
	gen_init(g, 5, NTHR, 2000);
	for (uint64_t i = 1; i < 4000; i++) {
		unsigned int t = 0;

		gen_next(g);
		while (g->thr[t].pid != g->s.pid || g->thr[t].tid != g->s.tid)
			t++;
		if (i % 500 == 0) {
			sample_enc_key(told);
			sample_enc_key(untold);
		}
		strbuf_reset(&a);
		strbuf_reset(&b);
		sample_enc_add(untold, &g->s, MARKS_NONE, &b);
		g->s.serial = i;
		if (g->s.stack && serial[t]) {
			g->s.same = same_words(g->s.stack, &last[t]);
			g->s.same_as = serial[t];
			if (i % 3 == 0)		/* less than could be stated */
				g->s.same /= 2;
			if (i % 7 == 0) {	/* about a sample that this encoder never saw */
				g->s.same = g->s.stack->nkept;
				g->s.same_as = i - 1 == serial[t] ? i : i - 1;
			}
			hints += g->s.same && i % 7;
		}
		sample_enc_add(told, &g->s, MARKS_NONE, &a);
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.s, b.s, a.len);
		if (g->s.stack) {
			last[t] = *g->s.stack;
			serial[t] = i;
		}
		g->s.serial = g->s.same_as = g->s.same = 0;
	}
	assert_true(hints > 1000);
	sample_enc_free(told);
	sample_enc_free(untold);
	strbuf_fini(&a);
	strbuf_fini(&b);
	gen_fini(g);
	free(g);
	free(last);
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
	/*
	 * Little endian: three bytes further, the low bytes of the next word become the top ones.
	 */
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

/* A callback's return value ends the pass and is returned. */
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
	int fd = gen_memfd(path), n = 0;

	(void)state;
	write_samples(fd, 3, 2, 100, 0, 50, 0);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_events(r, &ops, &n), -1234);
	assert_int_equal(n, 3);
	rec_reader_close(r);
	close(fd);
}

/* ---- where bytes go ---- */

/* Written to a pipe, and read from standard input at its other end. */
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
		write_samples(in[1], 21, 6, 3000, 0, 2500, 0);
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
	read_samples(r, 21, 6, 3000, 0, 2500, true);
	rec_reader_close(r);
}

/* Empties the pipe @arg after a delay. */
static void *read_late(void *arg)
{
	static char buf[1 << 16];
	const int fd = *(const int *)arg;
	ssize_t n;

	nanosleep(&(struct timespec){ 0, 200000000 }, NULL);
	do
		n = read(fd, buf, sizeof(buf));
	while (n > 0);
	return (void *)n;
}

/* 16 MiB of incompressible data; returns the first result that is not 0. */
static int write_noise(struct rec_writer *w)
{
	uint64_t chain[1000] = { (uint64_t)-512 }, x = 1;
	struct sample_in s = { .chain = chain, .nchain = 1000 };
	int err = 0;

	for (unsigned int i = 0; i < 2048 && !err; i++) {
		for (unsigned int k = 1; k < 1000; k++)
			chain[k] = random_next(&x);
		s.time += 1000;
		err = rec_writer_sample(w, &s);
	}
	return err;
}

/*
 * More than the pool can hold, with no reader yet: a sample is refused, unless the source can wait.
 */
static void test_patient(void **state)
{
	struct rec_writer *w;
	pthread_t reader;
	void *ret;

	(void)state;
	for (int patient = 0; patient < 2; patient++) {
		int fd[2], err;

		assert_int_equal(pipe(fd), 0);
		w = rec_writer_new(fd[1], &err);
		assert_non_null(w);
		if (patient)
			rec_writer_patient(w);
		else
			assert_int_equal(write_noise(w), -EAGAIN);
		assert_int_equal(pthread_create(&reader, NULL, read_late, &fd[0]), 0);
		if (patient)
			assert_int_equal(write_noise(w), 0);
		assert_int_equal(rec_writer_finish(w), 0);
		rec_writer_free(w);
		close(fd[1]);
		assert_int_equal(pthread_join(reader, &ret), 0);
		assert_null(ret);
		close(fd[0]);
	}
}

static void test_write_errors(void **state)
{
	struct rlimit old, low = { 4096, RLIM_INFINITY };
	struct gen *g = calloc(1, sizeof(*g));
	struct rec_writer *w;
	char path[32];
	FILE *full = fopen("/dev/full", "w");
	int fd = gen_memfd(path), err = 0;

	(void)state;
	/* Reported at once. */
	assert_non_null(full);
	assert_null(rec_writer_new(fileno(full), &err));
	assert_int_equal(err, -ENOSPC);
	fclose(full);
	/* Noticed later; every call from then on reports it, and so does the last. */
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
	static uint32_t (*const ways[])(uint32_t crc, const void *data, size_t len) = { crc32c, crc32c_by_table };
	uint8_t zeros[32] = { 0 }, up[32];

	(void)state;
	for (int i = 0; i < 32; i++)
		up[i] = (uint8_t)i;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		/* The check value of the CRC catalogue, and RFC 3720 B.4. */
		assert_int_equal(ways[i](0, "123456789", 9), 0xe3069283);
		assert_int_equal(ways[i](0, zeros, 32), 0x8a9136aa);
		assert_int_equal(ways[i](0, up, 32), 0x46dd794e);
		assert_int_equal(ways[i](ways[i](0, "1234", 4), "56789", 5), 0xe3069283);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc32c),
		cmocka_unit_test(test_hints),
		cmocka_unit_test(test_stack_view),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_many_key_blocks),
		cmocka_unit_test(test_eviction),
		cmocka_unit_test(test_callback_stops),
		cmocka_unit_test(test_pipes),
		cmocka_unit_test(test_patient),
		cmocka_unit_test(test_write_errors),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
