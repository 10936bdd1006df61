/* The small base: strbuf, cursor, hash, intern, log. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/sort_u64.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "random.h"

/* ---- strbuf ---- */

static void strbuf_grows_and_stays_terminated(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < 5000; i++)
		strbuf_addc(&sb, (char)('a' + i % 26));
	assert_int_equal(sb.len, 5000);
	assert_int_equal(strlen(sb.s), 5000);
	for (i = 0; i < 5000; i++)
		assert_int_equal(sb.s[i], 'a' + (int)(i % 26));
	strbuf_reset(&sb);
	assert_int_equal(sb.len, 0);
	assert_string_equal(sb.s, "");
	strbuf_add(&sb, "a\0b", 3);
	assert_int_equal(sb.len, 3);
	assert_memory_equal(sb.s, "a\0b", 4);
	strbuf_fini(&sb);
	assert_null(sb.s);
	/* Adding nothing still makes an empty string. */
	strbuf_add(&sb, NULL, 0);
	assert_string_equal(sb.s, "");
	strbuf_fini(&sb);
}

static void strbuf_numbers_have_no_exponent(void **state)
{
	static const struct { double v; int digits; const char *want; } cases[] = {
		{ 0.05, 2, "0.05" }, { 0.0512, 2, "0.051" }, { 1, 2, "1" }, { 1.25, 2, "1.2" }, { 12.6, 2, "13" }, { 100, 2, "100" },
		{ 123.4, 2, "123" }, { 99.7, 2, "100" }, { 0, 2, "0" }, { -0.5, 2, "-0.5" }, { 12345.6, 4, "12346" }, { 107.14, 4, "107.1" },
		{ 1e9, 4, "1000000000" }, { 10.0, 4, "10" }, { INFINITY, 2, "inf" },
	};
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		strbuf_reset(&sb);
		strbuf_add_number(&sb, cases[i].v, cases[i].digits);
		assert_string_equal(sb.s, cases[i].want);
	}
	strbuf_fini(&sb);
}

static void strbuf_addf_of_any_length(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	char want[700];
	int n;

	(void)state;
	/* Text up to and far beyond the initial capacity of 64, appended to existing text. */
	for (n = 0; n < 600; n += n > 50 && n < 80 ? 1 : 7) {
		strbuf_reset(&sb);
		strbuf_adds(&sb, "<");
		strbuf_addf(&sb, "%0*d>", n + 1, 7);
		snprintf(want, sizeof(want), "<%0*d>", n + 1, 7);
		assert_string_equal(sb.s, want);
		assert_int_equal(sb.len, strlen(want));
		strbuf_fini(&sb);
	}
}

/* Byte strings from the DWARF 5 standard, tables 7.7 (LEB128), and by hand for the rest. */
static void strbuf_numbers_as_bytes(void **state)
{
	static const struct {
		uint64_t v;
		size_t len;
		uint8_t bytes[10];
	} varints[] = {
		{ 0, 1, { 0 } },
		{ 2, 1, { 2 } },
		{ 127, 1, { 127 } },
		{ 128, 2, { 0x80, 1 } },
		{ 129, 2, { 0x81, 1 } },
		{ 12857, 2, { 57 + 0x80, 100 } },
		{ UINT64_MAX, 10, { 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 } },
	};
	static const struct {
		int64_t v;
		uint8_t byte;
	} zigzags[] = { { 0, 0 }, { -1, 1 }, { 1, 2 }, { -2, 3 }, { 2, 4 }, { -64, 127 } };
	struct strbuf sb = STRBUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(varints); i++) {
		strbuf_reset(&sb);
		strbuf_add_varint(&sb, varints[i].v);
		assert_int_equal(sb.len, varints[i].len);
		assert_memory_equal(sb.s, varints[i].bytes, sb.len);
	}
	for (i = 0; i < ARRAY_SIZE(zigzags); i++) {
		strbuf_reset(&sb);
		strbuf_add_svarint(&sb, zigzags[i].v);
		assert_int_equal(sb.len, 1);
		assert_int_equal((uint8_t)sb.s[0], zigzags[i].byte);
	}
	strbuf_reset(&sb);
	strbuf_add_u16(&sb, 0x0201);
	strbuf_add_u32(&sb, 0x06050403);
	strbuf_add_u64(&sb, 0x0e0d0c0b0a090807ull);
	assert_int_equal(sb.len, 14);
	for (i = 0; i < 14; i++)
		assert_int_equal(sb.s[i], (int)i + 1);
	strbuf_fini(&sb);
}

