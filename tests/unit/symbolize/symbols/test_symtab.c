/*
 * A module's symbol table. The expectations come from an assembly file whose names are known by
 * construction, and from readelf's listing of real binaries, searched symbol by symbol.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/xalloc.h"
#include "hidden_code.h"
#include "modules/module_symbols.h"
#include "random.h"
#include "symbols/minidebug.h"
#include "symbols/symtab.h"
#include "toolrun.h"

/* Offsets from "base"; 0x40 bytes per block. The comments in test_layout() explain each. */
static const char layout_s[] =
	"	.macro fn name, bytes\n"
	"	.type \\name, @function\n"
	"\\name:	.fill \\bytes, 1, 0x90\n"
	"	.size \\name, .-\\name\n"
	"	.endm\n"
	"	.text\n"
	"	.balign 64\n"
	"	.globl base\n"
	"	.type base, @function\n"
	"base:	.fill 16, 1, 0x90\n"
	"	fn inner, 8\n"
	"	.fill 8, 1, 0x90\n"
	"	.size base, .-base\n"
	"	.fill 16, 1, 0x90\n"
	"label:	.fill 16, 1, 0x90\n"
	/* 0x40 */
	"	.globl good, _best\n"
	"	.weak aweak\n"
	"	.type good, @function\n"
	"	.type aweak, @function\n"
	"	.type _best, @function\n"
	"	.set good, local\n"
	"	.set goodlonger, local\n"
	"	.globl goodlonger\n"
	"	.set aweak, local\n"
	"	.set _best, local\n"
	"notype:\n"
	"	fn local, 16\n"
	"	.size good, 16\n"
	"	.size goodlonger, 16\n"
	"	.size aweak, 16\n"
	"	.size _best, 16\n"
	"	.fill 48, 1, 0x90\n"
	/* 0x80 */
	"	.globl unsized\n"
	"	.type unsized, @function\n"
	"unsized:\n"
	"	fn sizedlocal, 16\n"
	"	.fill 16, 1, 0x90\n"
	"	.type with_label, @function\n"
	"with_label:\n"
	"	.fill 8, 1, 0x90\n"
	"inside:	.fill 8, 1, 0x90\n"
	"	.size with_label, .-with_label\n"
	"	.fill 16, 1, 0x90\n"
	/* 0xc0 */
	"	fn fn.part.0, 16\n"
	"	fn fn.cold, 16\n"
	"	.globl versioned_impl\n"
	"	fn versioned_impl, 16\n"
	"	.type last, @function\n"
	"last:	.fill 16, 1, 0x90\n"
	"	.section other, \"ax\", @progbits\n"
	"	.fill 64, 1, 0x90\n"
	"	fn in_other, 16\n";

static const char *name_at(struct module *m, uint64_t svma, struct symbol *sym)
{
	struct svma a = { svma };

	return module_symbol(m, a, sym) ? NULL : sym->name;
}

static void expect(struct module *m, uint64_t svma, const char *want)
{
	struct symbol sym;
	const char *got = name_at(m, svma, &sym);

	if (!got != !want || (got && strcmp(got, want)))
		printf("# at 0x%llx: '%s', wanted '%s'\n", (unsigned long long)svma,
		       got ? got : "(none)", want ? want : "(none)");
	assert_true(!got == !want);
	if (want)
		assert_string_equal(got, want);
}

static uint64_t address_of(const char *file, const char *symbol)
{
	unsigned long long v = 0;
	FILE *f;

	assert_int_equal(tool_run("nm '%s' | grep -w '%s$' > sym", file, symbol), 0);
	f = tool_open_text("sym");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%llx", &v), 1);
	fclose(f);
	return v;
}

static void close_module(struct module *m)
{
	symtab_free(m->symtab);
	symtab_free(m->few);
	cfi_free(m->cfi);
	made_rows_free(m->made);
	elf_file_close(m->elf);
	elf_file_close(m->files.debug);
	elf_file_close(m->captured);
}

