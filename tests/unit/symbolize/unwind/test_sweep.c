/*
 * Every instruction of a program: a child is single-stepped, and at each step its stack is unwound
 * with all unwinders. The expectation comes from none of them: the test follows calls and returns
 * as they execute, and thus knows which return addresses are on the stack.
 */
#include <alloca.h>
#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "base/util.h"
#include "unwind_stack.h"
#include "unwind_target.h"

#define STEPS_MAX 25000
#define COPY_BYTES 16384
#define CALLS_MAX 1024
#define SHOW_MAX 10 /* differences that are printed in full */

/* ---- what the child does: all kinds of code, briefly ---- */

__attribute__((noinline)) static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

__attribute__((noinline, optimize("omit-frame-pointer"))) static int realigned(int n, ...)
{
	volatile char v[64] __attribute__((aligned(64)));
	volatile char *p = alloca(n);
	va_list ap;
	int sum = 0;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(ap, int);
	va_end(ap);
	p[n - 1] = sum;
	v[n] = p[n - 1];
	return fib(4) + v[n];
}

static jmp_buf jump;
static volatile int caught;

static void on_signal(int sig)
{
	caught += sig + fib(3);
}

__attribute__((noinline)) static int jumps(int n)
{
	if (n == 0 && caught)
		longjmp(jump, 1);
	return n ? jumps(n - 1) + caught : 0;
}

__attribute__((noinline)) static void workload(void)
{
	char *words[] = { strdup("pear"), strdup("apple"), strdup("fig"), strdup("plum"),
			  strdup("date") };
	struct timespec ts;
	char text[256];
	int sum = 0;

	/* Stepping begins here: everything called from now on returns to this function. */
	__asm__ volatile("int3");
	sum += fib(6) + realigned(3, 1, 2, 3);
	qsort(words, ARRAY_SIZE(words), sizeof(words[0]), compare);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		sum += strlen(words[i]);
		free(words[i]);
	}
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	if (setjmp(jump) == 0)
		sum += jumps(3);
	snprintf(text, sizeof(text), "%s %5.3f %ld %d", words[0] ? "x" : "y", sum / 7.0,
		 (long)sum, caught);
	sum += strtod(text + 2, NULL);
	free(realloc(malloc(100), 5000));
	setenv("NSPROF_TEST", text, 1);
	/*
	 * Last, because the vdso reads the time again if a tick came in between, and on a busy
	 * machine there is one every few steps.
	 */
	clock_gettime(CLOCK_MONOTONIC, &ts);
	_exit(sum & 0x7f);
}

/* ---- calls and returns as they happen ---- */

struct call {
	uint64_t slot; /* runtime address of the return address on the stack */
	uint64_t addr; /* it, or the pc that a signal interrupted */
	bool signal; /* the latter; slot is the interrupted stack pointer */
	bool planted; /* by the kernel, as if called from there */
};

struct trace {
	struct target t;
	struct call calls[CALLS_MAX];
	uint32_t ncalls;
	struct frame base[FRAMES_MAX]; /* callers of the point where the trace began, leaf first */
	uint32_t nbase;
	bool have_base;
	struct user_regs_struct now;
};

static uint64_t peek(struct trace *tr, uint64_t addr)
{
	uint64_t v = 0;

	if (pread(tr->t.mem, &v, sizeof(v), addr) != sizeof(v))
		return 0;
	return v;
}

static void note_call(struct trace *tr, uint64_t slot, uint64_t addr, bool signal)
{
	if (tr->ncalls == CALLS_MAX)
		target_die("calls too deep");
	tr->calls[tr->ncalls++] = (struct call){ slot, addr, signal, false };
}

/* One instruction was executed, from @was to tr->now. @stopped: a signal handler begins. */
static void follow(struct trace *tr, const struct user_regs_struct *was, bool stopped)
{
	const struct user_regs_struct *now = &tr->now;
	uint64_t sp = now->rsp;

	if (stopped) {
		note_call(tr, was->rsp, was->rip, true);
		note_call(tr, sp, peek(tr, sp), false);
		tr->calls[tr->ncalls - 1].planted = true;
		return;
	}
	while (tr->ncalls && tr->calls[tr->ncalls - 1].slot < sp)
		tr->ncalls--;
	/* rt_sigreturn restores the interrupted state, with its own stack pointer. */
	if (tr->ncalls && tr->calls[tr->ncalls - 1].signal &&
	    tr->calls[tr->ncalls - 1].slot == sp && tr->calls[tr->ncalls - 1].addr == now->rip)
		tr->ncalls--;
	/* A call pushes the next address and goes elsewhere; it has 2 to 8 bytes. */
	if (sp == was->rsp - 8) {
		uint64_t ra = peek(tr, sp);

		if (ra > was->rip + 1 && ra <= was->rip + 8 && now->rip != ra)
			note_call(tr, sp, ra, false);
	}
}

/* ---- one sample ---- */

