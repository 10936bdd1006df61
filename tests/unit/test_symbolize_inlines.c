/*
 * Inlined frames, compared with llvm-addr2line -i, or else binutils', at every address of programs
 * compiled here: C and C++, DWARF 4 and 5, sections apiece, partial inlining, separate debug files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "names.h"
#include "random.h"
#include "toolrun.h"
#include "util.h"

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

/* GNU C: a function in a function, which is below another function's entry in the debug info. */
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
	size_t n;	/* with the function itself, which is last */
};

/*
 * The answers of "addr2line -a -i -f", read one address after the other: a line with the address,
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
 * binutils (2.40) has two habits that are no oracle: an innermost function without a linkage name
 * (C, a lambda) that begins where a symbol does is called by that symbol; and the range lists of
 * clang's DWARF 5 are not read, so that nothing is inlined. LLVM has neither, and is asked when it
 * is installed.
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
 * @file: with all of its debug info, for addr2line. @m: the same code as nsprof gets to see it. @step: every
 * address that is a multiple of it.
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

	/* Addresses of the functions that are ours; what crt1.o has is in no debug info. */
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
		size_t n = inlines_lookup(m, a, got, CHAIN_MAX);
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
	elf_file_close(m->elf);
	elf_file_close(m->debug);
	elf_file_close(m->dwp);
}

/* inl.cc takes a compiler seconds: each of these does it once, and with .dwo files once more. */
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
	/* Of objects by their build, or of the source itself. */
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
		/* A static program brings half a million addresses of libraries that have no debug info. */
		check_program("inl", 3, strstr(builds[i].command, "-static") ? 7 : 1);
	}
}

/* clang leaves out .debug_aranges and DW_AT_sibling, and puts many ranges into one list. */
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
	m.debug = tool_open_elf("inl.debug");
	assert_true(m.elf && m.debug);
	v = compare(&m, "inl", 1);
	close_module(&m);
	assert_int_equal(v.wrong, 0);
	assert_true(v.with_inlines > 100);

	/* No debug info, no file: no inlined frames, at any address. */
	m = (struct module){ .dso.path = "stripped", .elf = tool_open_elf("stripped") };
	for (uint64_t a = 0x1000; a < 0x2000; a++)
		assert_int_equal(inlines_lookup(&m, (struct svma){ a }, names, 4), 0);
	close_module(&m);
	m = (struct module){ .dso.path = "nothing" };
	assert_int_equal(inlines_lookup(&m, (struct svma){ 0x1000 }, names, 4), 0);
	close_module(&m);
}

/* A second unit, so that what belongs to a unit is not what is first in a section. */
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

/* @file was split; "whole" is the same code with its debug info in one piece. */
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
		/* That of binutils 2.40 makes no sound package of DWARF 5. */
		if (strstr(command, "dwarf-4") && tool_have("dwp") &&
		    tool_run("dwp -o split.dwp $(sed s,^,away/, dwos) 2>/dev/null") == 0)
			check_split("dwp");
		/* LLVM 14's never comes to an end with g++'s DWARF 5 of functions in sections of their own; else it takes 0.1 s of CPU time. */
		if (tool_have("llvm-dwp") &&
		    tool_run("rm -f split.dwp; ulimit -t 3; llvm-dwp -o split.dwp $(sed s,^,away/, dwos) 2>/dev/null") == 0)
			check_split("llvm-dwp");
		else
			printf("# llvm-dwp does not make a package of this\n");
	}
}

