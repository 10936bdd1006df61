/*
 * A program that runs for a fraction of a millisecond, for exec storms: main -> brief_work.
 *
 * With -DBARE it has no C library. In a virtual machine each CPUID causes a VM exit, and the
 * startup code of a C library runs it so often that it takes about a quarter of such a program's
 * time.
 */
#include <stdint.h>

__attribute__((noinline, noclone)) uint64_t brief_work(uint64_t x)
{
	for (int i = 0; i < 60000; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

int main(int argc, char **argv)
{
	uint64_t x = brief_work((uintptr_t)argv);

	__asm__ volatile("" ::: "memory");
	return x == 42 && argc == 42;
}

#ifdef BARE
/*
 * @sp points to argc, followed by argv (the System V ABI for x86-64, 3.4.1). 231 is exit_group(2).
 */
__attribute__((noreturn, used)) static void begin(uintptr_t *sp)
{
	int status = main((int)*sp, (char **)(sp + 1));

	__asm__ volatile("syscall" : : "a"(231), "D"(status) : "rcx", "r11", "memory");
	__builtin_unreachable();
}

__asm__(".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	xorl %ebp, %ebp\n"
	"	movq %rsp, %rdi\n"
	"	andq $-16, %rsp\n"
	"	call begin\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	".size _start, . - _start\n");
#endif
