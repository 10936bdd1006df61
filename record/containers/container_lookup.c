#include "containers/container_lookup.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "host/clock.h"

#define NS_PER_S 1000000000ull

struct container_lookup {
	const struct cgroup_fs *fs;
	const char *roots;
	struct containers *cs, *own;	/* own: owned */
	/* owned; copy for the caller during CONTAINER_LOOKUP_ALL, otherwise NULL */
	struct containers *before;
	pthread_t thread;
	bool up;			/* the thread runs; otherwise the caller does the work */
	pthread_mutex_t lock;		/* guards the members down to @stop */
	pthread_cond_t work, done;
	bool busy, stop;
	/* Belong to the caller while not busy, otherwise to the thread. */
	enum container_lookup_what what;
	char **paths;			/* owned */
	size_t npaths;
	bool fresh;	/* the paths are of cgroups that began within the recording */
	uint64_t took, cpu;
	uint64_t left;			/* ns left for waiting */
	bool (*may)(void *ctx);		/* NULL: always true */
	void *may_ctx;
};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static void answer(struct container_lookup *lk)
{
	const uint64_t begun = clock_mono_ns(), cpu = cpu_ns();

	if (!lk->cs)
		lk->cs = lk->own = containers_new_hurried(lk->fs, lk->roots);
	if (lk->what == CONTAINER_LOOKUP_ALL) {
		containers_hurry(lk->cs);
		containers_refresh(lk->cs);
	} else if (lk->what == CONTAINER_LOOKUP_BEGUN) {
		containers_begun(lk->cs);
	}
	for (size_t i = 0; i < lk->npaths; i++) {
		if (lk->fresh || (lk->what == CONTAINER_LOOKUP_PATHS && !containers_walked(lk->cs, lk->paths[i])))
			containers_of_new(lk->cs, lk->paths[i]);
		else
			containers_of(lk->cs, lk->paths[i]);
		free(lk->paths[i]);
	}
	free(lk->paths);
	lk->paths = NULL;
	lk->npaths = 0;
	lk->took = clock_mono_ns() - begun;
	lk->cpu += cpu_ns() - cpu;
}

static void *run(void *arg)
{
	struct container_lookup *lk = arg;

	pthread_mutex_lock(&lk->lock);
	for (;;) {
		while (!lk->busy && !lk->stop)
			pthread_cond_wait(&lk->work, &lk->lock);
		if (!lk->busy)
			break;
		pthread_mutex_unlock(&lk->lock);
		answer(lk);
		pthread_mutex_lock(&lk->lock);
		lk->busy = false;
		pthread_cond_signal(&lk->done);
	}
	pthread_mutex_unlock(&lk->lock);
	return NULL;
}

/* Called with the lock: waits until the thread is done or time is up. */
static void wait_done(struct container_lookup *lk)
{
	const uint64_t begun = clock_mono_ns(), until = begun + lk->left;
	uint64_t now = begun;

	while (lk->busy && now < until && (!lk->may || lk->may(lk->may_ctx))) {
		const uint64_t next = MIN(now + CONTAINER_LOOKUP_SLICE_NS, until);
		const struct timespec at = { (time_t)(next / NS_PER_S), (long)(next % NS_PER_S) };

		pthread_cond_timedwait(&lk->done, &lk->lock, &at);
		now = clock_mono_ns();
	}
	lk->left -= MIN(lk->left, now - begun);
}

struct container_lookup *container_lookup_new(const struct cgroup_fs *fs, struct containers *cs, const char *roots)
{
	struct container_lookup *lk = xcalloc(1, sizeof(*lk));
	pthread_condattr_t mono;

	lk->fs = fs;
	lk->roots = roots;
	lk->cs = cs;
	pthread_mutex_init(&lk->lock, NULL);
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&lk->work, NULL);
	pthread_cond_init(&lk->done, &mono);
	pthread_condattr_destroy(&mono);
	lk->left = CONTAINER_LOOKUP_WAIT_NS;
	lk->up = !pthread_create(&lk->thread, NULL, run, lk);
	return lk;
}