/* What is not there is not asked for in other places, and what is there but not meant is not used. */
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
	/* First another compilation of the file: its unit is not the one that is meant. */
	for (int i = 0; i < 2; i++) {
		m.elf = tool_open_elf("split");
		assert_non_null(m.elf);
		for (uint64_t a = 0x1000; a < 0x4000; a++)
			assert_int_equal(inlines_lookup(&m, (struct svma){ a }, names, CHAIN_MAX), 0);
		close_module(&m);
		m = (struct module){ .dso.path = "split" };
		/* To open a pipe without a writer would be to wait for ever. */
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

/* Damaged packages and .dwo files give fewer frames, or wrong ones, and no more. */
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
			/* Sections' headers and the index are at the end. */
			for (int i = 0; i < 20; i++)
				bad[i & 1 ? random_next(&seed) % size : size - 1 - random_next(&seed) % 4096] =
					(uint8_t)random_next(&seed);
			assert_true(f && fwrite(bad, 1, size, f) == size && !fclose(f));
			for (uint64_t a = 0x1000; a < 0x2800; a += 37)
				for (size_t n = inlines_lookup(&m, (struct svma){ a }, names, CHAIN_MAX); n; n--)
					assert_true(strlen(names[n - 1]) < size);
			close_module(&m);
		}
		free(good);
		free(bad);
	}
}

/*
 * Two objects share their types in a file of their own, which is not where it would be looked for.
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
	 * The path the file states is a pipe without a writer: to open it would be to wait for
	 * ever.
	 */
	assert_int_equal(
		tool_run("g++ -o a g4.o && g++ -o b g4.o &&"
			 "dwz -m common.debug -M '%s/pipe' a b && rm -f pipe && mkfifo pipe",
			 tool_dir),
		0);
	m.elf = tool_open_elf("a");
	assert_non_null(m.elf);
	for (uint64_t a = 0x1000; a < 0x4000; a++)
		inlines_lookup(&m, (struct svma){ a }, names, CHAIN_MAX);
	assert_non_null(m.inlines);
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
		n = inlines_lookup(&m, (struct svma){ a }, all, CHAIN_MAX);
		if (n < 3)
			continue;
		deep++;
		/* The innermost ones are what is kept. */
		assert_int_equal(inlines_lookup(&m, (struct svma){ a }, some, 2), 2);
		assert_ptr_equal(some[0], all[0]);
		assert_ptr_equal(some[1], all[1]);
	}
	assert_true(deep > 0);
	assert_int_equal(inlines_lookup(&m, (struct svma){ 0x1000 }, all, 0), 0);
	close_module(&m);
}

/* Damaged debug info gives fewer frames, or wrong ones, but no crash and no endless walk. */
static void test_damaged(void **state)
{
	uint64_t seed = 99;
	char path[128];
	uint8_t *good;
	size_t size;
	FILE *f;

	(void)state;
	if (!tool_have("g++"))
		skip();
	tool_write("nest.c", nest_c);
	assert_int_equal(tool_run("gcc -O2 -g -w -o nest nest.c 2>/dev/null"), 0);
	snprintf(path, sizeof(path), "%s/nest", tool_dir);
	f = fopen(path, "re");
	assert_non_null(f);
	good = malloc(1 << 20);
	size = fread(good, 1, 1 << 20, f);
	fclose(f);
	for (int round = 0; round < 300; round++) {
		uint8_t *bad = malloc(size);
		struct module m = { .dso.path = "damaged" };
		const char *names[CHAIN_MAX];
		struct symbol sym;
		int err;

		memcpy(bad, good, size);
		/* The first pages are code; what names it comes behind. */
		for (int i = 0; i < 30; i++)
			bad[0x3000 + random_next(&seed) % (size - 0x3000)] =
				(uint8_t)random_next(&seed);
		m.elf = elf_file_open_mem(bad, size, &err);
		if (m.elf) {
			for (uint64_t a = 0x1000; a < 0x1400; a += 3) {
				struct svma s = { a };

				for (size_t n = inlines_lookup(&m, s, names, CHAIN_MAX); n; n--)
					assert_true(strlen(names[n - 1]) < size);
				if (!symtab_lookup(&m, s, &sym))
					assert_true(strlen(sym.name) < size);
			}
			symtab_free(m.symtab);
		}
		close_module(&m);
		free(bad);
	}
	free(good);
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
		cmocka_unit_test(test_max),
		cmocka_unit_test(test_damaged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize inlines", tests, tool_setup, tool_teardown);
}
