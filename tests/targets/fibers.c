/*
 * Work on stacks that a program made itself: fibers HOW SECS, for SECS of CPU time.
 *
 *	context		makecontext(3): fiber_entry -> fiber_middle -> fiber_leaf
 *	linked		a fiber whose first frame has call frame information that finds the caller's
 *			stack, as in OCaml: fiber_run -> fiber_entry -> fiber_middle -> fiber_leaf
 *	callback	called back from there on the thread's own stack: fiber_run -> thread_middle
 *			-> fiber_leaf
 *	jit		JIT code on a stack of its own, with frame pointers: planted -> jit_outer ->
 *			jit_leaf; called from there on the thread's stack: jit_glue -> native ->
 *			fiber_leaf. Its perf map is /tmp/perf-PID.map. planted begins directly after
 *			jit_before, and no call precedes its first instruction.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define KEEP() __asm__ volatile("" ::: "memory")
#define STACK_BYTES 65536ul

static unsigned long sum;
static double seconds;
static char *thread_sp;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

NOINLINE void fiber_leaf(void)
{
	for (int i = 0; i < 2000000; i++)
		sum = sum * 6364136223846793005ul + 1442695040888963407ul;
	KEEP();
}

NOINLINE void fiber_middle(void)
{
	fiber_leaf();
	KEEP();
}

NOINLINE void fiber_entry(void)
{
	double end = now() + seconds;

	while (now() < end) {
		fiber_middle();
		KEEP();
	}
}

NOINLINE void thread_middle(void)
{
	double end = now() + seconds;

	while (now() < end) {
		fiber_leaf();
		KEEP();
	}
}

/*
 * Calls @fn on the stack that ends at @top and saves the present stack pointer there; the caller's
 * frame is found through it.
 */
void fiber_run(void (*fn)(void), char *top);
__asm__(".text\n"
	".globl fiber_run\n"
	".type fiber_run, @function\n"
	"fiber_run:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_offset %rbp, -16\n"
	"	mov %rsp, -16(%rsi)\n"
	"	lea -16(%rsi), %rsp\n"
	/* DW_CFA_def_cfa_expression: DW_OP_breg7 0, DW_OP_deref, DW_OP_plus_uconst 16 */
	".cfi_escape 0x0f, 0x05, 0x77, 0x00, 0x06, 0x23, 0x10\n"
	"	call *%rdi\n"
	"	mov (%rsp), %rsp\n"
	".cfi_def_cfa %rsp, 16\n"
	"	pop %rbp\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size fiber_run, . - fiber_run\n");

NOINLINE void fiber_back(void)
{
	fiber_run(thread_middle, thread_sp);
	KEEP();
}

/* A stack with other content above its end: the words there look like callers. */
static char *new_stack(void)
{
	char *mem = mmap(NULL, 4 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*others[])(void) = { fiber_middle, fiber_entry, thread_middle };

	for (unsigned long i = 0; i < 3 * STACK_BYTES / 8; i++) {
		unsigned long v = (unsigned long)others[i % 3] + 9;

		memcpy(mem + STACK_BYTES + 8 * i, &v, 8);
	}
	return mem + STACK_BYTES;
}

static void on_thread(void)
{
	char here;

	/* Below everything in use there. */
	thread_sp = (char *)(((unsigned long)&here - 8192) & ~63ul);
	fiber_run(fiber_back, new_stack());
}

static void on_context(void)
{
	static ucontext_t fiber, back;

	getcontext(&fiber);
	fiber.uc_stack.ss_sp = new_stack() - STACK_BYTES;
	fiber.uc_stack.ss_size = STACK_BYTES;
	fiber.uc_link = &back;
	makecontext(&fiber, fiber_entry, 0);
	swapcontext(&back, &fiber);
}

/* ---- jitted ---- */

static double jit_end;
static char map_path[64];

static void native(void)
{
	fiber_leaf();
	if (now() <= jit_end)
		return;
	unlink(map_path);
	_exit(0);
}

struct code {
	unsigned char *at;
};

static void put(struct code *c, const char *bytes, size_t n)
{
	memcpy(c->at, bytes, n);
	c->at += n;
}

static void put_word(struct code *c, unsigned long v, size_t n)
{
	memcpy(c->at, &v, n);
	c->at += n;
}

static void put_call(struct code *c, const unsigned char *to)
{
	put(c, "\xe8", 1);
	put_word(c, (unsigned long)(to - (c->at + 4)), 4);
}

static void jit(void)
{
	unsigned char *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *before = mem, *planted = mem + 16, *leaf = mem + 32, *glue = mem + 64, *outer = mem + 128;
	char *top = new_stack() - 64, here;
	struct code c = { leaf };
	FILE *f;

	thread_sp = (char *)(((unsigned long)&here - 8192) & ~63ul);
	jit_end = now() + seconds;
	memset(mem, 0x90, 4096);
	planted[-1] = 0xc3;
	/* push %rbp; mov $1500000, %ecx; 1: dec %ecx; jnz 1b; mov %rsp, %rbp; the same loop; pop %rbp; ret */
	put(&c, "\x55\xb9", 2);
	put_word(&c, 1500000, 4);
	put(&c, "\xff\xc9\x75\xfc\x48\x89\xe5\xb9", 8);
	put_word(&c, 1500000, 4);
	put(&c, "\xff\xc9\x75\xfc\x5d\xc3", 6);
	/* push %rbp; mov %rsp, %rbp; push %r12; mov %rsp, %r12; mov thread_sp, %rsp; call native; mov %r12, %rsp; pop %r12; pop %rbp; ret */
	c.at = glue;
	put(&c, "\x55\x48\x89\xe5\x41\x54\x49\x89\xe4\x48\xbc", 11);
	put_word(&c, (unsigned long)thread_sp, 8);
	put(&c, "\x48\xb8", 2);
	put_word(&c, (unsigned long)native, 8);
	put(&c, "\xff\xd0\x4c\x89\xe4\x41\x5c\x5d\xc3", 9);
	/* push %rbp; mov %rsp, %rbp; 1: call leaf; call glue; jmp 1b */
	c.at = outer;
	put(&c, "\x55\x48\x89\xe5", 4);
	put_call(&c, leaf);
	put_call(&c, glue);
	put(&c, "\xeb\xf4", 2);
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	f = fopen(map_path, "w");
	fprintf(f, "%lx 10 jit_before\n%lx 10 planted\n%lx 20 jit_leaf\n%lx 40 jit_glue\n%lx 20 jit_outer\n", (unsigned long)before,
		(unsigned long)planted, (unsigned long)leaf, (unsigned long)glue, (unsigned long)outer);
	fclose(f);
	/* The stack pointer as after a call. */
	top -= 8;
	memcpy(top, &planted, 8);
	/* In named registers: the compiler might choose %rbp. */
	__asm__ volatile("mov %0, %%rsp\n\txor %%ebp, %%ebp\n\tjmp *%1" :: "a"(top), "d"(outer) : "memory");
}

int main(int argc, char **argv)
{
	seconds = argc > 2 ? atof(argv[2]) : 1;
	if (!strcmp(argv[1], "context"))
		on_context();
	else if (!strcmp(argv[1], "linked"))
		fiber_run(fiber_entry, new_stack());
	else if (!strcmp(argv[1], "callback"))
		on_thread();
	else
		jit();
	return 0;
}
