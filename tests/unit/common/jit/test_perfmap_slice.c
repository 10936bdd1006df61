/* The lines of perf maps that some addresses need. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/longname.h"
#include "base/strbuf.h"
#include "jit/perfmap_slice.h"
#include "random.h"
#include "toolrun.h"

static int off_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void check_map(const char *text, size_t len, const uint64_t *addrs, size_t n,
		      const char *expected)
{
	struct strbuf out = STRBUF_INIT;
	size_t room = 1 << 20;
	int fd;

	tool_write_bytes("map", text, len);
	fd = tool_open("map");
	assert_int_equal(perfmap_slice(fd, addrs, n, &room, &out), 0);
	close(fd);
	assert_string_equal(out.len ? out.s : "", expected);
	strbuf_fini(&out);
}

static void test_perf_map(void **state)
{
	static const char map[] =
		"1000 10 first\n"
		"0x2000 0x20 with prefix and blanks\n"
		"bad line\n"
		"3000 zz bad size\n"
		"1008 10 overlaps the second half\n"
		"4000 0 stub\n"
		"4100 10 named\n"
		"4100 10 \n"
		"7fff00001000 1f40 LazyCompile:*f /app/x.js:1:2\n"
		"1000 4 again the first four\n"
		"5000 10 partial last line";
	static const uint64_t all[] = { 0x1000,		0x1005,	       0x1009, 0x1017,
					0x1018,		0x2000,	       0x201f, 0x2020,
					0x3000,		0x4000,	       0x4001, 0x4105, 0x5000, 0x7fff00001000,
					0x7fff00002f3f, 0x7fff00002f40 };
	static const uint64_t first4[] = { 0x1003 }, second[] = { 0x1007 }, none[] = { 0x100018 };

	(void)state;
	check_map(map, strlen(map), all, sizeof(all) / sizeof(*all),
		  "1000 10 first\n"
		  "0x2000 0x20 with prefix and blanks\n"
		  "1008 10 overlaps the second half\n"
		  "4000 0 stub\n"
		  "4100 10 named\n"
		  "7fff00001000 1f40 LazyCompile:*f /app/x.js:1:2\n"
		  "1000 4 again the first four\n");
	check_map(map, strlen(map), first4, 1, "1000 4 again the first four\n");
	check_map(map, strlen(map), second, 1, "1000 10 first\n");
	check_map(map, strlen(map), none, 1, "");
	check_map(map, strlen(map), NULL, 0, "");
	check_map("", 0, all, 3, "");
	check_map("\n\n\n", 3, all, 3, "");
	check_map("ffffffffffffffff 10 wraps\n", 26, all, 3, "");
	check_map("11112222333344445 10 too long a number\n", 39, all, 3, "");
}

/* Compared with a plain forward reading, over several chunks, with lines that straddle them. */
static void test_perf_map_large(void **state)
{
	enum { LINES = 60000, WANTED = 200 };
	struct strbuf map = STRBUF_INIT, expected = STRBUF_INIT;
	uint64_t seed = 99, addrs[WANTED], *start = calloc(LINES, 8), *size = calloc(LINES, 8);
	size_t *at = calloc(LINES + 1, sizeof(*at));
	bool *used = calloc(LINES, 1);

	(void)state;
	for (size_t i = 0; i < LINES; i++) {
		at[i] = map.len;
		start[i] = 0x10000 + random_next(&seed) % 0x400000;
		size[i] = 1 + random_next(&seed) % 0x400;
		strbuf_addf(&map, "%lx %lx f%zu ", start[i], size[i], i);
		for (uint64_t k = random_next(&seed) % (i % 5000 ? 60 : 40000); k; k--)
			strbuf_addc(&map, 'x');
		strbuf_addc(&map, '\n');
	}
	at[LINES] = map.len;
	for (size_t i = 0; i < WANTED; i++)
		addrs[i] = 0x10000 + random_next(&seed) % 0x410000;
	qsort(addrs, WANTED, sizeof(*addrs), off_cmp);
	for (size_t a = 0; a < WANTED; a++) {
		size_t last = LINES;

		for (size_t i = 0; i < LINES; i++) {
			if (addrs[a] - start[i] < size[i])
				last = i;
		}
		if (last < LINES)
			used[last] = true;
	}
	for (size_t i = 0; i < LINES; i++) {
		if (used[i])
			strbuf_add(&expected, map.s + at[i], at[i + 1] - at[i]);
	}
	print_message("# map of %zu bytes, %zu kept\n", map.len, expected.len);
	assert_true(expected.len > 1000);
	check_map(map.s, map.len, addrs, WANTED, expected.s);
	strbuf_fini(&map);
	strbuf_fini(&expected);
	free(start);
	free(size);
	free(at);
	free(used);
}

static void add_long(struct strbuf *sb, const char *start, char c, size_t len)
{
	strbuf_adds(sb, start);
	while (len--)
		strbuf_addc(sb, c);
	strbuf_addc(sb, '\n');
}

/* The name at @addr in @lines: its length, and the first letter. */
static size_t name_at(const char *lines, const char *addr, char *first)
{
	const char *line = strstr(lines, addr), *name;

	if (!line)
		return 0;
	name = strchr(strchr(line, ' ') + 1, ' ') + 1;
	*first = *name;
	return strcspn(name, "\n");
}

