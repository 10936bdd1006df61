/*
 * Side-band wakes the recorder at each exec, whatever was written before. Runs on the real kernel,
 * with a shell that replaces itself repeatedly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "events/open.h"
#include "events/target.h"

#define EXECS 40
/*
 * A bound for the test, not a limit for the recorder: a wake-up that has not come by then never
 * comes.
 */
#define PATIENCE_MS 20000

struct shell {
	int pid;
	int in, out;	/* a line to @in lets it exec; it writes one to @out when it has started */
};

/* Reports that it has started, waits, and execs itself again: always the same process. */
static const char script[] = "echo; read x || exit; exec sh -c \"$S\"";

/* On one CPU, since each CPU has its own ring. */
static void start(struct shell *sh)
{
	int in[2], out[2];
	cpu_set_t one;

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	sh->pid = fork();
	assert_true(sh->pid >= 0);
	if (!sh->pid) {
		CPU_ZERO(&one);
		CPU_SET(sched_getcpu(), &one);
		sched_setaffinity(0, sizeof(one), &one);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		close(out[0]);
		setenv("S", script, 1);
		execl("/bin/sh", "sh", "-c", script, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	sh->in = in[1];
	sh->out = out[0];
}

static void wait_started(const struct shell *sh)
{
	char c;

	assert_int_equal(read(sh->out, &c, 1), 1);
}

/* Whether any ring reports data. A wake-up is reported once. */
static bool woken(const struct events *ev, int ms)
{
	struct pollfd p[64];
	nfds_t n = 0;

	for (size_t c = 0; c < ev->target->ncpus && n < ARRAY_SIZE(p); c++)
		if (ev->side[c].page)
			p[n++] = (struct pollfd){ ev->side[c].fd, POLLIN, 0 };
	return poll(p, n, ms) > 0;
}

static void each_exec(void **state)
{
	struct record_opts opts = { .freq = 1, .callgraph = CALLGRAPH_NONE, .all_user = true };
	struct target t;
	struct evsel sel;
	struct events ev;
	struct shell sh;
	char pid[16];

	(void)state;
	start(&sh);
	wait_started(&sh);
	snprintf(pid, sizeof(pid), "%d", sh.pid);
	opts.pids = pid;
	evsel_init(&sel, "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	sel.exclude_kernel = true;
	sel.freq = 1;
	assert_int_equal(target_resolve(&t, &opts), 0);
	if (events_open(&ev, &opts, &t, &sel, 1, NULL, false) || !ev.nsides) {
		print_message("# no events of another process may be opened here\n");
		kill(sh.pid, SIGKILL);
		waitpid(sh.pid, NULL, 0);
		events_close(&ev);
		target_fini(&t);
		skip();
	}
	for (int i = 0; i < EXECS; i++) {
		while (woken(&ev, 0))
			;
		assert_int_equal(write(sh.in, "\n", 1), 1);
		assert_true(woken(&ev, PATIENCE_MS));
		wait_started(&sh);
	}
	close(sh.in);
	waitpid(sh.pid, NULL, 0);
	close(sh.out);
	events_close(&ev);
	target_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_exec),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
