/*
 * Line tables, compared with addr2line at every address of programs compiled here, DWARF 2 to 5,
 * and on damaged bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/util.h"
#include "debuginfo/linetable.h"
#include "random.h"
#include "toolrun.h"

static const char calc_h[] =
	"static inline int twice(int x)\n"
	"{\n"
	"	return x * 2 + sink;\n"
	"}\n";

static const char calc_c[] =
	"#include <stdio.h>\n"
	"volatile int sink;\n"
	"#include \"sub/calc.h\"\n"
	"__attribute__((noinline)) int sum(int n)\n"
	"{\n"
	"	int s = 0;\n"
	"	for (int i = 0; i < n; i++)\n"
	"		s += twice(i);\n"
	"	return s;\n"
	"}\n"
	"#line 5000 \"far/away.y\"\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	printf(\"%s %d\\n\", argv[0], sum(argc));\n"
	"#line 3\n"
	"	return sink;\n"
	"}\n";

static void get_section(struct elf_file *ef, const char *name, struct linetable_bytes *b)
{
	if (elf_file_section(ef, name, &b->data, &b->size, NULL))
		*b = (struct linetable_bytes){ NULL, 0 };
}

static void get_sections(struct elf_file *ef, struct linetable_sections *secs)
{
	get_section(ef, ".debug_line", &secs->line);
	get_section(ef, ".debug_line_str", &secs->line_str);
	get_section(ef, ".debug_str", &secs->str);
	secs->code = ef;
}

/* binutils (2.40) does not read the 64-bit format of DWARF 5. */
static bool have_llvm(void)
{
	return tool_run("command -v llvm-addr2line >/dev/null") == 0;
}

/* A program of one unit: its table is the first. */
static void check_build(const char *build)
{
	struct linetable_sections secs;
	size_t rows = 100000, seen = 0, wrong = 0;
	struct elf_file *ef;
	struct strbuf path = STRBUF_INIT;
	struct linetable *lt;
	char line[512];
	FILE *f;

	printf("# %s\n", build);
	assert_int_equal(tool_run("%s -o calc calc.c", build), 0);
	assert_int_equal(tool_run("nm -S calc | awk 'tolower($3) == \"t\" && ($4 == \"sum\" || $4 == \"main\") "
				  "{ print $1, $2 }' | while read a s; do i=$((0x$a)); e=$((0x$a + 0x$s));"
				  "while [ $i -lt $e ]; do printf '%%x\\n' $i; i=$((i + 1)); done; done |"
				  "%saddr2line -a -e calc > answers",
				  have_llvm() ? "llvm-" : ""),
			 0);
	ef = tool_open_elf("calc");
	assert_non_null(ef);
	get_sections(ef, &secs);
	lt = linetable_new(&secs, 0, &rows);
	assert_true(rows < 100000);
	f = tool_open_text("answers");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		uint64_t addr = strtoull(line, NULL, 16), file = 0;
		uint32_t no = 0;
		char want[256] = "", got[256];
		const char *name;

		assert_non_null(fgets(line, sizeof(line), f));
		line[strcspn(line, "\n")] = '\0';
		name = strrchr(line, '/');
		sscanf(name ? name + 1 : line, "%255s", want);
		seen++;
		if (!linetable_find(lt, addr, &file, &no)) {
			snprintf(got, sizeof(got), "nothing");
		} else {
			name = linetable_file(lt, file);
			snprintf(got, sizeof(got), "%s:%u", name ? name : "??", no);
			/* Code without a line: binutils writes '?', LLVM 0. */
			if (!no && !have_llvm())
				snprintf(got, sizeof(got), "%s:?", name ? name : "??");
		}
		if (linetable_path(lt, file, tool_dir, &path)) {
			size_t len = strcspn(line, ":");

			/* Only the folder, because the base name is compared above. */
			if ((path.len != len || memcmp(path.s, line, len)) && wrong++ < 5)
				printf("# %#llx: path ours %s, addr2line's %s\n", (unsigned long long)addr, path.s, line);
		}
		if (strcmp(want, got) && wrong++ < 5)
			printf("# %#llx: ours %s, addr2line's %s\n", (unsigned long long)addr, got, want);
	}
	fclose(f);
	strbuf_fini(&path);
	linetable_free(lt);
	elf_file_close(ef);
	assert_true(seen > 50);
	assert_int_equal(wrong, 0);
}

