/*
 * A program whose file is too large to be copied: what comes of it has the same code, symbols and
 * rows by readelf, and no debug info.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/stat.h>

#include "elf/elf_fetch.h"
#include "toolrun.h"

static const char program[] = "#include <stdio.h>\n"
			      "static int inner(int n) { return printf(\"%d\\n\", n); }\n"
			      "int main(int c, char **v) { return inner(c) + (v == 0); }\n";

static int fetch(const char *name, uint64_t max, bool *part)
{
	int held = open(tool_path(name), O_PATH | O_CLOEXEC), fd;

	assert_true(held >= 0);
	fd = elf_fetch(held, max, part);
	close(held);
	return fd;
}

/* Runs @command on what @fd reads, and on @name, and compares; "$f" is the file. */
static void same(int fd, const char *name, const char *command)
{
	assert_int_equal(tool_run("f=/proc/%d/fd/%d; (%s) >got; f=%s; (%s) >want; cmp got want", (int)getpid(), fd, command, name, command), 0);
}

static void test_whole(void **state)
{
	bool part;
	int fd;

	(void)state;
	if (!tool_have("gcc readelf objcopy"))
		skip();
	tool_write("p.c", program);
	assert_int_equal(tool_run("gcc -g -O0 -o p p.c"), 0);
	fd = fetch("p", 64 << 20, &part);
	assert_true(fd >= 0);
	assert_false(part);
	same(fd, "p", "cat $f");
	close(fd);
}

static void test_part(void **state)
{
	struct stat st;
	bool part;
	int fd;

	(void)state;
	if (!tool_have("gcc readelf objcopy"))
		skip();
	/* Three sections of debug info, one of them of a megabyte. */
	assert_int_equal(tool_run("head -c 1000000 /dev/zero >z; objcopy --add-section .debug_more=z p big"), 0);
	assert_int_equal(stat(tool_path("big"), &st), 0);
	fd = fetch("big", 500000, &part);
	assert_true(fd >= 0);
	assert_true(part);
	same(fd, "big", "readelf -hnsW $f; readelf -lW $f | sed /Section/,\\$d");
	same(fd, "big", "objcopy -O binary -j .text -j .eh_frame -j .rodata -j .dynstr $f out; cat out");
	same(fd, "big", "readelf --debug-dump=frames $f");
	assert_int_equal(tool_run("readelf -SW /proc/%d/fd/%d | grep ' .debug_' | grep -v NOBITS >with; [ ! -s with ]", (int)getpid(), fd), 0);
	close(fd);
	/* The rest of it is too much, too. */
	assert_int_equal(fetch("big", 1000, &part), -EFBIG);
}

static void test_others(void **state)
{
	bool part;

	(void)state;
	if (!tool_have("gcc"))
		skip();
	/* No ELF file, one that ends early, and headers that point anywhere. */
	assert_int_equal(fetch("z", 500000, &part), -EFBIG);
	assert_int_equal(tool_run("head -c 40 p >cut; truncate -s 1000000 cut"), 0);
	assert_true(fetch("cut", 500000, &part) < 0);
	for (int i = 0; i < 64; i++) {
		int fd;

		assert_int_equal(tool_run("cp big odd; printf '\\377' | dd of=odd bs=1 seek=%d conv=notrunc status=none", i), 0);
		fd = fetch("odd", 500000, &part);
		assert_true(fd >= 0 || fd == -EFBIG);
		if (fd >= 0)
			close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_whole), cmocka_unit_test(test_part), cmocka_unit_test(test_others) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
