/* perf-PID.map: the forms of a line, and which line wins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/perfmap.h"

static struct perfmap *map(const char *text)
{
	return perfmap_new(text, strlen(text));
}

static void expect(const struct perfmap *pm, uint64_t addr, const char *want)
{
	struct avma a = { addr };
	const char *name = NULL;

	if (!want) {
		assert_false(perfmap_lookup(pm, a, &name));
		return;
	}
	assert_true(perfmap_lookup(pm, a, &name));
	assert_string_equal(name, want);
}

/* The recorder marks a map that others write, too. The mark counts only as the first line. */
static void test_shared(void **state)
{
	static const struct {
		const char *text;
		bool shared;
	} cases[] = { { "# shared\n1000 10 a\n", true }, { "# shared\n", true }, { "# shared", false },
		      { "1000 10 a\n# shared\n", false }, { "# shared by\n1000 10 a\n", false }, { "", false } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct perfmap *pm = map(cases[i].text);

		assert_int_equal(perfmap_shared(pm), cases[i].shared);
		expect(pm, 0x1000, strstr(cases[i].text, "1000") ? "a" : NULL);
		perfmap_free(pm);
	}
}

static void test_forms(void **state)
{
	struct perfmap *pm = map("1000 10 plain\n"
				 "0x2000 0x10 prefixed\n"
				 "0XABCDEF 0X1f upper\n"
				 "abcdef00 A lower and upper\n"
				 "3000 10 LazyCompile:~f(a, b) /app/x y.js:3:1\n"
				 "4000 10 a\n"
				 "4010 10 ab\n"
				 "5000 0 stub\n"
				 "6000\t10\ttabs\n"
				 " 6100 10 indented\n"
				 "7000 10 dos\r\n"
				 "7fff12345678 10 j\303\244va\n");

	(void)state;
	expect(pm, 0xfff, NULL);
	expect(pm, 0x1000, "plain");
	expect(pm, 0x100f, "plain");
	expect(pm, 0x1010, NULL);
	expect(pm, 0x2008, "prefixed");
	expect(pm, 0xabcdef, "upper");
	expect(pm, 0xabcdef + 0x1e, "upper");
	expect(pm, 0xabcdef + 0x1f, NULL);
	expect(pm, 0xabcdef09, "lower and upper");
	expect(pm, 0xabcdef0a, NULL);
	expect(pm, 0x3000, "LazyCompile:~f(a, b) /app/x y.js:3:1");
	expect(pm, 0x4000, "a");
	expect(pm, 0x4010, "ab");
	expect(pm, 0x5000, "stub");
	expect(pm, 0x5001, NULL);
	expect(pm, 0x600f, "tabs");
	expect(pm, 0x6100, "indented");
	expect(pm, 0x7000, "dos");
	expect(pm, 0x7fff12345678, "j\303\244va");
	perfmap_free(pm);
}

static void test_malformed(void **state)
{
	struct perfmap *pm = map("\n"
				 "nonsense\n"
				 "1000 10\n"
				 "1100 10 \n"
				 "1200 xyz name\n"
				 "0x 10 name\n"
				 "10000000000001300 10 seventeen digits\n"
				 "ffffffffffffff00 200 over the end\n"
				 "1400 10 good\n"
				 "1500 10 cut off in the mid");

	(void)state;
	for (uint64_t a = 0; a < 0x1400; a += 8)
		expect(pm, a, NULL);
	expect(pm, 0xffffffffffffff00, NULL);
	expect(pm, 0x1400, "good");
	expect(pm, 0x1500, NULL);
	perfmap_free(pm);

	pm = perfmap_new(NULL, 0);
	expect(pm, 0, NULL);
	perfmap_free(pm);
}

static void test_last_wins(void **state)
{
	struct perfmap *pm = map("1000 100 old\n"
				 "1040 20 new in the middle\n"
				 "1000 10 newest at the start\n"
				 "10f0 20 newest over the end\n");

	(void)state;
	expect(pm, 0x1000, "newest at the start");
	expect(pm, 0x1010, "old");
	expect(pm, 0x1040, "new in the middle");
	expect(pm, 0x1060, "old");
	expect(pm, 0x10f0, "newest over the end");
	expect(pm, 0x110f, "newest over the end");
	expect(pm, 0x1110, NULL);
	perfmap_free(pm);
}

static void test_overlap_brute_force(void **state)
{
	enum { LINES = 400, SPACE = 2048 };
	unsigned int seed = 7;

	(void)state;
	for (int round = 0; round < 40; round++) {
		int owner[SPACE];
		char *text = malloc(LINES * 32), want[16];
		size_t len = 0;
		struct perfmap *pm;

		memset(owner, 0xff, sizeof(owner));
		for (int i = 0; i < LINES; i++) {
			unsigned int start = (unsigned int)rand_r(&seed) % (SPACE - 256);
			unsigned int size = (unsigned int)rand_r(&seed) % (round % 2 ? 256 : 8);

			len += (size_t)sprintf(text + len, "%x %x f%d\n", start, size, i);
			for (unsigned int a = start; a < start + (size ? size : 1); a++)
				owner[a] = i;
		}
		pm = perfmap_new(text, len);
		free(text);	/* the map keeps a copy */
		for (int a = 0; a < SPACE; a++) {
			sprintf(want, "f%d", owner[a]);
			expect(pm, (uint64_t)a, owner[a] < 0 ? NULL : want);
		}
		perfmap_free(pm);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_last_wins),
		cmocka_unit_test(test_overlap_brute_force),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize perfmap", tests, NULL, NULL);
}
