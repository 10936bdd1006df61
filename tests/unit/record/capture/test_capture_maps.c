/* Captured lines of /proc/kallsyms. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "capture/capture.h"
#include "host/nsopen.h"
#include "random.h"
#include "toolrun.h"

/* ---- kallsyms ---- */

static void check_kallsyms(const char *text, const uint64_t *addrs, size_t n, int err,
			   const char *expected)
{
	struct strbuf out = STRBUF_INIT;

	tool_write("kallsyms", text);
	nsopen_set_proc(tool_dir);
	assert_int_equal(capture_kallsyms(addrs, n, &out), err);
	nsopen_set_proc("/proc");
	assert_string_equal(out.len ? out.s : "", expected);
	strbuf_fini(&out);
}

static void test_kallsyms(void **state)
{
	static const char text[] =
		"0000000000000000 A fixed_percpu_data\n"
		"ffffffff81000000 T _stext\n"
		"ffffffff81000000 T _text\n"
		"ffffffff81000100 t secondary\n"
		"ffffffff81000200 T next\n"
		"ffffffff81000200 D data_marker\n"
		"ffffffff81000300 R rodata\n"
		"ffffffff81000400 T far\n"
		"ffffffffc0002000 t mod_b\t[beta]\n"
		"ffffffffc0001000 t mod_a\t[alpha]\n"
		"ffffffffc0003000 t bpf_prog_1\t[bpf]\n";
	static const uint64_t one[] = { 0xffffffff81000110 };
	static const uint64_t two[] = { 0xffffffff81000000, 0xffffffffc0001500 };
	static const uint64_t gap[] = { 0xffffffff81000310 };
	static const uint64_t last[] = { 0xffffffffc0003040 };

	(void)state;
	check_kallsyms(
		text, one, 1, 0,
		"ffffffff81000100 t secondary\nffffffff81000200 T next\nffffffff81000200 D data_marker\n");
	check_kallsyms(
		text, two, 2, 0,
		"ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000100 t secondary\n"
		"ffffffffc0002000 t mod_b\t[beta]\nffffffffc0001000 t mod_a\t[alpha]\n");
	/*
	 * An address after a data symbol: both this symbol and the code before it are kept,
	 * whichever one a reader uses.
	 */
	check_kallsyms(
		text, gap, 1, 0,
		"ffffffff81000200 T next\nffffffff81000300 R rodata\nffffffff81000400 T far\n");
	check_kallsyms(text, last, 1, 0, "ffffffffc0003000 t bpf_prog_1\t[bpf]\n");
	check_kallsyms(text, NULL, 0, 0, "");
	check_kallsyms("0000000000000000 T _text\n0000000000000000 T next\n", one, 1, -EPERM, "");
}

struct line {
	uint64_t addr;
	char type;
	char name[24];
};

static bool is_text(char type)
{
	return strchr("tTwW", type);
}

/*
 * The nearest start at or below @addr and the next above it, among all (or all code) symbols; 0 and
 * UINT64_MAX: none.
 */
static void nearest(const struct line *v, size_t n, uint64_t addr, bool code, uint64_t at[2])
{
	at[0] = 0;
	at[1] = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		if (code && !is_text(v[i].type))
			continue;
		if (v[i].addr <= addr && v[i].addr > at[0])
			at[0] = v[i].addr;
		if (v[i].addr > addr && v[i].addr < at[1])
			at[1] = v[i].addr;
	}
}

static uint64_t pick(uint64_t below)
{
	static uint64_t state = 7;

	return random_next(&state) % below;
}

/*
 * Compared with the definition, on tables like the kernel's: a sorted part with aliases and data,
 * in some rounds larger than one read, and modules in any order above it.
 */
static void test_kallsyms_any(void **state)
{
	static const char types[] = "tTtTwWdDrRbA";
	static struct line v[9000];
	struct strbuf text = STRBUF_INIT, want = STRBUF_INIT;

	(void)state;
	for (int round = 0; round < 120; round++) {
		size_t n = round % 10 ? 1 + pick(60) : 4000 + pick(5000), core = n - pick(n / 3 + 1);
		size_t naddrs = pick(12);
		uint64_t addrs[12], all[12][2], code[12][2], at = pick(3) ? 0xffffffff81000000 : 0;

		strbuf_reset(&text);
		strbuf_reset(&want);
		for (size_t i = 0; i < n; i++) {
			if (i < core)
				at += pick(4) ? pick(64) : 0;
			v[i].addr = i < core ? at : 0xffffffffc0000000 + pick(4096);
			v[i].type = types[pick(sizeof(types) - 1)];
			snprintf(v[i].name, sizeof(v[i].name), "sym_%zu%s", i, i < core ? "" : "\t[mod]");
			strbuf_addf(&text, "%016lx %c %s\n", (unsigned long)v[i].addr, v[i].type, v[i].name);
		}
		for (size_t i = 0; i < naddrs; i++)
			addrs[i] = pick(8) ? v[pick(n)].addr + pick(80) : pick(2) ? 5 : UINT64_MAX;
		for (size_t k = 0; k < naddrs; k++) {
			nearest(v, n, addrs[k], false, all[k]);
			nearest(v, n, addrs[k], true, code[k]);
		}
		for (size_t i = 0; i < n; i++) {
			bool hit = false;

			for (size_t k = 0; k < naddrs; k++) {
				hit |= v[i].addr == all[k][0] || v[i].addr == all[k][1];
				hit |= is_text(v[i].type) &&
				       (v[i].addr == code[k][0] || v[i].addr == code[k][1]);
			}
			if (hit)
				strbuf_addf(&want, "%016lx %c %s\n", (unsigned long)v[i].addr, v[i].type,
					    v[i].name);
		}
		if (v[n - 1].addr)
			check_kallsyms(text.s, addrs, naddrs, 0, want.len ? want.s : "");
	}
	strbuf_fini(&text);
	strbuf_fini(&want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kallsyms),
		cmocka_unit_test(test_kallsyms_any),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
