/*
 * .gopclntab of programs built by Go, compared with the symbols and call frame information that
 * Go's linker writes for debuggers, and damaged tables.
 */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "cfi/cfi.h"
#include "code/made_rows.h"
#include "elf/elf_file.h"
#include "elf/gopclntab.h"
#include "random.h"

static struct elf_file *open_target(const char *name)
{
	const char *build = getenv("BUILD");
	struct elf_file *ef = NULL;
	char path[4096];
	int fd, err;

	snprintf(path, sizeof(path), "%s/tests/targets/%s", build ? build : "build", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		print_message("# %s is not built: no go\n", path);
		skip();
	}
	ef = elf_file_open_fd(fd, &err);
	close(fd);
	assert_non_null(ef);
	return ef;
}

struct names {
	const struct gopclntab *gt;
	uint32_t funcs, same;
};

/* The linker adds ".abi0" to the names of assembly functions. */
static int check_name(void *ctx, const struct elf_sym *sym)
{
	struct names *n = ctx;
	struct go_func fn;
	size_t len = strlen(sym->name);

	if (sym->gopclntab || sym->dynsym || gopclntab_find(n->gt, sym->svma, &fn) ||
	    fn.start != sym->svma)
		return 0;
	if (len > 5 && strcmp(sym->name + len - 5, ".abi0") == 0)
		len -= 5;
	n->funcs++;
	n->same += fn.name && strlen(fn.name) == len && memcmp(fn.name, sym->name, len) == 0;
	return 0;
}

static void test_names(void **state)
{
	struct elf_file *ef = open_target("gospin");
	struct names n = { .gt = elf_file_gopclntab(ef) };

	(void)state;
	assert_non_null(n.gt);
	elf_file_symbols(ef, check_name, &n);
	print_message("# %u of %u functions have their symbol's name\n", n.same, n.funcs);
	assert_true(n.funcs > 1000);
	/* A few symbols share an address: runtime.text, and type..eq.* that were folded. */
	assert_true(n.same >= n.funcs - 20);
	elf_file_close(ef);
}

/*
 * Every instruction boundary would be too many. Every fifth byte is as good, since rows hold for
 * ranges.
 */
static void test_frames(void **state)
{
	struct elf_file *ef = open_target("gospin");
	const struct gopclntab *gt = elf_file_gopclntab(ef);
	struct cfi_sections secs;
	uint32_t pcs = 0, special = 0;
	struct go_func fn;
	struct cfi *cfi;

	(void)state;
	elf_file_cfi_sections(ef, &secs);
	cfi = cfi_new(&secs);
	for (size_t i = 0; i < gt->nfunc; i++) {
		struct cfi_fde fde;

		if (gopclntab_nth(gt, i, &fn) || cfi_find(cfi, fn.start, &fde))
			continue;
		if (fn.top || fn.switches) {
			special++;
			continue;
		}
		for (uint64_t at = fn.start; at < MIN(fn.end, fde.end); at += 5) {
			struct cfi_row row;
			uint64_t end;
			uint32_t frame;

			assert_int_equal(cfi_row(cfi, &fde, at, &row), 0);
			/*
			 * The linker's rows leave out the end of a function whose frame changes
			 * there.
			 */
			if (gopclntab_frame(gt, &fn, at, &frame, &end))
				continue;
			pcs++;
			if (row.cfa.reg != CFI_REG_SP || row.cfa.off != frame + 8ll)
				print_message("# %s %#" PRIx64 ": %u and %" PRId64 "\n", fn.name, at,
					      frame, row.cfa.off);
			assert_int_equal(row.cfa.reg, CFI_REG_SP);
			assert_int_equal(row.cfa.off, frame + 8);
		}
	}
	print_message("# %u places agree with .debug_frame; %u functions are roots or change stacks\n", pcs,
		      special);
	assert_true(pcs > 20000);
	assert_true(special > 5 && special < 100);
	cfi_free(cfi);
	elf_file_close(ef);
}

/*
 * Linked at another address, by Go and by the C compiler: the same functions, where the linker put
 * them.
 */
static void test_pie_of(const char *name)
{
	struct elf_file *ef = open_target(name);
	const struct gopclntab *gt = elf_file_gopclntab(ef);
	uint32_t good = 0;
	struct go_func fn;

	assert_non_null(gt);
	for (size_t i = 0; i < gt->nfunc; i++)
		good += gopclntab_nth(gt, i, &fn) == 0 && elf_file_code_end(ef, fn.start) >= fn.end;
	assert_true(good > 1000 && good == gt->nfunc);
	elf_file_close(ef);
}

static void test_pie(void **state)
{
	(void)state;
	test_pie_of("gospin-pie");
	test_pie_of("cgospin-pie");
}

/* ---- tables of Go 1.26 and later ---- */

#define TEXT_FIELD 24

static uint8_t *read_target(const char *name, size_t *size)
{
	const char *build = getenv("BUILD");
	uint8_t *data;
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/targets/%s", build ? build : "build", name);
	f = fopen(path, "re");
	if (!f) {
		print_message("# %s is not built: no go\n", path);
		skip();
	}
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	data = xmalloc(*size);
	assert_int_equal(fread(data, 1, *size, f), *size);
	fclose(f);
	return data;
}

/* The svma of @gt. */
static uint64_t table_svma(struct elf_file *ef, const struct gopclntab *gt)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab", ".data.rel.ro" };
	const uint8_t *data;
	uint64_t svma;
	size_t size;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (elf_file_section(ef, names[i], &data, &size, &svma) == 0 && gt->data >= data && gt->data < data + size)
			return svma + (uint64_t)(gt->data - data);
	fail();
	return 0;
}

