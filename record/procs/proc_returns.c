/*
 * Where JIT code stood outside of its frame (jitlook.h): looked up sample by sample, and captured
 * with the names of that code.
 */
#include "base/sort_u64.h"
#include "base/xalloc.h"
#include "capture/jitlook.h"
#include "procs/proc.h"

#define TAKE 64

void proc_saw_jit_leaf(struct proc *p, uint64_t addr)
{
	struct proctab *pt = p->pt;
	const struct jit_place place = { .pid = p->pid, .serial = p->serial, .addr = addr };

	/* A recording of another time or host has no memory to read. */
	if (!p->jit.n || pt->detached || p->dead || !addrset_has(&p->jit, addr) || u64map_get(&p->returns, addr))
		return;
	if (!pt->jit.look)
		pt->jit.look = jitlook_new();
	/* Results that stay there would leave no room for others. */
	returns_take(pt);
	/* 0: nothing is known of it yet. */
	if (jitlook_ask(pt->jit.look, &place))
		*u64map_put(&p->returns, addr, NULL) = 0;
}

void returns_take(struct proctab *pt)
{
	struct jit_place places[TAKE];
	size_t n;

	do {
		n = pt->jit.look ? jitlook_take(pt->jit.look, places, TAKE) : 0;
		for (size_t i = 0; i < n; i++) {
			struct proc *p = proctab_find(pt, places[i].pid);
			uint64_t *known = p && p->serial == places[i].serial ? u64map_get(&p->returns, places[i].addr) : NULL;

			if (known)
				*known = JIT_RETURN(places[i].addr, places[i].off);
		}
	} while (n == TAKE);
}

uint64_t *returns_of(const struct proc *p, size_t *n)
{
	uint64_t *out = xmalloc((p->returns.n + 1) * sizeof(*out)), addr, known;
	size_t it = 0;

	*n = 0;
	while (u64map_next(&p->returns, &it, &addr, &known))
		if (known)
			out[(*n)++] = known;
	sort_u64(out, *n);
	return out;
}
