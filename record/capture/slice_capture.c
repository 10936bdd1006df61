#include "capture/slice_capture.h"

#include <stdlib.h>

#include "base/util.h"
#include "capture/caplist.h"
#include "capture/capture.h"

/*
 * Rows for addresses that a file does not use waste bytes: allow at most as many as it uses, plus a
 * few.
 */
#define SPARE_FEW 64

static bool too_many(size_t have, size_t wanted)
{
	return have > 2 * wanted + SPARE_FEW;
}

/* Does @s have rows for each of @addrs? */
static bool serves(const struct slice *s, const uint64_t *addrs, size_t n)
{
	const struct span *spans = (const struct span *)(const void *)s->spans.s;
	const size_t nspans = s->spans.len / sizeof(*spans);

	for (size_t i = 0; i < n; i++) {
		const size_t a = BISECT(s->n, k, s->addrs[k] < addrs[i]);
		const size_t b = BISECT(nspans, k, spans[k].end <= addrs[i]);

		if ((a == s->n || s->addrs[a] != addrs[i]) &&
		    (b == nspans || spans[b].start > addrs[i]))
			return false;
	}
	return true;
}

bool slice_serve(const struct slice *s, uint64_t **addrs, size_t *n, struct strbuf *rows)
{
	uint64_t *both;
	size_t nboth;

	if (!s->addrs)
		return false;
	if (!too_many(s->n, *n) && serves(s, *addrs, *n)) {
		strbuf_add(rows, s->rows.s, s->rows.len);
		return true;
	}
	both = caplist_union(s->addrs, s->n, *addrs, *n, &nboth);
	if (too_many(nboth, *n)) {
		free(both);
		return false;
	}
	free(*addrs);
	*addrs = both;
	*n = nboth;
	return false;
}

static size_t bytes_of(const struct slice *s)
{
	return s->n * sizeof(*s->addrs) + s->rows.cap + s->spans.cap;
}

void slice_keep(struct slices *all, struct slice *s, struct capture_job *job)
{
	slice_drop(all, s);
	*s = (struct slice){
		.addrs = job->addrs, .n = job->n, .rows = job->rows, .spans = job->spans,
	};
	job->addrs = NULL;
	job->rows = job->spans = (struct strbuf)STRBUF_INIT;
	all->bytes += bytes_of(s);
	if (all->bytes > all->max)
		slice_drop(all, s);
}

void slice_drop(struct slices *all, struct slice *s)
{
	if (!s->addrs)
		return;
	all->bytes -= bytes_of(s);
	free(s->addrs);
	strbuf_fini(&s->rows);
	strbuf_fini(&s->spans);
	*s = (struct slice){ .addrs = NULL };
}