/* ---- cursor ---- */

static void cursor_reads_in_order(void **state)
{
	static const uint8_t data[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 'h', 'i', 0, 0, 99 };
	struct cursor c;

	(void)state;
	cursor_init(&c, data, sizeof(data));
	assert_int_equal(cursor_u8(&c), 1);
	assert_int_equal(cursor_u16(&c), 0x0302);
	assert_int_equal(cursor_u32(&c), 0x07060504);
	assert_true(cursor_u64(&c) == 0x0f0e0d0c0b0a0908ull);
	assert_string_equal(cursor_cstr(&c), "hi");
	assert_string_equal(cursor_cstr(&c), "");
	assert_int_equal(cursor_left(&c), 1);
	assert_ptr_equal(cursor_bytes(&c, 0), data + 19);
	assert_ptr_equal(cursor_bytes(&c, 1), data + 19);
	assert_int_equal(cursor_left(&c), 0);
	assert_true(cursor_ok(&c));
	/* Reading 0 bytes of an empty buffer is not past the end. */
	assert_non_null(cursor_bytes(&c, 0));
	assert_true(cursor_ok(&c));
}

static void cursor_error_is_sticky(void **state)
{
	static const uint8_t data[] = { 1, 2, 3, 4, 5 };
	struct cursor c;

	(void)state;
	cursor_init(&c, data, sizeof(data));
	assert_int_equal(cursor_u16(&c), 0x0201);
	assert_int_equal(cursor_u32(&c), 0);
	assert_false(cursor_ok(&c));
	/* Three bytes are left, but after an error nothing is returned. */
	assert_int_equal(cursor_u8(&c), 0);
	assert_int_equal(cursor_left(&c), 0);
	assert_null(cursor_bytes(&c, 0));
	assert_null(cursor_cstr(&c));
	assert_int_equal(cursor_varint(&c), 0);
	assert_int_equal(cursor_svarint(&c), 0);
}

static void cursor_hostile_lengths(void **state)
{
	static const uint8_t data[16];
	static const size_t lens[] = { 17, SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2 + 1 };
	struct cursor c;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		cursor_init(&c, data, sizeof(data));
		cursor_skip(&c, 8);
		assert_null(cursor_bytes(&c, lens[i]));
		assert_false(cursor_ok(&c));
		cursor_init(&c, data, sizeof(data));
		cursor_skip(&c, 8);
		cursor_skip(&c, lens[i]);
		assert_false(cursor_ok(&c));
	}
	cursor_init(&c, data, sizeof(data));
	cursor_skip(&c, 16);
	assert_true(cursor_ok(&c));
	/* A NULL buffer stays empty whatever size is claimed. */
	cursor_init(&c, NULL, 100);
	assert_int_equal(cursor_u8(&c), 0);
	assert_false(cursor_ok(&c));
	cursor_init(&c, NULL, 0);
	assert_null(cursor_cstr(&c));
	assert_false(cursor_ok(&c));
}

/*
 * The bytes lie at the very end of an allocation, so that a sanitizer sees a read one byte too far.
 */
static void cursor_string_without_end(void **state)
{
	char *data = xmalloc(4);
	struct cursor c;

	(void)state;
	memcpy(data, "abcd", 4);
	cursor_init(&c, data, 4);
	assert_null(cursor_cstr(&c));
	assert_false(cursor_ok(&c));
	free(data);
}

static void cursor_varint_limits(void **state)
{
	static const uint8_t max[] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 };
	static const uint8_t wide[] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 2 };
	static const uint8_t tall[] = { 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 0 };
	static const uint8_t cut[] = { 0x80, 0x80 };
	static const uint8_t padded[] = { 0x81, 0x80, 0 };
	struct cursor c;

	(void)state;
	cursor_init(&c, max, sizeof(max));
	assert_true(cursor_varint(&c) == UINT64_MAX);
	assert_true(cursor_ok(&c) && !cursor_left(&c));
	cursor_init(&c, wide, sizeof(wide));
	assert_int_equal(cursor_varint(&c), 0);
	assert_false(cursor_ok(&c));
	cursor_init(&c, tall, sizeof(tall));
	cursor_varint(&c);
	assert_false(cursor_ok(&c));
	cursor_init(&c, cut, sizeof(cut));
	cursor_varint(&c);
	assert_false(cursor_ok(&c));
	/* Longer encodings than needed are allowed by LEB128. */
	cursor_init(&c, padded, sizeof(padded));
	assert_int_equal(cursor_varint(&c), 1);
	assert_true(cursor_ok(&c));
}

