/* .debug_aranges, compared with libdw's reader, and damaged sections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <unistd.h>

#include "dwarf/aranges.h"
#include "elf/elf_file.h"
#include "toolrun.h"

#define UNITS 40

static struct elf_file *build_units(int *fd)
{
	int err;

	if (tool_run("for i in $(seq %d); do printf 'int f%%d(int a) { return a + %%d; }\\n"
		     "__attribute__((cold)) int g%%d(int a) { return a * %%d; }\\n' $i $i $i $i >u$i.c; done; "
		     "echo 'int main(void) { return 0; }' >main.c; "
		     "gcc -O2 -g -gz=none -o units main.c u*.c", UNITS))
		return NULL;
	*fd = open(tool_path("units"), O_RDONLY | O_CLOEXEC);
	return elf_file_open_fd(*fd, &err);
}

static void test_like_libdw(void **state)
{
	struct ranges have = RANGES_INIT;
	size_t size, info_size, n, hits = 0;
	const uint8_t *data, *info;
	Dwarf_Aranges *want;
	struct elf_file *ef;
	Dwarf *dw;
	int fd;

	(void)state;
	ef = build_units(&fd);
	if (!ef)
		skip();
	dw = dwarf_begin(fd, DWARF_C_READ);
	assert_non_null(dw);
	assert_int_equal(dwarf_getaranges(dw, &want, &n), 0);
	assert_true(n > UNITS);
	assert_int_equal(elf_file_section(ef, ".debug_aranges", &data, &size, NULL), 0);
	assert_int_equal(elf_file_section(ef, ".debug_info", &info, &info_size, NULL), 0);
	assert_int_equal(aranges_read(data, size, info_size, &have), 0);
	for (uint64_t at = 0x800; at < 0x4000; at++) {
		Dwarf_Arange *ar = dwarf_getarange_addr(want, at);
		const struct range *r = ranges_find(&have, at);
		Dwarf_Off first, next;
		size_t header;

		assert_int_equal(!ar, !r);
		if (!r)
			continue;
		hits++;
		assert_int_equal(dwarf_getarangeinfo(ar, NULL, NULL, &first), 0);
		assert_int_equal(dwarf_nextcu(dw, r->id, &next, &header, NULL, NULL, NULL), 0);
		assert_int_equal(r->id + header, first);
	}
	assert_true(hits > UNITS);
	ranges_fini(&have);
	dwarf_end(dw);
	elf_file_close(ef);
	close(fd);
}

/* Cut anywhere except between two units, or with any relevant header byte changed: no result. */
static void test_damaged(void **state)
{
	struct ranges have = RANGES_INIT;
	const uint8_t *data;
	struct elf_file *ef;
	size_t size, unit;
	uint8_t *bad;
	int fd;

	(void)state;
	ef = build_units(&fd);
	if (!ef)
		skip();
	assert_int_equal(elf_file_section(ef, ".debug_aranges", &data, &size, NULL), 0);
	unit = 4 + (size_t)data[0] + ((size_t)data[1] << 8);
	for (size_t len = 1; len < unit; len++)
		assert_int_not_equal(aranges_read(data, len, UINT32_MAX, &have), 0);
	assert_int_equal(have.n, 0);
	assert_int_equal(aranges_read(data, unit, UINT32_MAX, &have), 0);
	assert_true(have.n > 0);
	ranges_fini(&have);
	/* Length, version, size of an address and of a segment selector. */
	bad = malloc(size);
	for (size_t i = 0; i < 12; i++) {
		if (i >= 6 && i < 10)
			continue;
		memcpy(bad, data, size);
		bad[i] ^= 0x40;
		assert_int_not_equal(aranges_read(bad, unit, UINT32_MAX, &have), 0);
		assert_int_equal(have.n, 0);
	}
	/*
	 * A unit that begins after the end of .debug_info, and an end that does not fit into 32
	 * bits.
	 */
	memcpy(bad, data, size);
	bad[9] = 0x7f;
	assert_int_not_equal(aranges_read(bad, unit, 0x10000, &have), 0);
	assert_int_not_equal(aranges_read(data, unit, UINT64_MAX, &have), 0);
	free(bad);
	elf_file_close(ef);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_libdw),
		cmocka_unit_test(test_damaged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize aranges", tests, tool_setup, tool_teardown);
}
