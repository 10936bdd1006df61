/*
 * Inlined frames, compared with llvm-addr2line -i, or without it binutils' addr2line, at every
 * address of programs compiled here: C and C++, DWARF 4 and 5, one section per function, partial
 * inlining, separate debug files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <gelf.h>

#include "base/util.h"
#include "debuginfo/inlines.h"
#include "modules/module_symbols.h"
#include "random.h"
#include "symbols/symtab.h"
#include "toolrun.h"

static const char inl_cc[] =
	"#include <algorithm>\n"
	"#include <cstdio>\n"
	"#include <map>\n"
	"#include <string>\n"
	"#include <vector>\n"
	"namespace deep {\n"
	"static volatile int sink;\n"
	"static inline int one(int x) { for (int i = 0; i < x; i++) sink += i; return x + sink; }\n"
	"static inline int two(int x) { int y = one(x) * 3; { int z = y; while (z-- > 5) sink ^= z; } return y; }\n"
	"struct S {\n"
	"	int v;\n"
	"	inline int three(int x) const { return two(x + v) + two(x - v); }\n"
	"	static int four(const S &s, int x) { return s.three(x) + one(x); }\n"
	"	template <class T> inline T five(T t) const { if (sink == 77) throw t; return t + three((int)t); }\n"
	"};\n"
	"__attribute__((noinline)) int outer(const S &s, int x) { return S::four(s, x) + (int)s.five<long>(x); }\n"
	"}\n"
	"__attribute__((noinline)) int words(int n) {\n"
	"	std::map<std::string, int> m;\n"
	"	std::vector<int> v;\n"
	"	for (int i = 0; i < n; i++) { m[std::to_string(i % 7)]++; v.push_back(n - i); }\n"
	"	std::sort(v.begin(), v.end(), [](int a, int b) { return a % 5 < b % 5; });\n"
	"	auto f = [&](int k) { int s = 0; for (auto &e : m) s += e.second * k; return s; };\n"
	"	return f(3) + v[0];\n"
	"}\n"
	"__attribute__((noinline)) int unused_by_anyone(int x) { return deep::two(x); }\n"
	"int main(int c, char **) {\n"
	"	deep::S s = { c };\n"
	"	try { printf(\"%d\\n\", deep::outer(s, c) + words(c)); } catch (long) { return deep::one(c); }\n"
	"	return 0;\n"
	"}\n";

/* GNU C: a nested function, whose entry is below the other function's entry in the debug info. */
static const char nest_c[] =
	"static volatile int sink;\n"
	"static inline __attribute__((always_inline)) int low(int x) { for (; x > 3; x--) sink += x; return sink; }\n"
	"static inline __attribute__((always_inline)) int mid(int x) { return low(x) + low(x + sink); }\n"
	"__attribute__((noinline)) static int call(int (*f)(int), int x) { return f(x) + mid(x); }\n"
	"__attribute__((noinline)) int host(int x) {\n"
	"	__attribute__((noinline)) int guest(int y) { return mid(y + x) + x; }\n"
	"	return call(guest, x) + low(x);\n"
	"}\n"
	"int main(int c, char **v) { (void)v; return host(c); }\n";

#define CHAIN_MAX 32

struct chain {
	char name[CHAIN_MAX][512];
	size_t n;	/* with the function itself, which is the last one */
};

/*
 * The answers of "addr2line -a -i -f", parsed one address after the other: a line with the address,
 * then for each frame a line with the name and one with file and line.
 */
static bool next_chain(FILE *f, char **line, size_t *cap, bool *pending, uint64_t *addr,
		       struct chain *c)
{
	bool name = true;

	c->n = 0;
	if (!*pending && getline(line, cap, f) <= 0)
		return false;
	*pending = false;
	*addr = strtoull(*line, NULL, 16);
	while (getline(line, cap, f) > 0) {
		if (name && !strncmp(*line, "0x", 2)) {
			*pending = true;
			break;
		}
		if (name && c->n < CHAIN_MAX) {
			(*line)[strcspn(*line, "\n")] = '\0';
			snprintf(c->name[c->n++], sizeof(c->name[0]), "%s", *line);
		}
		name = !name;
	}
	return true;
}

