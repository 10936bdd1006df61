/*
 * A run of days meets more binaries and paths than there are at any one time, and a tenant can make
 * new ones without end. Those that nothing refers to any more are forgotten: between two segments
 * what no process maps and no list of captures needs; within one, what had no samples either. One
 * that comes back gets a new ID.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "procs/proc.h"

/* With fewer, the walk is not worth it. */
#define FORGET_MIN 4096
/* Paths per binary: each mapping has one. */
#define PATHS_EACH 4
/* Bytes of paths: the same. Real hosts have a tenth of it (contrib/doc/budgets.md). */
#define FORGET_BYTES (2u << 20)

static void mark(struct u64map *live, const struct dso *d)
{
	if (d)
		u64map_put(live, (uintptr_t)d, NULL);
}

static void mark_list(struct u64map *live, const struct caplist *cl)
{
	for (size_t i = 0; cl && i < cl->n; i++)
		mark(live, cl->v[i].dso);
}

/* Within a segment: what has rows to be captured at its end, or is being captured. */
static void mark_sampled(struct proctab *pt, struct u64map *live)
{
	for (size_t i = 0; i < pt->files.dsos.n; i++) {
		const struct dso *d = pt->files.dsos.dsos[i];

		if (d->seen.n || d->leafs.n || d->captured)
			mark(live, d);
	}
	mark(live, letgo_busy(pt));
}

/* Path @id of @p, in @paths. The tenant of the first one that has it answers for it. */
static uint32_t move_path(struct proc *p, struct intern *paths, uint32_t id)
{
	const uint32_t before = intern_count(paths), now = intern_add(paths, intern_str(p->pt->files.paths, id));

	if (intern_count(paths) != before)
		tenants_add(&p->pt->tenants, p->tenant, HOLD_PATHS, proc_path_cost(intern_len(paths, now)));
	return now;
}

/* Marks what processes map, and moves its paths to @paths. */
static void move_mappings(struct proctab *pt, struct u64map *live, struct intern *paths)
{
	struct u64map done = U64MAP_INIT;	/* sets are shared */
	uint64_t pid, val;
	size_t it = 0;

	while (u64map_next(&pt->procs, &it, &pid, &val)) {
		struct proc *p = (struct proc *)(uintptr_t)val;
		struct mapset *ms = p->maps;
		bool is_new;

		p->exe = move_path(p, paths, p->exe);
		u64map_put(&done, (uintptr_t)ms, &is_new);
		for (uint32_t i = 0; is_new && i < ms->n; i++) {
			struct map_entry *e = &ms->maps[i];

			mark(live, e->dso);
			e->path = move_path(p, paths, e->path);
		}
	}
	u64map_fini(&done);
}

static void forget(struct proctab *pt, struct u64map *live)
{
	struct intern *paths = intern_new();

	tenants_clear(&pt->tenants, HOLD_PATHS);
	mark(live, pt->files.dsos.vdso);
	mark_list(live, pt->cap.closing);
	for (size_t i = 0; i < pt->cap.nkept; i++)
		mark_list(live, pt->cap.kept[i]);
	move_mappings(pt, live, paths);
	dsotab_forget(&pt->files.dsos, live, paths);
	intern_free(pt->files.paths);
	pt->files.paths = paths;
	pt->files.forget_at = MAX(2 * pt->files.dsos.n, (size_t)intern_count(paths));
	pt->files.forget_bytes = 2 * intern_bytes(paths);
}

/* Is there so much that a walk over all processes is worth it? */
static bool is_due(const struct proctab *pt)
{
	const size_t limit = MAX(pt->files.forget_at, (size_t)FORGET_MIN);

	return pt->files.dsos.n >= limit || intern_count(pt->files.paths) >= PATHS_EACH * limit ||
	       intern_bytes(pt->files.paths) >= MAX(pt->files.forget_bytes, (size_t)FORGET_BYTES);
}

void proc_forget(struct proctab *pt, const struct caplist *cut)
{
	struct u64map live = U64MAP_INIT;

	if (!is_due(pt))
		return;
	mark_list(&live, cut);
	forget(pt, &live);
	u64map_fini(&live);
}

void proc_forget_now(struct proctab *pt)
{
	struct u64map live = U64MAP_INIT;

	if (pt->detached || !is_due(pt))
		return;
	mark_sampled(pt, &live);
	forget(pt, &live);
	u64map_fini(&live);
}
