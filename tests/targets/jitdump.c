/*
 * A small JIT compiler: main -> run -> jit -> native_mid -> jit -> a native leaf. It describes its
 * code in a jitdump as tools/perf/Documentation/jitdump-specification.txt defines it.
 *
 *	jitdump MODE SECONDS [DIR]
 *
 * SECONDS are CPU time. The file is DIR/jit-PID.dump (default: .); it is removed at the end.
 * Chains, root first:
 *
 *	rows	main;run;outer_fn;native_mid;inner_fn;leaf_one; frames of 128 and 512 bytes that use
 *		%rbp for something else, with call frame information; the calls are in line 42 of
 *		outer.jit and 7 of inner.jit
 *	bare	the same; frames of 8 bytes, %rbp untouched, no call frame information
 *	fork	as rows, run by two children that never map the dump themselves
 *	child	main;run_second;run and on as rows, by a child that then begins a dump of its own,
 *		DIR/jit-CHILD.dump, and runs main;run_second;run;own_fn;leaf_two; meanwhile its
 *		parent puts other code where outer_fn was
 *	two	as child, by one process with a second dump DIR/two/jit-PID.dump
 *	late	as bare, but the records stay in a buffer until the end, as Python's do
 *	nested	main;run;outer_fn;inner_fn;leaf_one; as bare, but jitted code calls jitted code
 *	reuse	half of the time main;run;f;leaf_one, then other code at the same address, with
 *		another frame: main;run;g2;leaf_two
 *	move	half of the time main;run;mover;leaf_one; then that code has moved, with leaf_two,
 *		and its old address holds other code that never runs
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef void (*native_fn)(void);
typedef void (*jit_fn)(native_fn next);

static FILE *dump;
static bool buffered;
static uint64_t next_index;
static jit_fn outer, inner;

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void put(const void *p, size_t n)
{
	if (fwrite(p, 1, n, dump) != n)
		exit(2);
}

static void put32(uint32_t v)
{
	put(&v, 4);
}

static void put64(uint64_t v)
{
	put(&v, 8);
}

static void begin_dump(const char *dir)
{
	char path[4096];
	void *mark;

	snprintf(path, sizeof(path), "%s/jit-%d.dump", dir, (int)getpid());
	dump = fopen(path, "w+");
	if (!dump)
		exit(2);
	put32(0x4a695444);
	put32(1);
	put32(40);
	put32(62);
	put32(0);
	put32((uint32_t)getpid());
	put64(now(CLOCK_MONOTONIC));
	put64(0);
	fflush(dump);
	mark = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);
	if (mark == MAP_FAILED)
		exit(2);
}

static void flush_dump(void)
{
	if (!buffered)
		fflush(dump);
}

static void put_prefix(uint32_t id, size_t body)
{
	put32(id);
	put32((uint32_t)(16 + body));
	put64(now(CLOCK_MONOTONIC));
}

/* The positions of the two instructions that change the stack pointer, and the amount. */
struct shape {
	size_t size, sub_end, add_end;
	uint32_t frame;
};

/* .eh_frame with one CIE and one FDE, as if it followed the code. */
static void put_rows(const struct shape *sh)
{
	const uint8_t cie[] = {
		20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b,
		0x0c, 7, 8, 0x90, 1, 0, 0,
	};
	const uint32_t inside = sh->frame + 16;
	uint8_t fde[44] = { 40, 0, 0, 0, 28, 0, 0, 0 }, *p = fde + 17;
	int32_t start = -(int32_t)((sh->size + 7) / 8 * 8 + sizeof(cie) + 8);
	uint8_t hdr[20] = { 1, 0xff, 0xff, 0xff };

	memcpy(fde + 8, &start, 4);
	memcpy(fde + 12, &sh->size, 4);
	*p++ = 0x40 | 1;	/* after push %rbp */
	*p++ = 0x0e;
	*p++ = 16;
	*p++ = 0x80 | 6;
	*p++ = 2;
	*p++ = (uint8_t)(0x40 | (sh->sub_end - 1));
	*p++ = 0x0e;
	*p++ = (uint8_t)(0x80 | (inside & 0x7f));
	*p++ = (uint8_t)(inside >> 7);
	*p++ = (uint8_t)(0x40 | (sh->add_end - sh->sub_end));
	*p++ = 0x0e;
	*p++ = 16;
	*p++ = 0x40 | 1;	/* after pop %rbp */
	*p++ = 0x0e;
	*p++ = 8;
	put_prefix(4, 24 + sizeof(cie) + sizeof(fde) + sizeof(hdr));
	put64(sizeof(cie) + sizeof(fde) + sizeof(hdr));
	put64(sizeof(hdr));
	put64(0);
	put(cie, sizeof(cie));
	put(fde, sizeof(fde));
	put(hdr, sizeof(hdr));
}