static uint64_t offset_of(struct elf_file *ef, uint64_t svma)
{
	const struct elf_load *l;

	for (size_t n = elf_file_loads(ef, &l); n; n--, l++)
		if (svma - l->vaddr < l->filesz)
			return l->offset + (svma - l->vaddr);
	fail();
	return 0;
}

/*
 * Replaces each aligned word @was of the file, and each relocation addend, by @v. Section headers
 * stay: one has the table's address, and where that equals its file offset the section would move.
 */
static unsigned int replace_words(uint8_t *file, size_t size, uint64_t was, uint64_t v)
{
	unsigned int n = 0;
	Elf64_Ehdr eh;
	uint64_t w;

	memcpy(&eh, file, sizeof(eh));
	for (size_t at = 0; at + 8 <= size; at += 8) {
		if (at >= eh.e_shoff && at < eh.e_shoff + (uint64_t)eh.e_shnum * eh.e_shentsize)
			continue;
		memcpy(&w, file + at, 8);
		if (w != was)
			continue;
		memcpy(file + at, &v, 8);
		n++;
	}
	return n;
}

/*
 * What external linking does since Go 1.26: the header has no address, and no relocation that would
 * fill it in.
 */
static void forget_text(uint8_t *file, struct elf_file *ef, uint64_t table)
{
	uint64_t zero = 0, rela_svma;
	const uint8_t *rela;
	size_t size;

	memcpy(file + offset_of(ef, table) + TEXT_FIELD, &zero, 8);
	if (elf_file_section(ef, ".rela.dyn", &rela, &size, &rela_svma))
		return;
	for (size_t i = 0; i + sizeof(Elf64_Rela) <= size; i += sizeof(Elf64_Rela)) {
		Elf64_Rela r;

		memcpy(&r, rela + i, sizeof(r));
		if (r.r_offset == table + TEXT_FIELD)
			memcpy(file + offset_of(ef, rela_svma + i) + offsetof(Elf64_Rela, r_info), &zero, 8);
	}
}

/* What is left to tell where the code begins. */
enum left { MODULEDATA, SYMBOL, NOTHING };

static void test_no_text_of(const char *name, enum left left)
{
	struct elf_file *ef = open_target(name), *late;
	const struct gopclntab *gt = elf_file_gopclntab(ef), *same;
	uint8_t *file;
	uint64_t table, text_svma;
	const uint8_t *text;
	size_t size, text_size;
	int err;

	assert_non_null(gt);
	table = table_svma(ef, gt);
	file = read_target(name, &size);
	forget_text(file, ef, table);
	if (left != MODULEDATA)
		assert_true(replace_words(file, size, table, 0) > 0);
	late = elf_file_open_mem(file, size, &err);
	assert_non_null(late);
	same = elf_file_gopclntab(late);
	assert_int_equal(elf_file_go_lost(late), left == NOTHING);
	assert_false(elf_file_go_lost(ef));
	if (left == NOTHING) {
		assert_null(same);
	} else {
		assert_non_null(same);
		assert_int_equal(same->text, gt->text);
	}
	/*
	 * In cgospin the code must not begin where .text does, otherwise this would show nothing.
	 */
	assert_int_equal(elf_file_section(ef, ".text", &text, &text_size, &text_svma), 0);
	print_message("# %s: code from %#" PRIx64 ", .text from %#" PRIx64 "\n", name, gt->text, text_svma);
	if (!strncmp(name, "cgospin", 7))
		assert_int_not_equal(gt->text, text_svma);
	elf_file_close(late);
	elf_file_close(ef);
	free(file);
}

static void test_no_text(void **state)
{
	(void)state;
	test_no_text_of("gospin", MODULEDATA);
	test_no_text_of("gospin-pie", MODULEDATA);
	test_no_text_of("cgospin-external", MODULEDATA);
	test_no_text_of("cgospin-external-stripped", MODULEDATA);
	test_no_text_of("cgospin-pie", MODULEDATA);
	test_no_text_of("cgospin-external", SYMBOL);
	test_no_text_of("cgospin-pie", SYMBOL);
	test_no_text_of("cgospin-external-stripped", NOTHING);
}

/*
 * Arbitrary file content: there is an answer, and nothing is read out of bounds (a sanitizer would
 * see it).
 */
static void test_damaged(void **state)
{
	struct elf_file *ef = open_target("gospin-stripped");
	uint64_t svma, s = 0, seed = 1;
	const uint8_t *data;
	size_t size;

	(void)state;
	assert_int_equal(elf_file_section(ef, ".gopclntab", &data, &size, &svma), 0);
	for (int round = 0; round < 300; round++) {
		/* A copy of exactly that size. */
		size_t len = round < 100 ? (size_t)round : size - (size_t)round;
		uint8_t *copy = xmemdup(data, len ? len : 1);
		struct gopclntab gt;
		struct go_func fn;

		for (int k = 0; k < 40; k++) {
			s = random_next(&seed);
			if (len > 8)
				copy[8 + s % (k < 10 ? MIN(len - 8, (size_t)80) : len - 8)] = (uint8_t)(s >> 40);
		}
		if (gopclntab_init(&gt, copy, len, 0x1000) == 0) {
			for (size_t i = 0; i < MIN(gt.nfunc, 2000u); i++) {
				uint64_t end;
				uint32_t frame;

				gopclntab_find(&gt, s, &fn);
				if (gopclntab_nth(&gt, i, &fn))
					continue;
				gopclntab_frame(&gt, &fn, fn.start + 3, &frame, &end);
				if (fn.name)
					assert_true(strlen(fn.name) < 65536);
			}
		}
		free(copy);
	}
	elf_file_close(ef);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_pie),
		cmocka_unit_test(test_no_text),
		cmocka_unit_test(test_damaged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