static void test_layout(void **state)
{
	struct module m = { .dso.path = "layout" };
	struct symbol sym;
	uint64_t base;

	(void)state;
	if (!tool_have("gcc nm"))
		skip();
	tool_write("layout.s", layout_s);
	assert_int_equal(tool_run("gcc -nostdlib -static -Wl,-e,base -o layout layout.s"), 0);
	base = address_of("layout", "base");
	m.elf = tool_open_elf("layout");
	assert_non_null(m.elf);

	expect(&m, base - 1, NULL);
	/* An inner sized symbol; after it the outer one again. */
	expect(&m, base, "base");
	expect(&m, base + 0xf, "base");
	expect(&m, base + 0x10, "inner");
	expect(&m, base + 0x17, "inner");
	expect(&m, base + 0x18, "base");
	expect(&m, base + 0x1f, "base");
	assert_string_equal(name_at(&m, base + 0x18, &sym), "base");
	assert_true(sym.start == base && sym.end == base + 0x20);
	assert_int_equal(sym.source, NAME_SYMTAB);
	/* A gap is a miss; a label without a size extends to the next symbol. */
	expect(&m, base + 0x20, NULL);
	expect(&m, base + 0x2f, NULL);
	expect(&m, base + 0x30, "label");
	expect(&m, base + 0x3f, "label");
	/* Aliases: FUNC, global, no underscore, short. */
	expect(&m, base + 0x40, "good");
	expect(&m, base + 0x4f, "good");
	expect(&m, base + 0x50, NULL);
	/*
	 * Global wins over local before sized wins over unsized, so the unsized global takes over
	 * the local's size.
	 */
	expect(&m, base + 0x80, "unsized");
	expect(&m, base + 0x8f, "unsized");
	expect(&m, base + 0x90, NULL);
	/* A label inside a function is no function, and does not extend beyond it. */
	expect(&m, base + 0xa0, "with_label");
	expect(&m, base + 0xa8, "with_label");
	expect(&m, base + 0xb0, NULL);
	expect(&m, base + 0xc0, "fn.part.0");
	expect(&m, base + 0xd0, "fn.cold");
	expect(&m, base + 0xe0, "versioned_impl");
	/* To the end of its section, not to the next symbol, which is in another one. */
	expect(&m, base + 0xf0, "last");
	expect(&m, base + 0xff, "last");
	assert_string_equal(name_at(&m, base + 0xf0, &sym), "last");
	assert_true(sym.end == base + 0x100);
	expect(&m, base + 0x100, NULL);
	base = address_of("layout", "in_other");
	expect(&m, base - 1, NULL);
	expect(&m, base, "in_other");
	expect(&m, base + 16, NULL);
	close_module(&m);
}

/* ---- a few expected addresses ---- */

/* Whether @few, which was told the addresses @at, names them as @all does. */
static void few_are_as_all(struct module *few, struct module *all, const struct svma *at, size_t n)
{
	module_symbols_expect(few, at, n);
	assert_non_null(few->few);
	for (size_t i = 0; i < n; i++) {
		struct symbol want, got;
		int err = module_symbol(all, at[i], &want);

		assert_int_equal(module_symbol(few, at[i], &got), err);
		if (err)
			continue;
		assert_string_equal(got.name, want.name);
		assert_true(got.start == want.start && got.end == want.end && got.source == want.source);
	}
	/* The full symbol table was not needed. */
	assert_null(few->symtab);
}

/* Drops the table made for them. */
static void forget_few(struct module *m)
{
	symtab_free(m->few);
	m->few = NULL;
}

/*
 * After the layout above: an unsized symbol directly after a sized one that precedes it in the
 * table, and three nested ones.
 */
static const char more_layout_s[] =
	"	fn tight, 16\n"
	"	.globl behind\n"
	"	.type behind, @function\n"
	"behind:	.fill 16, 1, 0x90\n"
	"	.type outer, @function\n"
	"	.type middle, @function\n"
	"outer:	.fill 8, 1, 0x90\n"
	"middle:	.fill 8, 1, 0x90\n"
	"	fn innermost, 8\n"
	"	.fill 8, 1, 0x90\n"
	"	.size middle, .-middle\n"
	"	.fill 8, 1, 0x90\n"
	"	.size outer, .-outer\n";

/*
 * Any subset of the addresses of the layout above, which is among so many symbols that selecting
 * pays.
 */
