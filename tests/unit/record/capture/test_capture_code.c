/*
 * Which code is captured, checked against nm and the bytes of the file, and within the size limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "capture/capture.h"
#include "capture/capture_code.h"
#include "capture_answers.h"
#include "code/code_pack.h"
#include "toolrun.h"

/*
 * Functions f0 to f39 of 100 to 490 bytes, each beginning with a byte of its own number; then
 * "large" of 100,000 bytes. Built with @flags.
 */
static bool build(const char *flags)
{
	struct strbuf s = STRBUF_INIT;

	if (!tool_have("gcc nm strip"))
		return false;
	strbuf_adds(&s, ".globl _start\n.text\n_start: nop\n.size _start, .-_start\n");
	for (int i = 0; i < 40; i++)
		strbuf_addf(&s,
			    ".p2align 4\n.type f%d,@function\nf%d: .cfi_startproc\n mov $%d,%%al\n .skip %d,0x90\n ret\n"
			    ".cfi_endproc\n.size f%d,.-f%d\n",
			    i, i, i, 97 + 10 * i, i, i);
	strbuf_adds(&s, ".p2align 4\n.type large,@function\nlarge: .cfi_startproc\n .rept 25000\n add $1,%ax\n .endr\n"
			".cfi_endproc\n.size large,.-large\n");
	tool_write("f.s", s.s);
	strbuf_fini(&s);
	return tool_run("gcc -nostdlib -static %s -o f f.s", flags) == 0;
}

static struct code_range nm_of(const char *name)
{
	struct code_range r = { 0, 0 };
	FILE *f;

	assert_int_equal(tool_run("nm -S f | awk '$4 == \"%s\" { print $1, $2 }' >out", name), 0);
	f = tool_open_text("out");
	assert_int_equal(fscanf(f, "%lx %lx", &r.svma, &r.len), 2);
	fclose(f);
	return r;
}

struct taken {
	struct code_pack *cp;
	uint64_t bytes;
	struct elf_file *ef;
};

/* @v: svma and samples, in order. */
static struct taken take(const char *file, const struct leaf *v, size_t n, uint64_t max)
{
	struct taken t = { .ef = tool_open_elf(file) };
	struct leaf_counts leafs = { .v = calloc(n, sizeof(*v)), .n = n };
	struct strbuf rows = STRBUF_INIT, out = STRBUF_INIT;
	uint64_t *offs = calloc(n, sizeof(*offs));
	int fd = tool_open(file);

	for (size_t i = 0; i < n; i++) {
		offs[i] = load_off(t.ef, v[i].addr);
		leafs.v[i] = (struct leaf){ offs[i], v[i].samples };
		leafs.samples += v[i].samples;
	}
	assert_int_equal(capture_elf(fd, -1, NULL, offs, n, &rows, NULL), 0);
	t.bytes = capture_code(t.ef, rows.s, rows.len, &leafs, max, &out);
	t.cp = code_pack_read(out.s, out.len);
	assert_non_null(t.cp);
	assert_int_equal(code_pack_counts(t.cp)->samples, leafs.samples);
	close(fd);
	free(offs);
	leaf_counts_fini(&leafs);
	strbuf_fini(&rows);
	strbuf_fini(&out);
	return t;
}

/* All bytes equal the file's, and their number is the declared one. */
static void finish(struct taken *t, const char *file)
{
	const struct code_range *r;
	size_t n = code_pack_ranges(t->cp, &r);
	struct strbuf bytes = STRBUF_INIT;
	const uint8_t *code;
	uint64_t sum = 0;

	tool_read(file, &bytes);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(code_pack_find(t->cp, r[i].svma, &code), r[i].len);
		assert_memory_equal(code, bytes.s + load_off(t->ef, r[i].svma), r[i].len);
		sum += r[i].len;
	}
	assert_int_equal(sum, t->bytes);
	strbuf_fini(&bytes);
	code_pack_free(t->cp);
	elf_file_close(t->ef);
}

static void expect_range(const struct taken *t, struct code_range want)
{
	const struct code_range *r;
	size_t n = code_pack_ranges(t->cp, &r), i = 0;

	while (i < n && r[i].svma != want.svma)
		i++;
	assert_true(i < n);
	assert_int_equal(r[i].len, want.len);
}

/* Whole functions, wherever in them the samples were; with symbols and without. */
static void whole(void **state)
{
	static const char *const files[] = { "f", "stripped" };
	struct code_range f3, f20;

	(void)state;
	if (!build("-Wl,--eh-frame-hdr")) {
		skip();
		return;
	}
	assert_int_equal(tool_run("strip -o stripped f"), 0);
	f3 = nm_of("f3");
	f20 = nm_of("f20");
	assert_int_equal(f3.len, 130);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const struct leaf v[] = { { f3.svma + 5, 1 }, { f3.svma + 129, 7 }, { f20.svma, 2 } };
		struct taken t = take(files[i], v, 3, 1000);
		const struct code_range *r;

		assert_int_equal(code_pack_ranges(t.cp, &r), 2);
		expect_range(&t, f3);
		expect_range(&t, f20);
		assert_int_equal(code_pack_counts(t.cp)->missed, 0);
		assert_int_equal(code_pack_counts(t.cp)->missed_functions, 0);
		finish(&t, files[i]);
	}
}

/*
 * Without room for all, the functions with most samples: the expected total size is computed here.
 */
