/*
 * Jump tables: each shape of table jump that compilers emit, and the tables of whole programs. For
 * whole programs, objdump is the reference: every target found must be the start of an instruction
 * there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "code/code_table.h"
#include "elf/elf_file.h"
#include "toolrun.h"

static size_t read_code(void *ctx, uint64_t svma, const uint8_t **data)
{
	return elf_file_code(ctx, svma, data);
}

static size_t read_data(void *ctx, uint64_t svma, void *buf, size_t size)
{
	return elf_file_bytes(ctx, svma, buf, size);
}

static uint64_t no_start(void *ctx, uint64_t svma, bool *entry)
{
	(void)ctx;
	(void)svma;
	*entry = false;
	return 0;
}

static bool returns(void *ctx, uint64_t svma)
{
	(void)ctx;
	(void)svma;
	return false;
}

/*
 * What objdump shows of @path: addresses of instructions, and of jumps that look like table jumps.
 */
static bool read_objdump(const char *path, struct u64map *insns, uint64_t **jumps, size_t *njumps)
{
	char cmd[256], line[1024];
	bool added = false;	/* the previous instruction computed a register by addition */
	size_t cap = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "objdump -dw --no-show-raw-insn -j .text '%s' 2>/dev/null", path);
	f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char *end, *text;
		uint64_t svma = strtoull(line, &end, 16);

		if (*end != ':' || line[0] != ' ')
			continue;
		u64map_put(insns, svma, NULL);
		text = strstr(end, "jmp ");
		text = text ? strchr(text, '*') : NULL;
		if (!text || !(added ? text[1] == '%' : strstr(text, ",8)") != NULL)) {
			added = strstr(end, "add    %r") != NULL;
			continue;
		}
		added = false;
		XGROW(*jumps, *njumps, cap);
		(*jumps)[(*njumps)++] = svma;
	}
	return pclose(f) == 0 && insns->n > 0;
}

static void check_tables(const char *path, size_t *jumps, size_t *tables)
{
	struct elf_file *ef = tool_open_elf(path);
	const struct code_source src = {
		.ctx = ef, .read = read_code, .start_of = no_start, .noreturn = returns, .data = read_data,
	};
	struct u64map insns = { 0 };
	size_t n = 0, found = 0, whole = 0, targets = 0, stray = 0;
	struct code_rows *cr;
	uint64_t *at = NULL;

	if (!ef)
		return;
	cr = code_rows_new(&src);
	assert_true(read_objdump(path, &insns, &at, &n));
	for (size_t i = 0; i < n; i++) {
		const struct code_table *t = code_table(cr, at[i]);

		found += t->n > 0;
		whole += t->whole;
		targets += t->n;
		for (size_t k = 0; k < t->n; k++) {
			if (u64map_get(&insns, t->targets[k]))
				continue;
			if (!stray++)
				print_message("# %s: no instruction at %#lx, where %#lx leads\n", path,
					      (unsigned long)t->targets[k], (unsigned long)at[i]);
		}
	}
	print_message("# %s: %zu jumps, %zu through tables, %zu of these whole; %zu targets, %zu astray\n", path, n, found, whole,
		      targets, stray);
	*jumps += n;
	*tables += found;
	assert_int_equal(stray, 0);
	free(at);
	u64map_fini(&insns);
	code_rows_free(cr);
	elf_file_close(ef);
}

static void test_programs(void **state)
{
	static const char *const paths[] = {
		"/lib/x86_64-linux-gnu/libc.so.6", "/bin/bash", "/usr/bin/perl", "/bin/busybox", "/usr/bin/python3",
		"/usr/bin/mawk", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	};
	size_t jumps = 0, tables = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		check_tables(paths[i], &jumps, &tables);
	assert_true(jumps > 100);
	/*
	 * If the table's address was loaded before a loop, or offsets are relative to another
	 * place, the targets cannot be found.
	 */
	assert_true(100 * tables >= 80 * jumps);
}

/*
 * Each shape of table jump that compilers emit, with the targets by the assembler's labels. t_end
 * stands after the third entry of both tables, and has entries of its own.
 */