static void test_few_of_layout(void **state)
{
	struct module all = { .dso.path = "chosen" }, few = { .dso.path = "chosen" };
	struct strbuf text = STRBUF_INIT;
	uint64_t base, more, seed = 7;
	struct symbol sym;

	(void)state;
	if (!tool_have("gcc nm"))
		skip();
	strbuf_adds(&text, layout_s);
	strbuf_adds(&text, more_layout_s);
	for (int i = 0; i < 1500; i++)
		strbuf_addf(&text, "	fn further%d, 8\n", i);
	tool_write("chosen.s", text.s);
	strbuf_fini(&text);
	assert_int_equal(tool_run("gcc -nostdlib -static -Wl,-e,base -o chosen chosen.s"), 0);
	base = address_of("chosen", "base");
	more = address_of("chosen", "tight");
	all.elf = tool_open_elf("chosen");
	few.elf = tool_open_elf("chosen");
	for (int round = 0; round < 300; round++) {
		struct svma at[40];
		size_t n = 1 + random_next(&seed) % (round % 2 ? 40 : 3);

		for (size_t i = 0; i < n; i++)
			at[i].v = random_next(&seed) % 2 ? base - 8 + random_next(&seed) % 0x118 :
							  more + random_next(&seed) % 0x50;
		few_are_as_all(&few, &all, at, n);
		forget_few(&few);
	}
	/* An address that was not announced still has its name. */
	few_are_as_all(&few, &all, &(struct svma){ base + 0x10 }, 1);
	assert_string_equal(name_at(&few, base + 0x18, &sym), "base");
	close_module(&few);
	close_module(&all);
}

/*
 * Go's names of what it makes from a generic function: they contain a struct's tags, and no
 * version.
 */
static void test_at_sign(void **state)
{
	static const char source[] =
		"	.text\n"
		"	.globl at\n"
		"at:	.fill 16, 1, 0x90\n"
		"	.type \"main.F[struct { X int \\\"json:\\\\\\\"@id\\\\\\\"\\\" }]\", @function\n"
		"\"main.F[struct { X int \\\"json:\\\\\\\"@id\\\\\\\"\\\" }]\":\n"
		"	.fill 16, 1, 0x90\n"
		"	.globl impl\n"
		"	.symver impl, entry@@V_1.0, remove\n"
		"impl:	.fill 16, 1, 0x90\n";
	struct module m = { .dso.path = "at" };
	uint64_t at;

	(void)state;
	if (!tool_have("gcc nm"))
		skip();
	tool_write("at.s", source);
	tool_write("at.map", "V_1.0 { global: at; entry; };\n");
	assert_int_equal(tool_run("gcc -nostdlib -shared -Wl,--version-script=at.map -o at at.s"), 0);
	m.elf = tool_open_elf("at");
	assert_non_null(m.elf);
	at = address_of("at", "at");
	expect(&m, at, "at");
	expect(&m, at + 16, "main.F[struct { X int \"json:\\\"@id\\\"\" }]");
	expect(&m, at + 32, "entry");
	close_module(&m);
}

/* An exported function's name applies to all of its code, and to no hidden function after it. */
static void test_hidden(void **state)
{
	struct module m = { .dso.path = "open.so" };
	struct hidden_functions h;

	(void)state;
	if (!hidden_build())
		skip();
	m.elf = tool_open_elf("open.so");
	assert_non_null(m.elf);
	hidden_read(&h, m.elf);
	for (uint64_t a = h.v[0].svma; a < h.end; a++)
		if (!hidden_padding(&h, a))
			expect(&m, a, hidden_truth(&h, a));
	close_module(&m);
}

/* ---- readelf as the oracle ---- */

struct listed {
	uint64_t start, size;
	bool func;
	char bind[8], name[256];
};

struct listing {
	struct listed *v;
	size_t n, cap;
};

/*
 * Lines of "readelf -sW": Num: Value Size Type Bind Vis Ndx Name. @exec: section numbers with code.
 */
static void list_symbols(struct listing *l, const char *file, const char *which, const bool *exec)
{
	char *line = NULL;
	size_t cap = 0;
	FILE *f;

	assert_int_equal(tool_run("readelf -W %s '%s' > list", which, file), 0);
	f = tool_open_text("list");
	assert_non_null(f);
	while (getline(&line, &cap, f) > 0) {
		char value[32], size[32], type[16], bind[16], ndx[16], name[256];
		struct listed s = { 0, 0, false, "", "" };

		if (sscanf(line, " %*d: %31s %31s %15s %15s %*s %15s %255s", value, size, type,
			   bind, ndx, name) != 6)
			continue;
		if (strcmp(type, "FUNC") && strcmp(type, "IFUNC") && strcmp(type, "NOTYPE"))
			continue;
		if (ndx[0] < '0' || ndx[0] > '9' || atoi(ndx) >= 128 || !exec[atoi(ndx)])
			continue;
		s.start = strtoull(value, NULL, 16);
		s.size = strtoull(size, NULL, 0);
		s.func = strcmp(type, "NOTYPE") != 0;
		snprintf(s.bind, sizeof(s.bind), "%.7s", bind);
		if (strchr(name, '@'))
			*strchr(name, '@') = '\0';
		strcpy(s.name, name);
		XGROW(l->v, l->n, l->cap);
		l->v[l->n++] = s;
	}
	fclose(f);
	free(line);
}

