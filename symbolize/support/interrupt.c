/* The stop request (interrupt.h). */
#include "support/interrupt.h"

#include <signal.h>
#include <string.h>
#include <time.h>

static volatile sig_atomic_t requested;

/*
 * ns. Signals within this time are one: a terminal sends Ctrl-C to the whole job, and the program
 * that a parser belongs to passes on its own.
 */
#define SAME_NS 200000000ll

/* The second one ends the program. */
static void on_signal(int sig)
{
	static long long last;
	struct timespec ts;
	long long now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000000000ll + ts.tv_nsec;
	if (last && now - last < SAME_NS)
		return;
	last = now;
	if (requested) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	requested = sig;
}

static void handle(int sig, bool restart)
{
	struct sigaction sa, old;

	/* A signal that was ignored from the start ("cmd &" in a script) stays ignored. */
	if (sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
		return;
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_signal;
	sa.sa_flags = SA_NODEFER | (restart ? SA_RESTART : 0);
	sigaction(sig, &sa, NULL);
}

void interrupt_init(bool restart)
{
	requested = 0;
	handle(SIGINT, restart);
	handle(SIGTERM, restart);
}

bool interrupt_requested(void)
{
	return requested != 0;
}

void interrupt_end(void)
{
	if (!requested)
		return;
	signal(requested, SIG_DFL);
	raise(requested);
}
