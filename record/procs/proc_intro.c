/*
 * Writes a process to the recording: what is known of it while it lives, otherwise what side-band
 * and its parent show.
 */
#include <string.h>
#include <unistd.h>

#include "host/nsopen.h"
#include "procs/proc.h"

/* Longest chain of forks without an exec or a sample, as of a shell's subshells. */
#define ANCESTORS_MAX 8

/* ---- from its parent ---- */

/*
 * Was @p, which ran before we looked, forked from @parent without an exec since? Then both have the
 * vdso, which gets a new place at each exec, and the program at the same addresses.
 */
static bool same_image(const struct proc *p, const struct proc *parent)
{
	const struct map_entry *a = mapset_of_kind(p->maps, MAPPING_VDSO);
	const struct map_entry *b = mapset_of_kind(parent->maps, MAPPING_VDSO);

	if (!a || !b || a->start != b->start || !p->facts || !parent->facts)
		return false;
	a = mapset_of_kind(p->maps, MAPPING_FILE);
	b = mapset_of_kind(parent->maps, MAPPING_FILE);
	return a && b && a->start == b->start && a->path == b->path &&
	       !strcmp(p->facts->exe, parent->facts->exe);
}

/*
 * Is @parent, in the table under @p's ppid, the process that @p was forked from, with the same
 * program?
 */
static bool is_origin(const struct proc *parent, const struct proc *p)
{
	return !p->fork_time || (parent->fork_time <= p->fork_time && parent->exec_time <= p->fork_time);
}

/*
 * Finds the facts of the process that @p was forked from. That process may have no samples, and may
 * have been forked just before; then its own parent is tried, up to @depth times.
 */
static void find_ancestor(struct proc *p, uint64_t time, unsigned int depth)
{
	struct proc *parent = proctab_find(p->pt, p->ppid);

	if (p->anc || !parent || parent == p || !is_origin(parent, p))
		return;
	if (!parent->facts && !parent->dead)
		proc_acquire(parent, p->fork_time ? p->fork_time : time);
	if (!parent->facts && parent->inherited && depth)
		find_ancestor(parent, time, depth - 1);
	if (!p->inherited && !same_image(p, parent))
		return;
	p->inherited = true;
	p->anc = proc_facts_get(parent->facts ? parent->facts : parent->anc);
	if (!p->comm[0])
		memcpy(p->comm, parent->comm, sizeof(p->comm));
	if (!p->known && parent->known) {
		mapset_put(p->maps);
		p->maps = mapset_get(parent->maps);
		p->known = true;
	}
}

/* ---- into the recording ---- */

static void write_proc(struct proc *p, uint64_t time, bool maps_follow, bool left_out)
{
	/* If a process is gone, its parent's facts say where it ran. */
	const struct proc_facts *f = p->facts ? p->facts : p->anc, *who = proc_who(p);
	struct ev_proc ev = {
		.time = time, .serial = p->serial, .pid = p->pid, .ppid = p->ppid,
		.mnt_ns = p->mnt_ns, .pid_ns = p->pid_ns, .user_ns = p->user_ns,
		.comm = p->comm, .exe = "", .root = "", .cgroup = "",
		.maps_known = maps_follow && (p->known || left_out), .inherited = p->inherited,
	};

	if (f) {
		ev.exe = f->exe;
		ev.root = f->root;
		ev.cgroup = f->cgroup;
		ev.mnt_ns = ev.mnt_ns ? ev.mnt_ns : f->mnt_ns;
		ev.pid_ns = ev.pid_ns ? ev.pid_ns : f->pid_ns;
		ev.user_ns = ev.user_ns ? ev.user_ns : f->user_ns;
	}
	if (!f && !ev.mnt_ns)
		ev.mnt_ns = proc_own_mnt_ns(p);
	/* If /proc had none, or was not read in time. */
	if (!ev.exe[0])
		ev.exe = intern_str(p->pt->files.paths, p->exe);
	if (who) {
		ev.cgroup = who->cgroup;
		ev.pid_ns = who->pid_ns ? who->pid_ns : ev.pid_ns;
		ev.start_ticks = who->start_ticks;
		ev.nspid_n = who->nspid_n;
		memcpy(ev.nspid, who->nspid, sizeof(ev.nspid));
	}
	rec_writer_proc(p->pt->w, &ev);
	proc_wrote(p, proc_event_cost(ev.exe) + proc_event_cost(ev.root) + proc_event_cost(ev.cgroup));
}