/* Executable sections from "readelf -SW"; [*lo, *hi) is the range they span. */
static void list_sections(const char *file, bool *exec, uint64_t *lo, uint64_t *hi)
{
	char *line = NULL;
	size_t cap = 0;
	FILE *f;

	*lo = UINT64_MAX;
	*hi = 0;
	assert_int_equal(tool_run("readelf -SW '%s' > sections", file), 0);
	f = tool_open_text("sections");
	while (getline(&line, &cap, f) > 0) {
		unsigned long long addr, size;
		char flags[16];
		int i;

		if (sscanf(line, " [%d] %*s %*s %llx %*x %llx %*x %15s", &i, &addr, &size, flags) !=
		    4)
			continue;
		if (i < 128 && strchr(flags, 'X')) {
			exec[i] = true;
			*lo = addr < *lo ? addr : *lo;
			*hi = addr + size > *hi ? addr + size : *hi;
		}
	}
	fclose(f);
	free(line);
}

static int listed_rank(const struct listed *s)
{
	int bind = !strcmp(s->bind, "LOCAL") ? 2 : !strcmp(s->bind, "WEAK") ? 1 : 0;

	return (s->func ? 0 : 100) + bind * 10 + (s->size ? 0 : 1);
}

/* The name that symtab.h demands among sized symbols that contain @a; NULL if there is none. */
static const char *oracle(const struct listing *l, uint64_t a)
{
	const struct listed *best = NULL;

	for (size_t i = 0; i < l->n; i++) {
		const struct listed *s = &l->v[i];
		int d;

		if (a < s->start || a - s->start >= s->size)
			continue;
		if (!best || s->start > best->start) {
			best = s;
			continue;
		}
		if (s->start < best->start)
			continue;
		d = listed_rank(s) - listed_rank(best);
		if (!d)
			d = (s->name[0] == '_') - (best->name[0] == '_');
		if (!d)
			d = (int)strlen(s->name) - (int)strlen(best->name);
		if (!d)
			d = strcmp(s->name, best->name);
		if (d < 0)
			best = s;
	}
	return best ? best->name : NULL;
}

/*
 * @count random addresses in the code of @file. Where readelf's list has no sized symbol, ours may
 * only have one without a size, or a PLT entry, which readelf does not list.
 */
static void compare(struct module *m, const char *file, const char *which, int count)
{
	struct listing l = { NULL, 0, 0 };
	bool exec[128] = { false };
	uint64_t lo, hi, seed = 42;
	int named = 0, wrong = 0;

	list_sections(file, exec, &lo, &hi);
	list_symbols(&l, file, which, exec);
	assert_true(l.n > 0 && lo < hi);
	for (int i = 0; i < count; i++) {
		uint64_t a = lo + random_next(&seed) % (hi - lo);
		const char *want = oracle(&l, a), *got;
		struct symbol sym;
		bool ok;

		got = name_at(m, a, &sym);
		if (want) {
			ok = got && !strcmp(got, want);
			named++;
		} else {
			ok = !got || strstr(got, "@plt");
			for (size_t k = 0; k < l.n && !ok; k++)
				ok = !l.v[k].size && l.v[k].start == sym.start &&
				     !strcmp(l.v[k].name, got);
		}
		if (!ok && wrong++ < 10)
			printf("# %s 0x%llx: '%s', wanted '%s'\n", file, (unsigned long long)a,
			       got ? got : "(none)", want ? want : "(none)");
	}
	printf("# %s: %zu symbols, %d of %d addresses named by sized symbols\n", file, l.n, named,
	       count);
	free(l.v);
	assert_int_equal(wrong, 0);
	assert_true(named > count / 10);
}

/* Addresses all over the code of @path, few and many. */
static void few_of(const char *path)
{
	struct module all = { .dso.path = path }, few = { .dso.path = path };
	bool exec[128] = { false };
	uint64_t lo, hi, seed = 11;

	all.elf = tool_open_elf(path);
	few.elf = tool_open_elf(path);
	list_sections(path, exec, &lo, &hi);
	for (size_t n = 1; n <= 1000; n *= 10) {
		struct svma *at = xcalloc(n, sizeof(*at));

		for (size_t i = 0; i < n; i++)
			at[i].v = lo + random_next(&seed) % (hi - lo);
		few_are_as_all(&few, &all, at, n);
		forget_few(&few);
		free(at);
	}
	close_module(&few);
	close_module(&all);
}