void container_lookup_free(struct container_lookup *lk)
{
	if (!lk)
		return;
	pthread_mutex_lock(&lk->lock);
	lk->stop = true;
	pthread_cond_signal(&lk->work);
	pthread_mutex_unlock(&lk->lock);
	if (lk->up)
		pthread_join(lk->thread, NULL);
	containers_free(lk->own);
	containers_free(lk->before);
	pthread_cond_destroy(&lk->work);
	pthread_cond_destroy(&lk->done);
	pthread_mutex_destroy(&lk->lock);
	free(lk);
}

static enum container_lookup_state request(struct container_lookup *lk, enum container_lookup_what what, const char *const *paths, size_t n, bool fresh)
{
	enum container_lookup_state state;

	pthread_mutex_lock(&lk->lock);
	if (lk->busy && lk->left)
		wait_done(lk);
	if (lk->busy) {
		pthread_mutex_unlock(&lk->lock);
		return CONTAINER_LOOKUP_BUSY;
	}
	containers_free(lk->before);
	lk->before = what == CONTAINER_LOOKUP_ALL && lk->cs && lk->up ? containers_copy(lk->cs) : NULL;
	lk->what = what;
	lk->fresh = fresh;
	lk->paths = xcalloc(n + 1, sizeof(*lk->paths));
	for (lk->npaths = 0; lk->npaths < n; lk->npaths++)
		lk->paths[lk->npaths] = xstrdup(paths[lk->npaths]);
	if (lk->up) {
		lk->busy = true;
		pthread_cond_signal(&lk->work);
		wait_done(lk);
	} else {
		answer(lk);
	}
	state = lk->busy ? CONTAINER_LOOKUP_UNDER_WAY : CONTAINER_LOOKUP_ANSWERED;
	pthread_mutex_unlock(&lk->lock);
	return state;
}

void container_lookup_first(struct container_lookup *lk)
{
	if (lk->cs)
		return;
	lk->left = CONTAINER_LOOKUP_FIRST_NS;
	request(lk, CONTAINER_LOOKUP_PATHS, NULL, 0, false);
	lk->left = CONTAINER_LOOKUP_WAIT_NS;
}

struct containers *container_lookup_known(struct container_lookup *lk)
{
	struct containers *cs;

	pthread_mutex_lock(&lk->lock);
	cs = lk->busy ? NULL : lk->cs;
	pthread_mutex_unlock(&lk->lock);
	return cs;
}

bool container_lookup_ask(struct container_lookup *lk, enum container_lookup_what what, const char *const *paths, size_t n)
{
	return request(lk, what, paths, n, false) == CONTAINER_LOOKUP_ANSWERED;
}

const struct container *container_lookup_of(struct container_lookup *lk, const char *path, bool born, enum container_lookup_state *state)
{
	const struct container *c = NULL;

	/* What is already known takes no time, however full the rings are. */
	if (!born) {
		const struct containers *known = container_lookup_known(lk);

		known = known ? known : lk->before;
		c = known ? containers_known(known, path) : NULL;
	}
	*state = c ? CONTAINER_LOOKUP_ANSWERED : request(lk, CONTAINER_LOOKUP_PATHS, &path, 1, born);
	return c || *state != CONTAINER_LOOKUP_ANSWERED ? c : containers_of(lk->cs, path);
}

void container_lookup_while(struct container_lookup *lk, bool (*may)(void *ctx), void *ctx)
{
	lk->may = may;
	lk->may_ctx = ctx;
}

uint64_t container_lookup_took(const struct container_lookup *lk)
{
	return lk->took;
}

uint64_t container_lookup_cpu(const struct container_lookup *lk)
{
	return lk->cpu;
}

void container_lookup_last(struct container_lookup *lk)
{
	lk->may = NULL;
	lk->left = CONTAINER_LOOKUP_FIRST_NS;
}

void container_lookup_round(struct container_lookup *lk)
{
	lk->left = CONTAINER_LOOKUP_WAIT_NS;
}
