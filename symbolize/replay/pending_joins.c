/* Samples that are counted at the end (pending_joins.h). */
#include "replay/pending_joins.h"

#include <stdlib.h>

#include "base/xalloc.h"

void pending_joins_fini(struct pending_joins *ps)
{
	free(ps->list);
	u64map_fini(&ps->index);
}

void pending_joins_add(struct pending_joins *ps, const struct pending_join *p)
{
	uint64_t nodes = (uint64_t)p->joined << 32 | p->cut;
	struct pending_join *old;
	uint64_t *slot;
	bool is_new;

	slot = u64map_put(&ps->index, hash_combine(p->border ^ p->slot ^ (uint64_t)p->event << 32, nodes), &is_new);
	if (!is_new) {
		old = &ps->list[*slot];
		if (old->border == p->border && old->joined == p->joined && old->cut == p->cut &&
		    old->end == p->end && old->at == p->at && old->slot == p->slot && old->event == p->event) {
			old->samples += p->samples;
			old->period += p->period;
			return;
		}
	}
	*slot = ps->n;
	XGROW(ps->list, ps->n, ps->cap);
	ps->list[ps->n++] = *p;
}