static void hottest(void **state)
{
	struct code_range f[40];
	struct leaf v[40];
	uint64_t room = 0, missed = 0;
	struct taken t;

	(void)state;
	if (!build("")) {
		skip();
		return;
	}
	for (int i = 0; i < 40; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		f[i] = nm_of(name);
		/* 17 and 40 have no common divisor, so each function has a different number. */
		v[i] = (struct leaf){ f[i].svma + (uint64_t)i, 1 + (uint64_t)(i * 17 % 40) };
		if (v[i].samples > 30)
			room += f[i].len;
		else
			missed += v[i].samples;
	}
	t = take("f", v, 40, room);
	assert_int_equal(t.bytes, room);
	for (int i = 0; i < 40; i++) {
		if (v[i].samples > 30)
			expect_range(&t, f[i]);
	}
	assert_int_equal(code_pack_counts(t.cp)->missed, missed);
	assert_int_equal(code_pack_counts(t.cp)->missed_functions, 30);
	finish(&t, "f");
}

/*
 * From a large function, the code at and after its hottest addresses; each part begins at a sampled
 * address.
 */
static void large(void **state)
{
	struct code_range f, g;
	const struct code_range *r;
	struct leaf v[200];
	struct taken t;
	size_t n, k;

	(void)state;
	if (!build("")) {
		skip();
		return;
	}
	f = nm_of("large");
	g = nm_of("f7");
	assert_int_equal(f.len, 100000);
	v[0] = (struct leaf){ g.svma, 1 };
	for (k = 1; k < 200; k++)
		v[k] = (struct leaf){ f.svma + 400 * k, k == 77 || k == 150 ? 1000 : k == 151 ? 10 : 1 };
	/*
	 * Two parts of 128 bytes fit into half of 600, three do not, and the small function still
	 * has its room.
	 */
	t = take("f", v, 200, 600);
	n = code_pack_ranges(t.cp, &r);
	assert_int_equal(n, 3);
	expect_range(&t, (struct code_range){ v[77].addr, CODE_PART });
	expect_range(&t, (struct code_range){ v[150].addr, CODE_PART });
	expect_range(&t, g);
	assert_int_equal(code_pack_counts(t.cp)->missed, 10 + 196);
	assert_int_equal(code_pack_counts(t.cp)->missed_functions, 1);
	finish(&t, "f");

	/*
	 * Even with ample room a large function is never captured whole, but all its hot parts are;
	 * adjacent parts become one.
	 */
	for (k = 1; k < 200; k++)
		v[k].addr = f.svma + 100 * k;
	t = take("f", v, 200, 1 << 20);
	expect_range(&t, (struct code_range){ v[1].addr, v[199].addr + CODE_PART - v[1].addr });
	assert_int_equal(code_pack_counts(t.cp)->missed, 0);
	finish(&t, "f");
	/* The last part ends with the function. */
	v[0].addr = f.svma + f.len - 4;
	t = take("f", v, 1, 1 << 20);
	expect_range(&t, (struct code_range){ v[0].addr, 4 });
	finish(&t, "f");
}

/* No room at all: the counts still come, so that the missing amount can be reported. */
static void nothing(void **state)
{
	const struct code_range *r;
	struct taken t;
	struct leaf v;

	(void)state;
	if (!build("")) {
		skip();
		return;
	}
	v = (struct leaf){ nm_of("f9").svma, 5 };
	t = take("f", &v, 1, 0);
	assert_int_equal(t.bytes, 0);
	assert_int_equal(code_pack_ranges(t.cp, &r), 0);
	assert_int_equal(code_pack_counts(t.cp)->missed, 5);
	finish(&t, "f");
}

static void lists(void **state)
{
	struct u64map m = U64MAP_INIT, k = U64MAP_INIT;
	struct leaf_counts a, b;

	(void)state;
	*u64map_put(&m, 9, NULL) = 2;
	*u64map_put(&m, 5, NULL) = 1;
	*u64map_put(&k, 9, NULL) = 10;
	*u64map_put(&k, 7, NULL) = 4;
	leaf_counts_init(&a, &m);
	leaf_counts_init(&b, &k);
	leaf_counts_add(&a, &b);
	assert_int_equal(a.n, 3);
	assert_int_equal(a.samples, 17);
	assert_true(a.v[0].addr == 5 && a.v[0].samples == 1);
	assert_true(a.v[1].addr == 7 && a.v[1].samples == 4);
	assert_true(a.v[2].addr == 9 && a.v[2].samples == 12);
	assert_int_equal(b.n, 2);
	leaf_counts_fini(&a);
	leaf_counts_fini(&b);
	u64map_fini(&m);
	u64map_fini(&k);
}

static void budget(void **state)
{
	struct code_budget b;

	(void)state;
	code_budget_init(&b, 100);
	assert_int_equal(b.bytes, CODE_MIN);
	/* Room is shared by samples; what the first leaves goes to the others. */
	assert_int_equal(code_budget_take(&b, 75), CODE_MIN / 4 * 3);
	code_budget_return(&b, CODE_MIN / 4 * 3 - 1000);
	assert_int_equal(code_budget_take(&b, 20), (CODE_MIN - 1000) * 20 / 25);
	code_budget_return(&b, (CODE_MIN - 1000) * 20 / 25);
	assert_int_equal(code_budget_take(&b, 5), CODE_MIN - 1000);
	assert_int_equal(code_budget_take(&b, 1), 0);
	assert_int_equal(b.bytes, 0);
	code_budget_init(&b, 100000);
	assert_int_equal(b.bytes, 300000);
	code_budget_init(&b, UINT64_MAX);
	assert_int_equal(b.bytes, CODE_MAX);
}

#define TOOL(f) cmocka_unit_test_setup_teardown(f, tool_setup, tool_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOOL(whole), TOOL(hottest), TOOL(large), TOOL(nothing),
		cmocka_unit_test(lists), cmocka_unit_test(budget),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
