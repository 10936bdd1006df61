/* When a block of samples ends, and what repeating an earlier kernel chain costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "in_range.h"
#include "recgen.h"
#include "recording.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"

#define MS 1000000ull

/* ---- blocks ---- */

/* STREAM blocks of the recording in @fd. */
static size_t stream_blocks(int fd)
{
	struct rec_block_header h;
	uint64_t off = REC_HEADER_MIN;
	size_t n = 0;

	while (pread(fd, &h, sizeof(h), (off_t)off) == sizeof(h) && h.magic == REC_BLOCK_MAGIC) {
		n += h.type == REC_STREAM;
		off += sizeof(h) + h.stored_len;
	}
	return n;
}

/*
 * STREAM blocks of a recording with one sample before each of @n ticks, @at milliseconds apart, and
 * one after the last.
 */
static size_t blocks_with_ticks(const unsigned int *at, size_t n)
{
	char path[32];
	int fd = gen_memfd(path), err;
	struct rec_writer *w = rec_writer_new(fd, &err);
	struct gen g;
	size_t blocks;

	assert_non_null(w);
	gen_init(&g, 5, 1, 100);
	for (size_t i = 0; i <= n; i++) {
		gen_next(&g);
		assert_int_equal(rec_writer_sample(w, &g.s), 0);
		if (i < n)
			assert_int_equal(rec_writer_tick(w, 1000 * MS + at[i] * MS), 0);
	}
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	blocks = stream_blocks(fd);
	gen_fini(&g);
	close(fd);
	return blocks;
}

/*
 * A few samples per second never fill a block: it is written half a second after the first drain
 * that saw it.
 */
static void test_age(void **state)
{
	static const unsigned int young[] = { 0, 50, 250, 499 }, old[] = { 0, 250, 500, 510 },
				  twice[] = { 0, 500, 510, 1009, 1010, 1020 };

	(void)state;
	assert_int_equal(blocks_with_ticks(NULL, 0), 1);
	assert_int_equal(blocks_with_ticks(young, ARRAY_SIZE(young)), 1);
	assert_int_equal(blocks_with_ticks(old, ARRAY_SIZE(old)), 2);
	assert_int_equal(blocks_with_ticks(twice, ARRAY_SIZE(twice)), 3);
}

/* Without ticks only its size ends a block. */
static void test_size(void **state)
{
	char path[32];
	int fd = gen_memfd(path), err;
	struct rec_writer *w = rec_writer_new(fd, &err);
	struct gen g;

	(void)state;
	assert_non_null(w);
	gen_init(&g, 6, 4, 2000);
	/* Hundreds of symbols each: more than a block may have, and less than the pool holds. */
	for (unsigned int i = 0; i < 2000; i++) {
		gen_next(&g);
		assert_int_equal(rec_writer_sample(w, &g.s), 0);
	}
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	assert_true(stream_blocks(fd) >= 2);
	gen_fini(&g);
	close(fd);
}

/* ---- back-pressure ---- */

static int on_dso(void *ctx, const struct ev_dso *ev)
{
	(void)ev;
	++*(uint64_t *)ctx;
	return 0;
}

/* Size in bytes of a recording of binaries that came and went, at @level. */
static uint64_t bytes_at(enum pressure_level level)
{
	static const struct event_ops ops = { .dso = on_dso };
	char path[32], dso[64];
	int fd = gen_memfd(path), err;
	struct rec_writer *w = rec_writer_new(fd, &err);
	struct ev_dso ev = { .path = dso };
	uint64_t rnd = 9, seen = 0, bytes;
	struct rec_reader *r;

	assert_non_null(w);
	rec_writer_effort(w, level);
	for (ev.id = 1; ev.id <= 3000; ev.id++) {
		snprintf(dso, sizeof(dso), "/usr/lib/lib%u/so%u.so", (unsigned int)(random_next(&rnd) >> 60), ev.id % 777);
		assert_int_equal(rec_writer_dso(w, &ev), 0);
	}
	assert_int_equal(rec_writer_finish(w), 0);
	bytes = rec_writer_bytes(w);
	rec_writer_free(w);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_events(r, &ops, &seen), 0);
	assert_int_equal(seen, 3000);
	rec_reader_close(r);
	close(fd);
	return bytes;
}

