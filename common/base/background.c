/* A queue of calls and the thread that runs them (background.h). */
#include "base/background.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/xalloc.h"

enum state { JOB_WAITS, JOB_RUNS, JOB_DONE };

struct background_job {
	struct background *of;
	struct background_job *next;	/* in the queue */
	void (*fn)(void *arg);
	void *arg;
	enum state state;
};

struct background {
	struct background_job *first, **last;	/* jobs that wait */
	bool started, stop;
	pthread_t tid;
	pthread_mutex_t lock;	/* protects all of it */
	pthread_cond_t change;
};

struct background *background_new(void)
{
	struct background *bg = xcalloc(1, sizeof(*bg));

	bg->last = &bg->first;
	pthread_mutex_init(&bg->lock, NULL);
	pthread_cond_init(&bg->change, NULL);
	return bg;
}

/* The lock is held here and in all functions below. */
static void dequeue(struct background_job *job)
{
	struct background_job **at = &job->of->first;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	if (!job->next)
		job->of->last = at;
}

/* Releases the lock while the job runs. */
static void run(struct background_job *job)
{
	struct background *bg = job->of;

	dequeue(job);
	job->state = JOB_RUNS;
	pthread_mutex_unlock(&bg->lock);
	job->fn(job->arg);
	pthread_mutex_lock(&bg->lock);
	job->state = JOB_DONE;
	pthread_cond_broadcast(&bg->change);
}

static void *worker(void *arg)
{
	struct background *bg = arg;

	pthread_mutex_lock(&bg->lock);
	while (!bg->stop) {
		if (bg->first)
			run(bg->first);
		else
			pthread_cond_wait(&bg->change, &bg->lock);
	}
	pthread_mutex_unlock(&bg->lock);
	return NULL;
}

struct background_job *background_add(struct background *bg, void (*fn)(void *arg), void *arg)
{
	struct background_job *job = xcalloc(1, sizeof(*job));

	*job = (struct background_job){ .of = bg, .fn = fn, .arg = arg };
	pthread_mutex_lock(&bg->lock);
	*bg->last = job;
	bg->last = &job->next;
	if (!bg->started)
		bg->started = !pthread_create(&bg->tid, NULL, worker, bg);
	pthread_cond_broadcast(&bg->change);
	pthread_mutex_unlock(&bg->lock);
	return job;
}

static void end(struct background_job *job, bool wanted)
{
	struct background *bg = job->of;

	pthread_mutex_lock(&bg->lock);
	if (job->state == JOB_WAITS && wanted)
		run(job);
	else if (job->state == JOB_WAITS)
		dequeue(job);
	while (job->state == JOB_RUNS)
		pthread_cond_wait(&bg->change, &bg->lock);
	pthread_mutex_unlock(&bg->lock);
	free(job);
}

void background_finish(struct background_job *job)
{
	end(job, true);
}

void background_drop(struct background_job *job)
{
	end(job, false);
}

void background_free(struct background *bg)
{
	if (!bg)
		return;
	pthread_mutex_lock(&bg->lock);
	bg->stop = true;
	pthread_cond_broadcast(&bg->change);
	pthread_mutex_unlock(&bg->lock);
	if (bg->started)
		pthread_join(bg->tid, NULL);
	pthread_mutex_destroy(&bg->lock);
	pthread_cond_destroy(&bg->change);
	free(bg);
}
