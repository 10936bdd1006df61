/*
 * Samples of threads that leave a CPU, marked among the switches: each comes back, whatever the order
 * in which they came, and a recording of every switch takes what its switches say and little more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "event.h"
#include "recgen.h"
#include "recording.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"
#include "samples/nibble_codec.h"
#include "samples/sample_codec.h"

#define SAMPLES 3000u

static const uint64_t chain[] = { (uint64_t)-128, 0xffffffff81234567ull };

static uint64_t rnd;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(random_next(&rnd) >> 20) % n;
}

static void give_event(struct rec_writer *w, uint32_t index, enum event_role role)
{
	const struct ev_event ev = {
		.index = index, .role = role, .leader = index, .period = 1, .name = "event", .modifier = "", .unit = "",
		.filter = "", .fields = "",
	};

	assert_int_equal(rec_writer_event(w, &ev), 0);
}

static struct rec_writer *new_writer(int fd)
{
	int err;
	struct rec_writer *w = rec_writer_new_events(fd, &err);

	assert_non_null(w);
	rec_writer_patient(w);
	return w;
}

static void finish(struct rec_writer *w)
{
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
}

/* ---- any order ---- */

struct check {
	struct rec_reader *r;
	struct sample_in s[SAMPLES];
	unsigned int n, switches;
	bool ahead;
};

static int on_sample(void *ctx, const struct ev_sample *ev)
{
	struct check *c = ctx;
	const struct sample_in *s = &c->s[c->n++];

	assert_true(ev->time == s->time);
	assert_int_equal(ev->cpu, s->cpu);
	assert_int_equal(ev->pid, s->pid);
	assert_int_equal(ev->tid, s->tid);
	assert_int_equal(ev->event, s->event);
	assert_int_equal(ev->nchain, s->nchain);
	assert_memory_equal(ev->chain, s->chain, 8 * (size_t)s->nchain);
	return 0;
}

static int on_switch(void *ctx, const struct ev_switch *ev)
{
	struct check *c = ctx;

	assert_false(ev->mark);
	c->switches++;
	return 0;
}

static void on_block(void *ctx)
{
	struct check *c = ctx;

	if (c->ahead)
		rec_reader_work_ahead(c->r);
}

/* Whoever reads no switches gets the samples all the same. */
static void read_back(struct check *c, const char *path, bool switches, bool ahead)
{
	const struct event_ops ops = { .sample = on_sample, .cpu_switch = switches ? on_switch : NULL, .block = on_block };

	c->r = rec_reader_open(path);
	assert_non_null(c->r);
	c->n = c->switches = 0;
	c->ahead = ahead;
	assert_int_equal(rec_reader_events(c->r, &ops, c), 0);
	assert_int_equal(rec_reader_damage(c->r)->bad_blocks, 0);
	assert_int_equal(c->n, SAMPLES);
	assert_int_equal(c->switches, switches ? SAMPLES / 3 : 0);
	rec_reader_close(c->r);
}

/*
 * Samples of three events, one of them marked: mostly in the order of time, some at the same time on
 * any CPU, some too late, of threads that come and go. @late: the event of those with marks is given
 * only after some samples, so there are blocks with and without marks.
 */
static void any_order(uint64_t seed, bool late)
{
	struct check *c = calloc(1, sizeof(*c));
	uint64_t now = 1000;
	struct rec_writer *w;
	char path[32];
	int fd = gen_memfd(path);

	rnd = seed;
	w = new_writer(fd);
	give_event(w, 0, ROLE_SAMPLES);
	if (!late)
		give_event(w, 1, ROLE_WAITS);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		uint32_t thread = below(5 + i / 100);
		struct sample_in *s = &c->s[i];

		if (late && i == 100)
			give_event(w, 1, ROLE_WAITS);
		now += below(3) ? 1000 + below(50) : 0;
		*s = (struct sample_in){
			.time = below(40) ? now : now - below(3000), .pid = 7 + thread / 4, .tid = 7 + thread, .cpu = below(6) * below(3000),
			.event = late && i < 100 ? 0 : below(3) > 0, .chain = chain, .nchain = 1 + below(2),
		};
		if (i % 3 == 2)
			assert_int_equal(rec_writer_switch(w, &(struct ev_switch){ now, s->pid, s->tid, s->cpu, below(2), false, false }), 0);
		assert_int_equal(rec_writer_sample(w, s), 0);
		/* Ends a block every 500 samples. */
		assert_int_equal(rec_writer_tick(w, 1 + 1000000ull * i), 0);
	}
	finish(w);
	for (int how = 0; how < 4; how++)
		read_back(c, path, how & 1, how & 2);
	close(fd);
	free(c);
}