/* The examples of DWARF 5, 7.6, and the ends of the range. */
static void sleb_as_dwarf_has_it(void **state)
{
	static const struct { int64_t v; const char *bytes; size_t len; } cases[] = {
		{ 2, "\x02", 1 }, { -2, "\x7e", 1 }, { 127, "\xff\x00", 2 }, { -127, "\x81\x7f", 2 },
		{ 128, "\x80\x01", 2 }, { -128, "\x80\x7f", 2 }, { 129, "\x81\x01", 2 }, { -129, "\xff\x7e", 2 },
		{ 0, "\x00", 1 }, { INT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 10 },
		{ INT64_MIN, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10 },
	};
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		strbuf_reset(&sb);
		strbuf_add_sleb(&sb, cases[i].v);
		assert_int_equal(sb.len, cases[i].len);
		assert_memory_equal(sb.s, cases[i].bytes, sb.len);
	}
	strbuf_fini(&sb);
}

static void varints_come_back(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct cursor c;
	uint64_t v;
	int i, sign;

	(void)state;
	/* All powers of two and their neighbours, positive and negative. */
	for (i = 0; i < 64; i++)
		for (sign = -1; sign <= 1; sign++) {
			v = ((uint64_t)1 << i) + (uint64_t)sign;
			strbuf_add_varint(&sb, v);
			strbuf_add_svarint(&sb, (int64_t)v);
			strbuf_add_svarint(&sb, -(int64_t)(v & INT64_MAX));
		}
	strbuf_add_svarint(&sb, INT64_MIN);
	cursor_init(&c, sb.s, sb.len);
	for (i = 0; i < 64; i++)
		for (sign = -1; sign <= 1; sign++) {
			v = ((uint64_t)1 << i) + (uint64_t)sign;
			assert_true(cursor_varint(&c) == v);
			assert_true(cursor_svarint(&c) == (int64_t)v);
			assert_true(cursor_svarint(&c) == -(int64_t)(v & INT64_MAX));
		}
	assert_true(cursor_svarint(&c) == INT64_MIN);
	assert_true(cursor_ok(&c) && !cursor_left(&c));
	strbuf_fini(&sb);
}

/* ---- hash ---- */

static void hash_bytes_tells_apart(void **state)
{
	static const char text[] = "0123456789abcdef0123456789abcdef";
	uint64_t seen[33];
	size_t i, j;

	(void)state;
	for (i = 0; i <= 32; i++) {
		seen[i] = hash_bytes(text, i);
		assert_true(seen[i] == hash_bytes(text, i));
		for (j = 0; j < i; j++)
			assert_true(seen[i] != seen[j]);
	}
	/*
	 * Runs of zeros differ by their length, and the position of a byte matters in every chunk.
	 */
	assert_true(hash_bytes("\0\0", 1) != hash_bytes("\0\0", 2));
	assert_true(hash_bytes("aaaaaaaabbbbbbbb", 16) != hash_bytes("bbbbbbbbaaaaaaaa", 16));
}

static void map_holds_any_key(void **state)
{
	static const uint64_t keys[] = { 0, 1, UINT64_MAX, 0x8000000000000000ull };
	struct u64map m = U64MAP_INIT;
	bool is_new;
	size_t i;

	(void)state;
	assert_null(u64map_get(&m, 0));
	assert_false(u64map_del(&m, 0));
	u64map_clear(&m);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		assert_int_equal(*u64map_put(&m, keys[i], &is_new), 0);
		assert_true(is_new);
		*u64map_put(&m, keys[i], &is_new) = i + 10;
		assert_false(is_new);
	}
	assert_int_equal(m.n, ARRAY_SIZE(keys));
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		assert_int_equal(*u64map_get(&m, keys[i]), i + 10);
	u64map_clear(&m);
	assert_int_equal(m.n, 0);
	assert_null(u64map_get(&m, 0));
	/* A value put again after clear begins at 0. */
	assert_int_equal(*u64map_put(&m, 0, NULL), 0);
	u64map_fini(&m);
	assert_null(u64map_get(&m, 0));
}

