#include "input/folded_comms.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/xalloc.h"
#include "input/reshape.h"
#include "profile/profile.h"

/* Thread names that are not also functions. The caller owns @names and the map: id -> any value. */
static struct u64map comms_of(struct intern *names, struct profile *const *others, size_t n)
{
	struct u64map comms = U64MAP_INIT;

	for (size_t i = 0; i < n; i++)
		for (uint32_t t = 1; t < others[i]->nthreads; t++)
			u64map_put(&comms, intern_add(names, profile_text(others[i], others[i]->threads[t].comm)), NULL);
	u64map_del(&comms, 0);
	for (size_t i = 0; i < n; i++)
		for (uint32_t f = 1; others[i]->nthreads > 1 && f < others[i]->nframes; f++)
			u64map_del(&comms, intern_add(names, profile_text(others[i], others[i]->frames[f].name)));
	return comms;
}

struct profile *folded_comms(struct profile *p, struct profile *const *others, size_t n)
{
	struct intern *names = intern_new();
	struct u64map comms = comms_of(names, others, n);
	bool *is_comm = xcalloc(p->nframes, sizeof(*is_comm)), any = false;

	for (uint32_t f = 1; f < p->nframes; f++)
		is_comm[f] = p->frames[f].kind == PROFILE_USER && u64map_get(&comms, intern_add(names, profile_text(p, p->frames[f].name)));
	u64map_fini(&comms);
	intern_free(names);
	for (uint32_t i = 1; i < p->nnodes; i++)
		is_comm[p->nodes[i].frame] &= !p->nodes[i].parent;
	for (uint32_t f = 1; f < p->nframes && !any; f++)
		any = is_comm[f];
	if (any)
		p = reshape_without(p, is_comm);
	free(is_comm);
	return p;
}
