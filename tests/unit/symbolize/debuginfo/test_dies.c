/*
 * Entries of debug info, each compared with libdw: those that compilers make here, and hand-made
 * units for what they do not make.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>

#include "base/util.h"
#include "dwarf/dies.h"
#include "random.h"
#include "toolrun.h"

static const char any_cc[] =
	"#include <map>\n"
	"#include <string>\n"
	"struct P { int a : 3; double d; virtual ~P() {} };\n"
	"enum class E : short { x = -5, y };\n"
	"static volatile int sink;\n"
	"static inline int low(int x) { for (; x > 3; x--) sink += x; return sink; }\n"
	"namespace n { template <class T> T twice(T t) { struct L { T v; } l = { t }; return l.v + (T)low((int)t); } }\n"
	"int host(std::map<std::string, E> &m, int x) { int v[x + 1]; v[x] = low(x); return v[x] + (int)m[\"k\"]; }\n"
	"int main(int c, char **) { std::map<std::string, E> m; P p; (void)p; return n::twice(c) + (int)n::twice(2.5) + host(m, c); }\n";

struct file {
	int fd;
	Elf *elf;
	Dwarf *dw;
	struct dies_sections secs;
};

static bool file_open(struct file *f, const char *name)
{
	Elf_Scn *scn = NULL;
	size_t shstrndx;
	GElf_Shdr sh;

	*f = (struct file){ .fd = open(tool_path(name), O_RDONLY | O_CLOEXEC) };
	if (f->fd < 0)
		return false;
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	assert_non_null(f->elf);
	assert_int_equal(elf_getshdrstrndx(f->elf, &shstrndx), 0);
	while ((scn = elf_nextscn(f->elf, scn))) {
		const char *at = elf_strptr(f->elf, shstrndx, gelf_getshdr(scn, &sh)->sh_name);
		Elf_Data *data;

		if (strcmp(at, ".debug_info") != 0 && strcmp(at, ".debug_abbrev") != 0)
			continue;
		if (sh.sh_flags & SHF_COMPRESSED)
			assert_true(elf_compress(scn, 0, 0) >= 0);
		data = elf_getdata(scn, NULL);
		if (at[7] == 'i') {
			f->secs.info = data->d_buf;
			f->secs.info_size = data->d_size;
		} else {
			f->secs.abbrev = data->d_buf;
			f->secs.abbrev_size = data->d_size;
		}
	}
	f->dw = f->secs.info ? dwarf_begin_elf(f->elf, DWARF_C_READ, NULL) : NULL;
	return f->dw != NULL;
}

static void file_close(struct file *f)
{
	dwarf_end(f->dw);
	elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
}

/* libdw's first code range of @die, in *@lo and *@hi; false: it has none. */
static bool first_range(Dwarf_Die *die, Dwarf_Addr *lo, Dwarf_Addr *hi)
{
	Dwarf_Addr base;

	return dwarf_ranges(die, 0, &base, lo, hi) > 0;
}

static unsigned long stated;	/* entries with compared code */

static void same_entry(const struct dies *d, Dwarf_Die *want, struct die *got)
{
	Dwarf_Addr lo, hi;

	assert_true(dies_read(d, dwarf_dieoffset(want), got));
	assert_int_equal(got->tag, dwarf_tag(want));
	assert_int_equal(got->children, dwarf_haschildren(want));
	assert_int_equal(got->has_code, dwarf_hasattr(want, DW_AT_low_pc) || dwarf_hasattr(want, DW_AT_ranges));
	if (got->high > got->low) {
		assert_true(first_range(want, &lo, &hi));
		assert_true(lo == got->low && hi == got->high);
		stated++;
	} else if (dwarf_hasattr(want, DW_AT_low_pc) && dwarf_hasattr(want, DW_AT_high_pc)) {
		Dwarf_Attribute low, high;

		/* An address index, or no code. */
		dwarf_attr(want, DW_AT_low_pc, &low);
		dwarf_attr(want, DW_AT_high_pc, &high);
		assert_true(dwarf_whatform(&low) != DW_FORM_addr || !first_range(want, &lo, &hi) || lo == hi);
	}
}

/* Everything below @die, which was read as @got. Returns the number of entries. */
static unsigned long same_below(const struct dies *d, Dwarf_Die *die, const struct die *got)
{
	unsigned long n = 0;
	Dwarf_Die kid;
	uint64_t at = got->behind;
	struct die e;

	if (!got->children)
		return 0;
	if (dwarf_child(die, &kid)) {
		assert_true(dies_read(d, at, &e) && !e.tag);
		return 0;
	}
	for (;;) {
		assert_int_equal(dwarf_dieoffset(&kid), at);
		same_entry(d, &kid, &e);
		n += 1 + same_below(d, &kid, &e);
		at = dies_behind(d, &e);
		assert_true(at > e.off);
		if (dwarf_siblingof(&kid, &kid))
			break;
	}
	assert_true(dies_read(d, at, &e));
	assert_int_equal(e.tag, 0);
	if (!got->sibling)
		assert_int_equal(dies_behind(d, got), e.behind);
	return n;
}