static void test_any_order(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 9; seed++)
		any_order(seed, seed % 2);
}

/* ---- size ---- */

/*
 * One CPU and five threads with a stack each: one comes, runs, is sampled and leaves, and another one
 * comes. Per switch these are 14 random bits for how long it runs, 10 for how long the sample took, 8
 * for how long the CPU was idle, and 2 for who comes. Nothing else is random, so what is above that is
 * the cost of the coding. Without marks the sample's time and thread take another 2 bytes.
 */
static void test_size(void **state)
{
	static struct stack_words words = { .nwords = 40 };
	const double entropy = (14 + 10 + 8 + 2) / 8.0;
	const uint32_t switches = 40000;
	uint64_t now = 1000000000;
	uint32_t thread = 0;
	struct rec_writer *w;
	struct stat st;
	char path[32];
	int fd = gen_memfd(path);

	(void)state;
	rnd = 3;
	w = new_writer(fd);
	give_event(w, 0, ROLE_WAITS);
	for (uint32_t i = 0; i < switches; i++) {
		struct ev_switch sw = { .pid = 50, .tid = 50 + thread };
		struct sample_in s = {
			.pid = 50, .tid = 50 + thread, .period = 1, .chain = chain, .nchain = 2, .has_regs = true, .stack = &words,
		};

		words.base = s.regs[UREG_SP] = 0x7f0000000000ull + 0x100000ull * thread;
		s.regs[UREG_IP] = 0x555500001000ull;
		words.nkept = 10;
		for (uint32_t k = 0; k < words.nkept; k++) {
			words.idx[k] = (uint16_t)(4 * k);
			words.val[k] = 0x555500002000ull + 0x100 * k;
			words.cls[k] = WORD_CODE;
		}
		sw.time = now += 512 + below(1 << 8);
		assert_int_equal(rec_writer_switch(w, &sw), 0);
		s.time = now += (1 << 14) + below(1 << 14);
		assert_int_equal(rec_writer_sample(w, &s), 0);
		sw.time = now += 2048 + below(1 << 10);
		sw.out = true;
		assert_int_equal(rec_writer_switch(w, &sw), 0);
		thread = (thread + 1 + below(4)) % 5;
	}
	finish(w);
	assert_int_equal(fstat(fd, &st), 0);
	print_message("%.2f bytes per switch, of which %.2f are random\n", (double)st.st_size / switches, entropy);
	assert_true((double)st.st_size < 1.15 * entropy * switches);
	close(fd);
}

/* ---- damage ---- */

/* A sample whose mark is missing is damage, and so is a mark without its sample. */
static void test_wrong_number(void **state)
{
	struct ev_switch mark[3];
	struct nibble_enc *n = nibble_enc_new();
	struct sample_enc *e = sample_enc_new(100);
	struct sample_dec *d = sample_dec_new();
	struct strbuf syms = STRBUF_INIT, code = STRBUF_INIT;
	struct sample_block b = { .has_marks = true, .marks = mark };
	struct ev_sample ev;

	(void)state;
	sample_enc_events(e);
	sample_dec_events(d);
	for (uint32_t i = 0; i < 3; i++) {
		struct sample_in s = { .time = 10 + i, .pid = 5, .tid = 6 + i % 2, .cpu = i, .chain = chain, .nchain = 2 };

		mark[i] = (struct ev_switch){ .time = s.time, .pid = s.pid, .tid = s.tid, .cpu = s.cpu, .mark = true };
		sample_enc_add(e, &s, i == 1 ? MARK_OTHER : MARK_NEXT, &syms);
	}
	mark[1] = mark[2];
	nibble_enc_pack(n, &syms, &code);
	cursor_init(&b.code, code.s, code.len);
	b.symbols = syms.len / REC_SYMBOL;
	for (b.nmarks = 0; b.nmarks <= 3; b.nmarks++) {
		unsigned int got = 0;

		sample_dec_key(d);
		sample_dec_block(d, &b);
		while (got < 3 && !sample_dec_next(d, &ev))
			assert_int_equal(ev.time, 10 + got++);
		assert_int_equal(got, b.nmarks == 0 ? 0 : b.nmarks == 1 ? 2 : 3);
		if (got == 3)
			assert_int_equal(sample_dec_done(d), b.nmarks == 2);
	}
	strbuf_fini(&syms);
	strbuf_fini(&code);
	sample_dec_free(d);
	sample_enc_free(e);
	nibble_enc_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_wrong_number),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
