/*
 * Functions that only debug info names. What the linker's symbol table said before it was removed is
 * what the slice must say: names, beginnings and sizes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "capture/capture.h"
#include "capture_answers.h"
#include "elf/elf_file.h"
#include "toolrun.h"

static const char c_code[] =
	"static volatile int sink;\n"
	"static int __attribute__((noinline, noipa)) leaf(int n) { for (; n > 3; n--) sink += n; return sink; }\n"
	"static int __attribute__((noinline, noipa)) odd(int n) { if (__builtin_expect(n == 12345, 0)) { sink = leaf(n); __builtin_abort(); } return n + sink; }\n"
	"int __attribute__((noinline, noipa)) outer(int n) { return leaf(n) + odd(n); }\n"
	"int main(int c, char **v) { (void)v; return outer(c) & 1; }\n";

static const char cc_code[] =
	"static volatile int sink;\n"
	"namespace shop { struct cart { int n; __attribute__((noinline, noipa)) int sum(int by) const; template <class T> __attribute__((noinline, noipa)) T scale(T t) { return t * n + sink; } }; }\n"
	"int shop::cart::sum(int by) const { for (int i = 0; i < by; i++) sink += n; return sink; }\n"
	"namespace { __attribute__((noinline, noipa)) int hidden(int n) { struct local { __attribute__((noinline, noipa)) int deep(int k) { return k + sink; } } l; return l.deep(n) + n; } }\n"
	"int main(int c, char **) { shop::cart k = { c }; return k.sum(c) + (int)k.scale(2.5) + k.scale(c) + hidden(c); }\n";

struct want {
	const char *how;
	bool known;	/* otherwise there may be no names, and never wrong ones */
};

/* Has debug info the same name for the symbol? gcc writes no linkage names for what is local to a file. */
static bool is_described(const struct elf_sym *s)
{
	static const char *const names[] = { "leaf", "odd", "outer", "main", "_Z" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(s->name, names[i], strlen(names[i])) && !strstr(s->name, "_GLOBAL_") && !strchr(s->name, '.') && !strchr(s->name, '@') && s->size)
			return true;
	return false;
}

static const struct elf_sym *symbol_at(const struct sym_list *l, uint64_t svma)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].svma <= svma && svma - l->v[i].svma < l->v[i].size)
			return &l->v[i];
	return NULL;
}

/*
 * A slice of whole functions, made for the first @n of @offs. Where it says that it has all answers, it
 * has these names, or there are none.
 */
static void check_spans(int fd, const struct elf_file *full, const struct sym_list *all, const uint64_t *offs, size_t n,
			bool known)
{
	struct strbuf out = STRBUF_INIT, spans = STRBUF_INIT;
	struct sym_list got = { 0 };
	struct elf_file *slice;
	size_t inside = 0;
	int err;

	assert_int_equal(capture_elf(fd, -1, NULL, offs, n, &out, &spans), 0);
	slice = elf_file_open_mem(out.s, out.len, &err);
	assert_non_null(slice);
	elf_file_symbols(slice, add_sym, &got);
	for (size_t i = 0; i < all->n; i++) {
		const uint64_t svma = all->v[i].svma + all->v[i].size / 3;
		const struct span *sp = (const struct span *)(const void *)spans.s;
		const struct elf_sym *s = symbol_at(&got, svma);

		for (size_t k = 0; k < spans.len / sizeof(*sp) && is_described(&all->v[i]); k++) {
			if (load_off(full, svma) < sp[k].start || load_off(full, svma) >= sp[k].end)
				continue;
			inside++;
			if ((!s && known) || (s && strcmp(s->name, all->v[i].name)))
				fail_msg("kept: %s is %s", all->v[i].name, s ? s->name : "without a name");
		}
	}
	assert_true(inside >= (known ? n : 0));
	free(got.v);
	elf_file_close(slice);
	strbuf_fini(&out);
	strbuf_fini(&spans);
}

/* Compares what "prog" without its symbols says of each function with what "full" says. */
static size_t compare(bool known)
{
	struct elf_file *full = tool_open_elf("full"), *slice;
	struct strbuf out = STRBUF_INIT;
	struct sym_list all = { 0 }, got = { 0 };
	uint64_t offs[256];
	size_t n = 0, same = 0;
	int fd = tool_open("prog"), err;

	assert_non_null(full);
	elf_file_symbols(full, add_sym, &all);
	for (size_t i = 0; i < all.n && n < ARRAY_SIZE(offs); i++)
		if (is_described(&all.v[i]))
			offs[n++] = load_off(full, all.v[i].svma + all.v[i].size / 2);
	assert_true(n > 3);
	qsort(offs, n, sizeof(*offs), off_cmp);
	assert_int_equal(capture_elf(fd, -1, NULL, offs, n, &out, NULL), 0);
	slice = elf_file_open_mem(out.s, out.len, &err);
	assert_non_null(slice);
	elf_file_symbols(slice, add_sym, &got);
	for (size_t i = 0; i < all.n; i++) {
		const struct elf_sym *s;

		if (!is_described(&all.v[i]))
			continue;
		s = symbol_at(&got, all.v[i].svma + all.v[i].size / 2);
		if (!s && !known)
			continue;
		if (!s)
			fail_msg("no name for %s", all.v[i].name);
		if (strcmp(s->name, all.v[i].name) || s->svma != all.v[i].svma || s->size != all.v[i].size)
			fail_msg("%s, %#lx+%#lx is %s, %#lx+%#lx", all.v[i].name, all.v[i].svma, all.v[i].size, s->name, s->svma, s->size);
		same++;
	}
	check_spans(fd, full, &all, offs, n / 2, known);
	free(all.v);
	free(got.v);
	elf_file_close(slice);
	elf_file_close(full);
	close(fd);
	strbuf_fini(&out);
	return same;
}

