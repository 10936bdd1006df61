/*
 * zlib streams, unpacked piece by piece: the data that zlib packed, up to any damage, and never a
 * byte outside the buffer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/util.h"
#include "bytes/codec_inflate.h"
#include "random.h"

#define SIZE_MAX_RAW (300u << 10)	/* several pieces; a match reaches back 32 KiB */

static uint64_t rnd_state;

static uint64_t rnd(void)
{
	return random_next(&rnd_state);
}

/* Text that deflate compresses well: new bytes, and earlier bytes from near and far. */
static size_t make_raw(uint8_t *raw)
{
	const size_t size = rnd() % SIZE_MAX_RAW;
	const unsigned int alphabet = 1 + (unsigned int)(rnd() % 256);
	size_t n = 0;

	while (n < size) {
		const size_t back = rnd() % 40000;
		size_t run = 1 + rnd() % 300;

		run = MIN(run, size - n);
		if (rnd() % 3 && back && back <= n)
			for (size_t i = 0; i < run; i++, n++)
				raw[n] = raw[n - back];
		else
			for (size_t i = 0; i < run; i++, n++)
				raw[n] = (uint8_t)(rnd() % alphabet);
	}
	return size;
}

static size_t pack(uint8_t *to, size_t room, const uint8_t *raw, size_t size)
{
	static const int strategies[] = { Z_DEFAULT_STRATEGY, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED };
	z_stream z = { 0 };
	size_t n;

	/* Level 0 stores. */
	assert_int_equal(deflateInit2(&z, (int)(rnd() % 10), Z_DEFLATED, MAX_WBITS, 8,
				      strategies[rnd() % ARRAY_SIZE(strategies)]), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)raw;
	z.avail_in = (uInt)size;
	z.next_out = to;
	z.avail_out = (uInt)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	n = room - z.avail_out;
	deflateEnd(&z);
	return n;
}

/* @size bytes that end at an inaccessible page. */
static uint8_t *guarded(size_t size, void **map, size_t *len)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*len = (size + page - 1) / page * page + page;
	*map = mmap(NULL, *len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(*map != MAP_FAILED);
	assert_int_equal(mprotect((uint8_t *)*map + *len - page, page, PROT_NONE), 0);
	return (uint8_t *)*map + *len - page - size;
}

/* The bytes [@from, @to) of @in, between inaccessible pages. */
static uint8_t *guarded_copy(const uint8_t *in, size_t from, size_t to, void **map, size_t *len)
{
	uint8_t *p = guarded(to - from, map, len);

	memcpy(p, in + from, to - from);
	return p;
}

/*
 * The number of bytes unpacked from @in into @room, piece by piece, with at most @input bytes of
 * input at a time.
 */
static size_t unpack(const uint8_t *in, size_t in_size, size_t input, uint8_t *out, size_t room)
{
	void *in_map, *out_map;
	size_t in_len, out_len, have = 0, n, given = MIN(in_size, input), more;
	uint8_t *to = guarded(room, &out_map, &out_len);
	struct inflate_dec *d = inflate_dec_new(guarded_copy(in, 0, given, &in_map, &in_len), given);

	while (d && have < room) {
		size_t piece = 1 + rnd() % 70000;

		piece = MIN(piece, room - have);
		n = inflate_dec_next(d, to + have, piece);
		have += n;
		assert_true(n <= piece);
		if (n == piece)
			continue;
		/* Nothing comes until more input is given. */
		assert_int_equal(inflate_dec_next(d, to + have, room - have), 0);
		if (given == in_size || !inflate_dec_hungry(d))
			break;
		munmap(in_map, in_len);
		more = 1 + rnd() % input;
		more = MIN(more, in_size - given);
		inflate_dec_feed(d, guarded_copy(in, given, given + more, &in_map, &in_len), more);
		given += more;
	}
	inflate_dec_free(d);
	memcpy(out, to, have);
	munmap(in_map, in_len);
	munmap(out_map, out_len);
	return have;
}

