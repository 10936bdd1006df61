#include "sink/execs.h"

#include "base/util.h"

#define LIMIT_MIN 4096

void execs_init(struct execs *x, struct ring **rings, size_t n, bool shared)
{
	*x = (struct execs){ .rings = rings, .n = n, .shared = shared, .limit = LIMIT_MIN };
}

void execs_fini(struct execs *x)
{
	u64map_fini(&x->last);
}

static void look(struct execs *x)
{
	struct ring_glimpse g;

	for (size_t i = 0; i < x->n; i++) {
		while ((x->shared || x->rings[i]->sideband) && ring_ahead(x->rings[i], &g)) {
			if (g.type == PERF_RECORD_COMM && g.misc & PERF_RECORD_MISC_COMM_EXEC)
				*u64map_put(&x->last, (uint32_t)g.first, NULL) = g.time;
			if (g.type == PERF_RECORD_LOST)
				x->lost = MAX(x->lost, g.time);
		}
	}
}

bool execs_since(struct execs *x, uint32_t pid, uint64_t time)
{
	const uint64_t *last;

	look(x);
	if (x->last.n > x->limit) {
		/* Nobody needs those that are handed on. */
		u64map_clear(&x->last);
		for (size_t i = 0; i < x->n; i++)
			ring_ahead_again(x->rings[i]);
		look(x);
		x->limit = MAX(2 * x->last.n, (size_t)LIMIT_MIN);
	}
	last = u64map_get(&x->last, pid);
	return last && *last > time;
}

bool execs_lost_since(struct execs *x, uint64_t time)
{
	look(x);
	return x->lost > time;
}
