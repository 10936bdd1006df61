/*
 * Samples decoded ahead by a thread: they are the samples that sample_dec_next() gives, in whatever
 * state the thread is stopped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "recgen.h"
#include "recording.h"
#include "samples/nibble_codec.h"
#include "samples/sample_ahead.h"
#include "samples/sample_codec.h"
#include "samples/word_codec.h"

#define SAMPLES 600u
#define BLOCKS 3u

/* All samples are those of several events, which have all that samples can have. */
static struct sample_dec *new_dec(void)
{
	struct sample_dec *d = sample_dec_new();

	sample_dec_events(d);
	return d;
}

/* Blocks of samples, of which only the first can be decoded independently. */
struct world {
	struct strbuf code[BLOCKS];
	uint64_t symbols[BLOCKS];
};

/* @pages: the most that are remembered about stacks, over all threads. */
static void world_init(struct world *w, uint64_t seed, size_t pages)
{
	struct sample_enc *e = sample_enc_new(pages);
	struct nibble_enc *n = nibble_enc_new();
	struct gen g;

	memset(w, 0, sizeof(*w));
	sample_enc_events(e);
	gen_init(&g, seed, 12, 2000);
	g.nevents = 6;
	for (unsigned int b = 0; b < BLOCKS; b++) {
		struct strbuf syms = STRBUF_INIT;

		for (unsigned int i = 0; i < SAMPLES; i++) {
			gen_next(&g);
			sample_enc_add(e, &g.s, MARKS_NONE, &syms);
		}
		w->symbols[b] = syms.len / REC_SYMBOL;
		nibble_enc_pack(n, &syms, &w->code[b]);
		strbuf_fini(&syms);
	}
	gen_fini(&g);
	nibble_enc_free(n);
	sample_enc_free(e);
}

static void world_fini(struct world *w)
{
	for (unsigned int b = 0; b < BLOCKS; b++)
		strbuf_fini(&w->code[b]);
}

/* What was taken from a block. */
struct taken {
	uint64_t digest;
	uint32_t n;
	int err;
	bool done;
};

static struct sample_block block_of(const struct world *w, unsigned int b)
{
	struct sample_block block = { .symbols = w->symbols[b], .n = SAMPLES };

	cursor_init(&block.code, w->code[b].s, w->code[b].len);
	return block;
}

/*
 * Takes up to @want samples of block @b; without a thread if @sa is NULL. Meanwhile the block after
 * it is decoded if it is below @end, as this one was if it is not the first below @end.
 */
static struct taken take_of(struct sample_dec *d, struct sample_ahead *sa, const struct world *w, unsigned int b,
			    uint32_t want, unsigned int end)
{
	struct sample_block block = block_of(w, b);
	struct taken t = { 0 };
	struct ev_sample ev;

	if (!b) {
		sample_dec_key(d);
		if (sa)
			sample_ahead_key(sa);
	}
	if (!sa)
		sample_dec_block(d, &block);
	else if (!b || b >= end)
		sample_ahead_add(sa, &block);
	if (sa && b + 1 < end) {
		block = block_of(w, b + 1);
		sample_ahead_add(sa, &block);
	}
	while (t.n < want) {
		t.err = sa ? sample_ahead_next(sa, &ev) : sample_dec_next(d, &ev);
		if (t.err)
			break;
		t.n++;
		t.digest = gen_digest(t.digest, &ev);
	}
	t.done = sa ? sample_ahead_end(sa) : !t.err && want == SAMPLES && sample_dec_done(d);
	return t;
}

static struct taken take(struct sample_dec *d, struct sample_ahead *sa, const struct world *w, unsigned int b,
			 uint32_t want)
{
	return take_of(d, sa, w, b, want, 0);
}

static void same(struct taken a, struct taken b)
{
	assert_int_equal(a.n, b.n);
	assert_int_equal(a.err, b.err);
	assert_int_equal(a.done, b.done);
	assert_true(a.digest == b.digest);
}

static void read_both(struct sample_dec *d, struct sample_dec *d2, struct sample_ahead *sa, const struct world *w)
{
	for (unsigned int b = 0; b < BLOCKS; b++) {
		struct taken t = take(d, NULL, w, b, SAMPLES);

		assert_int_equal(t.n, SAMPLES);
		assert_true(t.done);
		same(take(d2, sa, w, b, SAMPLES), t);
	}
}

/* All blocks, each decoded ahead. */
static void test_next_block(void **state)
{
	struct sample_dec *d = new_dec(), *d2 = new_dec();
	struct sample_ahead *sa = sample_ahead_new(d2);
	struct world w;

	(void)state;
	assert_non_null(sa);
	world_init(&w, 60, 16384);
	for (int round = 0; round < 3; round++)
		for (unsigned int b = 0; b < BLOCKS; b++)
			same(take_of(d2, sa, &w, b, SAMPLES, BLOCKS), take(d, NULL, &w, b, SAMPLES));
	/* Stopped while the next one is being decoded, which is then dropped. */
	for (uint32_t at = 0; at < SAMPLES; at += SAMPLES / 9) {
		same(take_of(d2, sa, &w, 0, at, BLOCKS), take(d, NULL, &w, 0, at));
		same(take(d2, sa, &w, 0, SAMPLES), take(d, NULL, &w, 0, SAMPLES));
	}
	/* As without a callback that wants more. */
	take_of(d2, sa, &w, 0, 5, BLOCKS);
	sample_ahead_cancel(sa);
	read_both(d, d2, sa, &w);
	world_fini(&w);
	sample_ahead_free(sa);
	sample_dec_free(d);
	sample_dec_free(d2);
}

