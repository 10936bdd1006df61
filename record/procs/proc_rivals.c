/*
 * If one folder is the /tmp of several containers, all processes that are pid 1 in theirs share one
 * perf map: the last one overwrites it, or appends to it. Finds such rivals among the processes in
 * the table.
 */
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "host/nsopen.h"
#include "procs/proc.h"

uint32_t rival_number(const struct proc_facts *f)
{
	return f->nspid_n ? f->nspid[f->nspid_n - 1] : 0;
}

bool rival_is(const struct proc_facts *a, const struct proc_facts *b)
{
	return b && b != a && b->map.fd >= 0 && rival_number(a) && rival_number(a) == rival_number(b) &&
	       a->pid_ns != b->pid_ns && rootpin_same_tmp(a->rootpin, b->rootpin);
}

static bool is_there(const struct proc *q)
{
	int procfd = nsopen_process(q->pid);
	bool there = procfd >= 0 && proc_facts_started_at(procfd, q->facts->start_ticks);

	if (procfd >= 0)
		close(procfd);
	return there;
}

/*
 * A process that ended before another one began has not written to the map since. And a map that is
 * older than a process does not count as its own. So a restarted container is no rival of its
 * former life. Samples on the way out of the kernel come after EXIT, and so do those of threads
 * that outlive the first one.
 */
bool rival_ended_before(const struct proc *q, const struct proc_facts *f)
{
	return q->dead_time && proc_facts_started_after(f->start_ticks, MAX(q->dead_time, q->last_time)) &&
	       (q->dead || !is_there(q));
}

void rivals_met(struct proctab *pt, struct proc_facts *f)
{
	uint64_t pid, val;

	for (size_t it = 0; u64map_next(&pt->procs, &it, &pid, &val);) {
		struct proc *q = (struct proc *)(uintptr_t)val;

		if (!rival_is(f, q->facts))
			continue;
		f->rivals += !rival_ended_before(q, f);
		q->facts->rivals++;
	}
	/*
	 * A look also pins the maps of processes that it finds, and all of these have met one
	 * another.
	 */
	if (pt->detached || pt->jit.seeking)
		return;
	XGROW(pt->jit.met, pt->jit.nmet, pt->jit.met_cap);
	pt->jit.met[pt->jit.nmet++] = proc_facts_get(f);
}
