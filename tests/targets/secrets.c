/*
 * Holds secrets where a profiler meets them, and writes down which:
 *
 *	secrets LOG MS KIND
 *
 * for MS milliseconds. LOG gets all secrets, 8 bytes each: random words, words of random texts,
 * and addresses of heap memory.
 *
 *	stack	in 50 frames of a deep stack
 *	thread	the same on a thread's stack
 *	bp	in frames, and %rbp holds one; it is no frame pointer
 *	tilted	in frames, and the stack pointer is no multiple of 8
 *	pivot	in frames, and the stack pointer itself is one
 *	chain	%rbp points to secrets in the heap that look like a frame
 *	narrow	in frames, while 32-bit code runs, which has some in its registers
 *	exec	as stack, one program after the other in the same process
 *	fork	as stack, one child after the other, each a program of its own
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))
#define DEPTH 50
#define WORDS 64
#define TEXT 3		/* words of a text */
#define HEAP 8		/* words of heap memory */
#define EACH_MS "20"	/* of one program that others follow */

static uint64_t planted[16384];
static size_t nplanted;
static void (*spin)(void);
static double last_ms;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static uint64_t plant(uint64_t v)
{
	planted[nplanted++] = v;
	return v;
}

/* No half of a word looks like an address, so that none is kept as one by chance. */
static NOINLINE void fill(volatile uint64_t *words, size_t n)
{
	uint64_t v[WORDS];

	if (getrandom(v, n * sizeof(*v), 0) != (ssize_t)(n * sizeof(*v)))
		abort();
	for (size_t i = 0; i < n; i++)
		words[i] = plant(v[i] | 0x8000000080000000ull);
}

static NOINLINE void write_text(volatile uint64_t *text)
{
	union {
		uint64_t word[TEXT];
		uint8_t c[TEXT * 8];
	} u;

	if (getrandom(&u, sizeof(u), 0) != sizeof(u))
		abort();
	for (size_t i = 0; i < sizeof(u); i++)
		u.c[i] = (uint8_t)"abcdefghijklmnopqrstuvwxyz012345"[u.c[i] & 31];
	for (int i = 0; i < TEXT; i++)
		text[i] = plant(u.word[i]);
}

/* One write: several processes share the file. */
static void tell(const char *log)
{
	int fd = open(log, O_WRONLY | O_APPEND | O_CREAT, 0666);
	const ssize_t n = (ssize_t)(nplanted * sizeof(*planted));

	if (fd < 0 || write(fd, planted, (size_t)n) != n)
		abort();
	close(fd);
}

/* ---- what runs below the secrets ---- */

