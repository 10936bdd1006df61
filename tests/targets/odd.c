/*
 * Stacks that contain more than plain calls. "odd MODE --chain" prints the chain that MODE
 * declares, root first; "odd MODE SECONDS" runs it for SECONDS of CPU time.
 *
 *	signal		a handler on the interrupted stack
 *	altstack	a handler on a stack of its own
 *	coroutine	makecontext() and swapcontext()
 *	planted		a hand-made stack, with the address of its final function as its first
 *			function's return address
 *	vfork		the child, on its parent's stack
 *	asm		assembly without any frame information: a leaf, and one that saves registers
 *	search		assembly that returns by a computed jump: nobody can read where that leads
 *	guess		the same, and nothing shows where it is called either
 *	table		the same as search in a larger frame that contains what looks like a
 *			caller's frame
 *	framed		such assembly with a frame pointer of its own, and a return address among
 *			its variables
 *	redzone		assembly whose rows use a word below the stack pointer, as libcrypto's do
 *	hole		a frame of twelve pages, of which only the ends were touched
 *	deep		1,000 calls: deeper than any copy
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP() __asm__ volatile("" ::: "memory")

static double until;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

NOINLINE unsigned long odd_burn(unsigned long n)
{
	for (unsigned long i = 0; i < 400000; i++) {
		n = n * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(n));
	}
	return n;
}

static volatile unsigned long sink;

NOINLINE void odd_handler(int sig)
{
	do {
		sink += odd_burn((unsigned long)sig);
		KEEP();
	} while (now() < until);
}

NOINLINE void odd_hole(void)
{
	char room[12 * 4096];

	do {
		/* The array must exist, but nothing reads it. */
		__asm__ volatile("" : : "r"(room));
		sink += odd_burn(sink);
		KEEP();
	} while (now() < until);
}

/* For the first half of the time the stack ends where all of it is in memory. */
NOINLINE void odd_shallow(void)
{
	double half = (now() + until) / 2;

	do {
		sink += odd_burn(sink);
		KEEP();
	} while (now() < half);
	odd_hole();
	KEEP();
}

NOINLINE void odd_raise(void)
{
	raise(SIGUSR1);
	KEEP();
}

static void with_handler(int flags)
{
	static char mem[65536];
	stack_t ss = { .ss_sp = mem, .ss_size = sizeof(mem) };
	struct sigaction sa = { .sa_handler = odd_handler, .sa_flags = flags };

	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	odd_raise();
}

static ucontext_t back, there;

NOINLINE void odd_coroutine(void)
{
	do {
		sink += odd_burn(sink);
		swapcontext(&there, &back);
	} while (now() < until);
}

NOINLINE void odd_switch(void)
{
	static char mem[65536];

	getcontext(&there);
	there.uc_stack.ss_sp = mem;
	there.uc_stack.ss_size = sizeof(mem);
	there.uc_link = &back;
	makecontext(&there, odd_coroutine, 0);
	while (now() < until)
		swapcontext(&back, &there);
}

NOINLINE void odd_planted(void)
{
	do {
		sink += odd_burn(sink);
		KEEP();
	} while (now() < until);
}

/*
 * Runs @fn on the stack that ends at @top, a multiple of 16. It returns to odd_finish, which
 * nothing calls.
 */
void odd_begin(void *top, void (*fn)(void));
__asm__(".text\n"
	".p2align 4\n"
	".type odd_finish, @function\n"
	"odd_finish:\n"
	"	xor	%edi, %edi\n"
	"	mov	$60, %eax\n" /* exit(2) */
	"	syscall\n"
	".size odd_finish, . - odd_finish\n"
	".type odd_begin, @function\n"
	"odd_begin:\n"
	"	mov	%rdi, %rsp\n"
	"	lea	odd_finish(%rip), %rax\n"
	"	push	%rax\n"
	"	jmp	*%rsi\n"
	".size odd_begin, . - odd_begin\n");

NOINLINE void odd_plant(void)
{
	static char mem[65536] __attribute__((aligned(16)));

	odd_begin(mem + sizeof(mem), odd_planted);
}

NOINLINE void odd_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		do {
			sink += odd_burn(sink);
			KEEP();
		} while (now() < until);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	KEEP();
}

