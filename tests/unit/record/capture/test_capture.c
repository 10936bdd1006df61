/*
 * Captured rows. For each chosen address the sliced ELF file must give the same answers as the
 * whole binary, to us and to other tools, and stay small.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "capture/capture.h"
#include "capture_answers.h"
#include "cfi/cfi.h"
#include "elf/debugfile.h"
#include "elf/elf_file.h"
#include "hidden_code.h"
#include "host/nsopen.h"
#include "pointer_code.h"
#include "random.h"
#include "toolrun.h"

/* The extent of the start-up code's FDE is kept, whichever address in it was seen. */
static void check_entry(int fd, const struct elf_file *ef, struct cfi *whole)
{
	struct strbuf out = STRBUF_INIT;
	struct elf_file *sliced;
	struct answers slice;
	struct cfi_fde fde;
	uint64_t entry = elf_file_entry(ef), off;
	int err;

	if (cfi_find(whole, entry, &fde))
		return;
	off = load_off(ef, fde.end - 1);
	assert_int_equal(capture_elf(fd, -1, NULL, &off, 1, &out, NULL), 0);
	sliced = elf_file_open_mem(out.s, out.len, &err);
	assert_non_null(sliced);
	answers_init(&slice, sliced, NULL);
	compare_rows(whole, slice.cfi, fde.end - 1, entry, true);
	answers_fini(&slice);
	elf_file_close(sliced);
	strbuf_fini(&out);
}

/* A slice of whole functions: for everything it covers it gives the same answers as the file. */
static void check_spans(int fd, const char *path, const struct answers *whole, const uint64_t *offs,
			size_t n, uint64_t seed)
{
	struct strbuf out = STRBUF_INIT, spans = STRBUF_INIT, na = STRBUF_INIT, nb = STRBUF_INIT;
	const struct span *s;
	struct elf_file *sliced;
	struct answers slice;
	size_t nspans, held = 0;
	uint64_t last = 0;
	int err;

	assert_int_equal(capture_elf(fd, -1, path, offs, n, &out, &spans), 0);
	sliced = elf_file_open_mem(out.s, out.len, &err);
	assert_non_null(sliced);
	answers_init(&slice, sliced, NULL);
	s = (const struct span *)(const void *)spans.s;
	nspans = spans.len / sizeof(*s);
	for (size_t i = 0; i < nspans; i++) {
		assert_true(s[i].start >= last && s[i].end > s[i].start);
		last = s[i].end;
		for (size_t k = 0; k < n; k++)
			held += offs[k] >= s[i].start && offs[k] < s[i].end;
		for (int k = 0; k < 6; k++) {
			uint64_t off = k == 0 ? s[i].start : k == 1 ? s[i].end - 1 :
				       s[i].start + random_next(&seed) % (s[i].end - s[i].start), svma;

			assert_true(elf_file_off_to_svma(whole->ef, off, &svma));
			names_at(&whole->syms, whole->ef, svma, &na);
			names_at(&slice.syms, whole->ef, svma, &nb);
			if (na.len != nb.len || (na.len && memcmp(na.s, nb.s, na.len)))
				fail_msg("%#lx: whole file: %s, slice: %s", svma, na.len ? na.s : "-",
					 nb.len ? nb.s : "-");
			compare_rows(whole->cfi, slice.cfi, svma, elf_file_entry(whole->ef), true);
		}
	}
	print_message("# %s: %zu of %zu addresses in %zu spans, %zu bytes\n", path, held, n, nspans,
		      out.len);
	assert_true(2 * held > n);
	answers_fini(&slice);
	elf_file_close(sliced);
	strbuf_fini(&out);
	strbuf_fini(&spans);
	strbuf_fini(&na);
	strbuf_fini(&nb);
}

/*
 * Slices the file at @fd, @path on this host, and compares. Returns the size of the slice in bytes.
 */
