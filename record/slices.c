#include "slices.h"

#include <stdlib.h>

#include "caplist.h"
#include "util.h"

/* Rows for addresses that a file has none of are bytes for nothing: at most as many as it has, and a few. */
#define SPARE_FEW 64

static bool too_many(size_t have, size_t wanted)
{
	return have > 2 * wanted + SPARE_FEW;
}

bool slice_serve(const struct slice *s, uint64_t **addrs, size_t *n, struct strbuf *rows)
{
	uint64_t *both;
	size_t nboth;

	if (!s->addrs)
		return false;
	both = caplist_union(s->addrs, s->n, *addrs, *n, &nboth);
	if (too_many(nboth, *n)) {
		free(both);
		return false;
	}
	if (nboth == s->n) {
		strbuf_add(rows, s->rows.s, s->rows.len);
		free(both);
		return true;
	}
	free(*addrs);
	*addrs = both;
	*n = nboth;
	return false;
}

static size_t bytes_of(const struct slice *s)
{
	return s->n * sizeof(*s->addrs) + s->rows.cap;
}

void slice_keep(struct slices *all, struct slice *s, uint64_t *addrs, size_t n, struct strbuf *rows)
{
	slice_drop(all, s);
	*s = (struct slice){ .addrs = addrs, .n = n, .rows = *rows };
	*rows = (struct strbuf)STRBUF_INIT;
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
	*s = (struct slice){ .addrs = NULL };
}