/* All of these burn CPU in their own code, except that asm_calls() calls odd_asm_leaf(). */
unsigned long odd_asm_leaf(unsigned long n);
unsigned long odd_asm_calls(unsigned long n);
unsigned long odd_asm_search(unsigned long n);
unsigned long odd_asm_table(unsigned long n);
unsigned long odd_asm_framed(unsigned long n);
unsigned long odd_asm_red(unsigned long n);
__asm__(".text\n"
	".globl odd_asm_leaf, odd_asm_calls, odd_asm_search, odd_asm_table, odd_asm_framed, odd_asm_red\n"
	".type odd_asm_leaf, @function\n"
	"odd_asm_leaf:\n"
	"	mov $300000, %ecx\n"
	"1:	imul %rdi, %rdi\n"
	"	dec %ecx\n"
	"	jnz 1b\n"
	"	mov %rdi, %rax\n"
	"	ret\n"
	".size odd_asm_leaf, . - odd_asm_leaf\n"
	".type odd_asm_calls, @function\n"
	"odd_asm_calls:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	sub $40, %rsp\n"
	"	mov $3, %ebp\n"
	"2:	call odd_asm_leaf\n"
	"odd_asm_return:\n"
	"	mov %rax, %rdi\n"
	"	dec %ebp\n"
	"	jnz 2b\n"
	"	add $40, %rsp\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size odd_asm_calls, . - odd_asm_calls\n"
	/* Not a function symbol, so that its start is not known either. */
	"odd_asm_search:\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	sub $24, %rsp\n"
	"	mov $300000, %ecx\n"
	"3:	imul %rdi, %rdi\n"
	"	dec %ecx\n"
	"	jnz 3b\n"
	"	lea 4f(%rip), %rdx\n"
	"	jmp *%rdx\n"
	"	.skip 16, 0xcc\n"
	"4:	mov %rdi, %rax\n"
	"	add $24, %rsp\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	ret\n"
	/*
	 * A return address into odd_asm_calls(), whose frame would end where this one does. The
	 * caller's %rbp is not saved in that slot.
	 */
	"odd_asm_table:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	sub $56, %rsp\n"
	"	lea odd_asm_return(%rip), %rdx\n"
	"	mov %rdx, 8(%rsp)\n"
	"	mov $1, %ebp\n"
	"	mov $300000, %ecx\n"
	"8:	imul %rdi, %rdi\n"
	"	dec %ecx\n"
	"	jnz 8b\n"
	"	lea 9f(%rip), %rdx\n"
	"	jmp *%rdx\n"
	"	.skip 16, 0xcc\n"
	"9:	mov %rdi, %rax\n"
	"	add $56, %rsp\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	"odd_asm_framed:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $32, %rsp\n"
	"	mov 8(%rbp), %rdx\n"
	"	mov %rdx, -8(%rbp)\n"
	"	mov $300000, %ecx\n"
	"6:	imul %rdi, %rdi\n"
	"	dec %ecx\n"
	"	jnz 6b\n"
	"	lea 7f(%rip), %rdx\n"
	"	jmp *%rdx\n"
	"	.skip 16, 0xcc\n"
	"7:	mov %rdi, %rax\n"
	"	leave\n"
	"	ret\n"
	/*
	 * The frame is found by the old stack pointer. One copy of it is in the frame, another one
	 * moves along below the frame.
	 */
	".type odd_asm_red, @function\n"
	"odd_asm_red:\n"
	"	.cfi_startproc\n"
	"	mov %rsp, %rax\n"
	"	.cfi_def_cfa_register rax\n"
	"	push %rbx\n"
	"	.cfi_offset rbx, -16\n"
	"	push %rbp\n"
	"	.cfi_offset rbp, -24\n"
	"	sub $1024, %rsp\n"
	"	and $-64, %rsp\n"
	"	mov %rax, 152(%rsp)\n"
	"	.cfi_escape 0x0f, 6, 0x77, 0x98, 0x01, 0x06, 0x23, 8\n" /* CFA = *(rsp + 152) + 8 */
	"	lea -128(%rsp), %rbx\n"
	"	mov %rax, -8(%rbx)\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_escape 0x0f, 5, 0x77, 0x78, 0x06, 0x23, 8\n" /* CFA = *(rsp - 8) + 8 */
	"	mov $300000, %ebp\n"
	"5:	imul %rdi, %rdi\n"
	"	dec %ebp\n"
	"	jnz 5b\n"
	"	mov 280(%rsp), %rdx\n"
	"	.cfi_def_cfa rdx, 8\n"
	"	mov %rdi, %rax\n"
	"	mov -16(%rdx), %rbp\n"
	"	mov -8(%rdx), %rbx\n"
	"	mov %rdx, %rsp\n"
	"	.cfi_def_cfa_register rsp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size odd_asm_red, . - odd_asm_red\n");

