/*
 * How programs start: stepped from the first instruction, where nothing was called yet and argc
 * lies in the slot of a return address. Each stack is complete, and the same from a full copy and
 * from a masked one, where argc is 0.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/util.h"
#include "unwind_stack.h"
#include "unwind_target.h"

#define STEPS 200
#define WORDS 1024	/* of the copy, at most */

static void copy_words(struct target *t, uint64_t sp, bool masked)
{
	static uint64_t words[WORDS];
	uint64_t base = align_up(sp, 8), hi = MIN(base + sizeof(words), t->stack_end);
	size_t n = (hi - base) / 8;

	assert_int_equal(pread(t->mem, words, 8 * n, (off_t)base), 8 * n);
	for (size_t i = 0; i < n && masked; i++)
		words[i] = target_mask(t, base, hi, words[i]);
	target_set_stack(t, base, words, n);
}

/* False if the program was not built or may not be traced. */
static bool begin(struct target *t, const char *name, const char *arg)
{
	const char *build = getenv("BUILD");
	char path[256];
	int status;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/tests/targets/%s", build ? build : "build", name);
	if (access(path, X_OK))
		return false;
	pid = fork();
	if (!pid) {
		if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			execl(path, path, arg, NULL);
		_exit(125);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status))
		return false;
	target_init(t, pid);
	return true;
}

/* One step, also over system calls. False when the program has ended. */
static bool step(struct target *t, struct user_regs_struct *now)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, t->pid, NULL, NULL) || waitpid(t->pid, &status, 0) != t->pid || !WIFSTOPPED(status))
		return false;
	target_update_maps(t);
	return ptrace(PTRACE_GETREGS, t->pid, NULL, now) == 0;
}

static void unwind_copy(struct target *t, void *priv, const uint64_t *regs, bool masked, struct stack *out)
{
	struct unwind_input in = { .regs = regs, .stack = &t->view, .as = t->as, .max_frames = FRAMES_MAX };

	copy_words(t, regs[UREG_SP], masked);
	out->res.frames = out->frames;
	unwind_cached.unwind(priv, &in, &out->res);
}

/* The number of correct steps; -1: the program could not be started. */
static int steps_right(const char *name, const char *arg)
{
	void *priv = unwind_cached.create();
	struct user_regs_struct now;
	static struct target t;
	static struct stack full, masked;
	int right = 0, status;

	if (!begin(&t, name, arg)) {
		unwind_cached.destroy(priv);
		return -1;
	}
	assert_int_equal(ptrace(PTRACE_GETREGS, t.pid, NULL, &now), 0);
	for (int i = 0; i < STEPS; i++) {
		uint64_t regs[UREG_MAX];

		target_regs(&now, regs);
		unwind_copy(&t, priv, regs, false, &full);
		unwind_copy(&t, priv, regs, true, &masked);
		if (full.res.end == UNWIND_COMPLETE && same_frames(&full, &masked)) {
			right++;
		} else {
			print_message("# %s, after %d instructions\n", name, i);
			print_frames(t.as, "full", &full);
			print_frames(t.as, "masked", &masked);
		}
		if (!step(&t, &now))
			break;
	}
	kill(t.pid, SIGKILL);
	waitpid(t.pid, &status, 0);
	unwind_cached.destroy(priv);
	target_fini(&t);
	return right;
}

static void test_beginnings(void **state)
{
	static const char *const programs[] = {
		"gospin", "gospin-stripped", "gospin-pie", "cgospin", "cgospin-pie", "spin", "spin-static", "spin-staticpie", "spin-nopie", "spin-musl",
		"spin-musl-static", "rsspin", "brief-bare",
	};
	unsigned int seen = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		int right = steps_right(programs[i], "0");

		if (right < 0) {
			print_message("# %s cannot be begun here\n", programs[i]);
			continue;
		}
		seen++;
		print_message("# %s: %d steps\n", programs[i], right);
		assert_int_equal(right, STEPS);
	}
	if (!seen)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_beginnings) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