/* Every entry of each unit. Returns how many there were. */
static unsigned long same_file(const char *name)
{
	struct dies *d = dies_new();
	unsigned long n = 0;
	Dwarf_CU *cu = NULL;
	struct file f;
	uint8_t type;
	Dwarf_Die top;
	struct die e;

	if (file_open(&f, name)) {
		while (dwarf_get_units(f.dw, cu, &cu, NULL, &type, &top, NULL) == 0) {
			/* Some are in another section, and none has code. */
			if (type == DW_UT_type)
				continue;
			assert_int_equal(dies_unit(d, &f.secs, dwarf_dieoffset(&top) - dwarf_cuoffset(&top)), 0);
			same_entry(d, &top, &e);
			n += 1 + same_below(d, &top, &e);
		}
		assert_true(n > 0);
	}
	file_close(&f);
	dies_free(d);
	return n;
}

static void test_compilers(void **state)
{
	static const char *const how[] = {
		"g++ -gdwarf-2", "g++ -gdwarf-3 -O2", "g++ -gdwarf-4 -O2", "g++ -gdwarf-5 -O2", "g++ -gdwarf-5 -gdwarf64 -O1",
		"g++ -gdwarf-4 -fdebug-types-section -O1", "g++ -g -O2 -flto", "g++ -g -gz=zlib",
		"clang++ -gdwarf-4 -O2", "clang++ -gdwarf-5 -O2 -ffunction-sections", "clang++ -gdwarf-5 -gdwarf64",
		"g++ -g -gno-strict-dwarf -O2 -ffunction-sections -freorder-blocks-and-partition",
	};
	unsigned int done = 0;

	(void)state;
	tool_write("any.cc", any_cc);
	stated = 0;
	for (size_t i = 0; i < ARRAY_SIZE(how); i++) {
		if (tool_run("command -v %.*s >/dev/null && %s -w -o any any.cc 2>/dev/null", (int)strcspn(how[i], " "),
			     how[i], how[i])) {
			print_message("# %s: not to be had\n", how[i]);
			continue;
		}
		assert_true(same_file("any") > 1000);
		done++;
	}
	if (!done)
		skip();
	assert_true(stated > 100);
}

/* What exists: programs of Go and Rust, if they were built, the C library, and this program. */
static void test_others(void **state)
{
	static const char *const targets[] = { "gospin", "rsspin", "units" };
	const char *build = getenv("BUILD");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		char name[4096], *path;

		snprintf(name, sizeof(name), "%s/tests/targets/%s", build ? build : "build", targets[i]);
		path = realpath(name, NULL);
		if (path)
			print_message("# %s: %lu entries\n", targets[i], same_file(path));
		else
			print_message("# %s is not built\n", targets[i]);
		free(path);
	}
	assert_true(same_file("/proc/self/exe") > 1000);
}

/* ---- units that no compiler makes ---- */

static const uint8_t forms_abbrev[] = {
	/* 1: a unit with children */
	1, DW_TAG_compile_unit, 1, 0, 0,
	/* 2: everything that is skipped */
	2, DW_TAG_variable, 0,
	DW_AT_name, DW_FORM_string, DW_AT_name, DW_FORM_block1, DW_AT_name, DW_FORM_block2, DW_AT_name, DW_FORM_block4,
	DW_AT_name, DW_FORM_block, DW_AT_name, DW_FORM_exprloc, DW_AT_name, DW_FORM_udata, DW_AT_name, DW_FORM_sdata,
	DW_AT_name, DW_FORM_data16, DW_AT_name, DW_FORM_strx3, DW_AT_name, DW_FORM_indirect, DW_AT_name,
	DW_FORM_implicit_const, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f, DW_AT_name, DW_FORM_ref_addr,
	DW_AT_name, DW_FORM_flag_present, 0, 0,
	/* 3: a function that states where the next one is */
	3, DW_TAG_subprogram, 1, DW_AT_low_pc, DW_FORM_addr, DW_AT_sibling, DW_FORM_ref2, DW_AT_high_pc, DW_FORM_udata, 0, 0,
	/* 4: one with an end address */
	4, DW_TAG_subprogram, 0, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_addr, 0, 0,
	0,
};