static void work(void)
{
	volatile uint64_t x = 1;

	for (int i = 0; i < 20000; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
}

static uint64_t held[4];	/* what the code below has in registers */

static void with_bp(void)
{
	__asm__ volatile("mov %%rbp, %%r15\n\tmov %0, %%rbp\n\tmov $200000, %%ecx\n"
			 "1:\tdec %%ecx\n\tjnz 1b\n\tmov %%r15, %%rbp" : : "r"(held[0]) : "rcx", "r15", "cc", "memory");
}

/* One of the stack's own words may become two halves of two. */
static void tilted(void)
{
	__asm__ volatile("mov %%rsp, %%r15\n\tlea -60(%%rsp), %%rsp\n\tmov %0, %%rbx\n\tmov $200000, %%ecx\n"
			 "1:\tdec %%ecx\n\tjnz 1b\n\tmov %%r15, %%rsp" : : "r"(held[1]) : "rbx", "rcx", "r15", "cc", "memory");
}

/* Code that needs every register, as of ciphers, may use the stack pointer as one more. */
static void pivot(void)
{
	__asm__ volatile("mov %%rsp, %%r15\n\tmov %0, %%rsp\n\tmov $200000, %%ecx\n"
			 "1:\tdec %%ecx\n\tjnz 1b\n\tmov %%r15, %%rsp" : : "r"(held[2] & ~7ull) : "rcx", "r15", "cc", "memory");
}

/* The kernel takes the words at %rbp for a frame: the next one's address, and a return address. */
static void with_chain(void)
{
	uint64_t *frame = malloc(8 * sizeof(*frame));

	for (int i = 0; i < 8; i += 2) {
		frame[i] = i < 6 ? (uintptr_t)&frame[i + 2] : 0;
		frame[i + 1] = held[i / 2];
	}
	__asm__ volatile("mov %%rbp, %%r15\n\tmov %0, %%rbp\n\tmov $200000, %%ecx\n"
			 "1:\tdec %%ecx\n\tjnz 1b\n\tmov %%r15, %%rbp" : : "r"(frame) : "rcx", "r15", "cc", "memory");
	free(frame);
}

/*
 * Code for 32 bits, and a stack for it that holds secrets, below 4 GiB. It counts %ecx down and
 * jumps to a 64-bit return. The selectors are __USER32_CS and __USER_CS.
 */
static void narrow(void)
{
	static uint8_t *low;
	static uint64_t rsp;
	const uint8_t loop[] = { 0x49, 0x75, 0xfd, 0xea }, ret = 0xc3;	/* dec %ecx; jnz; ljmp */
	const uint16_t user = 0x33;

	if (!low) {
		low = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
		if (low == MAP_FAILED)
			abort();
		const uint32_t back = (uint32_t)(uintptr_t)low + 16;

		memcpy(low, loop, sizeof(loop));
		memcpy(low + 4, &back, sizeof(back));
		memcpy(low + 8, &user, sizeof(user));
		low[16] = ret;
		for (int i = 0; i < 512; i++)
			memcpy(low + 32768 + i * 8, &held[i % 4], 8);
	}
	__asm__ volatile("mov %%rsp, %0\n\tmov %1, %%rsp\n\tmov %3, %%ebx\n\tmov %3, %%edx\n\tmov $200000, %%ecx\n\t"
			 "lea 1f(%%rip), %%rax\n\tpush %%rax\n\tpush $0x23\n\tpush %2\n\tlretq\n"
			 "1:\tmov %0, %%rsp"
			 : "+m"(rsp) : "r"(low + 32768), "r"(low), "r"((uint32_t)held[0])
			 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory");
}

/* ---- the secrets ---- */

static NOINLINE uint64_t frame(int depth, const char *log)
{
	volatile uint64_t words[WORDS], text[TEXT];
	volatile uint64_t *heap = malloc(HEAP * sizeof(*heap));
	uint64_t sum = 0;

	fill(words, WORDS);
	write_text(text);
	fill(heap, HEAP);
	plant((uintptr_t)heap);
	if (depth) {
		sum = frame(depth - 1, log);
	} else {
		fill(held, 4);
		plant(held[2] & ~7ull);
		tell(log);
		for (double end = now_ms() + last_ms; now_ms() < end;)
			spin();
	}
	for (int i = 0; i < WORDS; i++)
		sum += words[i] ^ heap[i % HEAP] ^ text[i % TEXT];
	return sum;
}

static void *run(void *log)
{
	return (void *)(uintptr_t)frame(DEPTH - 1, log);
}

/* One program after the other. */
static int programs(char **argv, double end)
{
	while (now_ms() < end) {
		const pid_t pid = fork();
		int status;

		if (!pid) {
			execl("/proc/self/exe", "secrets", argv[1], EACH_MS, "stack", (char *)NULL);
			_exit(1);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*spin)(void);
	} kinds[] = {
		{ "stack", work }, { "thread", work }, { "exec", work }, { "bp", with_bp }, { "tilted", tilted }, { "pivot", pivot }, { "chain", with_chain }, { "narrow", narrow },
	};
	const double begun = argc > 4 ? atof(argv[4]) : now_ms();
	pthread_t thread;
	char text[32];

	if (argc < 4)
		return 2;
	last_ms = atof(argv[2]);
	if (!strcmp(argv[3], "fork"))
		return programs(argv, begun + last_ms);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[3], kinds[i].name))
			spin = kinds[i].spin;
	if (!spin)
		return 2;
	if (!strcmp(argv[3], "thread"))
		return pthread_create(&thread, NULL, run, argv[1]) || pthread_join(thread, NULL);
	if (!strcmp(argv[3], "exec"))
		last_ms = atof(EACH_MS);
	run(argv[1]);
	if (strcmp(argv[3], "exec") || now_ms() > begun + atof(argv[2]))
		return 0;
	snprintf(text, sizeof(text), "%f", begun);
	execl("/proc/self/exe", "secrets", argv[1], argv[2], argv[3], text, (char *)NULL);
	return 1;
}