/*
 * binutils (2.40) has two habits that make it no oracle. It names an innermost function without a
 * linkage name (C, a lambda) that begins where a symbol does after that symbol. It does not read
 * the range lists of clang's DWARF 5, so that nothing is inlined. LLVM has neither habit, and is
 * used when it is installed.
 */
static bool have_llvm(void)
{
	return tool_run("command -v llvm-addr2line >/dev/null") == 0;
}

static bool same_chain(const char *const *got, size_t n, const struct chain *want, bool llvm)
{
	if (n + 1 != want->n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(got[i], want->name[i]) && (llvm || i || !strncmp(got[i], "_Z", 2)))
			return false;
	return true;
}

struct verdict {
	size_t addresses, with_inlines, deepest, wrong;
};

/*
 * @file: with all of its debug info, for addr2line. @m: the same code as nsprof sees it. @step: the
 * addresses are the multiples of it.
 */
static struct verdict compare(struct module *m, const char *file, unsigned int step)
{
	struct verdict v = { 0, 0, 0, 0 };
	struct chain *want = malloc(sizeof(*want));
	bool pending = false, llvm = have_llvm();
	char *line = NULL;
	size_t cap = 0;
	uint64_t addr;
	FILE *f;

	/* Addresses of our own functions; no debug info covers the code of crt1.o. */
	assert_int_equal(
		tool_run("nm -S --defined-only '%s' | awk 'tolower($3) ~ /[tw]/ && NF == 4 {"
			 "print $1, $2}' | sort -u | while read a s; do"
			 " i=$(((0x$a + %u) / %u * %u)); e=$((0x$a + 0x$s));"
			 " while [ $i -lt $e ]; do printf '%%x\\n' $i; i=$((i + %u)); done; done | sort -u |"
			 "%saddr2line -a -i -f -e '%s' > answers",
			 file, step - 1, step, step, step, llvm ? "llvm-" : "", file),
		0);
	f = tool_open_text("answers");
	assert_non_null(f);
	while (next_chain(f, &line, &cap, &pending, &addr, want)) {
		const char *got[CHAIN_MAX];
		struct svma a = { addr };
		size_t n = inlines_lookup(module_inlines(m), a, got, CHAIN_MAX);
		bool ok = same_chain(got, n, want, llvm);

		v.addresses++;
		v.with_inlines += n > 0;
		v.deepest = n > v.deepest ? n : v.deepest;
		if (!ok && v.wrong++ < 5) {
			printf("# %s 0x%llx: ours", file, (unsigned long long)addr);
			for (size_t i = 0; i < n; i++)
				printf(" %s", got[i]);
			printf("\n#   addr2line's");
			for (size_t i = 0; i < want->n; i++)
				printf(" %s", want->name[i]);
			printf("\n");
		}
	}
	fclose(f);
	free(line);
	free(want);
	printf("# %s: %zu addresses, %zu with inlined frames, up to %zu deep, %zu differ\n", file,
	       v.addresses, v.with_inlines, v.deepest, v.wrong);
	return v;
}

static void close_module(struct module *m)
{
	inlines_free(m->inlines);
	cfi_free(m->cfi);
	made_rows_free(m->made);
	elf_file_close(m->elf);
	debugsource_fini(&m->files);
}

/* Compiling inl.cc takes seconds: each of these compiles it once, and once more with .dwo files. */
struct build {
	const char *name, *command;
};

static const struct build g4 = { "g4", "g++ -O2 -g -gdwarf-4" }, g5 = { "g5", "g++ -O2 -g -gdwarf-5" },
			  g5s = { "g5s", "g++ -O3 -g -gdwarf-5 -ffunction-sections" },
			  c5 = { "c5", "clang++ -O2 -g -gdwarf-5" },
			  c4s = { "c4s", "clang++ -O2 -g -gdwarf-4 -ffunction-sections" };