static void test_compilers(void **state)
{
	static const struct want wants[] = {
		{ "gcc -gdwarf-2 x.c", true }, { "gcc -gdwarf-3 -O2 x.c", true }, { "gcc -gdwarf-4 -O2 x.c", true },
		{ "gcc -gdwarf-5 -O2 x.c", true }, { "gcc -gdwarf-5 -gdwarf64 -O1 x.c", true }, { "gcc -g -gz=zlib -O2 x.c", true },
		{ "gcc -gdwarf-4 -O2 -ffunction-sections -freorder-blocks-and-partition x.c", true },
		{ "gcc -gdwarf-5 -O2 -ffunction-sections -freorder-blocks-and-partition x.c", true },
		{ "g++ -gdwarf-4 -O2 x.cc", true }, { "g++ -gdwarf-5 -O2 x.cc", true }, { "g++ -g -gz=zlib x.cc", true },
		{ "gcc -g -O2 -flto x.c", false }, { "gcc -g -O2 -gsplit-dwarf x.c", false }, { "g++ -g -O2 -flto x.cc", false },
		/* Without .debug_aranges. */
		{ "clang -gdwarf-4 -O2 x.c", true }, { "clang++ -gdwarf-4 -O1 x.cc", true }, { "clang -gdwarf-5 -O2 x.c", false },
	};
	unsigned int done = 0;

	(void)state;
	tool_write("x.c", c_code);
	tool_write("x.cc", cc_code);
	for (size_t i = 0; i < ARRAY_SIZE(wants); i++) {
		size_t same;

		if (tool_run("%s -w -o full 2>/dev/null && objcopy -w --strip-symbol '*' full prog", wants[i].how)) {
			print_message("# %s: not to be had\n", wants[i].how);
			continue;
		}
		print_message("# %s\n", wants[i].how);
		same = compare(wants[i].known);
		print_message("# %s: %zu functions\n", wants[i].how, same);
		done++;
	}
	if (!done)
		skip();
}

/* Real symbols have priority: a described function is cut at their ends. */
static void test_symbols_first(void **state)
{
	struct elf_file *full, *slice;
	struct sym_list all = { 0 }, got = { 0 };
	struct strbuf out = STRBUF_INIT;
	const struct elf_sym *label;
	uint64_t offs[3], at = 0;
	int fd, err;

	(void)state;
	tool_write("y.c", "int main(void) { __asm__ volatile(\"nop; nop; nop; nop\\n.type inside,@function\\ninside: nop; nop\\n.size inside, .-inside\\nnop; nop; nop; nop\"); return 0; }\n");
	if (tool_run("gcc -g -O1 -o full y.c && objcopy --strip-symbol main full prog"))
		skip();
	full = tool_open_elf("full");
	elf_file_symbols(full, add_sym, &all);
	for (size_t i = 0; i < all.n; i++)
		if (!strcmp(all.v[i].name, "inside"))
			at = all.v[i].svma;
	assert_true(at > 0);
	for (size_t i = 0; i < 3; i++)
		offs[i] = load_off(full, at - 1 + i * 2 - (i == 1));
	fd = tool_open("prog");
	assert_int_equal(capture_elf(fd, -1, NULL, offs, 3, &out, NULL), 0);
	slice = elf_file_open_mem(out.s, out.len, &err);
	elf_file_symbols(slice, add_sym, &got);
	label = symbol_at(&got, at);
	assert_true(label && !strcmp(label->name, "inside") && label->svma == at && label->size == 2);
	label = symbol_at(&got, at - 1);
	assert_true(label && !strcmp(label->name, "main") && label->svma + label->size == at);
	label = symbol_at(&got, at + 2);
	assert_true(label && !strcmp(label->name, "main") && label->svma == at + 2);
	free(all.v);
	free(got.v);
	elf_file_close(slice);
	elf_file_close(full);
	strbuf_fini(&out);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_compilers), cmocka_unit_test(test_symbols_first) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (!tool_have("gcc objcopy")) {
		puts("1..0 # SKIP needs gcc and binutils");
		return 0;
	}
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