/* Writes @p with its mappings, or if @left_out without. */
static void write_all(struct proc *p, uint64_t time, bool left_out)
{
	p->segment = p->pt->segment;
	p->stale = false;
	p->muted = left_out;
	for (uint32_t i = 0; i < p->maps->n && !left_out; i++)
		if (p->maps->maps[i].dso)
			proc_write_dso(p, p->maps->maps[i].dso);
	write_proc(p, time, true, left_out);
	if (left_out)
		proc_write_left_out(p, time);
	for (uint32_t i = 0; i < p->maps->n && !left_out; i++)
		proc_write_map(p, &p->maps->maps[i], time);
}

/* Mappings of which the cost is added up; with more, they count as average ones. */
#define MAPS_COUNTED 256
#define MAP_COST 96

/* What its mappings would add to the recording, bytes, about. */
static uint64_t maps_cost(const struct proc *p)
{
	uint64_t sum = 0;

	if (p->maps->n > MAPS_COUNTED)
		return (uint64_t)p->maps->n * MAP_COST;
	for (uint32_t i = 0; i < p->maps->n; i++)
		sum += proc_event_cost(intern_str(p->pt->files.paths, p->maps->maps[i].path));
	return sum;
}

void proc_introduce_again(struct proc *p, uint64_t time)
{
	if (!p->overfull && proc_may_write(p, maps_cost(p), time) && proc_pin_all(p))
		write_all(p, time, false);
	else if (p->stale)
		write_all(p, time, true);
}

void proc_introduce(struct proc *p, uint64_t time)
{
	struct proctab *pt = p->pt;
	bool all;

	/* An exiting task has no pid any more: the kernel writes -1 (perf_event_pid()). */
	if (p->pid == 0)
		p->known = p->kthread = true;
	else if (p->pid != UINT32_MAX)
		proc_acquire(p, time);
	/* If it ran before, only if its parent may have the names of its JIT code. */
	if (p->read_late && p->facts && p->facts->map.fd < 0 && mapset_of_kind(p->maps, MAPPING_JIT)) {
		proctab_know(pt, p->ppid);
		find_ancestor(p, time, ANCESTORS_MAX);
	} else if (p->inherited) {
		find_ancestor(p, time, ANCESTORS_MAX);
	}
	if (p->facts && !p->facts->up && p->anc)
		p->facts->up = proc_facts_get(p->anc);

	if (p->known && !p->kthread)
		proc_add_vsyscall(p);
	all = proc_pin_all(p);
	if (!p->serial)
		p->serial = ++pt->next_serial;
	write_all(p, time, !all || p->overfull || !proc_may_write(p, maps_cost(p), time));
}

/* Reads which process @p is, and nothing that only stacks need: there may be thousands. */
static void read_who(struct proc *p)
{
	const int procfd = nsopen_process(p->pid);

	if (procfd < 0)
		return;
	p->late = proc_facts_read(procfd, p->pid);
	if (p->late) {
		p->ppid = p->late->ppid;
		if (p->late->cgroup[0])
			proc_in_tenant(p, p->late->cgroup, p->late->fsuid);
		if (!p->exe && p->late->exe[0])
			p->exe = proc_path(p, p->late->exe, strlen(p->late->exe));
		if (!p->comm[0])
			proc_facts_comm(procfd, p->comm);
	}
	close(procfd);
}

bool proc_introduce_idle(struct proc *p, uint64_t time)
{
	struct proctab *pt = p->pt;

	if (!proc_who(p) && !p->dead)
		read_who(p);
	if (!p->comm[0] || !proc_may_write(p, proc_event_cost(p->comm), time))
		return false;
	if (!p->serial)
		p->serial = ++pt->next_serial;
	p->segment = pt->segment;
	p->stale = false;
	p->muted = true;
	write_proc(p, time, false, false);
	return true;
}

void proc_write_again(struct proc *p, uint64_t time)
{
	write_proc(p, time, false, false);
}

void proc_introduce_thread(struct proc *p, struct thread *t, uint64_t time)
{
	struct ev_comm ev = { .time = time, .pid = p->pid, .tid = t->tid, .comm = t->comm };
	const char *ended;

	t->introduced = p->pt->segment;
	/* The comm of the first thread is the process's. */
	if (t->tid == p->pid && !t->renamed)
		return;
	t->renamed = false;
	ended = t->comm[0] ? NULL : threads_ended(&p->pt->threads, t->pid, t->tid, time);
	if (ended)
		memcpy(t->comm, ended, sizeof(t->comm));
	if (!t->comm[0] && (p->pt->detached || !proc_facts_thread_comm(p->pid, t->tid, t->comm)))
		memcpy(t->comm, p->comm, sizeof(t->comm));
	if (t->comm[0])
		rec_writer_comm(p->pt->w, &ev);
}