__asm__(".section .rodata\n"
	".balign 8\n"
	"t_offsets: .long t_a - t_offsets, t_b - t_offsets, t_a - t_offsets, t_c - t_offsets, t_c - t_offsets\n"
	".section .data.rel.ro, \"aw\"\n"
	".balign 8\n"
	"t_addresses: .quad t_a, t_b, t_a, t_c, t_c, 0\n"
	".text\n"
	"t_code:\n"
	"t_a: ret\n t_b: ret\n t_c: ret\n"
	/* gcc and clang, position independent */
	"	cmp $2, %edi\n	ja t_a\n	mov %edi, %edi\n	lea t_offsets(%rip), %rdx\n"
	"	movslq (%rdx,%rdi,4), %rax\n	add %rdx, %rax\n"
	"t_plain: jmp *%rax\n"
	"	cmp $3, %r8b\n	jae t_a\n	movzbl %r8b, %r9d\n	lea t_offsets(%rip), %r10\n"
	"	movslq (%r10,%r9,4), %r9\n	add %r9, %r10\n"
	"t_below: notrack jmp *%r10\n"
	/* the index begins at 8 */
	"	cmp $10, %dil\n	ja t_a\n	sub $8, %edi\n	lea t_offsets(%rip), %rdx\n	movzbl %dil, %edi\n"
	"	movslq (%rdx,%rdi,4), %rax\n	add %rdx, %rax\n"
	"t_shifted: jmp *%rax\n"
	/* compared in memory, with an instruction between; and a copy made before the comparison */
	"	cmpl $2, 4(%rbx)\n	lea 4(%rbx), %rsi\n	ja t_a\n	mov 4(%rbx), %ecx\n	lea t_offsets(%rip), %rdx\n"
	"	movslq (%rdx,%rcx,4), %rax\n	add %rdx, %rax\n"
	"t_memory: jmp *%rax\n"
	"	mov %rsi, %rcx\n	cmp $2, %rsi\n	ja t_a\n	lea t_offsets(%rip), %rsi\n"
	"	movslq (%rsi,%rcx,4), %rcx\n	add %rsi, %rcx\n"
	"t_copied: jmp *%rcx\n"
	/* absolute addresses, with and without a base register */
	"	cmp $2, %edi\n	ja t_a\n	mov %edi, %edi\n	lea t_addresses(%rip), %rdx\n"
	"t_indexed: jmp *(%rdx,%rdi,8)\n"
	"	cmp $2, %edi\n	ja t_a\n	mov %edi, %edi\n	lea t_addresses(%rip), %rdx\n	mov (%rdx,%rdi,8), %rax\n"
	"t_loaded: jmp *%rax\n"
	/*
	 * an interpreter's opcode: every byte value has an entry; here only as many as lead to code
	 */
	"	movzbl (%rbx), %eax\n	lea t_addresses(%rip), %rdx\n	mov %eax, %ecx\n"
	"t_byte: jmp *(%rdx,%rcx,8)\n"
	"	movzbl (%rbx), %eax\n	mov %eax, %esi\n	lea t_addresses(%rip), %rdx\n	mov (%rdx,%rsi,8), %rdi\n"
	"t_opcode: jmp *%rdi\n"
	/*
	 * any entry leads to code if it is an offset, and a value computed from a byte is not
	 * bounded like a byte
	 */
	"	movzbl (%rbx), %edi\n	lea t_offsets(%rip), %rdx\n	movslq (%rdx,%rdi,4), %rax\n	add %rdx, %rax\n"
	"t_byte_offset: jmp *%rax\n"
	"	movzbl (%rbx), %edi\n	sub $4, %edi\n	lea t_addresses(%rip), %rdx\n"
	"t_byte_less: jmp *(%rdx,%rdi,8)\n"
	/*
	 * the number of entries is not known: the comparison is of another register, flags changed
	 * since, another condition, or there is none
	 */
	"	cmp $2, %esi\n	ja t_a\n	lea t_offsets(%rip), %rdx\n	movslq (%rdx,%rdi,4), %rax\n	add %rdx, %rax\n"
	"t_other: jmp *%rax\n"
	"	cmp $2, %edi\n	test %esi, %esi\n	ja t_a\n	lea t_offsets(%rip), %rdx\n"
	"	movslq (%rdx,%rdi,4), %rax\n	add %rdx, %rax\n"
	"t_flags: jmp *%rax\n"
	"	cmp $2, %edi\n	je t_a\n	lea t_offsets(%rip), %rdx\n	movslq (%rdx,%rdi,4), %rax\n	add %rdx, %rax\n"
	"t_equal: jmp *%rax\n"
	"	cmp $2, %edi\n	ja t_a\n	imul $3, %edi, %edi\n	lea t_offsets(%rip), %rdx\n"
	"	movslq (%rdx,%rdi,4), %rax\n	add %rdx, %rax\n"
	"t_times: jmp *%rax\n"
	"	cmpl $2, 8(%rsp)\n	push %rbx\n	ja t_a\n	mov 8(%rsp), %edi\n	lea t_offsets(%rip), %rdx\n"
	"	movslq (%rdx,%rdi,4), %rax\n	add %rdx, %rax\n"
	"t_pushed: jmp *%rax\n"
	/*
	 * no table jump: the offset is not relative to the table, the register changes, an address
	 * that was loaded or computed
	 */
	"	lea t_offsets(%rip), %rdx\n	lea t_a(%rip), %rcx\n	movslq (%rdx,%rdi,4), %rax\n	add %rcx, %rax\n"
	"t_foreign: jmp *%rax\n"
	"	lea t_offsets(%rip), %rdx\n	movslq (%rdx,%rdi,4), %rax\n	add %rdx, %rax\n	inc %rax\n"
	"t_changed: jmp *%rax\n"
	"	mov 8(%rdi), %rax\n"
	"t_pointer: jmp *%rax\n"
	"	lea t_a(%rip), %rax\n"
	"t_address: jmp *%rax\n"
	"	ret\n"
	"t_over:\n");