#define KEYS 512

/*
 * Random insertions and deletions, compared with an array. Few keys and many rounds, so that long
 * probe runs, wraps around the end and holes in the middle of runs all occur.
 */
static void map_against_an_array(void **state)
{
	struct u64map m = U64MAP_INIT;
	uint64_t want[KEYS], key, val, x, seed = 1;
	bool have[KEYS] = { false };
	size_t n = 0, it, seen;
	int round, i;

	(void)state;
	for (round = 0; round < 200000; round++) {
		x = random_next(&seed);
		i = (int)((x >> 20) % KEYS);
		if (x & 1) {
			n += !have[i];
			have[i] = true;
			want[i] = x;
			*u64map_put(&m, (uint64_t)i * 4096, NULL) = x;
		} else {
			assert_int_equal(u64map_del(&m, (uint64_t)i * 4096), have[i]);
			n -= have[i];
			have[i] = false;
		}
		assert_int_equal(m.n, n);
		if (round % 1000)
			continue;
		for (i = 0; i < KEYS; i++) {
			uint64_t *p = u64map_get(&m, (uint64_t)i * 4096);

			assert_int_equal(!!p, have[i]);
			assert_true(!p || *p == want[i]);
		}
		seen = 0;
		for (it = 0; u64map_next(&m, &it, &key, &val); seen++) {
			assert_int_equal(key % 4096, 0);
			assert_true(key / 4096 < KEYS && have[key / 4096] && want[key / 4096] == val);
		}
		assert_int_equal(seen, n);
	}
	u64map_fini(&m);
}

/* ---- intern ---- */

static void intern_is_dense_and_stable(void **state)
{
	struct intern *in = intern_new();
	const char *first;
	char name[32];
	uint32_t i;

	(void)state;
	assert_int_equal(intern_add(in, ""), 0);
	assert_int_equal(intern_count(in), 1);
	assert_string_equal(intern_str(in, 0), "");
	assert_int_equal(intern_add(in, "main"), 1);
	first = intern_str(in, 1);
	for (i = 2; i < 50000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		assert_int_equal(intern_add(in, name), i);
	}
	assert_int_equal(intern_count(in), 50000);
	/* The table has grown many times; the strings have not moved and are found again. */
	assert_ptr_equal(intern_str(in, 1), first);
	assert_string_equal(first, "main");
	for (i = 2; i < 50000; i += 37) {
		snprintf(name, sizeof(name), "f%u", i);
		assert_string_equal(intern_str(in, i), name);
		assert_int_equal(intern_add(in, name), i);
	}
	assert_int_equal(intern_count(in), 50000);
	intern_free(in);
}

static void intern_takes_any_bytes(void **state)
{
	struct intern *in = intern_new();
	size_t big = 300000;
	char *s = xmalloc(big + 1);
	uint32_t a, b, c;

	(void)state;
	a = intern_addn(in, "a\0b", 3);
	b = intern_addn(in, "a\0c", 3);
	c = intern_addn(in, "a", 1);
	assert_true(a != b && b != c && a != c);
	assert_int_equal(intern_len(in, a), 3);
	assert_memory_equal(intern_str(in, a), "a\0b", 4);
	assert_int_equal(intern_addn(in, "a\0b", 3), a);
	/* The text has no NUL at its end: only @len bytes count. */
	assert_int_equal(intern_addn(in, "abc", 1), c);
	memset(s, 'x', big);
	s[big] = '\0';
	a = intern_add(in, s);
	assert_int_equal(intern_len(in, a), big);
	assert_string_equal(intern_str(in, a), s);
	assert_int_equal(intern_add(in, "small"), a + 1);
	assert_string_equal(intern_str(in, a + 1), "small");
	free(s);
	intern_free(in);
	intern_free(NULL);
}

/* ---- xalloc ---- */