static void test_libc(void **state)
{
	static const char *const paths[] = { "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6",
					     "/usr/lib/libc.so.6" };
	struct module m = { .dso.path = "libc.so.6" };
	size_t i = 0;

	(void)state;
	if (!tool_have("readelf"))
		skip();
	while (i < 3 && !(m.elf = tool_open_elf(paths[i])))
		i++;
	if (!m.elf) {
		printf("# skipped: no libc.so.6 at the usual places\n");
		skip();
	}
	compare(&m, paths[i], elf_file_has_symtab(m.elf) ? "-s" : "--dyn-syms", 10000);
	close_module(&m);
	few_of(paths[i]);
}

/* A program with static functions, cold parts, PLT calls, and the code of crt1.o. */
static const char program_c[] =
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"#include <string.h>\n"
	"static __attribute__((noinline)) int leaf(int x) { if (x == 12345) abort(); return x * 3; }\n"
	"__attribute__((noinline)) int middle(int x) { return leaf(x) + (int)strlen(getenv(\"HOME\")); }\n"
	"int exported(int x) { return middle(x + 1); }\n"
	"int other_name(int x) __attribute__((weak, alias(\"exported\")));\n"
	"int main(int c, char **v) { printf(\"%d\\n\", exported(c)); return v[0][0]; }\n";

static bool build_program(void)
{
	if (!tool_have("gcc readelf objcopy strip nm"))
		return false;
	tool_write("program.c", program_c);
	assert_int_equal(tool_run("gcc -O2 -g -rdynamic -o program program.c &&"
				  "objcopy --only-keep-debug program program.debug &&"
				  "strip -o stripped program"), 0);
	return true;
}

static void test_program(void **state)
{
	struct module m = { .dso.path = "program" };
	struct symbol sym;
	bool plt = false;

	(void)state;
	if (!build_program())
		skip();
	m.elf = tool_open_elf("program");
	assert_non_null(m.elf);
	compare(&m, "program", "-s", 10000);
	for (uint64_t a = 0x1000; a < 0x2000 && !plt; a++)
		plt = name_at(&m, a, &sym) && !strcmp(sym.name, "strlen@plt");
	assert_true(plt);
	close_module(&m);
}

/* The names at every address of both modules' code are the same. Returns how many were named. */
static int same_names(struct module *a, struct module *b, uint64_t lo, uint64_t hi)
{
	int named = 0;

	for (uint64_t v = lo; v < hi; v++) {
		struct symbol sa, sb;
		const char *na = name_at(a, v, &sa), *nb = name_at(b, v, &sb);

		assert_true(!na == !nb);
		if (na) {
			assert_string_equal(na, nb);
			named++;
		}
	}
	return named;
}

static void test_debug_file(void **state)
{
	struct module whole = { .dso.path = "program" }, split = { .dso.path = "stripped" };
	struct symbol sym;
	bool exec[128] = { false };
	uint64_t lo, hi;

	(void)state;
	if (!build_program())
		skip();
	whole.elf = tool_open_elf("program");
	split.elf = tool_open_elf("stripped");
	split.files.debug = tool_open_elf("program.debug");
	assert_true(whole.elf && split.elf && split.files.debug);
	list_sections("program", exec, &lo, &hi);
	assert_true(same_names(&whole, &split, lo, hi) > 100);
	assert_string_equal(name_at(&split, address_of("program", "leaf"), &sym), "leaf");
	assert_int_equal(sym.source, NAME_DEBUGFILE);
	close_module(&split);

	/*
	 * Without the debug file only .dynsym is left: exported functions, and misses for the
	 * others.
	 */
	split = (struct module){ .dso.path = "stripped", .elf = tool_open_elf("stripped") };
	expect(&split, address_of("program", "leaf"), NULL);
	assert_string_equal(name_at(&split, address_of("program", "middle"), &sym), "middle");
	assert_int_equal(sym.source, NAME_DYNSYM);
	expect(&split, address_of("program", "exported"), "exported");
	close_module(&split);

	/* The recording's slice has names if the binary is stripped or missing. */
	split = (struct module){ .dso.path = "slice", .captured = tool_open_elf("program.debug") };
	assert_string_equal(name_at(&split, address_of("program", "leaf"), &sym), "leaf");
	assert_int_equal(sym.source, NAME_CAPTURED);
	close_module(&split);
	split = (struct module){ .dso.path = "slice", .elf = tool_open_elf("stripped"),
				 .captured = tool_open_elf("program.debug") };
	assert_int_equal(same_names(&whole, &split, lo, hi), same_names(&whole, &whole, lo, hi));
	close_module(&split);
	close_module(&whole);
}

