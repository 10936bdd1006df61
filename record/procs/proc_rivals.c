/*
 * A folder that is the /tmp of several containers has one perf map for all processes that are number 1 in theirs: whoever
 * comes last writes over it, or behind what there is. Who of the processes in the table these are.
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
 * What ended before another one began has written nothing to the map since, and a map that is older than a process is not
 * taken for its own: a container that starts again is no rival of its life before. Samples of the way out of the kernel
 * come after EXIT, and so do those of threads that stay when the first one ends.
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
	/* What a look leads to has maps pinned as well, which all met one another. */
	if (pt->detached || pt->jit.seeking)
		return;
	XGROW(pt->jit.met, pt->jit.nmet, pt->jit.met_cap);
	pt->jit.met[pt->jit.nmet++] = proc_facts_get(f);
}
