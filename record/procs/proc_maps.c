/*
 * Mappings of a process, from side-band and /proc: added to its set, and to the recording if the
 * process is in it.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "host/nsopen.h"
#include "procs/proc.h"

/* Looks at /proc for one image. A JIT where a closed library was would cause one per function. */
#define LOOKS_MAX 16

void proc_write_dso(struct proc *p, struct dso *d)
{
	struct proctab *pt = p->pt;

	if (d->segment == pt->segment)
		return;
	d->segment = pt->segment;
	if (!d->ev.id)
		d->ev.id = ++pt->files.next_dso;
	rec_writer_dso(pt->w, &d->ev);
	proc_wrote(p, 2 * proc_event_cost(d->ev.path));
}

void proc_write_map(struct proc *p, const struct map_entry *e, uint64_t time)
{
	struct ev_mmap ev = {
		.time = time, .pid = p->pid, .tid = p->pid,
		.start = e->start, .len = e->end - e->start, .pgoff = e->pgoff,
		.prot = e->prot, .flags = e->flags,
		.path = intern_str(p->pt->files.paths, e->path),
	};

	if (e->dso) {
		proc_write_dso(p, e->dso);
		ev.dso = e->dso->ev.id;
	}
	rec_writer_mmap(p->pt->w, &ev);
	proc_wrote(p, proc_event_cost(ev.path));
}

/* To know its mount namespace can take a look into /proc. What is no file needs none. */
static struct map_user user_of(const struct proc *p, const struct map_entry *e)
{
	const struct map_user nobody = { .pid = p->pid };

	return e->kind == MAPPING_JIT || e->kind == MAPPING_SPECIAL ? nobody : proc_map_user(p);
}

static void add_map(struct proc *p, struct map_entry *e, const uint8_t *build_id, size_t len, uint64_t time)
{
	struct proctab *pt = p->pt;
	struct map_user u = user_of(p, e);
	struct map_entry *in = mapset_find(p->maps, e->start);
	int ret;

	/*
	 * A library that is loaded again gets its old place, and the kernel does not report that it
	 * was gone. If its file was rewritten meanwhile, all about the mapping is as before, except
	 * its content.
	 */
	if (len || (in && in->dso && dsotab_rewritten(in->dso)))
		proc_resolve(p, &u, e, build_id, len);
	ret = mapset_add(&p->maps, e);
	if (ret == -ENOSPC)
		proc_give_up_maps(p);
	if (ret <= 0)
		return;
	proc_hold_maps(p);
	if (p->overfull)
		return;
	in = mapset_find(p->maps, e->start);
	/*
	 * A process without samples costs no open, unless the file was never met: a program that
	 * runs for milliseconds is gone by its first sample.
	 */
	if (!in->resolved && (p->serial || !dsotab_seen_file(&pt->files.dsos, &u, in)) && proc_has_time(p))
		proc_resolve(p, &u, in, NULL, 0);
	if (p->serial)
		jitdump_pin(p, &u, in);
	if (!proc_written(p))
		return;
	if (in->resolved && proc_may_write(p, proc_event_cost(intern_str(pt->files.paths, in->path)), time))
		proc_write_map(p, in, time);
	else
		p->stale = true;
}

/* If side-band reported a copy of a file's code, @e becomes that file's. */
static void look_copy(struct proc *p, struct map_entry *e)
{
	struct map_user u;
	int procfd;

	if (!proc_may_be_copy(p, e))
		return;
	procfd = nsopen_process(p->pid);
	if (procfd < 0)
		return;
	u = proc_map_user(p);
	proc_find_copy(p, &u, procfd, p->maps, e);
	close(procfd);
}

/* ---- code that lies over a file's, from side-band ---- */

enum moved {
	MOVED_NOT,	/* @e is what it appears to be */
	MOVED_WHOLE,	/* it is the file that was mapped there before */
	MOVED_PARTS,	/* parts of it are, marked in *@now: add @e, then add_moved() */
};

/* Mapping number *@i of @ms, and one more in *@i, if it begins below @end; NULL: none. */
static const struct map_entry *next_in(const struct mapset *ms, uint64_t end, uint32_t *i)
{
	return *i < ms->n && ms->maps[*i].start < end ? &ms->maps[(*i)++] : NULL;
}

