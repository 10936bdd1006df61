/*
 * The addresses for which a recording may need rows, by the source of the rows
 * (contrib/doc/capture.md). proc_capture.c captures them.
 */
#include "base/hash.h"
#include "procs/proc.h"

/* Addresses in the kernel, which no tenant adds to. */
#define KERNEL_MAX (256u << 10)

static void add_address(struct proc *p, struct addrset *set, uint64_t addr)
{
	if (addrset_has(set, addr))
		return;
	if (proc_may_hold(p, HOLD_ADDRS, 1))
		addrset_add(set, addr);
	else
		tenant_left_out(p->tenant, BUDGET_ADDRS, 1);
}

/* Once for each: refused ones are among the seen addresses, and counted there. */
static void add_leaf(struct proc *p, struct dso *d, uint64_t off)
{
	if (proc_may_hold(p, HOLD_ADDRS, 1))
		*u64map_put(&d->leafs, off, NULL) = 1;
}

/* The binary in which addresses are offsets; NULL: JIT code, or code of no file. */
static struct dso *binary_at(const struct map_entry *e)
{
	return e->kind != MAPPING_SPECIAL && e->dso && !e->dso->not_elf ? e->dso : NULL;
}

static uint64_t offset_at(const struct map_entry *e, uint64_t addr)
{
	return addr - e->start + (e->kind == MAPPING_VDSO ? 0 : e->pgoff);
}

static void saw_mapped(struct proc *p, const struct map_entry *e, uint64_t addr)
{
	struct dso *d = binary_at(e);

	if (d)
		add_address(p, &d->seen, offset_at(e, addr));
	else if (e->kind != MAPPING_SPECIAL)
		add_address(p, &p->jit, addr);
}

void proc_saw_code(struct proc *p, uint64_t addr)
{
	const struct map_entry *e;

	/*
	 * A leaf is looked up at its address, a caller one byte before. Only the unwinder finds out
	 * which of them this is. The byte before may be in the previous mapping, or be the last one
	 * of a mapping that ends here.
	 */
	e = mapset_find(p->maps, addr);
	if (e)
		saw_mapped(p, e, addr);
	if (addr && (!e || addr == e->start))
		e = mapset_find(p->maps, addr - 1);
	if (addr && e)
		saw_mapped(p, e, addr - 1);
}

void proc_saw_leaf(struct proctab *pt, struct proc *p, uint64_t addr)
{
	const struct map_entry *e = mapset_find(p->maps, addr);
	struct dso *d = e ? binary_at(e) : NULL;
	uint64_t *n;

	if (!d)
		return;
	pt->cap.leaf_samples++;
	n = u64map_get(&d->leafs, offset_at(e, addr));
	if (n)
		++*n;
	else
		add_leaf(p, d, offset_at(e, addr));
}

void proctab_saw_kernel(struct proctab *pt, uint64_t addr)
{
	if (pt->cap.kernel.n >= KERNEL_MAX)
		return;
	addrset_add(&pt->cap.kernel, addr);
	addrset_add(&pt->cap.kernel, addr - 1);
}