static const uint8_t forms_info[] = {
	/* 0: length, version 5, DW_UT_compile, 8-byte addresses, abbreviations at 0 */
	0, 0, 0, 0, 5, 0, DW_UT_compile, 8, 0, 0, 0, 0,
	/* 12 */
	1,
	/* 13 */
	2, 'x', 'y', 0, 2, 9, 9, 1, 0, 9, 1, 0, 0, 0, 9, 0x81, 0, 9, 1, 9, 0xff, 0xff, 1, 0x80, 0x7f,
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1, 2, 3, DW_FORM_block1, 1, 9, 1, 2, 3, 4,
	/* 64 */
	3, 0, 0x10, 0, 0, 0, 0, 0, 0, 80, 0, 0x85, 1,
	/* 77: below it, never read */
	0xff, 0xff, 0xff,
	/* 80 */
	4, 0, 0x20, 0, 0, 0, 0, 0, 0, 1, 0x20, 0, 0, 0, 0, 0, 0,
	/* 97 */
	0,
};

static void test_forms(void **state)
{
	uint8_t info[sizeof(forms_info)];
	const struct dies_sections secs = { info, forms_abbrev, sizeof(info), sizeof(forms_abbrev) };
	struct dies *d = dies_new();
	struct die e;

	(void)state;
	memcpy(info, forms_info, sizeof(info));
	info[0] = sizeof(info) - 4;
	assert_int_equal(dies_unit(d, &secs, 0), 0);
	assert_true(dies_read(d, 12, &e) && e.tag == DW_TAG_compile_unit && e.children && e.behind == 13);
	assert_true(dies_read(d, 13, &e) && e.tag == DW_TAG_variable && !e.children && !e.has_code && e.behind == 64);
	assert_true(dies_read(d, 64, &e) && e.tag == DW_TAG_subprogram && e.has_code && e.sibling == 80);
	assert_true(e.low == 0x1000 && e.high == 0x1085 && e.behind == 77 && dies_behind(d, &e) == 80);
	assert_true(dies_read(d, 80, &e) && e.has_code && e.low == 0x2000 && e.high == 0x2001 && e.behind == 97);
	assert_true(dies_read(d, 97, &e) && !e.tag && e.behind == 98);
	assert_false(dies_read(d, 98, &e));
	/* Sibling references backwards, to the entry itself, out of the unit. */
	for (unsigned int to = 0; to < 256; to++) {
		info[73] = (uint8_t)to;
		assert_int_equal(dies_read(d, 64, &e), to > 64 && to <= 98);
	}
	/*
	 * A wrong length, an indirect form that leads to an unknown one, and one that leads to
	 * itself.
	 */
	memcpy(info, forms_info, sizeof(info));
	info[0] = sizeof(info) - 3;
	assert_int_equal(dies_unit(d, &secs, 0), -EINVAL);
	info[0] = sizeof(info) - 4;
	info[57] = 0x7f;
	assert_int_equal(dies_unit(d, &secs, 0), 0);
	assert_false(dies_read(d, 13, &e));
	info[57] = DW_FORM_indirect;
	assert_false(dies_read(d, 13, &e));
	info[4] = 6;
	assert_int_equal(dies_unit(d, &secs, 0), -ENOTSUP);
	dies_free(d);
}

/* Arbitrary bytes: each step moves forward and ends within the unit. */
static void test_damage(void **state)
{
	uint8_t info[sizeof(forms_info)], abbrev[sizeof(forms_abbrev)];
	const struct dies_sections secs = { info, abbrev, sizeof(info), sizeof(abbrev) };
	struct dies *d = dies_new();
	unsigned long read = 0;
	uint64_t rnd = 3;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		struct die e;

		memcpy(info, forms_info, sizeof(info));
		memcpy(abbrev, forms_abbrev, sizeof(abbrev));
		info[0] = sizeof(info) - 4;
		for (unsigned int i = random_next(&rnd) % 4; i; i--)
			abbrev[random_next(&rnd) % sizeof(abbrev)] = (uint8_t)random_next(&rnd);
		for (unsigned int i = random_next(&rnd) % 4; i; i--)
			info[random_next(&rnd) % sizeof(info)] = (uint8_t)random_next(&rnd);
		dies_free(d);
		d = dies_new();
		if (dies_unit(d, &secs, 0))
			continue;
		for (uint64_t at = 12; dies_read(d, at, &e); at = e.behind) {
			uint64_t next = dies_behind(d, &e);

			assert_true(e.behind > at && e.behind <= sizeof(info));
			assert_true(!next || (next > at && next <= sizeof(info)));
			read++;
		}
	}
	print_message("# %lu entries\n", read);
	assert_true(read > 100000);
	dies_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compilers),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_damage),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
