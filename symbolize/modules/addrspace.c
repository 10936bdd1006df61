/* The mappings of one process image: sorted and disjoint; newer ones win (addrspace.h). */
#include "modules/addrspace.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "event.h"
#include "modules/jitcode.h"
#include "modules/module.h"

/*
 * Linux allows 65,530 mappings by default (vm.max_map_count). A recording with more than this is
 * damaged; the rest is ignored.
 */
#define MAPS_MAX (1u << 18)

/*
 * One counter for all address spaces, so that a cache keyed by generation alone never mixes up two
 * processes.
 */
static atomic_uint next_generation = 1;

static void touch(struct addrspace *as)
{
	as->generation = atomic_fetch_add_explicit(&next_generation, 1, memory_order_relaxed);
}

struct addrspace *addrspace_new(void)
{
	struct addrspace *as = xcalloc(1, sizeof(*as));

	touch(as);
	return as;
}

struct addrspace *addrspace_clone(const struct addrspace *as)
{
	struct addrspace *copy = addrspace_new();

	if (as->n) {
		copy->maps = xmemdup(as->maps, as->n * sizeof(*as->maps));
		copy->n = copy->cap = as->n;
	}
	copy->jit = as->jit;
	copy->time = as->time;
	copy->njit = as->njit;
	copy->returns = as->returns;
	copy->jit_stacks = as->jit_stacks;
	return copy;
}

void addrspace_free(struct addrspace *as)
{
	if (!as)
		return;
	free(as->maps);
	free(as);
}

/* Index of the first mapping that ends above @addr; as->n if there is none. */
static uint32_t first_above(const struct addrspace *as, uint64_t addr)
{
	return (uint32_t)BISECT(as->n, i, as->maps[i].end <= addr);
}

static bool same_backing(const struct mapping *a, const struct mapping *b)
{
	if (a->mod != b->mod)
		return false;
	if (a->path == b->path)
		return true;
	return a->path && b->path && strcmp(a->path, b->path) == 0;
}

/*
 * mprotect(2) reports a range that is already mapped. Then nothing changes, and caches stay valid.
 */
static bool says_nothing_new(const struct mapping *old, const struct mapping *m)
{
	return old->start <= m->start && old->end >= m->end && same_backing(old, m) &&
	       old->pgoff + (m->start - old->start) == m->pgoff;
}

void addrspace_add(struct addrspace *as, const struct mapping *m)
{
	struct mapping piece[3];	/* replaces the overlapped mappings */
	uint32_t npiece = 0, first, last, tail;

	if (m->start >= m->end || as->n >= MAPS_MAX)
		return;
	first = first_above(as, m->start);
	if (first < as->n && says_nothing_new(&as->maps[first], m))
		return;
	for (last = first; last < as->n && as->maps[last].start < m->end; last++)
		;
	if (last > first && as->maps[first].start < m->start) {
		piece[npiece] = as->maps[first];
		piece[npiece++].end = m->start;
	}
	piece[npiece++] = *m;
	if (last > first && as->maps[last - 1].end > m->end) {
		struct mapping *right = &piece[npiece++];

		*right = as->maps[last - 1];
		right->pgoff += m->end - right->start;
		right->start = m->end;
	}

	tail = as->n - last;
	if (first + npiece + tail > as->cap) {
		as->cap = (first + npiece + tail) * 2;
		as->maps = xrealloc(as->maps, as->cap * sizeof(*as->maps));
	}
	memmove(&as->maps[first + npiece], &as->maps[last], tail * sizeof(*as->maps));
	memcpy(&as->maps[first], piece, npiece * sizeof(*piece));
	as->n = first + npiece + tail;
	touch(as);
}

const struct mapping *addrspace_find(const struct addrspace *as, struct avma addr)
{
	uint32_t i = first_above(as, addr.v);

	return i < as->n && as->maps[i].start <= addr.v ? &as->maps[i] : NULL;
}

bool addrspace_uretprobe(const struct addrspace *as, struct avma addr)
{
	const struct mapping *m = addr.v % MAP_PAGE ? NULL : addrspace_find(as, addr);

	return m && !m->mod && m->start == addr.v && m->path && !strcmp(m->path, "[uprobes]");
}

void addrspace_set_jit(struct addrspace *as, const struct jitcode *jit)
{
	if (as->jit == jit)
		return;
	as->jit = jit;
	as->njit = 0;
	touch(as);
}

void addrspace_advance(struct addrspace *as, uint64_t time)
{
	size_t before = as->njit;

	if (!as->jit)
		return;
	as->time = time;
	jitcode_advance(as->jit, &as->njit, time);
	if (as->njit != before)
		touch(as);
}

const struct jit_func *addrspace_find_jit(const struct addrspace *as, struct avma addr)
{
	return as->jit ? jitcode_find(as->jit, addr, as->time) : NULL;
}

int addrspace_jit_return(const struct addrspace *as, struct avma addr)
{
	const struct jit_returns *jr = as->returns;
	size_t at = jr ? BISECT(jr->n, i, JIT_RETURN_ADDR(jr->v[i]) < addr.v) : 0;

	return jr && at < jr->n && JIT_RETURN_ADDR(jr->v[at]) == addr.v ? (int)JIT_RETURN_OFF(jr->v[at]) : -1;
}

bool mapping_to_svma(const struct mapping *m, struct avma addr, struct svma *out)
{
	const struct elf_file *ef;

	if (!m->mod || addr.v < m->start || addr.v >= m->end)
		return false;
	/*
	 * A captured slice keeps the PT_LOADs of the original, so it translates addresses just as
	 * well.
	 */
	ef = m->mod->elf ? m->mod->elf : m->mod->captured;
	return ef && elf_file_off_to_svma(ef, addr.v - m->start + m->pgoff, &out->v);
}
