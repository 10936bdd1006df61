/* The known processes: by pid, and in the order in which they ended. */
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/xalloc.h"
#include "host/opener_loss.h"
#include "procs/proc.h"

struct proc *proctab_find(const struct proctab *pt, uint32_t pid)
{
	const uint64_t *slot = u64map_get(&pt->procs, pid);

	return slot ? (struct proc *)(uintptr_t)*slot : NULL;
}

struct proc *proctab_add(struct proctab *pt, uint32_t pid)
{
	struct proc *p = xcalloc(1, sizeof(*p));

	p->pt = pt;
	p->pid = pid;
	p->maps = mapset_new();
	p->known = pt->detached;
	p->lost_seen = pt->side.lost;
	if (!pid)
		strcpy(p->comm, pt->nested ? "[outside]" : "swapper");
	*u64map_put(&pt->procs, pid, NULL) = (uintptr_t)p;
	return p;
}

struct proc *proctab_know(struct proctab *pt, uint32_t pid)
{
	struct proc *p = proctab_find(pt, pid);

	if (!p) {
		p = proctab_add(pt, pid);
		p->read_late = true;
	}
	return p;
}

struct tenant *proc_dead_account(const struct proc *p)
{
	return p->tenant ? p->tenant : p->pt->tenants.v[0];
}

void proc_revive(struct proc *p)
{
	if (!p->dead)
		return;
	p->dead = false;
	proc_dead_account(p)->dead--;
	p->dead_prev->dead_next = p->dead_next;
	p->dead_next->dead_prev = p->dead_prev;
	p->pt->ndead--;
}

void proc_die(struct proc *p, uint64_t time)
{
	struct proctab *pt = p->pt;

	proc_revive(p);
	p->dead = true;
	proc_dead_account(p)->dead++;
	p->dead_time = time;
	p->dead_next = &pt->dead;
	p->dead_prev = pt->dead.dead_prev;
	p->dead_prev->dead_next = p;
	pt->dead.dead_prev = p;
	pt->ndead++;
}

void proc_free(struct proc *p)
{
	struct proctab *pt = p->pt;

	proc_revive(p);
	u64map_del(&pt->procs, p->pid);
	tenants_give(&pt->tenants, p->tenant, HOLD_MAPS, p->held_maps);
	mapset_put(p->maps);
	proc_facts_put(&pt->files.pins, p->facts);
	proc_facts_put(&pt->files.pins, p->late);
	proc_facts_put(&pt->files.pins, p->anc);
	tenants_give(&pt->tenants, p->tenant, HOLD_ADDRS, p->jit.n);
	addrset_fini(&p->jit);
	u64map_fini(&p->returns);
	free(p);
}

uint64_t proc_facts_account(const struct proc_facts *f)
{
	return f->account ? f->account : hash_bytes(f->cgroup, strlen(f->cgroup));
}

void proc_facts_on_behalf(const struct proc_facts *f, uint32_t pid)
{
	opener_for(proc_facts_account(f), f->cgroup, pid);
}

void proc_on_behalf(const struct proc *p)
{
	const struct proc_facts *f = proc_who(p) ? proc_who(p) : p->anc;
	const char *who = f ? f->cgroup : "";
	const struct tenant *t = p->tenant;

	if (t)
		opener_for(tenant_account(t), who, p->pid);
	else if (who[0])
		proc_facts_on_behalf(f, p->pid);
	else
		opener_for(p->mnt_ns ? p->mnt_ns : p->pid, "", p->pid);
}

/* Was code of it sampled, and is the file neither held nor captured? */
static bool is_unread(const struct dso *d)
{
	return d->seen.n && d->pin.fd < 0 && d->captured < d->seen.n;
}

bool proctab_misses(const struct proctab *pt, dev_t dev, uint32_t pid)
{
	const struct proc *p = pid ? proctab_find(pt, pid) : NULL;

	if (!dev)
		return !p || !p->known;
	for (size_t i = 0; i < pt->files.dsos.n; i++) {
		const struct dso *d = pt->files.dsos.dsos[i];

		if (makedev(d->ev.dev_major, d->ev.dev_minor) == dev && is_unread(d))
			return true;
	}
	return false;
}