static size_t check_slice(int fd, const char *path, size_t n, uint64_t seed, const char *slice_name)
{
	struct strbuf out = STRBUF_INIT, na = STRBUF_INIT, nb = STRBUF_INIT;
	struct elf_file *ef, *debug = NULL, *sliced;
	const struct elf_load *la, *lb;
	struct answers whole, slice;
	uint64_t *offs = calloc(n, sizeof(*offs)), svma, svma2;
	uint8_t ida[20], idb[20];
	size_t size, len, named = 0;
	int err;

	ef = elf_file_open_fd(fd, &err);
	assert_non_null(ef);
	/* A debug package of the host is accepted by its build-id, and the slice has its names. */
	if (!elf_file_has_symtab(ef)) {
		int host = nsopen_host_root(), debugfd = debugfile_find(host, path, ef, NULL);

		close(host);
		if (debugfd >= 0) {
			debug = elf_file_open_fd(debugfd, &err);
			close(debugfd);
		}
	}
	random_offs(ef, offs, n, seed);
	assert_int_equal(capture_elf(fd, -1, path, offs, n, &out, NULL), 0);
	sliced = elf_file_open_mem(out.s, out.len, &err);
	assert_non_null(sliced);
	if (slice_name)
		tool_write_bytes(slice_name, out.s, out.len);

	assert_int_equal(elf_file_type(ef), elf_file_type(sliced));
	assert_int_equal(elf_file_machine(ef), elf_file_machine(sliced));
	assert_int_equal(elf_file_entry(ef), elf_file_entry(sliced));
	len = elf_file_build_id(ef, ida);
	assert_int_equal(elf_file_build_id(sliced, idb), len);
	assert_memory_equal(ida, idb, len);
	assert_int_equal(elf_file_loads(ef, &la), elf_file_loads(sliced, &lb));
	for (size_t i = 0, k = elf_file_loads(ef, &la); i < k; i++) {
		assert_int_equal(la[i].offset, lb[i].offset);
		assert_int_equal(la[i].filesz, lb[i].filesz);
		assert_int_equal(la[i].vaddr, lb[i].vaddr);
		assert_int_equal(la[i].memsz, lb[i].memsz);
		assert_int_equal(la[i].flags, lb[i].flags);
	}

	answers_init(&whole, ef, debug);
	answers_init(&slice, sliced, NULL);
	for (size_t i = 0; i < n; i++) {
		assert_true(elf_file_off_to_svma(ef, offs[i], &svma));
		assert_true(elf_file_off_to_svma(sliced, offs[i], &svma2));
		assert_int_equal(svma, svma2);
		names_at(&whole.syms, ef, svma, &na);
		names_at(&slice.syms, ef, svma, &nb);
		named += na.len > 0;
		if (na.len != nb.len || (na.len && memcmp(na.s, nb.s, na.len)))
			fail_msg("%#lx: whole file: %s, slice: %s", svma, na.len ? na.s : "-",
				 nb.len ? nb.s : "-");
		compare_rows(whole.cfi, slice.cfi, svma, elf_file_entry(ef), true);
		/* Also at neighbouring addresses, which were not requested: no wrong row. */
		for (int k = 1; k < 8; k++) {
			uint64_t step = random_next(&seed) % (k < 4 ? 16 : 256);

			compare_rows(whole.cfi, slice.cfi, svma + step, elf_file_entry(ef), false);
			compare_rows(whole.cfi, slice.cfi, svma - step, elf_file_entry(ef), false);
		}
	}
	check_spans(fd, path, &whole, offs, n, seed);
	if (elf_file_entry(ef)) {
		/*
		 * The sample rarely includes the start-up code's address, so it is requested alone.
		 */
		check_entry(fd, ef, whole.cfi);
	}
	print_message("# %s: %zu addresses, %zu named, %zu symbols of %zu, %zu bytes\n",
		      path, n, named, slice.syms.n, whole.syms.n, out.len);
	assert_true(named > n / 10);
	size = out.len;
	answers_fini(&whole);
	answers_fini(&slice);
	elf_file_close(sliced);
	elf_file_close(debug);
	elf_file_close(ef);
	strbuf_fini(&out);
	strbuf_fini(&na);
	strbuf_fini(&nb);
	free(offs);
	return size;
}

/* Independent readers: no complaints, and the names they find. */
static void check_tools(const char *slice_name)
{
	assert_int_equal(
		tool_run("readelf -a --wide %s >readelf.out 2>readelf.err && ! [ -s readelf.err ]",
			 slice_name),
		0);
	/* N: do not look for the file that .gnu_debuglink names. */
	assert_int_equal(
		tool_run("readelf -wN -wF %s >readelf.out 2>readelf.err && ! [ -s readelf.err ]",
			 slice_name),
		0);
	assert_int_equal(
		tool_run("nm %s >nm.out 2>nm.err && [ -s nm.out ] && ! [ -s nm.err ]", slice_name),
		0);
	/* libdwfl and elfutils' readelf, where they are installed. */
	assert_int_equal(tool_run("if command -v eu-unstrip >/dev/null; then "
				  "a=$(readelf -n %s | awk '/Build ID/{print $3}'); "
				  "eu-unstrip -n -e %s >eu.out && grep -q \"$a\" eu.out; fi",
				  slice_name, slice_name), 0);
	assert_int_equal(
		tool_run("if command -v eu-readelf >/dev/null; then eu-readelf -a %s >/dev/null; fi",
			 slice_name),
		0);
}