static void copy_stack(struct trace *tr)
{
	static uint64_t words[COPY_BYTES / 8];
	uint64_t lo = align_up(tr->now.rsp, 8);
	uint64_t hi = tr->t.stack_end > lo ? MIN(tr->t.stack_end, lo + COPY_BYTES) : lo;
	ssize_t n = pread(tr->t.mem, words, hi - lo, lo);

	target_set_stack(&tr->t, lo, words, n > 0 ? n / 8 : 0);
}

static const struct unwinder_ops *const unwinders[] = { &unwind_cached, &unwind_libunwind,
							&unwind_libdw };
static void *privs[ARRAY_SIZE(unwinders)];

/*
 * The expected frames: the pc, the calls that were followed, and the callers from before.
 */
static void true_stack(const struct trace *tr, struct stack *st)
{
	st->res.n = 0;
	st->res.end = UNWIND_COMPLETE;
	st->frames[st->res.n++] = (struct frame){ .addr = { tr->now.rip }, .kind = FRAME_IP };
	for (uint32_t i = tr->ncalls; i-- > 0 && st->res.n < FRAMES_MAX;)
		st->frames[st->res.n++] = (struct frame){
			.addr = { tr->calls[i].addr },
			.kind = tr->calls[i].signal || tr->calls[i].planted ? FRAME_IP :
									      FRAME_RETURN,
		};
	for (uint32_t i = 0; i < tr->nbase && st->res.n < FRAMES_MAX; i++)
		st->frames[st->res.n++] = tr->base[i];
}

/*
 * The one known difference. Once longjmp() has loaded the target's registers, the rows of glibc,
 * and those derived from musl's code, describe the target as its caller: the stack as it will be
 * after the jump. A difference that all unwinders share is therefore held until it is known whether
 * the jump went there. Possibly no stack copy contains the target: then the only right frame is the
 * function itself, with the reason.
 */
#define EARLY_MAX 16

struct tally {
	uint32_t steps, wrong, unequal, signals, deepest;
	uint32_t jumps; /* instructions with the stack of a jump's target, followed by that jump */
	uint32_t nearly;
	struct stack early[EARLY_MAX];
};

/* True when @early without its leaf equals @now, or is only a leaf that jumps through memory. */
static bool came_true(struct trace *tr, const struct stack *early, const struct stack *now)
{
	/* jmp *disp(reg): ff /4 with ModRM.mod 0 to 2 (Intel SDM, volume 2). */
	uint64_t insn = peek(tr, early->frames[0].addr.v);

	if (early->res.n == 1 && early->res.end == UNWIND_BAD_READ && (insn & 0x38ff) == 0x20ff && (insn >> 14 & 3) < 3)
		return true;
	if (early->res.n != now->res.n + 1 || early->frames[1].addr.v != now->frames[0].addr.v)
		return false;
	for (uint32_t i = 1; i < now->res.n; i++)
		if (early->frames[i + 1].addr.v != now->frames[i].addr.v)
			return false;
	return true;
}

static void settle_early(struct trace *tr, struct tally *tally, const struct stack *now)
{
	for (uint32_t i = 0; i < tally->nearly; i++) {
		if (came_true(tr, &tally->early[i], now)) {
			tally->jumps++;
			continue;
		}
		if (tally->wrong++ < SHOW_MAX)
			print_frames(tr->t.as, "not what was executed", &tally->early[i]);
	}
	tally->nearly = 0;
}

static void check_step(struct trace *tr, struct tally *tally)
{
	uint64_t regs[UREG_MAX];
	struct unwind_input in = {
		.regs = regs,
		.stack = &tr->t.view,
		.as = tr->t.as,
		.max_frames = FRAMES_MAX,
	};
	struct stack truth, st[ARRAY_SIZE(unwinders)];
	bool equal = true;

	target_regs(&tr->now, regs);
	copy_stack(tr);
	for (size_t u = 0; u < ARRAY_SIZE(unwinders); u++) {
		st[u].res.frames = st[u].frames;
		unwinders[u]->unwind(privs[u], &in, &st[u].res);
		equal &= same_frames(&st[0], &st[u]);
	}
	if (!tr->have_base) {
		tr->nbase = st[0].res.n - 1;
		memcpy(tr->base, st[0].frames + 1, tr->nbase * sizeof(tr->base[0]));
		tr->have_base = true;
	}
	true_stack(tr, &truth);
	if (!equal && tally->unequal++ < SHOW_MAX) {
		print_frames(tr->t.as, "executed", &truth);
		for (size_t u = 0; u < ARRAY_SIZE(unwinders); u++)
			print_frames(tr->t.as, unwinders[u]->name, &st[u]);
	}
	if (same_frames(&truth, &st[0])) {
		settle_early(tr, tally, &truth);
	} else if (tally->nearly < EARLY_MAX) {
		tally->early[tally->nearly++] = st[0];
	} else {
		tally->wrong++;
		settle_early(tr, tally, &truth);
	}
	tally->steps++;
	tally->deepest = MAX(tally->deepest, truth.res.n);
}

/* ---- stepping ---- */