/* NAME.o */
static void compile(const struct build *b)
{
	tool_write("inl.cc", inl_cc);
	assert_int_equal(tool_run("[ -e %s.o ] || %s -gno-split-dwarf -c -o %s.o inl.cc", b->name, b->command, b->name), 0);
}

/* inl.o and inl.dwo */
static void compile_split(const struct build *b)
{
	tool_write("inl.cc", inl_cc);
	assert_int_equal(tool_run("rm -f *.dwo *.dwp inl.o; [ -e %s.units ] || { %s -gsplit-dwarf -c -o inl.o inl.cc && mv inl.dwo %s.units &&"
				  "mv inl.o %s.split.o; }; cp %s.units inl.dwo && cp %s.split.o inl.o",
				  b->name, b->command, b->name, b->name, b->name, b->name),
			 0);
}

static void check_program(const char *file, size_t deep, unsigned int step)
{
	struct module m = { .dso.path = "inl", .elf = tool_open_elf(file) };
	struct verdict v;

	assert_non_null(m.elf);
	v = compare(&m, file, step);
	close_module(&m);
	assert_int_equal(v.wrong, 0);
	assert_true(v.with_inlines > 100);
	assert_true(v.deepest >= deep);
}

static void test_compilers(void **state)
{
	/* From the objects of a build, or from the source itself. */
	static const struct {
		const struct build *of;
		const char *command;
	} builds[] = {
		{ &g4, "g++" },
		{ &g5, "g++" },
		{ &g5s, "g++ -Wl,--gc-sections" },
		{ &g4, "g++ -no-pie -static" },
		{ NULL, "g++ -O1 -g -gz=zlib" },
		{ NULL, "g++ -O2 -g -flto" },
	};

	(void)state;
	if (!tool_have("g++ addr2line nm awk"))
		skip();
	tool_write("inl.cc", inl_cc);
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		const struct build *of = builds[i].of;

		printf("# %s %s\n", builds[i].command, of ? of->command : "");
		if (of)
			compile(of);
		assert_int_equal(tool_run("%s -o inl %s%s", builds[i].command, of ? of->name : "inl.cc", of ? ".o" : ""), 0);
		/*
		 * A static program brings half a million addresses of libraries without debug info.
		 */
		check_program("inl", 3, strstr(builds[i].command, "-static") ? 7 : 1);
	}
}

/* clang omits .debug_aranges and DW_AT_sibling, and puts many ranges into one list. */
static void test_clang(void **state)
{
	(void)state;
	if (!tool_have("clang++ llvm-addr2line nm awk"))
		skip();
	compile(&c5);
	assert_int_equal(tool_run("clang++ -o inl c5.o"), 0);
	check_program("inl", 3, 1);
	compile(&c4s);
	assert_int_equal(tool_run("clang++ -o inl c4s.o"), 0);
	check_program("inl", 3, 1);
}

static void test_nested_functions(void **state)
{
	(void)state;
	if (!tool_have("gcc addr2line nm awk"))
		skip();
	tool_write("nest.c", nest_c);
	assert_int_equal(tool_run("gcc -O2 -g -Wl,-z,execstack -w -o nest nest.c 2>/dev/null"), 0);
	check_program("nest", 2, 1);
}

static void test_separate_debug_file(void **state)
{
	struct module m = { .dso.path = "stripped" };
	const char *names[4];
	struct verdict v;

	(void)state;
	if (!tool_have("g++ addr2line nm awk objcopy strip"))
		skip();
	compile(&g5);
	assert_int_equal(
		tool_run("g++ -o inl g5.o && objcopy --only-keep-debug inl inl.debug &&"
			 "strip -o stripped inl"),
		0);
	m.elf = tool_open_elf("stripped");
	m.files.debug = tool_open_elf("inl.debug");
	assert_true(m.elf && m.files.debug);
	v = compare(&m, "inl", 1);
	close_module(&m);
	assert_int_equal(v.wrong, 0);
	assert_true(v.with_inlines > 100);

	/* No debug info or no file: no inlined frames, at any address. */
	m = (struct module){ .dso.path = "stripped", .elf = tool_open_elf("stripped") };
	for (uint64_t a = 0x1000; a < 0x2000; a++)
		assert_int_equal(inlines_lookup(module_inlines(&m), (struct svma){ a }, names, 4), 0);
	close_module(&m);
	m = (struct module){ .dso.path = "nothing" };
	assert_int_equal(inlines_lookup(module_inlines(&m), (struct svma){ 0x1000 }, names, 4), 0);
	close_module(&m);
}