extern const uint8_t t_code[], t_over[], t_a[], t_b[], t_c[], t_plain[], t_below[], t_shifted[], t_memory[], t_copied[], t_indexed[],
	t_loaded[], t_byte[], t_opcode[], t_byte_offset[], t_byte_less[], t_other[], t_flags[], t_equal[], t_times[], t_pushed[], t_foreign[], t_changed[], t_pointer[], t_address[];

static size_t read_self(void *ctx, uint64_t svma, const uint8_t **data)
{
	(void)ctx;
	*data = (const uint8_t *)(uintptr_t)svma;
	return svma - (uintptr_t)t_code < (size_t)(t_over - t_code) ? (uintptr_t)t_over - svma : 0;
}

static size_t data_self(void *ctx, uint64_t svma, void *buf, size_t size)
{
	(void)ctx;
	memcpy(buf, (const void *)(uintptr_t)svma, size);
	return size;
}

static void test_shapes(void **state)
{
	const struct code_source src = { .read = read_self, .start_of = no_start, .noreturn = returns, .data = data_self };
	static const struct {
		const char *name;
		const uint8_t *jump;
		size_t n;
		bool whole;
	} cases[] = {
		{ "plain", t_plain, 2, true }, { "below", t_below, 2, true }, { "shifted", t_shifted, 2, true },
		{ "memory", t_memory, 2, true }, { "copied", t_copied, 2, true }, { "indexed", t_indexed, 2, true },
		{ "loaded", t_loaded, 2, true },
		{ "byte", t_byte, 3, false }, { "opcode", t_opcode, 3, false },
		{ "byte_offset", t_byte_offset, 1, false }, { "byte_less", t_byte_less, 1, false },
		{ "other", t_other, 1, false }, { "flags", t_flags, 1, false }, { "equal", t_equal, 1, false },
		{ "times", t_times, 1, false }, { "pushed", t_pushed, 1, false },
		{ "foreign", t_foreign, 0, false }, { "changed", t_changed, 0, false }, { "pointer", t_pointer, 0, false },
		{ "address", t_address, 0, false },
	};
	struct code_rows *cr = code_rows_new(&src);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct code_table *t = code_table(cr, (uintptr_t)cases[i].jump);

		if (t->n != cases[i].n || t->whole != cases[i].whole)
			print_message("# %s: %zu, %d\n", cases[i].name, t->n, t->whole);
		assert_int_equal(t->n, cases[i].n);
		assert_int_equal(t->whole, cases[i].whole);
		if (t->n > 0)
			assert_true(t->targets[0] == (uintptr_t)t_a);
		if (t->n > 1)
			assert_true(t->targets[1] == (uintptr_t)t_b);
		assert_int_equal(t->by_type, t->n == 3);
	}
	code_rows_free(cr);
}

/* Tables that were found are not kept forever. */
static void test_forgets(void **state)
{
	const struct code_source src = { .read = read_self, .start_of = no_start, .noreturn = returns, .data = data_self };
	struct code_rows *cr = code_rows_new(&src);
	size_t most = 0;

	(void)state;
	for (uint64_t jump = 1; jump < 600000; jump++) {
		assert_int_equal(code_table(cr, jump)->n, 0);
		most = MAX(most, cr->ntables);
		if (jump % 1000 == 0)
			assert_int_equal(code_table(cr, (uintptr_t)t_plain)->n, 2);
	}
	assert_true(most < 300000);
	code_rows_free(cr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_forgets),
		cmocka_unit_test(test_programs),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
