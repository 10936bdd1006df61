/*
 * Held files that no process maps any more. An open file keeps its file system mounted, so a disk
 * that a program ran from could not be unmounted before the recording ends. So some seconds after
 * the last process of such a binary, its rows are captured and the file is closed.
 *
 * This is only for files that can be opened again if they come back: those in our own mount
 * namespace on a file system other than that of "/". A container's mounts are its own and end with
 * it, and a file that is not held is then gone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "capture/capture_thread.h"
#include "procs/proc.h"

/*
 * Calls of letgo_step(), which come every 200 ms, per look at all processes. With thousands of
 * processes a look takes milliseconds.
 */
#define LOOK_CALLS 5
/*
 * Looks without a user until a binary is let go. Doubled after each capture for this, because a
 * binary that comes back again and again would fill the recording with its rows.
 */
#define IDLE_LOOKS 2
#define IDLE_DOUBLED 5

struct letgo {
	struct capture_thread *thread;
	struct capture_job job;
	struct dso *dso;	/* its rows are being captured, outside the drain; NULL = none */
	size_t seen;		/* its seen.n at that time */
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
 * Below another root than ours, as in a chroot, a program that ends within milliseconds may not be
 * found again: nobody can tell any more where its root was. While others run there, it may come,
 * and the held file serves it.
 */
static bool is_lived_in(const struct dsotab *dt, const struct dso *d)
{
	const struct rootpin *r = d->root;

	return r && r->lived_in && (r->dev != dt->own_dev || r->ino != dt->own_ino);
}

/* Counts how many looks ago each of them was mapped. */
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
	pr_verbose("closing '%s': no process maps it any more", d->ev.path);
	pins_drop(&pt->files.pins, &d->pin);
	rootpin_put(&pt->files.pins, d->root);
	d->root = NULL;
	d->path = NULL;
}

/* The capture under way has ended: writes it. */
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
		pr_verbose("no thread for captures, so unused files stay open: %s", strerror(-err));
	return lg->thread;
}

/* Gives the rows of @d to the thread. False: there is nothing to capture. */
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

/* The capture under way has ended: closes the file if it was not used meanwhile. */
static void after_capture(struct proctab *pt)
{
	struct letgo *lg = pt->cap.letgo;
	struct dso *d = lg->dso;

	end_capture(pt);
	/* Rows that could not be captured now cannot be later either. */
	if (is_candidate(d) && d->idle && d->seen.n == lg->seen)
		close_file(pt, d);
}

struct dso *letgo_busy(const struct proctab *pt)
{
	return pt->cap.letgo ? pt->cap.letgo->dso : NULL;
}

void letgo_step(struct proctab *pt)
{
	struct letgo *lg;

	/* The closing file needs files as well. */
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
