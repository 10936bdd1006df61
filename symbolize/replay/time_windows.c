/* Times that a filter accepts (time_windows.h). */
#include "replay/time_windows.h"

#include <stdlib.h>

#include "base/sort_u64.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/filter.h"

static uint64_t absolute(const struct filter *f, uint64_t ns)
{
	return ns > UINT64_MAX - f->start ? UINT64_MAX : f->start + ns;
}

void time_windows_init(struct time_windows *w, const struct filter *f)
{
	uint64_t *edges;
	size_t n = 1;

	*w = (struct time_windows){ 0 };
	w->v = xcalloc((f ? f->n : 0) * 2 + 1, sizeof(*w->v));
	if (!f || !f->has[FILTER_TIME]) {
		w->v[w->n].to = UINT64_MAX;
		w->v[w->n++].from = 0;
		return;
	}
	edges = xcalloc(2 * f->n + 1, sizeof(*edges));
	for (size_t i = 0; i < f->n; i++) {
		if (f->conds[i].key != FILTER_TIME)
			continue;
		edges[n++] = f->conds[i].from;
		edges[n++] = f->conds[i].to;
	}
	sort_u64(edges, n);
	/* Between two edges, all times are accepted or none is. What is before the start is at its 0. */
	for (size_t i = 0; i < n; i++) {
		const uint64_t from = edges[i] ? absolute(f, edges[i]) : 0, to = i + 1 < n ? absolute(f, edges[i + 1]) : UINT64_MAX;

		if (from == to || !filter_accepts(f, FILTER_TIME, NULL, edges[i]))
			continue;
		if (w->n && w->v[w->n - 1].to == from) {
			w->v[w->n - 1].to = to;
			continue;
		}
		w->v[w->n].from = from;
		w->v[w->n++].to = to;
	}
	free(edges);
}

void time_windows_fini(struct time_windows *w)
{
	free(w->v);
	*w = (struct time_windows){ 0 };
}

uint64_t time_windows_within(const struct time_windows *w, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < w->n; i++) {
		const uint64_t a = MAX(from, w->v[i].from), b = MIN(to, w->v[i].to);

		sum += b > a ? b - a : 0;
	}
	return sum;
}
