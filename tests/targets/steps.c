/*
 * A little of everything that code does to a stack, between a breakpoint and its end. A tracer
 * (test_sweep.c) runs it one instruction at a time. Any libc, any compiler.
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

NOINLINE static int realigned(int n, ...)
{
	volatile char v[64] __attribute__((aligned(64)));
	volatile char *p = alloca(n);
	va_list ap;
	int sum = 0;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(ap, int);
	va_end(ap);
	p[n - 1] = (char)sum;
	v[n] = p[n - 1];
	return fib(4) + v[n];
}

/* Assembly as people write it, without any frame information. */
int asm_leaf(int n);
int asm_saves(int n, int (*fn)(int));
int asm_frame(int n, int (*fn)(int));
__asm__(".text\n"
	".globl asm_leaf, asm_saves, asm_frame\n"
	".type asm_leaf, @function\n"
	"asm_leaf:\n"
	"	mov %edi, %eax\n"
	"	add $1, %eax\n"
	"	ret\n"
	".size asm_leaf, . - asm_leaf\n"
	".type asm_saves, @function\n"
	"asm_saves:\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	sub $24, %rsp\n"
	"	mov %edi, %ebx\n"
	"	mov %rsi, %r12\n"
	"1:	mov %ebx, %edi\n"
	"	call *%r12\n"
	"	sub $1, %ebx\n"
	"	jg 1b\n"
	"	add $24, %rsp\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	ret\n"
	".size asm_saves, . - asm_saves\n"
	".type asm_frame, @function\n"
	"asm_frame:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %rbx\n"
	"	sub $40, %rsp\n"
	"	and $-64, %rsp\n"
	"	mov %edi, %ebx\n"
	"	call *%rsi\n"
	"	add %ebx, %eax\n"
	"	mov -8(%rbp), %rbx\n"
	"	leave\n"
	"	ret\n"
	".size asm_frame, . - asm_frame\n");

static jmp_buf jump;
static volatile int caught;

static void on_signal(int sig)
{
	caught += sig + fib(3);
}

NOINLINE static int jumps(int n)
{
	if (n == 0 && caught)
		longjmp(jump, 1);
	return n ? jumps(n - 1) + caught : 0;
}

NOINLINE static int work(void)
{
	char *words[] = { strdup("pear"), strdup("apple"), strdup("fig"), strdup("plum") };
	struct timespec ts;
	char text[256];
	volatile int sum = 0;

	/* Stepping begins here: everything called from now on returns to this function. */
	__asm__ volatile("int3");
	sum += fib(5) + realigned(3, 1, 2, 3);
	sum += asm_leaf(sum) + asm_saves(2, fib) + asm_frame(2, fib);
	qsort(words, 4, sizeof(words[0]), compare);
	for (int i = 0; i < 4; i++) {
		sum += (int)strlen(words[i]);
		free(words[i]);
	}
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	if (setjmp(jump) == 0)
		sum += jumps(3);
	snprintf(text, sizeof(text), "%s %5.3f %ld %d", "x", sum / 7.0, (long)sum, caught);
	sum += (int)strtod(text + 2, NULL);
	free(realloc(malloc(100), 5000));
	setenv("NSPROF_TEST", text, 1);
	/*
	 * Last, because the vdso reads the time again if a tick came in between, and on a busy
	 * machine there is one every few steps.
	 */
	clock_gettime(CLOCK_MONOTONIC, &ts);
	/* The tracer knows the calls since the breakpoint, not the caller of this function. */
	_exit(sum & 0x7f);
}

int main(void)
{
	int r = work();

	__asm__ volatile("" ::: "memory");
	return r & 0x7f;
}
