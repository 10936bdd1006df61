/*
 * Jitted code that runs before it has set up its frame, after it has left it, and without one:
 * jitedges SECS, for SECS of CPU time. main -> run -> jit_outer -> jit_middle -> jit_leaf, where
 * jit_leaf keeps a frame pointer and is one of
 *
 *	jit_before	waits, then "push %rbp; mov %rsp,%rbp"
 *	jit_pushed	the same, but waits after that push and another one, and sets %rbp with lea,
 *			as .NET does
 *	jit_behind	"pop %rbp", then waits
 *	jit_without	no frame at all
 *	jit_within	waits within its frame
 *
 * Its perf map is /tmp/perf-PID.map.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define KEEP() __asm__ volatile("" ::: "memory")
#define CODE_BYTES 4096
#define CALLS 20000

static unsigned char *code;
static size_t at;
static FILE *map;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void put(const char *bytes, size_t n)
{
	memcpy(code + at, bytes, n);
	at += n;
}
#define PUT(s) put(s, sizeof(s) - 1)

/*
 * Slow and without effect: xor %edx,%edx; mov $9,%eax; lea 3(%rdx),%ecx; div %ecx, and the last two
 * repeated three times
 */
static void wait_here(void)
{
	PUT("\x31\xd2\xb8\x09\0\0\0\x8d\x4a\x03");
	for (int i = 0; i < 4; i++)
		PUT("\x31\xd2\xf7\xf1");
}

static size_t begin(void)
{
	while (at % 16)
		PUT("\xcc");
	return at;
}

static void end(size_t start, const char *name)
{
	fprintf(map, "%lx %zx %s\n", (unsigned long)(code + start), at - start, name);
}

/* call to @to */
static void call(size_t to)
{
	const int rel = (int)to - (int)at - 5;

	PUT("\xe8");
	put((const char *)&rel, sizeof(rel));
}

/* A function that calls @to: push %rbp; mov %rsp,%rbp; call; pop %rbp; ret */
static size_t caller_of(size_t to, const char *name)
{
	const size_t start = begin();

	PUT("\x55\x48\x89\xe5");
	call(to);
	PUT("\x5d\xc3");
	end(start, name);
	return start;
}

static size_t leaf(const char *name)
{
	const size_t start = begin();

	if (!strcmp(name, "jit_before"))
		wait_here();
	if (!strcmp(name, "jit_pushed")) {
		PUT("\x55\x41\x57");			/* push %rbp; push %r15 */
		wait_here();
		PUT("\x48\x8d\x6c\x24\x08\x41\x5f");	/* lea 8(%rsp),%rbp; pop %r15 */
	} else if (strcmp(name, "jit_without")) {
		PUT("\x55\x48\x89\xe5");		/* push %rbp; mov %rsp,%rbp */
	}
	if (!strcmp(name, "jit_within"))
		wait_here();
	if (strcmp(name, "jit_without"))
		PUT("\x5d");				/* pop %rbp */
	if (!strcmp(name, "jit_behind") || !strcmp(name, "jit_without"))
		wait_here();
	PUT("\xc3");
	end(start, name);
	return start;
}

NOINLINE static void run(void (*fn)(void))
{
	for (int i = 0; i < CALLS; i++)
		fn();
	KEEP();
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "jit_before", "jit_pushed", "jit_behind", "jit_without", "jit_within" };
	const size_t n = sizeof(names) / sizeof(*names);
	const double until = now() + (argc > 1 ? atof(argv[1]) : 1);
	void (*fns[sizeof(names) / sizeof(*names)])(void);
	char path[64];

	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (code == MAP_FAILED || !map)
		return 2;
	for (size_t i = 0; i < n; i++)
		fns[i] = (void (*)(void))(code + caller_of(caller_of(leaf(names[i]), "jit_middle"), "jit_outer"));
	fclose(map);
	while (now() < until)
		for (size_t i = 0; i < n; i++)
			run(fns[i]);
	unlink(path);
	return 0;
}
