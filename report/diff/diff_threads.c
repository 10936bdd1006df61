#include "diff/diff_threads.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "diff/diff_amounts.h"
#include "profile/profile.h"

enum { CLUSTERS_MAX = 1024 };	/* Clusters per kind. More do not improve a variance; beyond it,
				 * adjacent threads share a cluster. */

struct member {
	uint64_t kind;		/* hash of container, process and name without numbers */
	size_t begin, end;	/* range of its counts */
};

uint64_t diff_threads_name(const struct profile *p, uint32_t id)
{
	uint64_t h = 0;

	for (const char *s = intern_str(p->strings, id); *s; s++)
		if (!isdigit((unsigned char)*s))
			h = hash_combine(h, (unsigned char)*s);
	return h;
}

static int by_kind(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->kind < y->kind ? -1 : x->kind > y->kind ? 1 : x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Counts are sorted by thread. Thread 0 stands for none. */
static struct member *members_of(const struct profile *p, size_t *n)
{
	struct member *m = NULL;
	size_t cap = 0, i, k;

	*n = 0;
	for (i = 0; i < p->ncounts; i = k) {
		const struct profile_thread *t = &p->threads[p->counts[i].thread];

		for (k = i; k < p->ncounts && p->counts[k].thread == p->counts[i].thread; k++)
			;
		if (!p->counts[i].thread)
			continue;
		XGROW(m, *n, cap);
		m[(*n)++] = (struct member){ hash_combine(hash_combine(diff_threads_name(p, t->comm), diff_threads_name(p, t->process)),
							  diff_threads_name(p, t->container)), i, k };
	}
	if (*n)
		qsort(m, *n, sizeof(*m), by_kind);
	return m;
}

struct sum {
	double x, xx, xd;
};

struct kind {
	double d, dd;
	struct sum *column;	/* owned; [ncolumns] */
	double *own;		/* owned; [ncolumns]: of the current cluster */
};

/* Adds one cluster: the @n threads from @m on. */
static void kind_add(struct kind *k, struct amounts *a, const struct diff *d, const struct member *m, size_t n, size_t ncolumns)
{
	double own = 0;

	memset(k->own, 0, ncolumns * sizeof(*k->own));
	for (; n--; m++) {
		for (size_t i = m->begin; i < m->end; i++) {
			const struct profile_count *c = &a->profile->counts[i];
			double w = (double)profile_weight(c, d->opts.period);

			own += w;
			amounts_add(a, d, amounts_stack(a, c->node), w, k->own);
		}
	}
	k->d += own;
	k->dd += own * own;
	for (size_t c = 0; c < ncolumns; c++) {
		k->column[c].x += k->own[c];
		k->column[c].xx += k->own[c] * k->own[c];
		k->column[c].xd += k->own[c] * own;
	}
}

/*
 * Adds the kind's part to each column's variance, not yet divided by the square of the side's
 * divisor.
 */
static void kind_end(const struct kind *k, size_t clusters, size_t ncolumns, double *var)
{
	for (size_t c = 0; c < ncolumns && k->d > 0; c++) {
		const struct sum *s = &k->column[c];
		double p = s->x / k->d, v = s->xx - 2 * p * s->xd + p * p * k->dd;

		var[c] += MAX(v, 0) * (double)clusters / (double)(clusters - 1);
	}
}

double threads_variance(struct amounts *a, const struct diff_input *in, size_t n, unsigned int side, const struct diff *d,
			size_t ncolumns, double *var)
{
	double df = 0, all = d->divisor[side];

	if (d->opts.per != DIFF_PER_TOTAL)
		return 0;
	for (size_t i = 0; i < n; i++) {
		struct kind k = { 0 };
		struct member *m;
		size_t nm, b, e, clusters;

		if (in[i].side != side)
			continue;
		m = members_of(in[i].profile, &nm);
		k.column = xcalloc(ncolumns + 1, sizeof(*k.column));
		k.own = xcalloc(ncolumns + 1, sizeof(*k.own));
		for (b = 0; b < nm; b = e) {
			for (e = b; e < nm && m[e].kind == m[b].kind; e++)
				;
			if (e - b < 2)
				continue;
			k.d = k.dd = 0;
			memset(k.column, 0, ncolumns * sizeof(*k.column));
			clusters = MIN(e - b, CLUSTERS_MAX);
			for (size_t t = 0; t < clusters; t++) {
				size_t from = b + t * (e - b) / clusters, to = b + (t + 1) * (e - b) / clusters;

				kind_add(&k, &a[i], d, &m[from], to - from, ncolumns);
			}
			kind_end(&k, clusters, ncolumns, var);
			df += (double)(clusters - 1);
		}
		free(k.column);
		free(k.own);
		free(m);
	}
	for (size_t c = 0; c < ncolumns && all > 0; c++)
		var[c] /= all * all;
	return df;
}