NOINLINE void odd_asm(void)
{
	do {
		sink += odd_asm_calls(sink | 1);
		KEEP();
	} while (now() < until);
}

NOINLINE void odd_search(void)
{
	do {
		sink += odd_asm_search(sink | 1);
		KEEP();
	} while (now() < until);
}

static unsigned long (*volatile unknown)(unsigned long n) = odd_asm_search;

NOINLINE void odd_guess(void)
{
	do {
		sink += unknown(sink | 1);
		KEEP();
	} while (now() < until);
}

/* Its frame is found by %rbp, since its size is unknown. */
NOINLINE void odd_table(void)
{
	volatile char *pad = __builtin_alloca(16 + (sink & 16));

	do {
		pad[0] = 1;
		sink += odd_asm_table(sink | 1);
		KEEP();
	} while (now() < until);
}

NOINLINE void odd_framed(void)
{
	do {
		sink += odd_asm_framed(sink | 1);
		KEEP();
	} while (now() < until);
}

NOINLINE void odd_red(void)
{
	do {
		sink += odd_asm_red(sink | 1);
		KEEP();
	} while (now() < until);
}

NOINLINE unsigned long odd_deep(int depth)
{
	volatile char pad[100];
	unsigned long r;

	pad[depth % 100] = 1;
	if (depth)
		return odd_deep(depth - 1) + pad[depth % 100];
	do {
		r = odd_burn(sink);
		KEEP();
	} while (now() < until);
	return r;
}

int main(int argc, char **argv)
{
	static const char *const chains[][2] = {
		{ "signal", "odd_handler;odd_burn" },
		{ "altstack", "odd_handler;odd_burn" },
		{ "coroutine", "odd_coroutine;odd_burn" },
		{ "planted", "odd_finish;odd_planted;odd_burn" },
		{ "vfork", "main;odd_vfork;odd_burn" },
		{ "asm", "main;odd_asm;odd_asm_calls;odd_asm_leaf" },
		{ "search", "main;odd_search;odd_asm_search" },
		{ "guess", "main;odd_guess;[scanned];odd_asm_search" },
		{ "table", "main;odd_table;odd_asm_table" },
		{ "framed", "main;odd_framed;odd_asm_framed" },
		{ "redzone", "main;odd_red;[scanned];odd_asm_red" },
		{ "hole", "odd_hole;odd_burn" },
		{ "deep", "odd_deep;odd_deep;odd_deep;odd_burn" },
	};
	const char *mode = argc > 2 ? argv[1] : "";

	for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++)
		if (!strcmp(mode, chains[i][0]) && !strcmp(argv[2], "--chain"))
			return puts(chains[i][1]) < 0;
	until = now() + (argc > 2 ? atof(argv[2]) : 1);
	if (!strcmp(mode, "signal"))
		with_handler(0);
	else if (!strcmp(mode, "altstack"))
		with_handler(SA_ONSTACK);
	else if (!strcmp(mode, "coroutine"))
		odd_switch();
	else if (!strcmp(mode, "planted"))
		odd_plant();
	else if (!strcmp(mode, "vfork"))
		odd_vfork();
	else if (!strcmp(mode, "asm"))
		odd_asm();
	else if (!strcmp(mode, "search"))
		odd_search();
	else if (!strcmp(mode, "guess"))
		odd_guess();
	else if (!strcmp(mode, "table"))
		odd_table();
	else if (!strcmp(mode, "framed"))
		odd_framed();
	else if (!strcmp(mode, "redzone"))
		odd_red();
	else if (!strcmp(mode, "hole"))
		odd_shallow();
	else if (!strcmp(mode, "deep"))
		odd_deep(1000);
	else
		return 2;
	KEEP();
	return 0;
}