/*
 * Names longer than any real one, at the start of the file, in the middle and at its end: each is cut,
 * is the last one for its address, and stays different from others.
 */
static void test_long_names(void **state)
{
	static const uint64_t addrs[] = { 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000 };
	struct strbuf map = STRBUF_INIT, out = STRBUF_INIT;
	size_t room = 1 << 20, before, after;
	char c[6] = "", *end;
	int fd;

	(void)state;
	add_long(&map, "1000 10 ", 'a', 3000000);
	strbuf_adds(&map, "2000 10 hides behind the next\n");
	add_long(&map, "2000 10 ", 'b', 3000000);
	strbuf_adds(&map, "3000 10 short\n");
	add_long(&map, "4000 10 ", 'b', 3000001);
	add_long(&map, "5000 10 ", 'c', LONGNAME_MAX);
	add_long(&map, "6000 10 ", 'd', LONGNAME_MAX + 1);
	add_long(&map, "7000 10 ", 'n', 3000000);	/* nobody wants it */
	tool_write_bytes("map", map.s, map.len);
	fd = tool_open("map");
	before = mallinfo2().uordblks;
	assert_int_equal(perfmap_slice(fd, addrs, 6, &room, &out), 0);
	after = mallinfo2().uordblks;
	/* What is kept, and no whole line. */
	assert_true(after - before < 5 * LONGNAME_MAX * 2);
	assert_true(name_at(out.s, "1000 ", &c[0]) <= LONGNAME_MAX);
	assert_true(name_at(out.s, "2000 ", &c[1]) > LONGNAME_MAX - 100);
	assert_int_equal(name_at(out.s, "3000 ", &c[2]), 5);
	assert_true(name_at(out.s, "4000 ", &c[3]) <= LONGNAME_MAX);
	assert_int_equal(name_at(out.s, "5000 ", &c[4]), LONGNAME_MAX);
	assert_true(name_at(out.s, "6000 ", &c[5]) <= LONGNAME_MAX);
	assert_memory_equal(c, "absbcd", 6);
	assert_null(strstr(out.s, "7000 "));
	assert_non_null(strstr(out.s, "a...[3000000 bytes, "));
	assert_non_null(strstr(out.s, "b...[3000000 bytes, "));
	assert_non_null(strstr(out.s, "b...[3000001 bytes, "));
	/* Without room, they are brief; those that fit are whole. */
	strbuf_reset(&out);
	room = 0;
	assert_int_equal(perfmap_slice(fd, addrs, 6, &room, &out), 0);
	assert_true(name_at(out.s, "1000 ", &c[0]) <= LONGNAME_BRIEF);
	assert_true(name_at(out.s, "5000 ", &c[0]) <= LONGNAME_BRIEF);
	assert_int_equal(name_at(out.s, "3000 ", &c[0]), 5);
	end = strstr(out.s, "4000 10 b");
	assert_non_null(end);
	assert_non_null(strstr(end, "b...[3000001 bytes, "));
	close(fd);
	strbuf_fini(&map);
	strbuf_fini(&out);
}

/* The same name is cut to the same text, whether it was read from a file or was in memory. */
static void test_cut_alike(void **state)
{
	static const uint64_t addr = 0x1000;
	struct strbuf name = STRBUF_INIT, map = STRBUF_INIT, out = STRBUF_INIT, want = STRBUF_INIT;
	size_t room = 1 << 20;
	uint64_t seed = 7;
	int fd;

	(void)state;
	for (int i = 0; i < 200000; i++)
		strbuf_addc(&name, (char)('!' + random_next(&seed) % 90));
	strbuf_addf(&map, "1000 10 %s\n", name.s);
	tool_write_bytes("map", map.s, map.len);
	fd = tool_open("map");
	assert_int_equal(perfmap_slice(fd, &addr, 1, &room, &out), 0);
	close(fd);
	strbuf_adds(&want, "1000 10 ");
	longname_add(&want, name.s, name.len, LONGNAME_MAX);
	strbuf_addc(&want, '\n');
	assert_string_equal(out.s, want.s);
	strbuf_fini(&name);
	strbuf_fini(&map);
	strbuf_fini(&out);
	strbuf_fini(&want);
}

static void test_utf8_stays_whole(void **state)
{
	struct strbuf out = STRBUF_INIT, name = STRBUF_INIT;

	(void)state;
	for (int i = 0; i < 3; i++) {
		strbuf_reset(&name);
		strbuf_reset(&out);
		for (int k = 0; k < i; k++)
			strbuf_addc(&name, 'x');
		for (int k = 0; k < 100; k++)
			strbuf_adds(&name, "\xe2\x82\xac");
		longname_add(&out, name.s, name.len, LONGNAME_BRIEF);
		assert_true(out.len <= LONGNAME_BRIEF);
		assert_int_equal((strcspn(out.s, ".") - (size_t)i) % 3, 0);
	}
	strbuf_fini(&name);
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perf_map),
		cmocka_unit_test(test_perf_map_large),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_cut_alike),
		cmocka_unit_test(test_utf8_stays_whole),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