static void xalloc_never_null(void **state)
{
	char *s, *t;
	void *p;

	(void)state;
	p = xmalloc(0);
	assert_non_null(p);
	p = xrealloc(p, 0);
	assert_non_null(p);
	free(p);
	p = xcalloc(0, 8);
	assert_non_null(p);
	free(p);
	s = xstrndup("hello", 3);
	assert_string_equal(s, "hel");
	t = xstrndup("hi", 100);
	assert_string_equal(t, "hi");
	free(s);
	free(t);
	s = xasprintf("%s-%d", "a", 7);
	assert_string_equal(s, "a-7");
	free(s);
}

/* ---- log ---- */

/*
 * Runs @fn with stderr on a socket that keeps messages apart as datagrams: one read returns one
 * write.
 */
static size_t capture(void (*fn)(void), char out[][8192], size_t max)
{
	int fds[2], saved = dup(STDERR_FILENO);
	size_t n = 0;
	ssize_t got;

	assert_int_equal(pipe2(fds, O_DIRECT), 0);
	dup2(fds[1], STDERR_FILENO);
	close(fds[1]);
	fn();
	dup2(saved, STDERR_FILENO);
	close(saved);
	while (n < max && (got = read(fds[0], out[n], 8191)) > 0)
		out[n++][got] = '\0';
	close(fds[0]);
	return n;
}

static void say_all(void)
{
	errno = ENOENT;
	pr_err("cannot open '%s': %s", "x", strerror(errno));
	pr_warn("w");
	pr_info("i %d", 3);
	pr_verbose("v");
}

static void log_levels(void **state)
{
	static char out[8][8192];

	(void)state;
	log_init("nsprof test");
	log_set_verbosity(0);
	assert_int_equal(capture(say_all, out, 8), 3);
	assert_string_equal(out[0], "nsprof test: error: cannot open 'x': No such file or directory\n");
	assert_string_equal(out[1], "nsprof test: warning: w\n");
	assert_string_equal(out[2], "nsprof test: i 3\n");
	assert_int_equal(errno, ENOENT);
	log_set_verbosity(-1);
	assert_int_equal(capture(say_all, out, 8), 1);
	log_set_verbosity(1);
	assert_int_equal(capture(say_all, out, 8), 4);
	assert_string_equal(out[3], "nsprof test: v\n");
	assert_int_equal(log_verbosity(), 1);
	log_set_verbosity(0);
}

static void say_hostile(void)
{
	char *big = xmalloc(10001);

	pr_info("name '\033[2J\rx\x7f\x9b\xe2\x80\xae' caf\xc3\xa9\nnsprof test: end");
	memset(big, 'y', 10000);
	big[10000] = '\0';
	pr_info("%s", big);
	for (int i = 0; i < 10000; i += 2)
		memcpy(big + i, "\xc3\xa9", 2);
	pr_info("%s", big);
	memset(big, 033, 10000);
	pr_info("%s", big);
	free(big);
}

static void log_disarms_and_cuts(void **state)
{
	static char out[8][8192];
	size_t len;

	(void)state;
	assert_int_equal(capture(say_hostile, out, 8), 4);
	assert_string_equal(out[0], "nsprof test: name '\\u{1b}[2J\\u{d}x\\u{7f}\\x{9b}\\u{202e}' caf\xc3\xa9\\u{a}nsprof test: end\n");
	len = strlen(out[1]);
	assert_true(len > 3000 && len <= 4096);
	assert_string_equal(out[1] + len - 5, "y...\n");
	/* Neither a character nor an escape is cut in two. */
	len = strlen(out[2]);
	assert_true(len > 3000 && len <= 4096);
	assert_string_equal(out[2] + len - 6, "\xc3\xa9...\n");
	len = strlen(out[3]);
	assert_true(len > 3000 && len <= 4096);
	assert_string_equal(out[3] + len - 10, "\\u{1b}...\n");
}

static void log_diverted(void **state)
{
	static char out[8][8192];
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	log_divert(&sb);
	assert_int_equal(capture(say_all, out, 8), 0);
	log_divert(NULL);
	assert_string_equal(sb.s, "cannot open 'x': No such file or directory\nw\ni 3\n");
	assert_int_equal(capture(say_all, out, 8), 3);
	strbuf_fini(&sb);
}