/* A second unit, so that a unit's contributions are not always the first in their sections. */
static const char more_cc[] =
	"#include <list>\n"
	"#include <numeric>\n"
	"static inline int weigh(const std::list<int> &l) { return std::accumulate(l.begin(), l.end(), 0) * 3; }\n"
	"__attribute__((noinline)) int more(int n) {\n"
	"	std::list<int> l;\n"
	"	for (int i = 0; i < n; i++) l.push_front(i);\n"
	"	return weigh(l) + (n > 5 ? weigh(l) : 0);\n"
	"}\n"
	"__attribute__((cold)) int rarely(int n) { return more(n) + weigh({ n }); }\n";

/* @file was split; "whole" is the same code with its debug info in one file. */
static void check_split(const char *what)
{
	struct module m = { .elf = tool_open_elf("split") };
	char path[256];
	struct verdict v;

	snprintf(path, sizeof(path), "%s/split", tool_dir);
	m.dso.path = path;
	assert_non_null(m.elf);
	v = compare(&m, "whole", 1);
	close_module(&m);
	printf("# %s\n", what);
	assert_int_equal(v.wrong, 0);
	assert_true(v.with_inlines > 100);
}

static void test_split(void **state)
{
	static const struct build *const builds[] = { &g5, &g4, &g5s, &c5, &c4s };

	(void)state;
	if (!tool_have("g++ addr2line nm awk"))
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		const char *command = builds[i]->command;

		if (!strncmp(command, "clang", 5) && !tool_have("clang++ llvm-addr2line"))
			continue;
		compile(builds[i]);
		compile_split(builds[i]);
		tool_write("more.cc", more_cc);
		assert_int_equal(tool_run("%s -gno-split-dwarf -c -o more.w.o more.cc && %s -gsplit-dwarf -c -o more.o more.cc &&"
					  "g++ -o whole %s.o more.w.o && g++ -o split inl.o more.o &&"
					  "objcopy -O binary -j .text whole a && objcopy -O binary -j .text split b &&"
					  "cmp a b && ls *.dwo >dwos",
					  command, command, builds[i]->name),
				 0);
		printf("# %s\n", command);
		check_split(".dwo files");
		assert_int_equal(tool_run("mkdir -p away && mv *.dwo away/"), 0);
		/* The tool of binutils 2.40 does not make a valid package of DWARF 5. */
		if (strstr(command, "dwarf-4") && tool_have("dwp") &&
		    tool_run("dwp -o split.dwp $(sed s,^,away/, dwos) 2>/dev/null") == 0)
			check_split("dwp");
		/*
		 * LLVM 14's tool never ends with g++'s DWARF 5 of functions in sections of their
		 * own; otherwise it takes 0.1 s of CPU time.
		 */
		if (tool_have("llvm-dwp") &&
		    tool_run("rm -f split.dwp; ulimit -t 1; timeout 20 llvm-dwp -o split.dwp $(sed s,^,away/, dwos) 2>/dev/null") == 0)
			check_split("llvm-dwp");
		else
			printf("# llvm-dwp does not make a package of this\n");
	}
}