static void test_libc(void **state)
{
	int fd = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t size;

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(fstat(fd, &st), 0);
	size = check_slice(fd, "libc.so.6", 300, 1, "libc.slice");
	print_message("# libc: %zu of %ld bytes\n", size, (long)st.st_size);
	assert_true(size < (size_t)st.st_size / 15);
	check_tools("libc.slice");
	for (uint64_t seed = 2; seed < 8; seed++)
		check_slice(fd, "libc.so.6", 40, seed, NULL);
	close(fd);
}

/*
 * Labels without sizes, aliases, functions inside functions, gaps: what hand-written assembly has.
 */
static const char asm_source[] =
	".text\n.globl _start\n_start: nop\n nop\n"
	"unsized1: nop\n nop\n nop\n"
	".globl sized\n.type sized,@function\nsized: nop\nlabel_in_sized: nop\n nop\n.size sized,.-sized\n"
	".skip 16,0x90\n"
	".type a1,@function\na1: \n.weak a2\n.type a2,@function\na2:\nalias_unsized: nop\n nop\n"
	".size a1,.-a1\n.size a2,.-a2\n"
	".type outer,@function\nouter: nop\n nop\n.type inner,@function\ninner: nop\n nop\n.size inner,.-inner\n"
	" nop\nlate_label: nop\n nop\n.size outer,.-outer\n"
	"after_outer: nop\n nop\n.skip 8,0x90\n"
	"last_unsized: nop\n nop\n nop\n"
	".section .note.GNU-stack,\"\",@progbits\n";

static void test_every_byte(void **state)
{
	struct answers whole, slice;
	struct strbuf out = STRBUF_INIT, na = STRBUF_INIT, nb = STRBUF_INIT;
	const struct elf_load *loads;
	struct elf_file *ef, *sliced;
	uint64_t off, svma, end = 0;
	size_t nloads, x = 0, checked = 0;
	int fd, err;

	(void)state;
	tool_write("a.s", asm_source);
	if (tool_run("gcc -nostdlib -static -o asm a.s 2>/dev/null"))
		skip();
	fd = tool_open("asm");
	ef = elf_file_open_fd(fd, &err);
	assert_non_null(ef);
	nloads = elf_file_loads(ef, &loads);
	for (size_t i = 0; i < nloads; i++) {
		if (loads[i].flags & PF_X)
			x = i;
	}
	answers_init(&whole, ef, NULL);
	end = loads[x].filesz;
	/* Each byte alone, so that no answer depends on what the slice has for another address. */
	for (uint64_t i = 0; i < end; i++) {
		off = loads[x].offset + i;
		svma = loads[x].vaddr + i;
		strbuf_reset(&out);
		assert_int_equal(capture_elf(fd, -1, NULL, &off, 1, &out, NULL), 0);
		sliced = elf_file_open_mem(out.s, out.len, &err);
		assert_non_null(sliced);
		answers_init(&slice, sliced, NULL);
		names_at(&whole.syms, ef, svma, &na);
		names_at(&slice.syms, ef, svma, &nb);
		if (na.len != nb.len || (na.len && memcmp(na.s, nb.s, na.len)))
			fail_msg("%#lx: whole file: %s, slice: %s", svma, na.len ? na.s : "-",
				 nb.len ? nb.s : "-");
		checked += na.len > 0;
		answers_fini(&slice);
		elf_file_close(sliced);
	}
	assert_true(checked > 20);
	answers_fini(&whole);
	elf_file_close(ef);
	close(fd);
	strbuf_fini(&out);
	strbuf_fini(&na);
	strbuf_fini(&nb);
}