/*
 * Without /proc: a whole segment, or huge pages of it, counts as a copy. So does anything inside
 * the program itself, which is never unmapped. Anything else may be JIT code where a library was.
 */
static bool looks_moved(const struct proc *p, const struct map_entry *e)
{
	const struct map_entry *old = mapset_find(p->maps, e->start);

	if (!old || old->kind != MAPPING_FILE || proc_is_memory(p, old) || old->end < e->end)
		return false;
	return (old->start == e->start && old->end == e->end) || !((e->start | e->end) % HUGE_PAGE) ||
	       (p->exe && old->path == p->exe);
}

/* Is @e, which @p has mapped now, a copy of code of a file that was mapped there before? */
static enum moved look_moved(struct proc *p, struct map_entry *e, uint64_t time, struct mapset **now)
{
	const struct map_entry *old;
	uint32_t i = mapset_first(p->maps, e->start);
	int err;

	*now = NULL;
	if (e->moved || !proc_is_memory(p, e))
		return MOVED_NOT;
	while ((old = next_in(p->maps, e->end, &i)))
		e->over_file |= old->over_file || (old->kind == MAPPING_FILE && !proc_is_memory(p, old));
	if (!e->over_file || p->moved_looks >= LOOKS_MAX)
		return MOVED_NOT;
	p->moved_looks++;
	err = p->pt->detached ? -ESRCH : proc_read_maps(p, time, now);
	if (err)
		return looks_moved(p, e) ? MOVED_WHOLE : MOVED_NOT;
	return MOVED_PARTS;
}

/* Takes the reference to @now. */
static void add_moved(struct proc *p, const struct map_entry *e, struct mapset *now, uint64_t time)
{
	const struct map_entry *in;
	uint32_t i = mapset_first(now, e->start);

	while ((in = next_in(now, e->end, &i))) {
		struct map_entry part = *in;

		if (!in->moved)
			continue;
		part.start = MAX(in->start, e->start);
		part.end = MIN(in->end, e->end);
		part.pgoff += part.start - in->start;
		proc_add_map(p, &part, NULL, 0, time);
	}
	mapset_put(now);
}

/* ---- all of them ---- */

void proc_add_map(struct proc *p, struct map_entry *e, const uint8_t *build_id, size_t len,
		  uint64_t time)
{
	struct mapset *now;

	if (!e->since)
		e->since = time;
	if (p->overfull) {
		tenant_left_out(p->tenant, BUDGET_MAPS, 1);
		return;
	}
	proc_on_behalf(p);
	switch (look_moved(p, e, time, &now)) {
	case MOVED_WHOLE:
		return;
	case MOVED_NOT:
		look_copy(p, e);
		add_map(p, e, build_id, len, time);
		return;
	case MOVED_PARTS:
		add_map(p, e, build_id, len, time);
		add_moved(p, e, now, time);
		return;
	}
}

bool proc_add_present(struct proc *p, uint64_t time)
{
	struct mapset *now;

	if (proc_read_maps(p, time, &now))
		return false;
	p->known = true;
	for (uint32_t i = 0; i < now->n; i++)
		proc_add_map(p, &now->maps[i], NULL, 0, time);
	mapset_put(now);
	return true;
}

void proc_add_vsyscall(struct proc *p)
{
	struct map_entry e = {
		.start = 0xffffffffff600000ull, .end = 0xffffffffff601000ull, .prot = PROT_EXEC,
		.kind = MAPPING_SPECIAL, .resolved = true,
		.path = intern_add(p->pt->files.paths, "[vsyscall]"),
	};

	mapset_add(&p->maps, &e);
}

bool proc_pin_all(struct proc *p)
{
	struct map_user u = proc_map_user(p);
	bool all = true;
	uint32_t i;

	/*
	 * In place, although others may share the set: a mapping is the same file for all of them.
	 */
	for (i = 0; i < p->maps->n; i++) {
		struct map_entry *e = &p->maps->maps[i];

		if (!e->resolved && !proc_has_time(p)) {
			all = false;
			continue;
		}
		if (!e->resolved)
			proc_resolve(p, &u, e, NULL, 0);
		else
			dsotab_pin(&p->pt->files.dsos, &u, e);
		jitdump_pin(p, &u, e);
	}
	return all;
}