/* Mostly large pieces, and only rarely 3 bytes: ISA-L moves 32 KiB for each call. */
static size_t some_input(void)
{
	static const size_t most[] = { SIZE_MAX_RAW * 2, 100000, 10000 };

	return rnd() % 128 ? most[rnd() % ARRAY_SIZE(most)] : 3;
}

struct buffers {
	uint8_t raw[SIZE_MAX_RAW], packed[SIZE_MAX_RAW * 2], out[SIZE_MAX_RAW];
};

static void test_all_of_it(void **state)
{
	struct buffers *b = malloc(sizeof(*b));

	(void)state;
	assert_non_null(b);
	for (int k = 0; k < 200; k++) {
		size_t size = make_raw(b->raw), n = pack(b->packed, sizeof(b->packed), b->raw, size);

		/* As many bytes as requested, and no more than the stream has. */
		const size_t room = rnd() % 2 ? sizeof(b->out) : rnd() % (size + 1);

		assert_int_equal(unpack(b->packed, n, some_input(), b->out, room), MIN(size, room));
		assert_memory_equal(b->out, b->raw, MIN(size, room));
	}
	free(b);
}

/* A cut stream gives a prefix of what zlib packed. */
static void test_cut(void **state)
{
	struct buffers *b = malloc(sizeof(*b));

	(void)state;
	assert_non_null(b);
	for (int k = 0; k < 200; k++) {
		size_t size = make_raw(b->raw), n = pack(b->packed, sizeof(b->packed), b->raw, size), have;

		have = unpack(b->packed, rnd() % n, some_input(), b->out, sizeof(b->out));
		assert_true(have <= size);
		assert_memory_equal(b->out, b->raw, have);
	}
	free(b);
}

/*
 * Damaged input may give any bytes, but only within the buffer. As far as zlib can unpack it, the
 * bytes are equal.
 */
static void test_damaged(void **state)
{
	struct buffers *b = malloc(sizeof(*b));
	uint8_t *theirs = malloc(sizeof(b->out));

	(void)state;
	assert_non_null(b);
	assert_non_null(theirs);
	for (int k = 0; k < 1000; k++) {
		size_t size = make_raw(b->raw) / 8, n = pack(b->packed, sizeof(b->packed), b->raw, size), have;
		z_stream z = { 0 };

		for (uint64_t i = rnd() % 8; i < 8; i++)
			b->packed[2 + rnd() % (n - 2)] = (uint8_t)rnd();
		have = unpack(b->packed, n, some_input(), b->out, sizeof(b->out));
		assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
		z.next_in = b->packed + 2;
		z.avail_in = (uInt)(n - 2);
		z.next_out = theirs;
		z.avail_out = sizeof(b->out);
		inflate(&z, Z_NO_FLUSH);
		assert_memory_equal(b->out, theirs, MIN(have, sizeof(b->out) - z.avail_out));
		inflateEnd(&z);
	}
	free(theirs);
	free(b);
}

static void test_no_stream(void **state)
{
	static const uint8_t gzip[] = { 0x1f, 0x8b, 8, 0, 0, 0 }, other_method[] = { 0x79, 0x9c, 3, 0 },
		bad_check[] = { 0x78, 0x9d, 3, 0 }, dictionary[] = { 0x78, 0xbb, 3, 0 }, empty[] = { 0x78, 0x9c };

	(void)state;
	assert_null(inflate_dec_new(gzip, sizeof(gzip)));
	assert_null(inflate_dec_new(other_method, sizeof(other_method)));
	assert_null(inflate_dec_new(bad_check, sizeof(bad_check)));
	assert_null(inflate_dec_new(dictionary, sizeof(dictionary)));
	assert_null(inflate_dec_new(empty, sizeof(empty)));
	inflate_dec_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_of_it),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_no_stream),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