/* Lines of the code that emit_rows() writes: before the call, the call, after it. */
static void put_lines(const uint8_t *at, const char *file, uint32_t call)
{
	const struct {
		uint64_t off;
		uint32_t line;
		const char *file;
	} e[] = { { 0, 1, file }, { 13, call, "\xff" }, { 15, 99, file } };
	size_t body = 16;

	for (size_t i = 0; i < 3; i++)
		body += 16 + strlen(e[i].file) + 1;
	put_prefix(2, body);
	put64((uintptr_t)at);
	put64(3);
	for (size_t i = 0; i < 3; i++) {
		put64((uintptr_t)at + e[i].off);
		put32(e[i].line);
		put32(0);
		put(e[i].file, strlen(e[i].file) + 1);
	}
}

static void put_load(const void *code, size_t size, const char *name)
{
	put_prefix(0, 40 + strlen(name) + 1 + size);
	put32((uint32_t)getpid());
	put32((uint32_t)getpid());
	put64((uintptr_t)code);
	put64((uintptr_t)code);
	put64(size);
	put64(next_index++);
	put(name, strlen(name) + 1);
	put(code, size);
	flush_dump();
}

static void put_move(const void *from, const void *to, size_t size, uint64_t index)
{
	put_prefix(1, 48);
	put32((uint32_t)getpid());
	put32((uint32_t)getpid());
	put64((uintptr_t)to);
	put64((uintptr_t)from);
	put64((uintptr_t)to);
	put64(size);
	put64(index);
	flush_dump();
}

/* push %rbp; sub $frame,%rsp; mov $0x1234567,%ebp; call *%rdi; add $frame,%rsp; pop %rbp; ret */
static struct shape emit_rows(uint8_t *at, uint32_t frame)
{
	uint8_t code[] = {
		0x55, 0x48, 0x81, 0xec, 0, 0, 0, 0, 0xbd, 0x67, 0x45, 0x23, 0x01, 0xff, 0xd7,
		0x48, 0x81, 0xc4, 0, 0, 0, 0, 0x5d, 0xc3,
	};

	memcpy(code + 4, &frame, 4);
	memcpy(code + 18, &frame, 4);
	memcpy(at, code, sizeof(code));
	return (struct shape){ sizeof(code), 8, 22, frame };
}

static jit_fn load_rows(uint8_t *at, uint32_t frame, const char *name)
{
	struct shape sh = emit_rows(at, frame);

	put_rows(&sh);
	put_load(at, sh.size, name);
	return (jit_fn)(uintptr_t)at;
}

/* sub $8,%rsp; call *%rdi; add $8,%rsp; ret */
static jit_fn load_bare(uint8_t *at, const char *name)
{
	const uint8_t code[] = { 0x48, 0x83, 0xec, 8, 0xff, 0xd7, 0x48, 0x83, 0xc4, 8, 0xc3 };

	memcpy(at, code, sizeof(code));
	put_load(at, sizeof(code), name);
	return (jit_fn)(uintptr_t)at;
}

/* sub $8,%rsp; mov %rsi,%rdi; call *%rdx; add $8,%rsp; ret */
static jit_fn load_nested(uint8_t *at, const char *name)
{
	const uint8_t code[] = {
		0x48, 0x83, 0xec, 8, 0x48, 0x89, 0xf7, 0xff, 0xd2, 0x48, 0x83, 0xc4, 8, 0xc3,
	};

	memcpy(at, code, sizeof(code));
	put_load(at, sizeof(code), name);
	return (jit_fn)(uintptr_t)at;
}

#define NATIVE __attribute__((noinline, noclone)) void

NATIVE leaf_one(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
}

NATIVE leaf_two(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		__asm__ volatile("nop");
}

NATIVE native_mid(void)
{
	inner(leaf_one);
	__asm__ volatile("" ::: "memory");
}

