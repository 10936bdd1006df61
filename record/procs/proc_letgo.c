/*
 * Held files that nobody maps any more. A file that is open keeps its file system mounted: whoever ran a program from a disk could not
 * unmount that before the recording ends. So the rows of such a binary are captured, and it is closed, some seconds after its last
 * process.
 *
 * Only where it can be opened again should it come back: what lies in our own mount namespace and is mounted there, beside "/". A
 * container's mounts are its own and end with it, and then a file that is not held is gone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "capture/capture_thread.h"
#include "procs/proc.h"

/* Calls of letgo_step(), which come every 200 ms, to a look at all processes: on a host of thousands that takes milliseconds. */
#define LOOK_CALLS 5
/*
 * Looks in which nobody had it, until a binary is let go; twice as many after each capture that this has taken, as what comes back again and
 * again would fill the recording with its rows.
 */
#define IDLE_LOOKS 2
#define IDLE_DOUBLED 5

struct letgo {
	struct capture_thread *thread;
	struct capture_job job;
	struct dso *dso;	/* whose rows it captures, beside the drain; NULL = it does nothing */
	size_t seen;		/* seen.n of it then */
	unsigned int calls;
};

static bool is_candidate(const struct dso *d)
{
	return d->apart && d->pin.fd >= 0;
}

static bool is_idle(const struct dso *d)
{
	return d->idle >= IDLE_LOOKS << MIN(d->early, IDLE_DOUBLED);
}

/*
 * Below another root than ours, as in a chroot, a program that is over within milliseconds may not be found again: where its root was
 * nobody can tell any more. While others run there it may come, and is served by what is held.
 */
static bool is_lived_in(const struct dsotab *dt, const struct dso *d)
{
	const struct rootpin *r = d->root;

	return r && r->lived_in && (r->dev != dt->own_dev || r->ino != dt->own_ino);
}

/* How many looks ago each of them was mapped. */
static void look(struct proctab *pt)
{
	uint64_t pid, val;
	size_t it = 0;
	bool any = false;

	for (struct rootpin *r = pt->files.pins.roots; r; r = r->next)
		r->lived_in = false;
	for (size_t i = 0; i < pt->files.dsos.n; i++) {
		struct dso *d = pt->files.dsos.dsos[i];

		if (!is_candidate(d))
			continue;
		any = true;
		d->idle = (uint8_t)MIN(d->idle + 1, UINT8_MAX);
	}
	while (any && u64map_next(&pt->procs, &it, &pid, &val)) {
		const struct proc *p = (const struct proc *)(uintptr_t)val;

		if (p->dead)
			continue;
		if (p->facts && p->facts->rootpin)
			p->facts->rootpin->lived_in = true;
		for (uint32_t i = 0; i < p->maps->n; i++)
			if (p->maps->maps[i].dso)
				p->maps->maps[i].dso->idle = 0;
	}
	for (size_t i = 0; any && i < pt->files.dsos.n; i++)
		if (is_lived_in(&pt->files.dsos, pt->files.dsos.dsos[i]))
			pt->files.dsos.dsos[i]->idle = 0;
}

static void close_file(struct proctab *pt, struct dso *d)
{
	pr_verbose("'%s' is let go: no process maps it any more", d->ev.path);
	pins_drop(&pt->files.pins, &d->pin);
	rootpin_put(&pt->files.pins, d->root);
	d->root = NULL;
	d->path = NULL;
}

/* What is under way has ended: write it. */
static void end_capture(struct proctab *pt)
{
	struct letgo *lg = pt->cap.letgo;

	if (!lg->job.err)
		lg->dso->captured = lg->seen;
	/* An error of the file stays with it. */
	capture_finish(pt, NULL, &lg->job);
	lg->dso = NULL;
}

static bool have_thread(struct letgo *lg)
{
	int err;

	if (lg->thread)
		return true;
	lg->thread = capture_thread_new(&err);
	if (!lg->thread)
		pr_verbose("no thread for captures, so no file is let go: %s", strerror(-err));
	return lg->thread;
}

/* The rows of @d to the thread. False: there is nothing to capture. */
static bool begin_capture(struct proctab *pt, struct dso *d)
{
	struct letgo *lg = pt->cap.letgo;

	if (!capture_prepare_dso(pt, d, &lg->job))
		return false;
	lg->dso = d;
	lg->seen = d->seen.n;
	d->early = (uint8_t)MIN(d->early + 1, UINT8_MAX);
	capture_thread_give(lg->thread, &lg->job);
	return true;
}

/* What is under way has ended, and its binary was not used meanwhile. */
static void after_capture(struct proctab *pt)
{
	struct letgo *lg = pt->cap.letgo;
	struct dso *d = lg->dso;

	end_capture(pt);
	/* Rows that could not be had will not be there later either. */
	if (is_candidate(d) && d->idle && d->seen.n == lg->seen)
		close_file(pt, d);
}

void letgo_step(struct proctab *pt)
{
	struct letgo *lg;

	/* What is closing wants files as well. */
	if (!pt->files.dsos.napart || pt->cap.closing)
		return;
	if (!pt->cap.letgo)
		pt->cap.letgo = xcalloc(1, sizeof(*pt->cap.letgo));
	lg = pt->cap.letgo;
	if (++lg->calls % LOOK_CALLS == 0)
		look(pt);
	else if (!lg->dso)
		return;
	if (lg->dso) {
		if (!capture_thread_ended(lg->thread, false))
			return;
		after_capture(pt);
	}
	for (size_t i = 0; i < pt->files.dsos.n; i++) {
		struct dso *d = pt->files.dsos.dsos[i];

		if (!is_candidate(d) || !is_idle(d))
			continue;
		if (!have_thread(lg) || begin_capture(pt, d))
			return;
		close_file(pt, d);
	}
}

void letgo_settle(struct proctab *pt)
{
	struct letgo *lg = pt->cap.letgo;

	if (lg && lg->dso && capture_thread_ended(lg->thread, true))
		end_capture(pt);
}

void letgo_free(struct proctab *pt)
{
	struct letgo *lg = pt->cap.letgo;

	if (!lg)
		return;
	if (lg->dso && capture_thread_ended(lg->thread, true))
		capture_job_fini(&lg->job);
	capture_thread_free(lg->thread);
	free(lg);
}
