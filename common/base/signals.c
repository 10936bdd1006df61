#include "base/signals.h"

#include <time.h>

#define SAME_NS 200000000ll

static struct sigaction child_before, size_before;
static bool known;

void signals_init(void)
{
	const struct sigaction dfl = { .sa_handler = SIG_DFL }, ign = { .sa_handler = SIG_IGN };

	known = !sigaction(SIGCHLD, &dfl, &child_before) && !sigaction(SIGXFSZ, &ign, &size_before);
}

void signals_restore(void)
{
	if (!known)
		return;
	sigaction(SIGCHLD, &child_before, NULL);
	sigaction(SIGXFSZ, &size_before, NULL);
}

void signals_block_all(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

void signals_unblock(int signo)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signo);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

bool signals_again(void)
{
	static long long first;
	struct timespec ts;
	long long now;

	/* clock_gettime() may be called in a signal handler (signal-safety(7)). */
	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000000000ll + ts.tv_nsec;
	if (first && now - first < SAME_NS)
		return true;
	first = now;
	return false;
}