/* Missing files are not looked for elsewhere, and files that do not match are not used. */
static void test_split_wrong(void **state)
{
	struct module m = { .dso.path = "split" };
	const char *names[CHAIN_MAX];

	(void)state;
	if (!tool_have("g++ mkfifo"))
		skip();
	compile_split(&g5);
	assert_int_equal(tool_run("g++ -o split inl.o"), 0);
	compile_split(&g5s);
	/* First another compilation of the file, whose unit does not match. */
	for (int i = 0; i < 2; i++) {
		m.elf = tool_open_elf("split");
		assert_non_null(m.elf);
		for (uint64_t a = 0x1000; a < 0x4000; a++)
			assert_int_equal(inlines_lookup(module_inlines(&m), (struct svma){ a }, names, CHAIN_MAX), 0);
		close_module(&m);
		m = (struct module){ .dso.path = "split" };
		/* Opening a pipe without a writer would block. */
		assert_int_equal(tool_run("rm -f inl.dwo && mkfifo inl.dwo"), 0);
	}
}

static uint8_t *read_whole(const char *name, size_t *size)
{
	uint8_t *data = malloc(4 << 20);
	FILE *f = tool_open_text(name);

	assert_non_null(f);
	*size = fread(data, 1, 4 << 20, f);
	fclose(f);
	return data;
}

/* Damaged packages and .dwo files give fewer frames or wrong ones, and no crash. */
static void test_split_damaged(void **state)
{
	static const char *const files[] = { "split.dwp", "inl.dwo" };
	uint64_t seed = 4;
	char path[256], dwo[256];

	(void)state;
	if (!tool_have("g++ dwp"))
		skip();
	compile_split(&g4);
	assert_int_equal(tool_run("g++ -o split inl.o"), 0);
	snprintf(path, sizeof(path), "%s/split", tool_dir);
	for (size_t k = 0; k < ARRAY_SIZE(files); k++) {
		size_t size;
		uint8_t *good, *bad;

		assert_int_equal(tool_run(k ? "rm split.dwp" : "dwp -o split.dwp inl.dwo"), 0);
		good = read_whole(files[k], &size);
		bad = malloc(size);
		snprintf(dwo, sizeof(dwo), "%s/%s", tool_dir, files[k]);
		for (int round = 0; round < 150; round++) {
			struct module m = { .dso.path = path, .elf = tool_open_elf("split") };
			const char *names[CHAIN_MAX];
			FILE *f = fopen(dwo, "we");

			memcpy(bad, good, size);
			/* Section headers and index are at the end. */
			for (int i = 0; i < 20; i++)
				bad[i & 1 ? random_next(&seed) % size : size - 1 - random_next(&seed) % 4096] =
					(uint8_t)random_next(&seed);
			assert_true(f && fwrite(bad, 1, size, f) == size && !fclose(f));
			for (uint64_t a = 0x1000; a < 0x2800; a += 37)
				for (size_t n = inlines_lookup(module_inlines(&m), (struct svma){ a }, names, CHAIN_MAX); n; n--)
					assert_true(strlen(names[n - 1]) < size);
			close_module(&m);
		}
		free(good);
		free(bad);
	}
}

/*
 * Two objects share their types in a separate file, which is not where it would be looked for.
 */
static void test_dwz_missing(void **state)
{
	struct module m = { .dso.path = "dwz" };
	const char *names[CHAIN_MAX];

	(void)state;
	if (!tool_have("g++ dwz mkfifo"))
		skip();
	compile(&g4);
	/*
	 * The path stated in the file is a pipe without a writer: opening it would block forever.
	 */
	assert_int_equal(
		tool_run("g++ -o a g4.o && g++ -o b g4.o &&"
			 "dwz -m common.debug -M '%s/pipe' a b && rm -f pipe && mkfifo pipe",
			 tool_dir),
		0);
	m.elf = tool_open_elf("a");
	assert_non_null(m.elf);
	for (uint64_t a = 0x1000; a < 0x4000; a++)
		inlines_lookup(module_inlines(&m), (struct svma){ a }, names, CHAIN_MAX);
	assert_non_null(m.inlines);
	close_module(&m);
}

/*
 * Units without .debug_aranges. In each unit's first entry, a text of the given length precedes the
 * addresses.
 */
