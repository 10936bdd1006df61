/* Sorted sets of code addresses. */
#include "base/pcset.h"

#include <stdlib.h>

#include "base/sort_u64.h"
#include "base/util.h"
#include "base/xalloc.h"

void pcset_init(struct pcset *ps, const uint64_t *addrs, size_t n)
{
	size_t uniq = 0;

	ps->v = xcalloc(n ? n : 1, sizeof(*ps->v));
	for (size_t i = 0; i < n; i++)
		ps->v[i] = addrs[i];
	sort_u64(ps->v, n);
	for (size_t i = 0; i < n; i++) {
		if (!uniq || ps->v[uniq - 1] != ps->v[i])
			ps->v[uniq++] = ps->v[i];
	}
	ps->n = uniq;
}

void pcset_fini(struct pcset *ps)
{
	free(ps->v);
	ps->v = NULL;
	ps->n = 0;
}

/*
 * Called for each symbol of a binary, in random order: half of all branches would be mispredicted.
 */
size_t pcset_from(const struct pcset *ps, uint64_t addr)
{
	const uint64_t *at = ps->v;

	for (size_t n = ps->n; n; n -= n - n / 2)
		at += at[n / 2] < addr ? n - n / 2 : 0;
	return (size_t)(at - ps->v);
}
