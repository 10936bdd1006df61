#include "run/late_cgroups.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "containers/container_lookup.h"
#include "events/selection.h"
#include "host/cgroup_path.h"
#include "host/clock.h"

#define TRIES 6
#define PAUSE_NS 100000000ull	/* doubled each time: the last look is 3 s after the report */
#define SHARE 20		/* looking takes at most one part in SHARE of the time */

void late_cgroups_init(struct late_cgroups *p, struct events *ev, struct container_lookup *lk)
{
	/* A cgroup created between the first look and the opening of the events has no record. */
	*p = (struct late_cgroups){ .ev = ev, .lk = lk, .asked = lk && selection_grows(ev->opts), .pause = PAUSE_NS };
	p->tries = p->asked ? 2 : 0;
}

void late_cgroups_news(struct late_cgroups *p)
{
	if (!p->asked)
		return;
	p->tries = TRIES;
	p->pause = PAUSE_NS;
}

struct picking {
	struct late_cgroups *p;
	bool on;
	void (*fn)(void *ctx, const struct cgroup *cg, int err);
	void *ctx;
};

static void insert(struct cgroup_list *list, const struct cgroup *cg)
{
	size_t at = cgroup_list_at(list, cg->path);

	list->v = xrealloc(list->v, (list->n + 1) * sizeof(*list->v));
	memmove(&list->v[at + 1], &list->v[at], (list->n - at) * sizeof(*list->v));
	list->v[at] = *cg;
	list->n++;
}

/*
 * Events also count what is below a cgroup: one around others of the target would count them twice.
 */
static bool holds_others(const struct cgroup_list *list, const char *path)
{
	size_t at = cgroup_list_at(list, path);

	return at < list->n && cgroup_path_within(list->v[at].path, path);
}

static void pick(void *ctx, const char *path, const char *name)
{
	struct picking *k = ctx;
	struct events *ev = k->p->ev;
	struct target *t = ev->target;
	struct cgroup cg = { .fd = -1 };
	int err;

	if (cgroup_list_find(&t->cgroups, path) || holds_others(&t->cgroups, path))
		return;
	cg.name = xstrdup(name);
	cg.path = xstrdup(path);
	if (cgroup_reopen(&cg, &t->fs)) {
		cgroup_fini(&cg);
		return;
	}
	err = events_add_cgroup(ev, &cg, k->on);
	/* Add it even after an error, so that it is not tried again and again. */
	insert(&t->cgroups, &cg);
	k->fn(k->ctx, &cg, err);
}

void late_cgroups_step(struct late_cgroups *p, uint64_t now, bool on,
		 void (*fn)(void *ctx, const struct cgroup *cg, int err), void *ctx)
{
	struct picking k = { p, on, fn, ctx };
	struct containers *cs;
	struct target *t;
	uint64_t took;

	if (!p->looking && (!p->tries || now < p->next || !container_lookup_known(p->lk)))
		return;
	if (!p->looking && !container_lookup_ask(p->lk, CONTAINER_LOOKUP_ALL, NULL, 0)) {
		p->looking = true;
		return;
	}
	cs = container_lookup_known(p->lk);
	if (!cs)
		return;
	p->looking = false;
	t = p->ev->target;
	selection_each(p->ev->opts, &t->fs, cs, true, pick, &k);
	took = container_lookup_took(p->lk) + clock_mono_ns() - now;
	p->tries -= p->tries > 0;
	p->next = now + MAX(p->pause, SHARE * took);
	p->pause *= 2;
}