static const char tops_s[] =
	".macro unit k len\n"
	".text\n"
	".globl f\\k\n.type f\\k, @function\n"
	"f\\k: .fill 8, 1, 0x90\n ret\n"
	".size f\\k, .-f\\k\n"
	".section .debug_str\n"
	"name\\k: .asciz \"inlined_\\k\"\n.fill 9000, 1, 'n'\n .byte 0\n"
	".section .debug_info\n"
	"unit\\k: .long end\\k - . - 4\n .short 5\n .byte 1, 8\n .long 0\n"
	".uleb128 1\n .fill \\len, 1, 'p'\n .byte 0\n .quad f\\k, 9\n"
	".fill 20000, 1, 5\n"
	".uleb128 2\n .asciz \"f\\k\"\n .quad f\\k, 9\n"
	".uleb128 3\n .long in\\k - unit\\k\n .quad f\\k + 2, 4\n .byte 0\n"
	"in\\k: .uleb128 4\n .long name\\k\n"
	".byte 0\n"
	"end\\k:\n"
	".endm\n"
	".text\n.globl _start\n_start: .fill 16, 1, 0x90\n"
	"unit 0 10\n unit 1 1000\n unit 2 1020\n unit 3 5000\n unit 4 70000\n"
	".section .debug_abbrev\n"
	".byte 1, 0x11, 1, 0x25, 8, 0x11, 1, 0x12, 7, 0, 0\n"	/* compile_unit: producer, low_pc, high_pc */
	".byte 2, 0x2e, 1, 3, 8, 0x11, 1, 0x12, 7, 0, 0\n"	/* subprogram: name, low_pc, high_pc */
	".byte 3, 0x1d, 0, 0x31, 0x13, 0x11, 1, 0x12, 7, 0, 0\n"	/* inlined_subroutine: origin, low_pc, high_pc */
	".byte 4, 0x2e, 0, 3, 0x0e, 0, 0\n"	/* subprogram: name */
	".byte 5, 0x24, 0, 0, 0, 0\n";	/* base_type */

/*
 * Units that no table covers are found through their first entries. Units with other addresses are
 * not read further.
 */
static void test_tops(void **state)
{
	struct module m = { .dso.path = "tops" };
	const char *names[CHAIN_MAX];
	uint64_t start = 0;
	const uint8_t *want;
	struct symbol sym;
	size_t size;
	Elf *elf;

	(void)state;
	tool_write("tops.s", tops_s);
	if (!tool_have("gcc") || tool_run("gcc -nostdlib -static -no-pie -Wl,--build-id=none -o tops tops.s"))
		skip();
	m.elf = tool_open_elf("tops");
	assert_int_equal(elf_file_section(m.elf, ".text", &want, &size, &start), 0);
	assert_int_equal(inlines_lookup(module_inlines(&m), (struct svma){ start + 3 }, names, CHAIN_MAX), 0);
	for (uint64_t k = 0; k < 5; k++) {
		struct svma at = { start + 16 + 9 * (4 - k) + 3 };
		char name[32];

		assert_int_equal(inlines_lookup(module_inlines(&m), at, names, CHAIN_MAX), 1);
		snprintf(name, sizeof(name), "inlined_%u", (unsigned int)(4 - k));
		assert_string_equal(names[0], name);
		assert_int_equal(inlines_lookup(module_inlines(&m), (struct svma){ at.v + 4 }, names, CHAIN_MAX), 0);
		if (k == 0) {
			/* The entries before those of the last unit. */
			Elf_Data *have = NULL;
			Elf_Scn *scn = NULL;

			elf = elf_file_handle(m.elf);
			assert_int_equal(elf_file_section(m.elf, ".debug_info", &want, &size, NULL), 0);
			while ((scn = elf_nextscn(elf, scn)) && (!have || have->d_size != size))
				have = elf_rawdata(scn, NULL);
			assert_non_null(have);
			assert_int_equal(want[10000], 5);
			assert_int_equal(((const uint8_t *)have->d_buf)[10000], 0);
			assert_int_equal(((const uint8_t *)have->d_buf)[size - 100], 5);
		}
	}
	assert_int_equal(module_symbol(&m, (struct svma){ start + 16 }, &sym), 0);
	symtab_free(m.symtab);
	close_module(&m);
}