static void test_no_file(void **state)
{
	struct module m = { .dso.path = "nothing" };
	struct symbol sym;

	(void)state;
	assert_null(name_at(&m, 0, &sym));
	assert_null(name_at(&m, UINT64_MAX, &sym));
	close_module(&m);
}

/* ---- MiniDebugInfo, made as the GDB manual describes ---- */

static void test_minidebug(void **state)
{
	struct module m = { .dso.path = "mini" };
	struct symbol sym;

	(void)state;
	if (!build_program() || !tool_have("xz comm"))
		skip();
	assert_int_equal(
		tool_run(
			"nm -D program --format=posix --defined-only | awk '{print $1}' | sort > dyn &&"
			"nm program --format=posix --defined-only |"
			"awk '$2 ~ /[TtDd]/ {print $1}' | sort > all && comm -13 dyn all > keep &&"
			"objcopy -S --remove-section .comment --keep-symbols=keep program.debug mini &&"
			"xz -kf mini && objcopy --add-section .gnu_debugdata=mini.xz stripped withmini"),
		0);
	m.elf = tool_open_elf("withmini");
	assert_non_null(m.elf);
	assert_string_equal(name_at(&m, address_of("program", "leaf"), &sym), "leaf");
	assert_int_equal(sym.source, NAME_MINIDEBUG);
	assert_string_equal(name_at(&m, address_of("program", "middle"), &sym), "middle");
	assert_int_equal(sym.source, NAME_DYNSYM);
	close_module(&m);
}

static int mini_error(const char *file)
{
	struct elf_file *ef = tool_open_elf(file), *out = NULL;
	void *mem = NULL;
	int err;

	assert_non_null(ef);
	err = minidebug_open(ef, &out, &mem);
	if (!err) {
		elf_file_close(out);
		free(mem);
	}
	elf_file_close(ef);
	return err;
}

static void test_minidebug_damaged(void **state)
{
	(void)state;
	if (!build_program() || !tool_have("xz dd"))
		skip();
	assert_int_equal(mini_error("stripped"), -ENOENT);
	assert_int_equal(
		tool_run("xz -kf program.debug && head -c 1000 program.debug.xz > cut.xz &&"
			 "objcopy --add-section .gnu_debugdata=cut.xz stripped m1 &&"
			 "objcopy --add-section .gnu_debugdata=program.c stripped m2 &&"
			 "xz -kf program.c &&"
			 "objcopy --add-section .gnu_debugdata=program.c.xz stripped m3 &&"
			 "cp program.debug.xz flip.xz && printf '\\377' |"
			 "dd of=flip.xz bs=1 seek=700 conv=notrunc 2>/dev/null &&"
			 "objcopy --add-section .gnu_debugdata=flip.xz stripped m4 &&"
			 "objcopy --add-section .gnu_debugdata=program.debug.xz stripped m5"),
		0);
	assert_int_equal(mini_error("m1"), -EBADMSG); /* ends in the middle */
	assert_int_equal(mini_error("m2"), -EBADMSG); /* not xz */
	assert_int_equal(mini_error("m3"), -EBADMSG); /* xz, but not an ELF file */
	assert_int_equal(mini_error("m4"), -EBADMSG); /* checksum */
	assert_int_equal(mini_error("m5"), 0);
	/* 300 MB of zeroes in 45 KB. */
	assert_int_equal(tool_run("head -c 300000000 /dev/zero | xz -0 > bomb.xz &&"
				  "objcopy --add-section .gnu_debugdata=bomb.xz stripped m6"), 0);
	assert_int_equal(mini_error("m6"), -EFBIG);
	/* Less than any limit, but no symbols of a program shrink to a thousandth. */
	assert_int_equal(tool_run("head -c 40000000 /dev/zero | xz -9 > bomb.xz &&"
				  "objcopy --add-section .gnu_debugdata=bomb.xz stripped m7"), 0);
	assert_int_equal(mini_error("m7"), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_few_of_layout),
		cmocka_unit_test(test_at_sign),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_debug_file),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_minidebug),
		cmocka_unit_test(test_minidebug_damaged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize symtab", tests, tool_setup, tool_teardown);
}