/*
 * Blocks of only events have no samples. Blocks that falsely claim this are not finished, nor are
 * those with more samples than declared.
 */
static void test_counts(void **state)
{
	struct sample_dec *d = new_dec();
	struct sample_ahead *sa = sample_ahead_new(d);
	struct sample_block none = { .n = 0 }, block;
	struct ev_sample ev;
	struct world w;

	(void)state;
	assert_non_null(sa);
	world_init(&w, 70, 16384);
	sample_dec_key(d);
	sample_ahead_add(sa, &none);
	sample_ahead_add(sa, &none);
	assert_true(sample_ahead_end(sa));
	assert_true(sample_ahead_end(sa));
	for (uint64_t n = SAMPLES - 1; n <= SAMPLES + 1; n++) {
		block = block_of(&w, 0);
		block.n = n;
		sample_dec_key(d);
		sample_ahead_key(sa);
		sample_ahead_add(sa, &none);
		sample_ahead_add(sa, &block);
		assert_true(sample_ahead_end(sa));
		for (uint64_t i = 0; i < MIN(n, SAMPLES); i++)
			assert_int_equal(sample_ahead_next(sa, &ev), 0);
		assert_int_not_equal(sample_ahead_next(sa, &ev), 0);
		assert_true(sample_ahead_end(sa) == (n == SAMPLES));
	}
	block.n = 0;
	sample_dec_key(d);
	sample_ahead_key(sa);
	sample_ahead_add(sa, &block);
	assert_false(sample_ahead_end(sa));
	world_fini(&w);
	sample_ahead_free(sa);
	sample_dec_free(d);
}

/* The first blocks are read without the thread. */
static void test_begun_late(void **state)
{
	static const size_t pages[] = { 16384, WORD_CODEC_PAGES + 3 };

	(void)state;
	for (unsigned int i = 0; i < 2 * (BLOCKS - 1); i++) {
		struct sample_dec *d = new_dec(), *d2 = new_dec();
		struct sample_ahead *sa = NULL;
		struct world w;

		world_init(&w, 50 + i, pages[i % 2]);
		for (unsigned int b = 0; b < BLOCKS; b++) {
			if (b == 1 + i / 2)
				assert_non_null(sa = sample_ahead_new(d2));
			same(take(d2, sa, &w, b, SAMPLES), take(d, NULL, &w, b, SAMPLES));
		}
		read_both(d, d2, sa, &w);
		world_fini(&w);
		sample_ahead_free(sa);
		sample_dec_free(d);
		sample_dec_free(d2);
	}
}

/* With room for all stacks, and with so little that threads are forgotten constantly. */
static void test_same_samples(void **state)
{
	static const size_t pages[] = { 16384, WORD_CODEC_PAGES + 3 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		struct sample_dec *d = new_dec(), *d2 = new_dec();
		struct sample_ahead *sa = sample_ahead_new(d2);
		struct world w;

		assert_non_null(sa);
		world_init(&w, 20 + i, pages[i]);
		read_both(d, d2, sa, &w);
		read_both(d, d2, sa, &w);
		world_fini(&w);
		sample_ahead_free(sa);
		sample_dec_free(d);
		sample_dec_free(d2);
	}
}

/* The consumer stops somewhere while the thread is further on; then it starts over. */
static void test_left_off(void **state)
{
	static const uint32_t at[] = { 0, 1, 63, 64, 65, 255, 256, 257, SAMPLES - 1 };
	struct sample_dec *d = new_dec(), *d2 = new_dec();
	struct sample_ahead *sa = sample_ahead_new(d2);
	struct world w;

	(void)state;
	assert_non_null(sa);
	world_init(&w, 30, 16384);
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		same(take(d2, sa, &w, 0, at[i]), take(d, NULL, &w, 0, at[i]));
		same(take(d2, sa, &w, 0, SAMPLES), take(d, NULL, &w, 0, SAMPLES));
	}
	read_both(d, d2, sa, &w);
	world_fini(&w);
	sample_ahead_free(sa);
	sample_dec_free(d);
	sample_dec_free(d2);
}

/* Wrong symbols end at the same sample. */
static void test_damage(void **state)
{
	struct sample_dec *d = new_dec(), *d2 = new_dec();
	struct sample_ahead *sa = sample_ahead_new(d2);
	unsigned int failed = 0;
	struct world w;
	uint64_t rnd = 7;

	(void)state;
	assert_non_null(sa);
	world_init(&w, 40, WORD_CODEC_PAGES + 3);
	for (int round = 0; round < 40; round++) {
		size_t at = random_next(&rnd) % w.code[0].len;
		char old = w.code[0].s[at];
		struct taken t;

		w.code[0].s[at] = (char)random_next(&rnd);
		t = take(d, NULL, &w, 0, SAMPLES);
		same(take_of(d2, sa, &w, 0, SAMPLES, BLOCKS), t);
		/* While an intact block is taken, the next one is being decoded. */
		sample_ahead_cancel(sa);
		failed += t.err != 0;
		w.code[0].s[at] = old;
	}
	assert_true(failed > 20);
	read_both(d, d2, sa, &w);
	world_fini(&w);
	sample_ahead_free(sa);
	sample_dec_free(d);
	sample_dec_free(d2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_samples),
		cmocka_unit_test(test_next_block),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_begun_late),
		cmocka_unit_test(test_left_off),
		cmocka_unit_test(test_damage),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