/* Compression first becomes faster, then stops. */
static void test_effort(void **state)
{
	uint64_t best = bytes_at(PRESSURE_NONE), fast = bytes_at(PRESSURE_FAST), stored = bytes_at(PRESSURE_STORED);

	(void)state;
	assert_true(best < fast);
	assert_true(2 * fast < stored);
	assert_int_equal(bytes_at(PRESSURE_DROP), stored);
}

/* ---- kernel chains ---- */

#define CHAINS 8u
#define DEPTH 30u
#define SAMPLES 4000u

struct chains {
	uint64_t rnd;
	bool none, all_new;
	uint64_t ip[CHAINS][DEPTH];
	uint64_t seen;			/* samples read with the chain that was written */
};

/* The chain of the next sample: one of a few, in an unpredictable order. */
static uint32_t next_chain(struct chains *c, uint64_t *ip)
{
	const uint64_t *known = c->ip[(random_next(&c->rnd) >> 32) % CHAINS];

	if (c->none)
		return 0;
	for (uint32_t i = 0; i < DEPTH; i++)
		ip[i] = c->all_new ? 0xffffffff81000000ull + (random_next(&c->rnd) >> 40) : known[i];
	return DEPTH;
}

static void chains_init(struct chains *c, bool none, bool all_new)
{
	*c = (struct chains){ .rnd = 7, .none = none, .all_new = all_new };

	for (uint32_t k = 0; k < CHAINS; k++)
		for (uint32_t i = 0; i < DEPTH; i++)
			c->ip[k][i] = i ? 0xffffffff81000000ull + (random_next(&c->rnd) >> 40) : (uint64_t)-128;
}

static int on_sample(void *ctx, const struct ev_sample *ev)
{
	struct chains *c = ctx;
	uint64_t ip[DEPTH];
	uint32_t n = next_chain(c, ip);

	c->seen += ev->nchain == n && !memcmp(ev->chain, ip, n * sizeof(*ip));
	return 0;
}

/* Size in bytes of a recording whose samples differ only in time and chain. */
static uint64_t bytes_with(bool none, bool all_new)
{
	static const struct event_ops ops = { .sample = on_sample };
	char path[32];
	int fd = gen_memfd(path), err;
	struct rec_writer *w = rec_writer_new(fd, &err);
	struct sample_in s = { .pid = 20908, .tid = 20908, .period = 1010101 };
	struct chains c;
	struct rec_reader *r;
	uint64_t ip[DEPTH], bytes;

	assert_non_null(w);
	chains_init(&c, none, all_new);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		s.time = 1000 * MS + i * MS;
		s.chain = ip;
		s.nchain = next_chain(&c, ip);
		assert_int_equal(rec_writer_sample(w, &s), 0);
	}
	assert_int_equal(rec_writer_finish(w), 0);
	bytes = rec_writer_bytes(w);
	rec_writer_free(w);
	chains_init(&c, none, all_new);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_events(r, &ops, &c), 0);
	assert_int_equal(c.seen, SAMPLES);
	rec_reader_close(r);
	close(fd);
	return bytes;
}

/*
 * Naming one of 8 known chains takes 3 bits, and repeating the last one takes less than one bit;
 * the 240 bytes of addresses come once. For chains never seen before, one address alone has 24
 * random bits.
 */
static void test_kernel_chains(void **state)
{
	uint64_t without = bytes_with(true, false), known = bytes_with(false, false), unknown = bytes_with(false, true);

	(void)state;
	assert_within(known - without, SAMPLES * 3 / 8 / 2, SAMPLES * 6 / 8 + CHAINS * DEPTH * 8);
	assert_true(unknown - without > SAMPLES * DEPTH * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_effort),
		cmocka_unit_test(test_kernel_chains),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