static void test_versions(void **state)
{
	static const char *const builds[] = {
		"gcc -O0 -gdwarf-2 -gstrict-dwarf",
		"gcc -O2 -gdwarf-3 -gstrict-dwarf",
		"gcc -O2 -gdwarf-4",
		"gcc -O2 -gdwarf-5",
		"gcc -O2 -gdwarf-5 -gdwarf64",
		"gcc -O2 -gdwarf-5 -gno-as-loc-support",
		"gcc -O2 -gdwarf-4 -ffunction-sections -gz=zlib",
		"clang -O2 -gdwarf-4",
		"clang -O2 -gdwarf-5",
	};

	(void)state;
	if (!tool_have("gcc addr2line nm awk"))
		skip();
	assert_int_equal(tool_run("mkdir -p sub"), 0);
	tool_write("calc.c", calc_c);
	tool_write("sub/calc.h", calc_h);
	for (size_t i = 0; i < ARRAY_SIZE(builds); i++)
		if ((strncmp(builds[i], "clang", 5) || tool_have("clang")) &&
		    (!strstr(builds[i], "dwarf64") || have_llvm()))
			check_build(builds[i]);
}

/* Damaged tables give other rows or none, within the bounds of the bytes and of the rows. */
static void test_damaged(void **state)
{
	struct linetable_sections good, bad;
	struct elf_file *ef;
	uint64_t seed = 7;

	(void)state;
	if (!tool_have("gcc"))
		skip();
	assert_int_equal(tool_run("mkdir -p sub"), 0);
	tool_write("calc.c", calc_c);
	tool_write("sub/calc.h", calc_h);
	assert_int_equal(tool_run("gcc -O2 -g -o calc calc.c"), 0);
	ef = tool_open_elf("calc");
	assert_non_null(ef);
	get_sections(ef, &good);
	assert_non_null(good.line.data);
	for (int round = 0; round < 20000; round++) {
		/* A block of exactly that size, so that a sanitizer sees reads past it. */
		size_t size = round % 2 ? good.line.size : 1 + random_next(&seed) % good.line.size;
		uint8_t *bytes = malloc(size);
		size_t rows = 1000;
		struct linetable *lt;
		uint64_t file;
		uint32_t line;

		memcpy(bytes, good.line.data, size);
		for (uint64_t k = random_next(&seed) % 4; k; k--)
			bytes[random_next(&seed) % size] = (uint8_t)random_next(&seed);
		bad = good;
		bad.line = (struct linetable_bytes){ bytes, size };
		lt = linetable_new(&bad, random_next(&seed) % 8 ? 0 : random_next(&seed) % size, &rows);
		assert_true(rows <= 1000);
		for (uint64_t a = elf_file_entry(ef); a < elf_file_entry(ef) + 64; a++)
			if (linetable_find(lt, a, &file, &line) && linetable_file(lt, file))
				assert_true(strlen(linetable_file(lt, file)) < 4096);
		linetable_free(lt);
		free(bytes);
	}
	elf_file_close(ef);
}

/* A table that makes a row of each byte ends at the caller's limit. */
static void test_rows_are_bounded(void **state)
{
	struct linetable_sections secs = { 0 };
	size_t rows = 50, size = 4096;
	uint8_t *p = calloc(1, size);
	struct linetable *lt;
	uint64_t entry;

	(void)state;
	/* DWARF 5, 6.2.4, version 4: no folders, no files; then only special opcodes. */
	p[0] = (uint8_t)(size - 4), p[1] = (uint8_t)((size - 4) >> 8);
	p[4] = 4;
	p[6] = 8;	/* length of the rest of the header */
	p[10] = 0, p[11] = 1, p[12] = 1, p[13] = 0, p[14] = 1, p[15] = 1;
	memset(p + 18, 0xff, size - 18);
	/* DW_LNE_set_address, to the address of the code. */
	p[18] = 0, p[19] = 9, p[20] = 2;
	secs.code = tool_open_elf("/proc/self/exe");
	assert_non_null(secs.code);
	entry = elf_file_entry(secs.code);
	memcpy(p + 21, &entry, sizeof(entry));
	secs.line = (struct linetable_bytes){ p, size };
	lt = linetable_new(&secs, 0, &rows);
	assert_int_equal(rows, 0);
	linetable_free(lt);
	/* Offsets past the end, and no section at all. */
	lt = linetable_new(&secs, size, &rows);
	assert_null(linetable_file(lt, 1));
	linetable_free(lt);
	elf_file_close((struct elf_file *)(uintptr_t)secs.code);
	secs = (struct linetable_sections){ 0 };
	lt = linetable_new(&secs, 0, &rows);
	assert_null(linetable_file(lt, 0));
	linetable_free(lt);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_rows_are_bounded),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize linetable", tests, tool_setup, tool_teardown);
}
