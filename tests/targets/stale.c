/*
 * main -> stale_outer -> stale_leaf. stale_outer is assembly without call frame information, and
 * its code cannot be followed. It has a frame pointer, and a word in its frame that looks as if
 * stale_other had called it. stale SECS: SECS of CPU time.
 */
#include <stdlib.h>
#include <time.h>

static unsigned long sum;
static double end;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline, used)) void stale_leaf(void)
{
	for (int i = 0; i < 2000000; i++)
		sum = sum * 6364136223846793005ul + 1442695040888963407ul;
	if (now() > end)
		exit(0);
}

void stale_outer(void);
__asm__(".text\n"
	".type stale_outer, @function\n"
	"stale_outer:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $64, %rsp\n"
	"	lea stale_return(%rip), %rax\n"
	"	mov %rax, -16(%rbp)\n"
	"	jmp *stale_next(%rip)\n"
	"stale_loop:\n"
	"	call stale_leaf\n"
	"	jmp *stale_next(%rip)\n"
	".size stale_outer, . - stale_outer\n"
	/* From there on, rows lead to the return address of stale_outer. */
	".type stale_other, @function\n"
	"stale_other:\n"
	".cfi_startproc\n"
	"	sub $16, %rsp\n"
	".cfi_def_cfa_offset 24\n"
	"	call stale_leaf\n"
	"stale_return:\n"
	"	add $16, %rsp\n"
	".cfi_def_cfa_offset 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size stale_other, . - stale_other\n"
	".section .data.rel.local,\"aw\"\n"
	"stale_next: .quad stale_loop\n"
	".text\n");

int main(int argc, char **argv)
{
	end = now() + (argc > 1 ? atof(argv[1]) : 1);
	stale_outer();
	__asm__ volatile("" ::: "memory");
	return 0;
}