static void test_vdso(void **state)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct strbuf out = STRBUF_INIT, na = STRBUF_INIT, nb = STRBUF_INIT;
	struct elf_file *ef, *sliced;
	struct answers whole, slice;
	uint64_t offs[50], svma;
	size_t size, named = 0;
	int err;

	(void)state;
	if (!eh)
		skip();
	size = eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize;
	ef = elf_file_open_mem(eh, size, &err);
	assert_non_null(ef);
	random_offs(ef, offs, 50, 11);
	assert_int_equal(capture_elf_mem(eh, size, offs, 50, &out, NULL), 0);
	sliced = elf_file_open_mem(out.s, out.len, &err);
	assert_non_null(sliced);
	answers_init(&whole, ef, NULL);
	answers_init(&slice, sliced, NULL);
	for (size_t i = 0; i < 50; i++) {
		if (!elf_file_off_to_svma(ef, offs[i], &svma))
			continue;
		names_at(&whole.syms, ef, svma, &na);
		names_at(&slice.syms, ef, svma, &nb);
		assert_int_equal(na.len, nb.len);
		assert_memory_equal(na.s ? na.s : "", nb.s ? nb.s : "", na.len);
		compare_rows(whole.cfi, slice.cfi, svma, 0, true);
		named += na.len > 0;
	}
	assert_true(named > 0);
	answers_fini(&whole);
	answers_fini(&slice);
	elf_file_close(sliced);
	elf_file_close(ef);
	strbuf_fini(&out);
	strbuf_fini(&na);
	strbuf_fini(&nb);
}

static void test_not_elf(void **state)
{
	struct strbuf out = STRBUF_INIT;
	uint64_t off = 0;
	int fd;

	(void)state;
	tool_write("text", "#!/bin/sh\necho hello, this is no ELF file\n");
	fd = tool_open("text");
	assert_int_equal(capture_elf(fd, -1, NULL, &off, 1, &out, NULL), -ENOEXEC);
	close(fd);
	tool_write("empty", "");
	fd = tool_open("empty");
	assert_int_equal(capture_elf(fd, -1, NULL, &off, 1, &out, NULL), -ENOEXEC);
	close(fd);
	assert_int_equal(capture_elf_mem("\177ELF", 4, &off, 1, &out, NULL), -ENOEXEC);
	assert_int_equal(out.len, 0);
}

/*
 * Flipped bytes: any answer but a crash, and the result is still ELF. Run this one with
 * SAN=address.
 */
static void test_damaged(void **state)
{
	uint64_t seed = 42, offs[20];
	struct strbuf file = STRBUF_INIT, out = STRBUF_INIT, spans = STRBUF_INIT;
	struct elf_file *ef;
	size_t ok = 0;
	int err;

	(void)state;
	tool_write("d.c", c_source);
	if (tool_run("gcc -O2 -g -o dmg d.c 2>/dev/null"))
		skip();
	tool_read("dmg", &file);
	ef = elf_file_open_mem(file.s, file.len, &err);
	random_offs(ef, offs, 20, 7);
	elf_file_close(ef);
	for (int round = 0; round < 3000; round++) {
		char *copy = malloc(file.len);
		size_t size = round % 10 ? file.len : random_next(&seed) % file.len;

		memcpy(copy, file.s, file.len);
		for (uint64_t k = 0, n = 1 + random_next(&seed) % 8; k < n; k++) {
			uint64_t at = random_next(&seed);

			/*
			 * A third of the flips are in the program headers, a third in the section
			 * headers.
			 */
			if (at % 3 == 0)
				at = 16 + (at >> 8) % 800;
			else if (at % 3 == 1)
				at = file.len - 1 - (at >> 8) % 2500;
			copy[at % file.len] = (char)random_next(&seed);
		}
		strbuf_reset(&out);
		strbuf_reset(&spans);
		if (!capture_elf_mem(copy, size, offs, 20, &out, &spans)) {
			ef = elf_file_open_mem(out.s, out.len, &err);
			assert_non_null(ef);
			elf_file_close(ef);
			ok++;
		}
		free(copy);
	}
	print_message("# %zu of 3000 damaged files still gave a slice\n", ok);
	assert_true(ok > 100);
	strbuf_fini(&file);
	strbuf_fini(&spans);
	strbuf_fini(&out);
}

/*
 * Names of a stripped assembly library: each address is requested alone, so that nothing else in
 * the slice ends a symbol.
 */
