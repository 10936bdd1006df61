/*
 * A stripped assembly library. Between its exported functions (without sizes, as in musl) lie
 * hidden functions whose symbols are stripped. Two exported functions and one hidden function have
 * call frame information. The unstripped file tells which is which.
 */
#ifndef NSPROF_TEST_HIDDEN_CODE_H
#define NSPROF_TEST_HIDDEN_CODE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "elf/elf_file.h"
#include "toolrun.h"

static const char hidden_s[] =
	"	.text\n"
	"	.macro open name\n"
	"	.globl \\name\n"
	"	.type \\name, @function\n"
	"\\name:\n"
	"	.endm\n"
	"	.macro hidden name\n"
	"	.type \\name, @function\n"
	"\\name:\n"
	"	mov (%rdi), %rax\n"
	"	add %rsi, %rax\n"
	"	ret\n"
	"	.endm\n"
	/* Branches forward and back, a loop that a branch skips, padding in between. */
	"open whole\n"
	"	test %rdx, %rdx\n"
	"	je 1f\n"
	"	jmp 3f\n"
	"	.p2align 4\n"
	"2:	mov (%rsi,%rdx,8), %rax\n"
	"	mov %rax, (%rdi,%rdx,8)\n"
	"3:	dec %rdx\n"
	"	jne 2b\n"
	"1:	ret\n"
	"hidden after_ret\n"
	"open tail\n"
	"	mov (%rsp), %rdx\n"
	"	jmp jumped_to\n"
	"	.p2align 4\n"
	"hidden jumped_to\n"
	/* Like musl's clone: the parent continues after code that the child never leaves. */
	"open parent\n"
	"	mov $56, %eax\n"
	"	syscall\n"
	"	test %eax, %eax\n"
	"	jne 1f\n"
	"	call *%r9\n"
	"	mov $60, %eax\n"
	"	syscall\n"
	"	hlt\n"
	"1:	ret\n"
	"hidden after_parent\n"
	"open leaves\n"
	"	xor %edi, %edi\n"
	"	mov $231, %eax\n"
	"	syscall\n"
	"hidden after_exit\n"
	"open calls\n"
	"	push %rbx\n"
	"	call leaves\n"
	"hidden after_call\n"
	/* Rows that only the table has. */
	"open framed\n"
	"	.cfi_startproc\n"
	"	jmp *(%rax,%rdi,8)\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"hidden after_framed\n"
	"open falls\n"
	"	inc %rdi\n"
	"	.cfi_startproc\n"
	"hidden hidden_framed\n"
	"	.cfi_endproc\n"
	"open last\n"
	"	ret\n"
	"hidden at_the_end\n";

/* Builds "hidden.so" and the stripped "open.so". False where the tools are missing. */
static inline bool hidden_build(void)
{
	if (!tool_have("gcc strip nm"))
		return false;
	tool_write("hidden.s", hidden_s);
	assert_int_equal(tool_run("gcc -nostdlib -shared -Wl,-Bsymbolic -o hidden.so hidden.s && strip -o open.so hidden.so"), 0);
	return true;
}

/* The functions in order, and where the code ends. */
struct hidden_functions {
	struct {
		unsigned long long svma;
		char name[32];
		bool open;
	} v[32];
	size_t n;
	uint64_t end;
};

static inline void hidden_read(struct hidden_functions *h, struct elf_file *ef)
{
	unsigned long long svma;
	char type, name[32];
	FILE *f;

	memset(h, 0, sizeof(*h));
	assert_int_equal(tool_run("nm -n hidden.so | grep ' [tT] ' > functions"), 0);
	f = tool_open_text("functions");
	assert_non_null(f);
	while (h->n < 32 && fscanf(f, "%llx %c %31s", &svma, &type, name) == 3) {
		h->v[h->n].svma = svma;
		h->v[h->n].open = type == 'T';
		strcpy(h->v[h->n++].name, name);
	}
	fclose(f);
	assert_int_equal(h->n, 16);
	h->end = elf_file_code_end(ef, h->v[0].svma);
}

/* The name that code at @svma may get: its function's, or NULL if that symbol was stripped. */
static inline const char *hidden_truth(const struct hidden_functions *h, uint64_t svma)
{
	size_t i = h->n;

	while (i && h->v[i - 1].svma > svma)
		i--;
	return i && h->v[i - 1].open ? h->v[i - 1].name : NULL;
}

/* Whether @svma is in the padding between functions, which belongs to none. */
static inline bool hidden_padding(const struct hidden_functions *h, uint64_t svma)
{
	for (size_t i = 1; i < h->n; i++)
		if (svma < h->v[i].svma)
			return !strcmp(h->v[i].name, "jumped_to") && svma >= h->v[i - 1].svma + 6;
	return false;
}

#endif