/* Waits for the child's next stop. False when it has ended. */
static bool wait_stop(struct trace *tr, int *sig)
{
	int status;

	if (waitpid(tr->t.pid, &status, 0) != tr->t.pid || !WIFSTOPPED(status))
		return false;
	*sig = WSTOPSIG(status);
	if (ptrace(PTRACE_GETREGS, tr->t.pid, NULL, &tr->now))
		target_die("PTRACE_GETREGS");
	return true;
}

/* Single-steps until the child ends or @max instructions were executed. */
static void sweep(struct trace *tr, struct tally *tally, uint32_t max)
{
	int sig = 0, deliver = 0;

	while (tally->steps < max) {
		struct user_regs_struct was = tr->now;
		/* syscall: mappings may have changed. */
		bool syscall = (peek(tr, was.rip) & 0xffff) == 0x050f;

		if (ptrace(PTRACE_SINGLESTEP, tr->t.pid, NULL, (void *)(uintptr_t)deliver))
			break;
		if (!wait_stop(tr, &sig))
			break;
		if (sig != SIGTRAP) {
			/* Nothing was executed: the signal is delivered with the next step. */
			deliver = sig;
			continue;
		}
		if (syscall)
			target_update_maps(&tr->t);
		follow(tr, &was, deliver != 0 && tr->now.rsp < was.rsp - 512);
		tally->signals += deliver != 0;
		deliver = 0;
		check_step(tr, tally);
	}
}

/*
 * A child that runs @fn, or the program @path, stopped at its int3. 0 if ptrace is not permitted.
 */
static pid_t start_child(void (*fn)(void), const char *path)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(126);
		if (path)
			execl(path, path, NULL);
		else
			fn();
		_exit(125);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		target_die("cannot start a child");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 126)
		return 0;
	/* The first stop is the exec. */
	if (path && (!WIFSTOPPED(status) || ptrace(PTRACE_CONT, pid, NULL, NULL) ||
		     waitpid(pid, &status, 0) != pid))
		target_die("cannot start a program");
	if (!WIFSTOPPED(status))
		target_die("child did not stop");
	return pid;
}

static void run_sweep(void (*fn)(void), const char *path, struct tally *tally, uint32_t max)
{
	static struct trace tr;
	pid_t pid = start_child(fn, path);
	struct timespec a, b;
	int status;

	if (!pid) {
		print_message("# ptrace is not permitted here\n");
		skip();
	}
	memset(&tr, 0, sizeof(tr));
	memset(tally, 0, sizeof(*tally));
	target_init(&tr.t, pid);
	for (size_t u = 0; u < ARRAY_SIZE(unwinders); u++)
		privs[u] = unwinders[u]->create();
	if (ptrace(PTRACE_GETREGS, pid, NULL, &tr.now))
		target_die("PTRACE_GETREGS");
	clock_gettime(CLOCK_MONOTONIC, &a);
	check_step(&tr, tally);
	sweep(&tr, tally, max);
	clock_gettime(CLOCK_MONOTONIC, &b);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	for (size_t u = 0; u < ARRAY_SIZE(unwinders); u++)
		unwinders[u]->destroy(privs[u]);
	target_fini(&tr.t);

	tally->wrong += tally->nearly;
	print_message(
		"# %s: %u instructions in %.1f s, up to %u frames, %u signals; not as executed: %u, "
		"and %u before a jump that came; unwinders not equal: %u\n",
		path ? path : "this program", tally->steps,
		b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9, tally->deepest, tally->signals,
		tally->wrong, tally->jumps, tally->unequal);
}

static void test_workload(void **state)
{
	static struct tally tally;

	(void)state;
#if defined(__SANITIZE_THREAD__)
	print_message("the sanitizer's own code takes up the steps\n");
	skip();
#endif
	run_sweep(workload, NULL, &tally, STEPS_MAX);
	/*
	 * The run must have been meaningful: much code, a signal, and few differences that are
	 * explained away.
	 */
	assert_true(tally.steps > 5000);
	assert_true(tally.signals >= 1);
	assert_true(tally.deepest >= 12);
	assert_true(tally.jumps <= EARLY_MAX);
	assert_int_equal(tally.unequal, 0);
	assert_int_equal(tally.wrong, 0);
}

/*
 * The corpus: compilers, optimization levels, libcs, all kinds of linking, and code without any
 * rows. Programs that were not built are left out.
 */
static void test_corpus(void **state)
{
	static struct tally tally;
	const char *build = getenv("BUILD");
	uint32_t failed = 0;
	char pattern[4096];
	glob_t g = { 0 };

	(void)state;
	snprintf(pattern, sizeof(pattern), "%s/tests/targets/steps-*", build ? build : "build");
	if (glob(pattern, 0, NULL, &g)) {
		print_message("# no %s: make test-targets\n", pattern);
		skip();
	}
	for (size_t i = 0; i < g.gl_pathc; i++) {
		run_sweep(NULL, g.gl_pathv[i], &tally, STEPS_MAX);
		failed += tally.steps < 3000 || !tally.signals || tally.jumps > EARLY_MAX ||
			  tally.unequal || tally.wrong;
	}
	globfree(&g);
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_workload),
		cmocka_unit_test(test_corpus),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