static void test_hidden(void **state)
{
	struct hidden_functions h;
	struct elf_file *ef;
	int fd;

	(void)state;
	if (!hidden_build())
		skip();
	ef = tool_open_elf("open.so");
	fd = tool_open("open.so");
	assert_non_null(ef);
	hidden_read(&h, ef);
	for (uint64_t a = h.v[0].svma; a < h.end; a++) {
		struct strbuf out = STRBUF_INIT, got = STRBUF_INIT, want = STRBUF_INIT;
		const char *name = hidden_truth(&h, a);
		uint64_t off = load_off(ef, a);
		struct elf_file *sliced;
		struct answers slice;
		int err;

		if (hidden_padding(&h, a))
			continue;
		assert_int_equal(capture_elf(fd, -1, NULL, &off, 1, &out, NULL), 0);
		sliced = elf_file_open_mem(out.s, out.len, &err);
		assert_non_null(sliced);
		answers_init(&slice, sliced, NULL);
		names_at(&slice.syms, ef, a, &got);
		if (name)
			strbuf_addf(&want, "%s\n", name);
		if (got.len != want.len || (got.len && memcmp(got.s, want.s, got.len)))
			fail_msg("%#lx is in %s, not %s", a, name ? name : "nothing visible", got.len ? got.s : "-");
		answers_fini(&slice);
		elf_file_close(sliced);
		strbuf_fini(&out);
		strbuf_fini(&got);
		strbuf_fini(&want);
	}
	elf_file_close(ef);
	close(fd);
}

/*
 * Whether the slice for the word @name on a stack has a row at the address where a frame that
 * returns there is looked up: *@row.
 */
static bool row_before(struct elf_file *ef, const char *name, struct cfi_row *row)
{
	uint64_t svma = pointer_at(ef, name), offs[] = { load_off(ef, svma - 2), load_off(ef, svma - 1), load_off(ef, svma) };
	/* Addresses seen one after the other. */
	size_t skip = strcmp(name, "in_exits") != 0;
	struct strbuf out = STRBUF_INIT;
	struct elf_file *sliced;
	struct answers slice;
	struct cfi_fde fde;
	int fd = tool_open("pointers"), err;
	bool found;

	assert_int_equal(capture_elf(fd, -1, NULL, offs + skip, 3 - skip, &out, NULL), 0);
	sliced = elf_file_open_mem(out.s, out.len, &err);
	assert_non_null(sliced);
	answers_init(&slice, sliced, NULL);
	/* The program may have been interrupted at the address itself. */
	if (strcmp(name, "lost") && strcmp(name, "finish") && strcmp(name, "in_endless"))
		assert_int_equal(cfi_find(slice.cfi, svma, &fde), 0);
	found = cfi_find(slice.cfi, svma - 1, &fde) == 0;
	if (found) {
		assert_int_equal(cfi_row(slice.cfi, &fde, svma - 1, row), 0);
		/* The results may point into the slice. */
		row->cfa.expr = NULL;
		for (int i = 0; i < CFI_NREGS; i++)
			row->regs[i].expr = NULL;
	}
	answers_fini(&slice);
	elf_file_close(sliced);
	strbuf_fini(&out);
	close(fd);
	return found;
}

/* The byte before a pointer gets no row that would make it a return address. */
static void test_pointers(void **state)
{
	struct elf_file *ef = pointer_build();
	struct cfi_row row;

	(void)state;
	if (!ef)
		skip();
	assert_false(row_before(ef, "stated", &row));
	assert_false(row_before(ef, "bare", &row));
	assert_false(row_before(ef, "lost", &row));
	/* A call ends there: with its own row, and with one derived from the code. */
	assert_true(row_before(ef, "in_taker", &row));
	assert_int_equal(row.cfa.off, 32);
	assert_true(row_before(ef, "in_bare", &row));
	assert_int_equal(row.cfa.off, 16);
	assert_false(row.signal_frame);
	/* A call ends there, and that is all that is known. */
	assert_true(row_before(ef, "in_endless", &row));
	assert_int_equal(row.regs[CFI_REG_RA].how, CFI_SAME);
	/* With two instructions in a row, the first is not the byte before a root. */
	assert_true(row_before(ef, "in_exits", &row));
	assert_int_equal(row.cfa.off, 16);
	assert_int_equal(row.regs[CFI_REG_RA].how, CFI_OFFSET);
	/* Code that puts this address on a stack does so to end there. */
	assert_true(row_before(ef, "finish", &row));
	assert_int_equal(row.regs[CFI_REG_RA].how, CFI_UNDEF);
	assert_true(row.signal_frame);
	elf_file_close(ef);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_pointers),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
