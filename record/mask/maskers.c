/*
 * One batch at a time. Each thread takes the next job from a counter; the caller waits until all
 * jobs are finished. A helper that wakes up late finds nothing left and sleeps again.
 */
#include "mask/maskers.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/signals.h"
#include "base/util.h"
#include "base/xalloc.h"

#define CPUS_EACH 16
#define HELPERS_MAX 15
/* With fewer jobs, waking the others takes longer than the work. */
#define JOBS_WORTH_WAKING 8

struct maskers {
	unsigned int n;			/* threads that run */
	pthread_mutex_t lock;		/* guards batch, busy and stop; work and idle wait on it */
	pthread_cond_t work, idle;
	uint64_t batch;			/* number of the latest batch */
	unsigned int busy;		/* helpers that use jobs[] */
	bool stop;
	struct mask_job *const *jobs;	/* set before batch is raised, fixed while busy */
	size_t njobs;
	atomic_size_t next;
	struct masker {
		pthread_t thread;
		struct maskers *all;
		struct mask_ctx *ctx;	/* owned */
	} helper[HELPERS_MAX];
	struct mask_ctx *own;		/* owned; the caller's */
};

unsigned int maskers_for_cpus(size_t ncpus)
{
	return ncpus ? (unsigned int)MIN((ncpus - 1) / CPUS_EACH, (size_t)HELPERS_MAX) : 0;
}

static void do_jobs(struct mask_ctx *mc, struct mask_job *const *jobs, size_t n,
		    atomic_size_t *next)
{
	size_t i;

	while ((i = atomic_fetch_add(next, 1)) < n) {
		struct mask_job *j = jobs[i];

		j->same = 0;
		if (j->last)
			j->same = mask_stack_again(mc, j->ms, j->last, j->sp, j->copy, j->size, j->words);
		else
			mask_stack(mc, j->ms, j->sp, j->copy, j->size, j->words);
	}
}

static void *help(void *arg)
{
	struct masker *self = arg;
	struct maskers *m = self->all;
	struct mask_job *const *jobs;
	uint64_t done = 0;
	size_t n;

	pthread_mutex_lock(&m->lock);
	for (;;) {
		if (m->stop)
			break;
		if (done == m->batch) {
			pthread_cond_wait(&m->work, &m->lock);
			continue;
		}
		done = m->batch;
		if (!m->njobs)	/* over already, and the next batch may soon use the counter */
			continue;
		jobs = m->jobs;
		n = m->njobs;
		m->busy++;
		pthread_mutex_unlock(&m->lock);
		do_jobs(self->ctx, jobs, n, &m->next);
		pthread_mutex_lock(&m->lock);
		if (!--m->busy)
			pthread_cond_signal(&m->idle);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

static bool start_helper(struct maskers *m, struct masker *h)
{
	h->all = m;
	h->ctx = mask_ctx_new(false);
	if (!pthread_create(&h->thread, NULL, help, h))
		return true;
	mask_ctx_free(h->ctx);
	return false;
}

struct maskers *maskers_new(unsigned int helpers)
{
	struct maskers *m = xcalloc(1, sizeof(*m));
	sigset_t old;

	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->work, NULL);
	pthread_cond_init(&m->idle, NULL);
	m->own = mask_ctx_new(false);
	/* The recorder's signals are for the thread that handles them. */
	signals_block_all(&old);
	while (m->n < MIN(helpers, (unsigned int)HELPERS_MAX) && start_helper(m, &m->helper[m->n]))
		m->n++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return m;
}

void maskers_free(struct maskers *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	m->stop = true;
	pthread_cond_broadcast(&m->work);
	pthread_mutex_unlock(&m->lock);
	for (unsigned int i = 0; i < m->n; i++) {
		pthread_join(m->helper[i].thread, NULL);
		mask_ctx_free(m->helper[i].ctx);
	}
	mask_ctx_free(m->own);
	pthread_cond_destroy(&m->work);
	pthread_cond_destroy(&m->idle);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

void maskers_run(struct maskers *m, struct mask_job *const *jobs, size_t n)
{
	atomic_size_t alone = 0;

	if (!m->n || n < JOBS_WORTH_WAKING) {
		do_jobs(m->own, jobs, n, &alone);
		return;
	}
	pthread_mutex_lock(&m->lock);
	m->jobs = jobs;
	m->njobs = n;
	atomic_store(&m->next, 0);
	m->batch++;
	pthread_cond_broadcast(&m->work);
	pthread_mutex_unlock(&m->lock);
	do_jobs(m->own, jobs, n, &m->next);
	/* All jobs are taken. Wait for those that helpers still work on. */
	pthread_mutex_lock(&m->lock);
	while (m->busy)
		pthread_cond_wait(&m->idle, &m->lock);
	/* A helper that comes too late must not find this batch. */
	m->njobs = 0;
	pthread_mutex_unlock(&m->lock);
}

struct mask_ctx *maskers_own(struct maskers *m)
{
	return m->own;
}
