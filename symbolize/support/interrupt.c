/* The stop request (interrupt.h). */
#include "support/interrupt.h"

#include <signal.h>
#include <string.h>

#include "base/signals.h"

static volatile sig_atomic_t requested;

/* The second one ends the program. */
static void on_signal(int sig)
{
	if (signals_again())
		return;
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
