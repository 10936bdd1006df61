/*
 * A run of days meets more binaries and paths than there are at any one time. Between two segments
 * nothing refers to what was written. Then those that no process maps and no list of captures needs
 * are forgotten. One that comes back gets a new ID.
 */
#include <stdlib.h>

#include "base/util.h"
#include "procs/proc.h"

/* With fewer, the walk is not worth it. */
#define FORGET_MIN 4096
/* Names per binary: each mapping has one, and so does each alias of a binary. */
#define NAMES_EACH 4

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

		p->exe = intern_add(paths, intern_str(pt->files.paths, p->exe));
		u64map_put(&done, (uintptr_t)ms, &is_new);
		for (uint32_t i = 0; is_new && i < ms->n; i++) {
			struct map_entry *e = &ms->maps[i];

			mark(live, e->dso);
			e->path = intern_add(paths, intern_str(pt->files.paths, e->path));
		}
	}
	u64map_fini(&done);
}

void proctab_forget(struct proctab *pt, const struct caplist *cut)
{
	const size_t limit = MAX(pt->files.forget_at, (size_t)FORGET_MIN);
	struct u64map live = U64MAP_INIT;
	struct intern *paths;

	if (pt->files.dsos.n < limit && pt->files.dsos.naliases < NAMES_EACH * limit &&
	    intern_count(pt->files.paths) < NAMES_EACH * limit)
		return;
	paths = intern_new();
	mark(&live, pt->files.dsos.vdso);
	mark_list(&live, cut);
	mark_list(&live, pt->cap.closing);
	for (size_t i = 0; i < pt->cap.nkept; i++)
		mark_list(&live, pt->cap.kept[i]);
	move_mappings(pt, &live, paths);
	dsotab_forget(&pt->files.dsos, &live, paths);
	intern_free(pt->files.paths);
	pt->files.paths = paths;
	pt->files.forget_at = MAX(2 * pt->files.dsos.n, (size_t)intern_count(paths));
	u64map_fini(&live);
}
