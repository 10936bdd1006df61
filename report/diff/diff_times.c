#include "diff/diff_times.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/profile.h"

static int by_from(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Parses "FROM-TO,FROM-TO", in any order. Stops at the first syntax error. */
static struct spans parse(const char *text)
{
	struct spans s = { 0 };
	size_t cap = 0, n = 0;

	for (char *end; *text >= '0' && *text <= '9'; text = end + (*end == ',')) {
		struct span one = { .from = strtoull(text, &end, 10) };

		if (*end != '-' || end[1] < '0' || end[1] > '9')
			break;
		one.to = strtoull(end + 1, &end, 10);
		if (one.from >= one.to)
			continue;
		XGROW(s.v, s.n, cap);
		s.v[s.n++] = one;
	}
	if (s.n)
		qsort(s.v, s.n, sizeof(*s.v), by_from);
	for (size_t i = 0; i < s.n; i++) {
		if (n && s.v[i].from <= s.v[n - 1].to)
			s.v[n - 1].to = MAX(s.v[n - 1].to, s.v[i].to);
		else
			s.v[n++] = s.v[i];
	}
	s.n = n;
	return s;
}

/* Returns the intersection. */
static struct spans common_to(const struct spans *a, const struct spans *b)
{
	struct spans s = { 0 };
	size_t cap = 0;

	for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
		const struct span one = { MAX(a->v[i].from, b->v[k].from), MIN(a->v[i].to, b->v[k].to) };

		if (one.from < one.to) {
			XGROW(s.v, s.n, cap);
			s.v[s.n++] = one;
		}
		if (a->v[i].to < b->v[k].to)
			i++;
		else
			k++;
	}
	return s;
}

struct spans times_of(const struct profile *p)
{
	/* Profiles written with awk contain 6e+09. */
	double ns = profile_number(p, "duration_ns");
	uint64_t all = ns >= 1 && ns < 0x1p63 ? (uint64_t)ns : 0;
	struct spans s = { 0 };

	if (!all && __builtin_mul_overflow(p->nblocks, p->block_ns, &all))
		all = UINT64_MAX;
	if (!all)
		return s;
	s.v = xmalloc(sizeof(*s.v));
	s.v[s.n++] = (struct span){ 0, all };
	for (uint32_t i = 0; i < p->nmeta; i++) {
		struct spans only, both;

		if (strcmp(intern_str(p->strings, p->meta[i].key), "times"))
			continue;
		only = parse(intern_str(p->strings, p->meta[i].value));
		both = common_to(&s, &only);
		free(only.v);
		free(s.v);
		s = both;
	}
	return s;
}

double times_within(const struct spans *s, uint64_t from, uint64_t to)
{
	uint64_t ns = 0;

	/* Blocks of a damaged profile may begin beyond all times. */
	for (size_t i = 0; from < to && i < s->n && s->v[i].from < to; i++)
		if (s->v[i].to > from)
			ns += MIN(s->v[i].to, to) - MAX(s->v[i].from, from);
	return (double)ns / 1e9;
}
