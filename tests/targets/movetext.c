/*
 * A program that copies its own code into anonymous memory at the same addresses, as is done for
 * huge pages, and continues there:
 *
 *	movetext HOW SECS	main -> move_outer -> move_middle -> move_leaf
 *	movetext jit LIB SECS	code of its own where LIB was loaded and unloaded
 *	movetext away SECS	copies a part of it elsewhere: main -> move_away -> far_outer ->
 *				far_leaf
 *
 * HOW: whole: its whole executable segment; inner: all but the first and the last page; remap: all,
 * by mremap(2), for which the kernel writes no record; shared, memfd, named: all, into memory of
 * that kind; stay: nothing. It prints "ready" when that is done. SECS are CPU time.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define KEEP() __asm__ volatile("" ::: "memory")

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

static unsigned long sum;

/* Space for a first and a last page that stay. */
__asm__(".text\n.skip 16384, 0xcc\n.section .text.zz,\"ax\"\n.skip 16384, 0xcc\n.text\n");

NOINLINE unsigned long move_leaf(unsigned long n)
{
	for (int i = 0; i < 2000000; i++)
		n = n * 6364136223846793005ul + 1442695040888963407ul;
	return n;
}

NOINLINE unsigned long move_middle(unsigned long n)
{
	unsigned long r = move_leaf(n);

	KEEP();
	return r + 1;
}

/* Position-independent code. */
extern char far_start[], far_end[], far_outer[];
__asm__(".section .text.far,\"ax\",@progbits\n"
	".balign 4096\n"
	"far_start:\n"
	".skip 8192, 0xcc\n"
	".type far_outer, @function\n"
	"far_outer:\n"
	".cfi_startproc\n"
	"	sub $24, %rsp\n"
	".cfi_adjust_cfa_offset 24\n"
	"	call far_leaf\n"
	"	add $24, %rsp\n"
	".cfi_adjust_cfa_offset -24\n"
	"	ret\n"
	".cfi_endproc\n"
	".size far_outer, . - far_outer\n"
	".type far_leaf, @function\n"
	"far_leaf:\n"
	".cfi_startproc\n"
	"	mov $1000000, %ecx\n"
	"1:	dec %ecx\n"
	"	jnz 1b\n"
	"	ret\n"
	".cfi_endproc\n"
	".size far_leaf, . - far_leaf\n"
	".skip 131072, 0x90\n"
	".balign 4096\n"
	"far_end:\n"
	".text\n");

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

NOINLINE void move_outer(double seconds)
{
	double end = now() + seconds;

	while (now() < end) {
		sum += move_middle(sum);
		KEEP();
	}
}

static inline long call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/* Runs in a page of its own, because it replaces all other code. */
static NOINLINE __attribute__((section(".mover"))) void mover(char *at, const char *copy, size_t n, int flags, int fd)
{
	char *to = at;
	size_t left = n;

	call6(SYS_mmap, (long)at, (long)n, PROT_READ | PROT_WRITE, flags, fd, 0);
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(copy), "+c"(left) :: "memory");
	call6(SYS_mprotect, (long)at, (long)n, PROT_READ | PROT_EXEC, 0, 0, 0);
}

static void own_text(char **start, char **end)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long lo, hi, here = (unsigned long)move_leaf;
	char line[4096];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &lo, &hi) == 2 && here >= lo && here < hi) {
			*start = (char *)lo;
			*end = (char *)hi;
		}
	fclose(f);
}

static void move(const char *how)
{
	int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, fd = -1;
	void (*away)(char *, const char *, size_t, int, int);
	char *start = NULL, *end = NULL, *copy, *page;
	size_t n;

	if (!strcmp(how, "stay"))
		return;
	own_text(&start, &end);
	if (!strcmp(how, "inner")) {
		start += 4096;
		end -= 4096;
	}
	n = (size_t)(end - start);
	copy = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(copy, start, n);
	if (!strcmp(how, "remap")) {
		mprotect(copy, n, PROT_READ | PROT_EXEC);
		mremap(copy, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, start);
		return;
	}
	if (!strcmp(how, "shared")) {
		flags = MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS;
	} else if (!strcmp(how, "memfd")) {
		flags = MAP_FIXED | MAP_SHARED;
		fd = memfd_create("text", 0);
		if (ftruncate(fd, (off_t)n))
			exit(2);
	}
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(page, (char *)(unsigned long)mover, 1024);
	memcpy(&away, &page, sizeof(away));
	away(start, copy, n, flags, fd);
	munmap(page, 4096);
	if (!strcmp(how, "named"))
		prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, start, n, "text");
}

/* Code of our own at the former address of a library that is unmapped. */
static void jit(const char *lib, double seconds)
{
	void *h = dlopen(lib, RTLD_NOW), *sym = h ? dlsym(h, "lib_enter") : NULL;
	unsigned long lo = 0, hi = 0, at = (unsigned long)sym;
	/* 1: dec %rdi; jnz 1b; ret */
	static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	FILE *f = fopen("/proc/self/maps", "r");
	void (*run)(long);
	char line[4096], *mem;
	double end;

	while (fgets(line, sizeof(line), f) && !(at >= lo && at < hi))
		sscanf(line, "%lx-%lx", &lo, &hi);
	fclose(f);
	dlclose(h);
	mem = mmap((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(mem + (at - lo), loop, sizeof(loop));
	memcpy(&run, &sym, sizeof(run));
	puts("ready");
	fflush(stdout);
	for (end = now() + seconds; now() < end;)
		run(1000000);
}

NOINLINE static void move_away(double seconds)
{
	const size_t n = (size_t)(far_end - far_start);
	char *copy = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;
	void (*run)(void);
	double end;

	memcpy(copy, far_start, n);
	mprotect(copy, n, PROT_READ | PROT_EXEC);
	at = copy + (far_outer - far_start);
	memcpy(&run, &at, sizeof(run));
	puts("ready");
	fflush(stdout);
	for (end = now() + seconds; now() < end;)
		run();
}

int main(int argc, char **argv)
{
	if (!strcmp(argv[1], "away")) {
		move_away(atof(argv[2]));
		return 0;
	}
	if (argc > 3) {
		jit(argv[2], atof(argv[3]));
		return 0;
	}
	move(argv[1]);
	puts("ready");
	fflush(stdout);
	move_outer(atof(argv[2]));
	return sum == 42;
}