static void test_max(void **state)
{
	struct module m = { .dso.path = "inl" };
	const char *all[CHAIN_MAX], *some[2];
	size_t n, deep = 0;

	(void)state;
	if (!tool_have("g++"))
		skip();
	compile(&g5);
	assert_int_equal(tool_run("g++ -o inl g5.o"), 0);
	m.elf = tool_open_elf("inl");
	for (uint64_t a = 0x1000; a < 0x4000; a++) {
		n = inlines_lookup(module_inlines(&m), (struct svma){ a }, all, CHAIN_MAX);
		if (n < 3)
			continue;
		deep++;
		/* The innermost frames are kept. */
		assert_int_equal(inlines_lookup(module_inlines(&m), (struct svma){ a }, some, 2), 2);
		assert_ptr_equal(some[0], all[0]);
		assert_ptr_equal(some[1], all[1]);
	}
	assert_true(deep > 0);
	assert_int_equal(inlines_lookup(module_inlines(&m), (struct svma){ 0x1000 }, all, 0), 0);
	close_module(&m);
}

static struct elf_file *open_damaged(const uint8_t *bad, size_t size, bool as_file)
{
	int err;

	if (!as_file)
		return elf_file_open_mem(bad, size, &err);
	tool_write_bytes("damaged", (const char *)bad, size);
	return tool_open_elf("damaged");
}

/*
 * Damages bytes from @from on, which is after the code. With @as_file it is read from a file, in
 * pieces.
 */
static void check_damaged(const char *file, size_t from, int rounds, bool as_file)
{
	struct strbuf good = STRBUF_INIT;
	uint64_t seed = 99;

	tool_read(file, &good);
	for (int round = 0; round < rounds; round++) {
		uint8_t *bad = malloc(good.len);
		struct module m = { .dso.path = "damaged" };
		const char *names[CHAIN_MAX];
		struct symbol sym;

		memcpy(bad, good.s, good.len);
		for (int i = 0; i < 30; i++)
			bad[from + random_next(&seed) % (good.len - from)] = (uint8_t)random_next(&seed);
		m.elf = open_damaged(bad, good.len, as_file);
		if (m.elf) {
			for (uint64_t a = 0x1000; a < 0x1400; a += 3) {
				struct svma s = { a };

				for (size_t n = inlines_lookup(module_inlines(&m), s, names, CHAIN_MAX); n; n--)
					assert_true(strlen(names[n - 1]) < good.len);
				if (!module_symbol(&m, s, &sym))
					assert_true(strlen(sym.name) < good.len);
			}
			symtab_free(m.symtab);
		}
		close_module(&m);
		free(bad);
	}
	strbuf_fini(&good);
}

/* Damaged debug info gives fewer frames or wrong ones, but no crash and no endless loop. */
static void test_damaged(void **state)
{
	(void)state;
	if (!tool_have("g++"))
		skip();
	tool_write("nest.c", nest_c);
	assert_int_equal(tool_run("gcc -O2 -g -w -o nest nest.c 2>/dev/null"), 0);
	check_damaged("nest", 0x3000, 300, false);
	compile(&g5);
	assert_int_equal(tool_run("g++ -o inl g5.o"), 0);
	check_damaged("inl", 0x8000, 40, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compilers),
		cmocka_unit_test(test_clang),
		cmocka_unit_test(test_nested_functions),
		cmocka_unit_test(test_separate_debug_file),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_split_wrong),
		cmocka_unit_test(test_split_damaged),
		cmocka_unit_test(test_dwz_missing),
		cmocka_unit_test(test_tops),
		cmocka_unit_test(test_max),
		cmocka_unit_test(test_damaged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize inlines", tests, tool_setup, tool_teardown);
}