/* Code that diverts messages is called by code that does so, too. */
static void log_diverted_twice(void **state)
{
	struct strbuf outer = STRBUF_INIT, inner = STRBUF_INIT, *before;

	(void)state;
	assert_null(log_divert(&outer));
	before = log_divert(&inner);
	pr_err("in");
	assert_ptr_equal(log_divert(before), &inner);
	pr_err("out");
	log_divert(NULL);
	assert_string_equal(inner.s, "in\n");
	assert_string_equal(outer.s, "out\n");
	strbuf_fini(&outer);
	strbuf_fini(&inner);
}

/* Callers pass errno on after a message; a closed stderr must not change it. */
static void log_keeps_errno(void **state)
{
	int saved = dup(STDERR_FILENO);

	(void)state;
	close(STDERR_FILENO);
	errno = ENOENT;
	pr_err("nobody hears this");
	dup2(saved, STDERR_FILENO);
	close(saved);
	assert_int_equal(errno, ENOENT);
}

/*
 * The message goes to stderr even when messages are diverted, because the program ends before it
 * could show diverted ones.
 */
static void out_of_memory_ends_the_program(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	char said[256] = "";
	int status, fds[2];
	pid_t pid;

	(void)state;
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	print_message("the sanitizer ends the program by itself\n");
	skip();
#endif
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		/*
		 * More than any machine's address space, hidden from the compiler, which would
		 * warn.
		 */
		volatile size_t huge = SIZE_MAX / 2;

		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		log_divert(&sb);
		free(xmalloc(huge));
		_exit(0);
	}
	close(fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_true(read(fds[0], said, sizeof(said) - 1) > 0);
	close(fds[0]);
	assert_non_null(strstr(said, "error: out of memory"));
}

/* ---- sort_u64 ---- */

static int u64_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/*
 * Compared with qsort(3): numbers that differ in few bytes, in all, in none; already sorted, and in
 * reverse order.
 */
static void sort_of_any_numbers(void **state)
{
	static const uint64_t masks[] = {
		0, 0xff, 0xff00, 0xffff, 0xffffff, 0xff000000ff00, 0xff00000000000000, UINT64_MAX,
	};
	static const size_t sizes[] = { 0, 1, 2, 31, 32, 33, 34, 255, 1000, 70000 };
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes) * ARRAY_SIZE(masks); i++) {
		const size_t n = sizes[i / ARRAY_SIZE(masks)];
		uint64_t *a = xmalloc(n * sizeof(*a)), *b;

		for (size_t k = 0; k < n; k++)
			a[k] = 0x5500aa00 | (random_next(&seed) & masks[i % ARRAY_SIZE(masks)]);
		b = xmemdup(a, n * sizeof(*a));
		qsort(b, n, sizeof(*b), u64_cmp);
		for (int again = 0; again < 2; again++) {
			sort_u64(a, n);
			assert_memory_equal(a, b, n * sizeof(*a));
		}
		for (size_t k = 0; k < n; k++)
			a[k] = b[n - 1 - k];
		sort_u64(a, n);
		assert_memory_equal(a, b, n * sizeof(*a));
		free(a);
		free(b);
	}
	sort_u64(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strbuf_grows_and_stays_terminated),
		cmocka_unit_test(strbuf_addf_of_any_length),
		cmocka_unit_test(strbuf_numbers_have_no_exponent),
		cmocka_unit_test(strbuf_numbers_as_bytes),
		cmocka_unit_test(cursor_reads_in_order),
		cmocka_unit_test(cursor_error_is_sticky),
		cmocka_unit_test(cursor_hostile_lengths),
		cmocka_unit_test(cursor_string_without_end),
		cmocka_unit_test(cursor_varint_limits),
		cmocka_unit_test(sleb_as_dwarf_has_it),
		cmocka_unit_test(varints_come_back),
		cmocka_unit_test(hash_bytes_tells_apart),
		cmocka_unit_test(map_holds_any_key),
		cmocka_unit_test(map_against_an_array),
		cmocka_unit_test(intern_is_dense_and_stable),
		cmocka_unit_test(intern_takes_any_bytes),
		cmocka_unit_test(sort_of_any_numbers),
		cmocka_unit_test(xalloc_never_null),
		cmocka_unit_test(log_levels),
		cmocka_unit_test(log_disarms_and_cuts),
		cmocka_unit_test(log_diverted),
		cmocka_unit_test(log_diverted_twice),
		cmocka_unit_test(log_keeps_errno),
		cmocka_unit_test(out_of_memory_ends_the_program),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
