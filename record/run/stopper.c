#include "run/stopper.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/signals.h"
#include "base/util.h"
#include "host/clock.h"
#include "host/sandbox.h"

/*
 * ns. Two signals within this time count as one: a terminal sends Ctrl-C to its whole job, and the
 * program that started us (sudo, a script, make) may forward the one that it got.
 */
#define SAME_NS 200000000ull
#define PATIENCE_S 3

static void say(const char *text)
{
	ssize_t n = write(STDERR_FILENO, text, strlen(text));

	(void)n;
}

/* Must not wait for a lock, which the hanging thread may hold. */
static void end_now(int signo)
{
	say("nsprof record: ended by the second signal; what was written until then can be read\n");
	signal(signo, SIG_DFL);
	signals_unblock(signo);
	kill(getpid(), signo);
}

/* As sigwaitinfo(2). If ending takes long, says once what can be done about it. */
static int wait_for(struct stopper *s, uint64_t first)
{
	const struct timespec patience = { PATIENCE_S, 0 };

	if (first && !s->quiet) {
		int signo = sigtimedwait(&s->signals, NULL, &patience);

		if (signo > 0)
			return signo;
		if (errno == EAGAIN)
			say("nsprof record: still writing what was recorded; a second Ctrl-C ends it at once\n");
		s->quiet |= errno == EAGAIN;
	}
	return sigwaitinfo(&s->signals, NULL);
}

static void *run(void *arg)
{
	const uint64_t one = 1;
	struct stopper *s = arg;
	uint64_t first = 0;
	ssize_t n;

	/* This thread starts before the main one gives up its own, and so inherits all of them. */
	if (s->confined)
		sandbox_keep(0);
	sem_post(&s->ready);
	for (;;) {
		int signo = wait_for(s, first);

		if (atomic_load(&s->over))
			return NULL;
		if (signo < 0)
			continue;
		if (first && clock_mono_ns() - first > SAME_NS)
			end_now(signo);
		if (first)
			continue;
		first = clock_mono_ns();
		s->signo = signo;
		n = write(s->fd, &one, sizeof(one));
		(void)n;
	}
}

void stopper_start(struct stopper *s, const sigset_t *signals, sigset_t *rest)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP };

	*rest = *signals;
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->fd < 0)
		return;
	sem_init(&s->ready, 0, 0);
	sigemptyset(&s->signals);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (sigismember(signals, ends[i]) == 1)
			sigaddset(&s->signals, s->last = ends[i]);
	s->up = s->last && !pthread_create(&s->thread, NULL, run, s);
	for (size_t i = 0; i < ARRAY_SIZE(ends) && s->up; i++)
		sigdelset(rest, ends[i]);
}

void stopper_settle(struct stopper *s)
{
	while (s->up && sem_wait(&s->ready) && errno == EINTR)
		;
}

int stopper_signo(struct stopper *s)
{
	uint64_t n;
	ssize_t got;

	got = read(s->fd, &n, sizeof(n));
	(void)got;
	return s->signo;
}

void stopper_fini(struct stopper *s)
{
	/*
	 * End it with a signal that it waits for: pthread_cancel(3) would load libgcc_s, which a
	 * container's root may lack.
	 */
	if (s->up) {
		atomic_store(&s->over, true);
		pthread_kill(s->thread, s->last);
		pthread_join(s->thread, NULL);
	}
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct stopper)STOPPER_INIT;
}
