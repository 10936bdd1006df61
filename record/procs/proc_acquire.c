/* Reads a live process: its facts, and its mappings if side-band has not reported them. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "host/nsopen.h"
#include "procs/proc.h"

/* Sample time between two readings of a process's maps. */
#define REFRESH_NS 100000000ull

/*
 * Keeps the facts of what @p runs. If it has begun another program by now, or is a zombie, which
 * has neither root nor namespaces, keeps what is true nevertheless as p->late. Takes @f. 0, or
 * -ESRCH.
 */
static int keep_facts(struct proc *p, int procfd, uint64_t time, struct proc_facts *f)
{
	struct proctab *pt = p->pt;
	char comm[COMM_LEN];

	if (!p->comm[0])
		proc_facts_comm(procfd, comm);
	/* If it ended meanwhile, its parent's facts may supply what is missing. */
	if (!proc_facts_there(procfd)) {
		proc_facts_put(&pt->files.pins, f);
		return -ESRCH;
	}
	/*
	 * The root is read last: with a root, everything was read. A running process may hide its
	 * root from us.
	 */
	if (proc_moved_on(p, procfd, time) || (!*f->root && !proc_facts_running(procfd))) {
		p->late = f;
		return -ESRCH;
	}
	p->facts = f;
	if (f->cgroup[0])
		proc_in_tenant(p, f->cgroup, f->fsuid);
	if (!p->comm[0])
		memcpy(p->comm, comm, sizeof(comm));
	/* A made-up exec only tells when it was noticed. */
	f->begun = p->read_late ? 0 : MAX(p->exec_time, p->fork_time);
	if (!p->kthread)
		perfmap_pin(p);
	return 0;
}

static int acquire(struct proc *p, int procfd, uint64_t time)
{
	struct proctab *pt = p->pt;
	struct proc_facts *f = proc_facts_read(procfd, p->pid);
	struct mapset *maps;
	int ret = 0, err;

	if (!f)
		return -ESRCH;
	if (proc_facts_started_after(f->start_ticks, time)) {
		proc_facts_put(&pt->files.pins, f);
		return -ESRCH;
	}
	f->account = tenant_account(tenants_of(&pt->tenants, f->cgroup, f->fsuid));
	proc_facts_on_behalf(f, p->pid);
	if (!p->ppid)
		p->ppid = f->ppid;
	if (proc_is_forked(p) && !f->forked) {
		p->late = f;
		return -ESRCH;
	}
	p->kthread = f->kthread;
	if (p->kthread)
		p->known = true;
	else
		f->rootpin = rootpin_hold(&pt->files.pins, nsopen_process_root(procfd), f->mnt_ns);
	rootpin_look(&pt->files.pins, f->rootpin, procfd);
	if (!p->known)
		ret = proc_read_maps_at(p, procfd, time, &maps);
	if (!p->known && !ret) {
		mapset_put(p->maps);
		p->maps = maps;
		p->known = true;
		proc_hold_maps(p);
	}
	err = keep_facts(p, procfd, time, f);
	return err ? err : ret;
}

int proc_acquire(struct proc *p, uint64_t time)
{
	uint64_t work;
	int procfd, ret;

	if (p->facts)
		return 0;
	if (p->pt->detached || p->late)
		return -ESRCH;
	if (p->sampled && !proc_has_time(p))
		return -EAGAIN;
	procfd = nsopen_process(p->pid);
	if (procfd < 0)
		return procfd == -ENOENT ? -ESRCH : procfd;
	work = proc_work_begin();
	ret = acquire(p, procfd, time);
	close(procfd);
	proc_work_end(p, work);
	return ret;
}

void proc_refresh_maps(struct proc *p, uint64_t time)
{
	uint64_t work;

	if (p->kthread || p->dead || p->pt->detached || p->overfull || !proc_has_time(p) ||
	    (p->refresh_time && time - p->refresh_time < REFRESH_NS))
		return;
	p->refresh_time = time ? time : 1;
	if (!p->facts) {
		proc_acquire(p, time);
		return;
	}
	work = proc_work_begin();
	proc_add_present(p, time);
	proc_work_end(p, work);
}

/*
 * Does live @p run another image than side-band reported? Each exec draws a new place for the vdso.
 */
static bool other_image(struct proc *p, int procfd)
{
	const struct map_entry *was = mapset_of_kind(p->maps, MAPPING_VDSO), *is;
	struct mapset *now;
	bool other;

	if (proc_is_forked(p))
		return !proc_facts_forked(procfd) && proc_facts_there(procfd);
	if (!was)
		return false;
	now = mapset_new();
	other = !proc_read_lines(p, procfd, &now) && (is = mapset_of_kind(now, MAPPING_VDSO)) && is->start != was->start;
	mapset_put(now);
	return other;
}

/* The pid belongs to another process. What is known of the old one's place does not hold for it. */
static void forget_who(struct proc *p)
{
	p->ppid = 0;
	p->mnt_ns = p->pid_ns = p->user_ns = 0;
	p->cgroup = 0;
	p->fork_time = 0;
	p->own = false;
}

bool proc_lost_exec(struct proc *p, uint64_t time, char comm[COMM_LEN])
{
	const struct proctab *pt = p->pt;
	bool other, same_process, replaced;
	int procfd;

	if (p->kthread || p->dead || !pt->side.lost_since || (p->lost_time && time - p->lost_time < REFRESH_NS))
		return false;
	p->lost_time = time;
	procfd = nsopen_process(p->pid);
	if (procfd < 0)
		return false;
	same_process = !p->facts || proc_facts_started_at(procfd, p->facts->start_ticks);
	replaced = !same_process && proc_facts_is_other(procfd, p->facts->start_ticks, time);
	other = replaced || other_image(p, procfd);
	proc_facts_comm(procfd, comm);
	close(procfd);
	/*
	 * The exec may be later than the sample: then its record is still to come, or was lost only
	 * then.
	 */
	if ((!same_process && !replaced) || pt->side.lost_since(pt->side.exec_ctx, time) || pt->side.exec_since(pt->side.exec_ctx, p->pid, time))
		return false;
	p->lost_seen = pt->side.lost;
	if (replaced)
		forget_who(p);
	return other;
}
