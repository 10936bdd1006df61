/* Captured rows from separate debug files, and together with .gnu_debugdata. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "capture/capture.h"
#include "capture_answers.h"
#include "cfi/cfi.h"
#include "elf/elf_file.h"
#include "toolrun.h"

/* Builds "full", and from it root/bin/prog as the shell command @split leaves it. */
static bool build_split(const char *cflags, const char *split)
{
	tool_write("p.c", c_source);
	return tool_run("rm -rf root full && mkdir -p root/bin && "
			"gcc -O2 -fno-inline -g %s -o full p.c 2>/dev/null && "
			"cp full root/bin/prog && %s", cflags, split) == 0;
}

/* The slice of the program in its root, for byte offset @off. Borrows from @bytes. */
static struct elf_file *slice_at(uint64_t off, struct strbuf *bytes)
{
	int rootfd = open(tool_path("root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = tool_open("root/bin/prog"), err;
	struct elf_file *slice;

	assert_true(rootfd >= 0);
	assert_int_equal(capture_elf(fd, rootfd, "/bin/prog", &off, 1, bytes, NULL), 0);
	slice = elf_file_open_mem(bytes->s, bytes->len, &err);
	assert_non_null(slice);
	close(fd);
	close(rootfd);
	return slice;
}

/* True, with *@svma set, when @ef has a symbol @name. */
static bool find_symbol(struct elf_file *ef, const char *name, uint64_t *svma)
{
	struct sym_list syms = { 0 };
	bool found = false;

	elf_file_symbols(ef, add_sym, &syms);
	for (size_t i = 0; i < syms.n && !found; i++) {
		found = strcmp(syms.v[i].name, name) == 0;
		*svma = syms.v[i].svma;
	}
	free(syms.v);
	return found;
}

/* The slice for an address in function @name of the unstripped program. */
static struct elf_file *slice_of(const char *name, struct strbuf *bytes)
{
	struct elf_file *full = tool_open_elf("full");
	uint64_t svma, off;

	assert_non_null(full);
	assert_true(find_symbol(full, name, &svma));
	off = load_off(full, svma + 1);
	elf_file_close(full);
	return slice_at(off, bytes);
}

/* Whether the slice has that name. */
static bool slice_has(const char *name)
{
	struct strbuf bytes = STRBUF_INIT;
	struct elf_file *slice = slice_of(name, &bytes);
	uint64_t svma;
	bool found = find_symbol(slice, name, &svma);

	elf_file_close(slice);
	strbuf_fini(&bytes);
	return found;
}

static void test_debuglink(void **state)
{
	(void)state;
	/* Beside the binary, accepted by build-id. */
	if (!build_split(
		    "",
		    "objcopy --only-keep-debug full root/bin/prog.dbg && strip root/bin/prog && "
		    "objcopy --add-gnu-debuglink=root/bin/prog.dbg root/bin/prog"))
		skip();
	assert_true(slice_has("hidden_leaf"));
	/* In .debug, and below /usr/lib/debug. */
	assert_int_equal(tool_run("cd root && mkdir bin/.debug && mv bin/prog.dbg bin/.debug/"), 0);
	assert_true(slice_has("hidden_leaf"));
	assert_int_equal(
		tool_run("cd root && mkdir -p usr/lib/debug/bin && mv bin/.debug/prog.dbg usr/lib/debug/bin/"),
		0);
	assert_true(slice_has("hidden_leaf"));
	assert_int_equal(tool_run("rm -rf root/usr"), 0);
	assert_false(slice_has("hidden_leaf"));
}

static void test_debuglink_crc(void **state)
{
	(void)state;
	/* Without a build-id the CRC is the proof; a file that does not match it is rejected. */
	if (!build_split(
		    "-Wl,--build-id=none",
		    "objcopy --only-keep-debug full root/bin/prog.dbg && "
		    "strip root/bin/prog && objcopy --add-gnu-debuglink=root/bin/prog.dbg root/bin/prog"))
		skip();
	assert_true(slice_has("hidden_mid"));
	assert_int_equal(tool_run("printf x >>root/bin/prog.dbg"), 0);
	assert_false(slice_has("hidden_mid"));
}

static void test_debuglink_wrong_build_id(void **state)
{
	(void)state;
	/* Another build of the same source: each symbol would be in its place. */
	if (!build_split(
		    "",
		    "gcc -O2 -fno-inline -g -Wl,--build-id=0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a -o other p.c && "
		    "objcopy --only-keep-debug other root/bin/prog.dbg && "
		    "strip root/bin/prog && objcopy --add-gnu-debuglink=root/bin/prog.dbg root/bin/prog"))
		skip();
	assert_false(slice_has("hidden_leaf"));
}

static void test_build_id_dir(void **state)
{
	(void)state;
	if (!build_split(
		    "",
		    "id=$(readelf -n full | awk '/Build ID/{print $3}') && a=$(echo $id | cut -c1-2) && "
		    "b=$(echo $id | cut -c3-) && mkdir -p root/usr/lib/debug/.build-id/$a && "
		    "objcopy --only-keep-debug full root/usr/lib/debug/.build-id/$a/$b.debug && strip root/bin/prog"))
		skip();
	assert_true(slice_has("hidden_leaf"));
}

/* The binary has no unwind tables; its debug file has .debug_frame. */
static void test_debug_frame_from_debug_file(void **state)
{
	struct strbuf bytes = STRBUF_INIT;
	struct cfi_sections secs;
	struct elf_file *full, *sliced;
	struct answers whole, slice;
	struct cfi_fde fde;

	(void)state;
	if (!build_split(
		    "-fno-asynchronous-unwind-tables -fno-unwind-tables -nostartfiles -Wl,-e,main",
		    "objcopy --only-keep-debug full root/bin/prog.dbg && strip root/bin/prog && "
		    "objcopy --add-gnu-debuglink=root/bin/prog.dbg root/bin/prog"))
		skip();
	full = tool_open_elf("full");
	assert_non_null(full);
	elf_file_cfi_sections(full, &secs);
	assert_null(secs.eh_frame.data);
	assert_non_null(secs.debug_frame.data);
	answers_init(&whole, full, NULL);
	assert_int_equal(cfi_nth(whole.cfi, 0, &fde), 0);
	sliced = slice_at(load_off(full, fde.start), &bytes);
	answers_init(&slice, sliced, NULL);
	assert_false(cfi_empty(slice.cfi));
	compare_rows(whole.cfi, slice.cfi, fde.start, 0, true);
	answers_fini(&whole);
	answers_fini(&slice);
	elf_file_close(sliced);
	elf_file_close(full);
	strbuf_fini(&bytes);
}

static bool slice_has_debugdata(const char *name)
{
	struct strbuf bytes = STRBUF_INIT;
	struct elf_file *slice = slice_of(name, &bytes);
	const uint8_t *data;
	size_t size;
	bool has = elf_file_section(slice, ".gnu_debugdata", &data, &size, NULL) == 0;

	if (has) {
		assert_int_equal(size, 21);
		assert_memory_equal(data, "stands for xz of ELF\n", 21);
	}
	elf_file_close(slice);
	strbuf_fini(&bytes);
	return has;
}

/* MiniDebugInfo is included if an address has no name without it, and only then. */
static void test_debugdata(void **state)
{
	(void)state;
	if (!build_split("-rdynamic",
			 "echo 'stands for xz of ELF' >dd && strip root/bin/prog && "
			 "objcopy --add-section .gnu_debugdata=dd root/bin/prog"))
		skip();
	assert_true(slice_has_debugdata("hidden_leaf"));
	assert_false(slice_has_debugdata("main"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_debuglink),
		cmocka_unit_test(test_debuglink_crc),
		cmocka_unit_test(test_debuglink_wrong_build_id),
		cmocka_unit_test(test_build_id_dir),
		cmocka_unit_test(test_debug_frame_from_debug_file),
		cmocka_unit_test(test_debugdata),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
