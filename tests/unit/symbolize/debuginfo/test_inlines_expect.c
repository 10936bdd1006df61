/*
 * How far compressed debug info is unpacked ahead of lookups: to the end of the last unit that
 * contains a looked-up address.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "debuginfo/inlines_expect.h"
#include "elf/elf_file.h"
#include "toolrun.h"

#define PIECE (128u << 10)	/* bytes unpacked at a time */

struct symbol {
	const char *name;
	uint64_t svma;
};

static int find(void *ctx, const struct elf_sym *sym)
{
	struct symbol *s = ctx;

	if (!strcmp(sym->name, s->name))
		s->svma = sym->svma;
	return 0;
}

static uint64_t address_of(struct elf_file *ef, const char *name)
{
	struct symbol s = { name, 0 };

	elf_file_symbols(ef, find, &s);
	assert_true(s.svma > 0);
	return s.svma;
}

/* .debug_info as a handle of @ef shows it. */
static const uint8_t *info_of(struct elf_file *ef)
{
	Elf *elf = elf_file_handle(ef);
	Elf_Scn *scn = NULL;
	size_t shstrndx;
	GElf_Shdr sh;

	assert_int_equal(elf_getshdrstrndx(elf, &shstrndx), 0);
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && !strcmp(elf_strptr(elf, shstrndx, sh.sh_name), ".debug_info"))
			return elf_rawdata(scn, NULL)->d_buf;
	fail();
	return NULL;
}

/*
 * Until the thread has reached byte @end of @want. Its output may be compared only after it has
 * stopped.
 */
static void wait_for(const volatile uint8_t *have, const uint8_t *want, size_t end)
{
	while (!want[end - 1])
		end--;
	for (int i = 0; i < 10000 && have[end - 1] != want[end - 1]; i++)
		usleep(1000);
}

static void assert_zeros(const uint8_t *p, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		assert_int_equal(p[i], 0);
}

/* A small unit with main() and a large one with second(); a third file's symbols have no unit. */
static bool build(void)
{
	tool_write("a.c", "int second(void), third(void); int puts(const char *); int main(void) { puts(\"a\"); return second() + third(); }\n");
	tool_write("c.c", "int third(void) { return 3; }\n");
	return tool_run("(for i in $(seq 20000); do echo \"struct s$i { int a$i, b[$i]; char *c; struct s$i *d; } v$i;\"; done; "
			"echo 'int second(void) { return 2; }') >b.c && gcc -O1 -g -gz=none -c a.c b.c && gcc -O1 -g0 -c c.c && "
			"gcc -o plain a.o b.o c.o && objcopy --compress-debug-sections=zlib plain packed") == 0;
}

static void test_up_to_the_unit(void **state)
{
	static const struct {
		const char *at[2];
		bool all;
	} cases[] = {
		{ { "main", NULL }, false },
		{ { "puts@plt", "main" }, false },
		{ { "second", NULL }, true },
		{ { "main", "second" }, true },
		{ { "third", NULL }, true },
	};
	struct elf_file *plain, *packed;
	const uint8_t *want, *have;
	uint32_t first;
	size_t n;

	(void)state;
	if (!tool_have("gcc objcopy") || !build())
		skip();
	plain = tool_open_elf("plain");
	assert_int_equal(elf_file_section(plain, ".debug_info", &want, &n, NULL), 0);
	memcpy(&first, want, sizeof(first));
	first += sizeof(first);
	assert_true(first < 1000 && n > 1000000);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inlines_expect *ie;

		packed = tool_open_elf("packed");
		ie = inlines_expect_new(packed, 1);
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].at) && cases[i].at[k]; k++)
			inlines_expect_at(ie, packed, address_of(packed, cases[i].at[k]));
		have = info_of(packed);
		wait_for(have, want, cases[i].all ? n : first);
		inlines_expect_free(ie);
		assert_memory_equal(have, want, cases[i].all ? n : first);
		if (!cases[i].all)
			assert_zeros(have, PIECE + first, n);
		elf_file_close(packed);
	}
	elf_file_close(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_up_to_the_unit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
