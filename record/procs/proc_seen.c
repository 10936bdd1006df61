/*
 * The addresses for which a recording may need rows, by the source of the rows
 * (contrib/doc/capture.md). proc_capture.c captures them.
 */
#include "base/hash.h"
#include "procs/proc.h"

/* 32 bytes each: 128 MiB for a recording that meets new code without end. */
#define SEEN_MAX (4u << 20)

static void add_address(struct proctab *pt, struct u64map *set, uint64_t addr)
{
	bool is_new = false;

	if (u64map_get(set, addr))
		return;
	if (pt->cap.nseen >= SEEN_MAX) {
		pt->cap.seen_refused++;
		return;
	}
	u64map_put(set, addr, &is_new);
	pt->cap.nseen += is_new;
}

/* Once for each: refused ones are among the seen addresses, and counted there. */
static void add_leaf(struct proctab *pt, struct dso *d, uint64_t off)
{
	if (pt->cap.nseen >= SEEN_MAX)
		return;
	*u64map_put(&d->leafs, off, NULL) = 1;
	pt->cap.nseen++;
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

static void saw_mapped(struct proctab *pt, struct proc *p, const struct map_entry *e, uint64_t addr)
{
	struct dso *d = binary_at(e);

	if (d)
		add_address(pt, &d->seen, offset_at(e, addr));
	else if (e->kind != MAPPING_SPECIAL)
		add_address(pt, &p->jit, addr);
}

void proc_saw_code(struct proctab *pt, struct proc *p, uint64_t addr)
{
	const struct map_entry *e;

	/*
	 * A leaf is looked up at its address, a caller one byte before. Only the unwinder finds out
	 * which of them this is. The byte before may be in the previous mapping, or be the last one
	 * of a mapping that ends here.
	 */
	e = mapset_find(p->maps, addr);
	if (e)
		saw_mapped(pt, p, e, addr);
	if (addr && (!e || addr == e->start))
		e = mapset_find(p->maps, addr - 1);
	if (addr && e)
		saw_mapped(pt, p, e, addr - 1);
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
		add_leaf(pt, d, offset_at(e, addr));
}

void proctab_saw_kernel(struct proctab *pt, uint64_t addr)
{
	add_address(pt, &pt->cap.kernel, addr);
	add_address(pt, &pt->cap.kernel, addr - 1);
}
