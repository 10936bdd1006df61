#!/bin/bash
# If a system call is the very last instruction of a function, the samples in the kernel belong to
# that function, not to the next one in memory.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd gcc nm
cd "$T" || exit 1
can_sample_kernel || skip_all "no right to sample the kernel"

# asks() reads zeros, and goes on with goes_on() behind it, from which it is asked again.
cat >prog.c <<'C'
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
void asks(int fd, void *to, size_t size, long times);
__asm__(".text\n"
	".globl asks, goes_on\n"
	".type asks, @function\n"
	"asks: .cfi_startproc\n"
	"push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_rel_offset %rbx, 0\n"
	"mov %rcx, %rbx\n"
	"0: xor %eax, %eax\n"
	"syscall\n"
	".cfi_endproc\n"
	".size asks, . - asks\n"
	".type goes_on, @function\n"
	"goes_on: .cfi_startproc\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_rel_offset %rbx, 0\n"
	"dec %rbx\n"
	"jnz 0b\n"
	"pop %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	".cfi_restore %rbx\n"
	"ret\n"
	".cfi_endproc\n"
	".size goes_on, . - goes_on\n");
static void caught(int sig)
{
	(void)sig;
}
int main(int argc, char **argv)
{
	size_t size = 4 << 20;
	char *to = malloc(size);
	int fd = open("/dev/zero", O_RDONLY);

	(void)argv;
	signal(SIGUSR1, caught);
	while (clock() < CLOCKS_PER_SEC / 2) {
		if (argc > 1)
			raise(SIGUSR1);
		else
			asks(fd, to, size, 20);
	}
	return 0;
}
C
gcc -O1 -o prog prog.c 2>err || skip_all "gcc cannot build it: $(cat err)"

"$NSPROF" record -q -e cpu-clock -F 999 -o a.data -- ./prog
"$NSPROF" symbolize -q --no-inline a.data >folded
in_read=$(grep -E 'main;.*(ksys_read|vfs_read|do_syscall_64|entry_SYSCALL)' folded | awk '{ n += $NF } END { print n + 0 }')
check "the kernel reads most of the time ($in_read samples)" test "$in_read" -gt 100
is "all of that was asked for by asks()" "$(grep -E 'main;.*(ksys_read|vfs_read|do_syscall_64)' folded | grep -c ';goes_on;')" 0
check "with its caller" grep -Eq ';main;asks;([^;]*;)*[^;]*read' folded

# A C library's return from a signal handler is another such function. Its name is not in the
# dynamic symbol table.
"$NSPROF" record -q -e cpu-clock -F 999 -o a.data -- ./prog signals
libc=$(ldd ./prog | awk '/libc\.so/ { print $3 }')
id=$(readelf -n "$libc" | sed -n 's/.*Build ID: //p')
debug=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
if nm "$debug" 2>/dev/null | grep -q ' __restore_rt$'; then
	"$NSPROF" symbolize -q --no-inline a.data >folded
	check "the way back from a signal handler has its name" grep -Eq ';__restore_rt;.*sigreturn' folded
	# While restore_sigcontext() fetches them, half of the registers are the handler's and half
	# are from before the signal.
	unlike "always" "$(grep -v ';restore_sigcontext [0-9]*$' folded)" ';\[libc[^;]*;([^;]*;)*[^;]*rt_sigreturn'
else
	skip "the way back from a signal handler" "no debug symbols of $libc are installed"
fi
done_testing
