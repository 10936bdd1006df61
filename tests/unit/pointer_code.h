/*
 * A program for tests that tell return addresses from other pointers to code: functions with and
 * without call frame information, padding between them that consists of instructions, and a
 * function that does not return.
 */
#ifndef NSPROF_TEST_POINTER_CODE_H
#define NSPROF_TEST_POINTER_CODE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elf/elf_file.h"
#include "toolrun.h"

static const char pointer_s[] =
	".macro caller name\n"
	"	.p2align 4, 0x90\n"
	"\\name:	.cfi_startproc\n"
	"	sub $24, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	call lost\n"
	"in_\\name: add $24, %rsp\n"
	"	.cfi_adjust_cfa_offset -24\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".endm\n"
	"	.text\n"
	"	.globl _start\n"
	"_start:	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	call taker\n"
	"in_start: hlt\n"
	"	.cfi_endproc\n"
	/* No rows are derived for start-up code and for code close after it. */
	"	.skip 64, 0x90\n"
	"	caller taker\n"
	"	caller other\n"
	/* Nobody can tell where its jump leads. */
	"	.p2align 4, 0x90\n"
	"lost:	jmp *%rax\n"
	"	.p2align 4, 0x90\n"
	"stated: .cfi_startproc\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.p2align 4, 0x90\n"
	"bare:	sub $8, %rsp\n"
	"	call stated\n"
	"in_bare: add $8, %rsp\n"
	"	ret\n"
	"	.p2align 4, 0x90\n"
	"roomy:	sub $0x10000, %rsp\n"
	"in_roomy: add $0x10000, %rsp\n"
	"	ret\n"
	"	.p2align 4, 0x90\n"
	"endless: call finish\n"
	"in_endless: .p2align 4, 0x90\n"
	"finish: mov $60, %eax\n"
	"	syscall\n"
	"	.p2align 4, 0x90\n"
	"	.type exits, @function\n"
	"exits:	push %rbx\n"
	"	nop\n"
	"in_exits: nop\n"
	"	mov $60, %eax\n"
	"	syscall\n"
	"	.size exits, . - exits\n"
	/* In a language with a stack of its own: by its rows it is called as C is. */
	"	.p2align 4, 0x90\n"
	"	.type foreign, @function\n"
	"foreign: lea -16(%rbp), %rax\n"
	"in_foreign: jmp *(%rbp)\n"
	"	.size foreign, . - foreign\n"
	/*
	 * It reads its arguments from the stack, so the path to its return does not distinguish
	 * them from a frame.
	 */
	"	.p2align 4, 0x90\n"
	"drops:	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	call *%rcx\n"
	"in_drops: leave\n"
	"	add $16, %rsp\n"
	"	ret\n"
	"	.p2align 4, 0x90\n"
	"saver:	push %rbp\n"
	"	xor %ebp, %ebp\n"
	"in_saver: pop %rbp\n"
	"	ret\n"
	/* As from a linker that writes no rows for it. */
	"	.section .plt, \"ax\", @progbits\n"
	"	.p2align 4, 0xcc\n"
	"entry:	jmp *taker(%rip)\n"
	"	push $1\n"
	"	.section .note.GNU-stack,\"\",@progbits\n";

/* Builds it; NULL if the tools are missing. Close it with elf_file_close(). */
static inline struct elf_file *pointer_build(void)
{
	if (!tool_have("gcc"))
		return NULL;
	tool_write("pointers.s", pointer_s);
	assert_int_equal(tool_run("gcc -nostdlib -static -o pointers pointers.s"), 0);
	return tool_open_elf("pointers");
}

struct pointer_wanted {
	const char *name;
	uint64_t svma;
};

static inline int pointer_symbol(void *ctx, const struct elf_sym *sym)
{
	struct pointer_wanted *w = ctx;

	if (strcmp(sym->name, w->name) == 0)
		w->svma = sym->svma;
	return 0;
}

/* svma of a label. */
static inline uint64_t pointer_at(struct elf_file *ef, const char *name)
{
	struct pointer_wanted w = { name, 0 };

	elf_file_symbols(ef, pointer_symbol, &w);
	assert_true(w.svma);
	return w.svma;
}

#endif