NATIVE run(jit_fn fn, native_fn next, double secs)
{
	uint64_t end = now(CLOCK_PROCESS_CPUTIME_ID) + (uint64_t)(secs * 1e9);

	while (now(CLOCK_PROCESS_CPUTIME_ID) < end)
		fn(next);
}

NATIVE run_nested(double secs)
{
	void (*fn)(native_fn, native_fn, jit_fn) = (void (*)(native_fn, native_fn, jit_fn))outer;
	uint64_t end = now(CLOCK_PROCESS_CPUTIME_ID) + (uint64_t)(secs * 1e9);

	while (now(CLOCK_PROCESS_CPUTIME_ID) < end)
		fn(NULL, leaf_one, inner);
}

/* Runs code from the earlier dump, then code from another dump, then the first code again. */
NATIVE run_second(const char *dir, uint8_t *at, double secs)
{
	jit_fn own;

	run(outer, native_mid, secs / 3);
	begin_dump(dir);
	own = load_rows(at, 256, "own_fn");
	run(own, leaf_two, secs / 3);
	run(outer, native_mid, secs / 3);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	double secs = argc > 2 ? atof(argv[2]) : 1;
	char path[4096];
	struct shape sh;
	uint64_t index;
	uint8_t *mem;

	mem = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return 2;
	snprintf(path, sizeof(path), "%s/jit-%d.dump", argc > 3 ? argv[3] : ".", (int)getpid());
	begin_dump(argc > 3 ? argv[3] : ".");
	if (!strcmp(mode, "rows") || !strcmp(mode, "fork")) {
		put_lines(mem + 64, "/src/jit/outer.jit", 42);
		outer = load_rows(mem + 64, 512, "outer_fn");
		put_lines(mem + 4096, "inner.jit", 7);
		inner = load_rows(mem + 4096, 128, "inner_fn");
		for (int i = 0; i < 2 && mode[0] == 'f'; i++) {
			if (!fork()) {
				run(outer, native_mid, secs);
				_exit(0);
			}
		}
		if (mode[0] == 'r')
			run(outer, native_mid, secs);
		while (wait(NULL) > 0)
			;
	} else if (!strcmp(mode, "child") || !strcmp(mode, "two")) {
		const char *dir = argc > 3 ? argv[3] : ".";
		char other[4096 + 32];

		outer = load_rows(mem + 64, 512, "outer_fn");
		inner = load_rows(mem + 4096, 128, "inner_fn");
		snprintf(other, sizeof(other), "%s/two", dir);
		if (mode[0] == 't') {
			mkdir(other, 0777);
			run_second(other, mem + 8192, secs);
			snprintf(other, sizeof(other), "%s/two/jit-%d.dump", dir, (int)getpid());
		} else {
			pid_t child = fork();

			if (!child) {
				run_second(dir, mem + 8192, secs);
				_exit(0);
			}
			snprintf(other, sizeof(other), "%s/jit-%d.dump", dir, (int)child);
			while (access(other, F_OK))
				usleep(1000);
			usleep(20000);
			load_bare(mem + 64, "of_the_parent");
			while (wait(NULL) > 0)
				;
		}
		unlink(other);
	} else if (!strcmp(mode, "bare") || !strcmp(mode, "late")) {
		buffered = mode[0] == 'l';
		outer = load_bare(mem + 64, "outer_fn");
		inner = load_bare(mem + 4096, "inner_fn");
		run(outer, native_mid, secs);
	} else if (!strcmp(mode, "nested")) {
		outer = load_nested(mem + 64, "outer_fn");
		inner = load_bare(mem + 4096, "inner_fn");
		run_nested(secs);
	} else if (!strcmp(mode, "reuse")) {
		run(load_rows(mem + 64, 128, "f"), leaf_one, secs / 2);
		run(load_rows(mem + 64, 512, "g2"), leaf_two, secs / 2);
	} else if (!strcmp(mode, "move")) {
		index = next_index;
		run(load_rows(mem + 64, 128, "mover"), leaf_one, secs / 2);
		sh = emit_rows(mem + 8192, 128);
		put_move(mem + 64, mem + 8192, sh.size, index);
		memset(mem + 64, 0xcc, sh.size);
		put_load(mem + 64, sh.size, "never_runs");
		run((jit_fn)(uintptr_t)(mem + 8192), leaf_two, secs / 2);
	} else {
		return 2;
	}
	fflush(dump);
	unlink(path);
	return 0;
}
