/*
 * /proc/kallsyms as text, hidden addresses, the extent of symbols; and the real file where it can
 * be read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbols/kallsyms.h"

static struct kallsyms *table(const char *text)
{
	return kallsyms_new(text, strlen(text));
}

static void expect(const struct kallsyms *ks, uint64_t addr, const char *want,
		   const char *want_module)
{
	struct avma a = { addr };
	const char *name = NULL, *module = "unset";

	if (!want) {
		assert_false(kallsyms_lookup(ks, a, &name, &module));
		return;
	}
	assert_true(kallsyms_lookup(ks, a, &name, &module));
	assert_string_equal(name, want);
	if (want_module) {
		assert_non_null(module);
		assert_string_equal(module, want_module);
	} else {
		assert_null(module);
	}
}

static void test_lines(void **state)
{
	/* Modules are never sorted; the last line has no newline. */
	struct kallsyms *ks = table("0000000000000000 A fixed_percpu_data\n"
				    "ffffffff81000200 T do_syscall_64\n"
				    "ffffffff81000100 t local_fn\n"
				    "ffffffffc0a00000 t nf_conntrack_in\t[nf_conntrack]\n"
				    "ffffffffc0a00100 d some_table\t[nf_conntrack]\n"
				    "ffffffffc0b00000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]\n"
				    "garbage\n"
				    "zzzz T nothing\n"
				    "ffffffff81000300 W weak_fn\n"
				    "ffffffff81000400 D kernel_data\n"
				    "ffffffff81000500 w other_weak");

	(void)state;
	assert_non_null(ks);
	expect(ks, 0xffffffff810000ff, NULL, NULL);
	expect(ks, 0xffffffff81000100, "local_fn", NULL);
	expect(ks, 0xffffffff810001ff, "local_fn", NULL);
	expect(ks, 0xffffffff81000200, "do_syscall_64", NULL);
	expect(ks, 0xffffffff81000300, "weak_fn", NULL);
	expect(ks, 0xffffffff81000400, NULL,
	       NULL); /* data is not code, and ends the code before it */
	expect(ks, 0xffffffff81000500, "other_weak", NULL);
	expect(ks, 0xffffffffc0a000ff, "nf_conntrack_in", "nf_conntrack");
	expect(ks, 0xffffffffc0a00100, NULL, NULL);
	expect(ks, 0xffffffffc0b00010, "bpf_prog_6deef7357e7b4530_sd_fw", "bpf");
	expect(ks, 0, NULL, NULL);
	kallsyms_free(ks);
}

/*
 * After the last function of a module is a gap; an address in it does not belong to that function.
 */
static void test_reach(void **state)
{
	struct kallsyms *ks = table("ffffffffc0000000 t last_fn\t[mod]\n");

	(void)state;
	expect(ks, 0xffffffffc0000000 + (1 << 20) - 1, "last_fn", "mod");
	expect(ks, 0xffffffffc0000000 + (1 << 20), NULL, NULL);
	expect(ks, UINT64_MAX, NULL, NULL);
	kallsyms_free(ks);
}

static void test_aliases(void **state)
{
	struct kallsyms *ks = table("ffffffff81000000 t aaa_local\n"
				    "ffffffff81000000 W aaa_weak\n"
				    "ffffffff81000000 T __x64_sys_read\n"
				    "ffffffff81000000 T read_long_name\n"
				    "ffffffff81000000 T read_b\n"
				    "ffffffff81000000 T read_a\n"
				    "ffffffff81000000 D data_alias\n");

	(void)state;
	expect(ks, 0xffffffff81000008, "read_a", NULL);
	kallsyms_free(ks);
}

static void test_hidden(void **state)
{
	(void)state;
	assert_null(table("0000000000000000 T _text\n0000000000000000 t secret\t[mod]\n"));
	assert_null(table(""));
	assert_null(kallsyms_new(NULL, 0));
}

/*
 * Every text symbol of this kernel must be found at its own address, nearly all with their own
 * names.
 */
static void test_real(void **state)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char *text = NULL, *line = NULL;
	size_t len = 0, cap = 0, line_cap = 0, total = 0, same = 0;
	struct kallsyms *ks;
	ssize_t n;

	(void)state;
	assert_non_null(f);
	while ((n = getline(&line, &line_cap, f)) > 0) {
		if (len + (size_t)n > cap)
			text = realloc(text, cap = 2 * (len + (size_t)n));
		memcpy(text + len, line, (size_t)n);
		len += (size_t)n;
	}
	fclose(f);
	free(line);
	ks = kallsyms_new(text, len);
	if (!ks) {
		printf("# skipped: /proc/kallsyms shows no addresses (kptr_restrict, or not root)\n");
		free(text);
		skip();
	}
	for (char *p = text, *nl; (nl = memchr(p, '\n', len - (size_t)(p - text))); p = nl + 1) {
		const char *name, *module;
		struct avma a;
		char type;

		a.v = strtoull(p, NULL, 16);
		type = p[17];
		if (!strchr("tTwW", type) || !a.v)
			continue;
		assert_true(kallsyms_lookup(ks, a, &name, &module));
		total++;
		if (!strncmp(p + 19, name, strlen(name)) && strchr("\t\n", p[19 + strlen(name)]))
			same++;
	}
	/* Few lines are aliases of an address. */
	assert_true(total > 1000);
	assert_true(same > total / 10 * 9);
	free(text);
	kallsyms_free(ks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_reach),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_real),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize kallsyms", tests, NULL, NULL);
}
