#include "capture/capture_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/signals.h"
#include "base/xalloc.h"

struct capture_thread {
	pthread_t thread;
	int fd;				/* owned eventfd */
	pthread_mutex_t lock;		/* guards the rest */
	pthread_cond_t change;
	struct capture_job *job;	/* given and not taken back yet */
	bool ended, stop;
};

static void *run(void *arg)
{
	struct capture_thread *ct = arg;
	const id_t tid = (id_t)syscall(SYS_gettid);
	const uint64_t one = 1;

	/* The drain may have been given priority over the workload; captures must not have it. */
	if (getpriority(PRIO_PROCESS, tid) < 0)
		setpriority(PRIO_PROCESS, tid, 0);
	pthread_mutex_lock(&ct->lock);
	for (;;) {
		struct capture_job *job = ct->ended ? NULL : ct->job;

		if (!job && ct->stop)
			break;
		if (!job) {
			pthread_cond_wait(&ct->change, &ct->lock);
			continue;
		}
		pthread_mutex_unlock(&ct->lock);
		capture_job_run(job);
		pthread_mutex_lock(&ct->lock);
		ct->ended = true;
		pthread_cond_broadcast(&ct->change);
		if (write(ct->fd, &one, sizeof(one)) != sizeof(one))
			continue;	/* the counter is full, so it is readable anyway */
	}
	pthread_mutex_unlock(&ct->lock);
	return NULL;
}

struct capture_thread *capture_thread_new(int *err)
{
	struct capture_thread *ct = xcalloc(1, sizeof(*ct));
	sigset_t old;

	ct->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ct->fd < 0) {
		*err = -errno;
		free(ct);
		return NULL;
	}
	pthread_mutex_init(&ct->lock, NULL);
	pthread_cond_init(&ct->change, NULL);
	/* Signals must reach the recorder's main thread. */
	signals_block_all(&old);
	*err = -pthread_create(&ct->thread, NULL, run, ct);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!*err)
		return ct;
	close(ct->fd);
	free(ct);
	return NULL;
}

int capture_thread_fd(const struct capture_thread *ct)
{
	return ct->fd;
}

void capture_thread_give(struct capture_thread *ct, struct capture_job *job)
{
	pthread_mutex_lock(&ct->lock);
	ct->job = job;
	ct->ended = false;
	pthread_cond_broadcast(&ct->change);
	pthread_mutex_unlock(&ct->lock);
}

struct capture_job *capture_thread_ended(struct capture_thread *ct, bool wait)
{
	struct capture_job *job = NULL;

	pthread_mutex_lock(&ct->lock);
	while (wait && ct->job && !ct->ended)
		pthread_cond_wait(&ct->change, &ct->lock);
	if (ct->ended) {
		job = ct->job;
		ct->job = NULL;
		ct->ended = false;
	}
	pthread_mutex_unlock(&ct->lock);
	return job;
}

void capture_thread_free(struct capture_thread *ct)
{
	if (!ct)
		return;
	pthread_mutex_lock(&ct->lock);
	ct->stop = true;
	pthread_cond_broadcast(&ct->change);
	pthread_mutex_unlock(&ct->lock);
	pthread_join(ct->thread, NULL);
	pthread_cond_destroy(&ct->change);
	pthread_mutex_destroy(&ct->lock);
	close(ct->fd);
	free(ct);
}
