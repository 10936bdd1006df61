/* Weighs sampled waits so that they add up to the exact times (waits.h). */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "replay/waits.h"
#include "replay/waits_priv.h"

/*
 * If none of the waits of one length was sampled, the samples of the nearest length stand for them,
 * but not those of waits more than twice as long or as short: these are other waits.
 */
#define FAR WAITS_PER_OCTAVE
#define ROUNDS 8	/* of equal shares, before what is left goes by length */
#define NONE SIZE_MAX

/* A row, or with @row == NONE waits without samples, or @brief ones. */
struct share {
	size_t row;
	bool brief;
	uint64_t n, ns, queued_ns;	/* @ns includes @queued_ns */
	uint64_t from, to;
};

struct weigh {
	struct waits *w;
	void (*fn)(void *ctx, const struct wait_part *part);
	void *ctx;
	uint32_t *strata;	/* owned; in the order of life, kind and length */
	size_t *rows;		/* owned; in the order of their strata, then of time */
	size_t *first_row;	/* owned; in @rows, by position in @strata; one more at the end */
	struct share *shares;	/* owned; of one life and kind */
	size_t nshares, shares_cap;
	uint64_t *weights, *out;	/* owned */
	size_t weights_cap;
};

/* ---- order ---- */

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static uint64_t stratum_key(const struct wait_stratum *st)
{
	return WAITS_STRATUM_KEY(st->life, st->kind, st->length);
}

static int compare_strata(const void *pa, const void *pb, void *ctx)
{
	const struct waits *w = ctx;

	return compare(stratum_key(&w->strata[*(const uint32_t *)pa]), stratum_key(&w->strata[*(const uint32_t *)pb]));
}

static int compare_rows(const void *pa, const void *pb, void *ctx)
{
	const struct waits *w = ctx;
	const struct wait_row *a = &w->rows[*(const size_t *)pa], *b = &w->rows[*(const size_t *)pb];
	int order = compare(stratum_key(&w->strata[a->stratum]), stratum_key(&w->strata[b->stratum]));

	return order ? order : compare(a->first, b->first);
}

static void sort_all(struct weigh *g)
{
	const struct waits *w = g->w;
	size_t row = 0;

	g->strata = xcalloc(w->nstrata + 1, sizeof(*g->strata));
	g->rows = xcalloc(w->nrows + 1, sizeof(*g->rows));
	g->first_row = xcalloc(w->nstrata + 1, sizeof(*g->first_row));
	for (size_t i = 0; i < w->nstrata; i++)
		g->strata[i] = (uint32_t)i;
	for (size_t i = 0; i < w->nrows; i++)
		g->rows[i] = i;
	qsort_r(g->strata, w->nstrata, sizeof(*g->strata), compare_strata, g->w);
	qsort_r(g->rows, w->nrows, sizeof(*g->rows), compare_rows, g->w);
	for (size_t i = 0; i < w->nstrata; i++) {
		g->first_row[i] = row;
		while (row < w->nrows && w->rows[g->rows[row]].stratum == g->strata[i])
			row++;
	}
	g->first_row[w->nstrata] = row;
}

/* ---- exact sums ---- */

/*
 * Deals @total out in proportion to @weights, or if these are all 0 in equal parts. The parts add up
 * to @total exactly; @out may not be @weights.
 */
static void deal(uint64_t total, const uint64_t *weights, size_t n, uint64_t *out)
{
	unsigned __int128 sum = 0, so_far = 0;
	uint64_t dealt = 0;

	for (size_t i = 0; i < n; i++)
		sum += weights[i];
	for (size_t i = 0; i < n; i++) {
		const uint64_t before = dealt;

		so_far += sum ? weights[i] : 1;
		dealt = (uint64_t)((unsigned __int128)total * so_far / (sum ? sum : n));
		out[i] = dealt - before;
	}
}

static void need_weights(struct weigh *g, size_t n)
{
	if (n <= g->weights_cap)
		return;
	g->weights_cap = n * 2;
	g->weights = xrealloc(g->weights, g->weights_cap * sizeof(*g->weights));
	g->out = xrealloc(g->out, g->weights_cap * sizeof(*g->out));
}

static void add_share(struct weigh *g, const struct share *s)
{
	XGROW(g->shares, g->nshares, g->shares_cap);
	g->shares[g->nshares++] = *s;
}

/* Shares @total, the sum of one or several strata, among the rows of the stratum at position @at. */
static void weigh_rows(struct weigh *g, size_t at, const struct wait_stratum *total)
{
	const size_t first = g->first_row[at], n = g->first_row[at + 1] - first, base = g->nshares;
	const struct wait_row *rows = g->w->rows;

	need_weights(g, n);
	for (size_t i = 0; i < n; i++) {
		const struct wait_row *r = &rows[g->rows[first + i]];

		add_share(g, &(struct share){ .row = g->rows[first + i], .from = r->from, .to = r->to });
		g->weights[i] = r->ns - r->queued_ns;
	}
	deal(total->ns - total->queued_ns, g->weights, n, g->out);
	for (size_t i = 0; i < n; i++) {
		g->shares[base + i].ns = g->out[i];
		g->weights[i] = rows[g->rows[first + i]].queued_ns;
	}
	deal(total->queued_ns, g->weights, n, g->out);
	for (size_t i = 0; i < n; i++) {
		g->shares[base + i].queued_ns = g->out[i];
		g->shares[base + i].ns += g->out[i];
		g->weights[i] = rows[g->rows[first + i]].n;
	}
	deal(total->n, g->weights, n, g->out);
	for (size_t i = 0; i < n; i++)
		g->shares[base + i].n = g->out[i];
}

static bool has_rows(const struct weigh *g, size_t at)
{
	return g->first_row[at + 1] > g->first_row[at];
}

/* The position of the sampled stratum in [@from, @to) whose length is nearest; NONE: all are far. */
static size_t nearest(const struct weigh *g, size_t at, size_t from, size_t to)
{
	const uint32_t length = g->w->strata[g->strata[at]].length;
	uint32_t best = FAR + 1;
	size_t found = NONE;

	for (size_t i = at; i-- > from;) {
		const uint32_t far = length - g->w->strata[g->strata[i]].length;

		if (far >= best)
			break;
		if (has_rows(g, i)) {
			best = far;
			found = i;
		}
	}
	for (size_t i = at + 1; i < to; i++) {
		const uint32_t far = g->w->strata[g->strata[i]].length - length;

		if (far >= best)
			break;
		if (has_rows(g, i)) {
			best = far;
			found = i;
		}
	}
	return found;
}

static void add_stratum(struct wait_stratum *to, const struct wait_stratum *st)
{
	to->n += st->n;
	to->ns += st->ns;
	to->queued_ns += st->queued_ns;
	to->from = to->from ? MIN(to->from, st->from) : st->from;
	to->to = MAX(to->to, st->to);
}

/* Fills g->shares for the strata at [@from, @to), which are of one life and kind. */
static void weigh_kind(struct weigh *g, size_t from, size_t to)
{
	struct wait_stratum *sums = xcalloc(to - from + 1, sizeof(*sums)), *rest = &sums[to - from];

	g->nshares = 0;
	for (size_t i = from; i < to; i++) {
		const struct wait_stratum *st = &g->w->strata[g->strata[i]];
		const size_t at = has_rows(g, i) ? i : nearest(g, i, from, to);

		if (st->length == WAITS_BRIEF) {
			add_share(g, &(struct share){ NONE, true, st->n, st->ns, st->queued_ns, st->from, st->to });
			continue;
		}

		add_stratum(at == NONE ? rest : &sums[at - from], &g->w->strata[g->strata[i]]);
	}
	for (size_t i = from; i < to; i++)
		if (has_rows(g, i))
			weigh_rows(g, i, &sums[i - from]);
	if (rest->ns)
		add_share(g, &(struct share){ NONE, false, rest->n, rest->ns, rest->queued_ns, rest->from, rest->to });
	free(sums);
}

/* ---- waiting for a CPU, by the kernel's account ---- */

/* ns that a life was queued for a CPU after it was woken, if only the kernel's account tells. */
static uint64_t queued_by_kernel(const struct waits *w, uint32_t life, uint64_t blocked)
{
	size_t n;
	const struct cpu_thread *th = &cpu_times_threads(w->times, &n)[life];
	const uint64_t known = th->ns[CPU_PREEMPTED] + th->ns[CPU_STARTING], all = th->ns[CPU_BLOCKED];
	uint64_t queued;

	if (!th->have_sched || th->queued || th->sched_wait_ns <= known || !all)
		return 0;
	queued = MIN(th->sched_wait_ns - known, all);
	/* Only a part of the time may be wanted. */
	return (uint64_t)((unsigned __int128)queued * MIN(blocked, all) / all);
}

/*
 * Deals @queued out to the shares of the current life. Each time a thread is woken it waits in the
 * queue, however long it slept: so each wait gets the same, but no more than it lasted.
 */
static void deal_queued(struct weigh *g, uint64_t queued)
{
	need_weights(g, g->nshares);
	for (int round = 0; queued && round <= ROUNDS; round++) {
		uint64_t rest = 0;

		for (size_t i = 0; i < g->nshares; i++) {
			const struct share *s = &g->shares[i];
			const uint64_t room = s->ns - s->queued_ns;

			g->weights[i] = !room ? 0 : round < ROUNDS ? s->n : room;
			rest += room;
		}
		if (!rest)
			return;
		deal(MIN(queued, rest), g->weights, g->nshares, g->out);
		for (size_t i = 0; i < g->nshares; i++) {
			struct share *s = &g->shares[i];
			const uint64_t more = MIN(g->out[i], s->ns - s->queued_ns);

			s->queued_ns += more;
			queued -= more;
		}
	}
}

/* ---- the result ---- */

static void give(struct weigh *g, uint32_t life, enum wait_kind kind, const struct share *s, uint64_t ns)
{
	const struct wait_row *row = s->row == NONE ? NULL : &g->w->rows[s->row];
	const struct wait_part part = {
		.life = life, .kind = kind, .sampled = row, .brief = s->brief, .stack = row ? row->stack : 0, .thread = row ? row->thread : 0,
		.n = MAX(s->n, 1ull), .ns = ns, .from = s->from, .to = s->to,
	};

	if (ns && (!row || row->stack != WAITS_HIDDEN))
		g->fn(g->ctx, &part);
}

void waits_result(struct waits *w, void (*fn)(void *ctx, const struct wait_part *part), void *ctx)
{
	struct weigh g = { .w = w, .fn = fn, .ctx = ctx };
	size_t to;

	sort_all(&g);
	for (size_t from = 0; from < w->nstrata; from = to) {
		const struct wait_stratum *st = &w->strata[g.strata[from]];
		uint64_t all = 0;

		for (to = from; to < w->nstrata; to++) {
			const struct wait_stratum *next = &w->strata[g.strata[to]];

			if (next->life != st->life || next->kind != st->kind)
				break;
			all += next->ns;
		}
		weigh_kind(&g, from, to);
		if (st->kind == WAIT_BLOCKED)
			deal_queued(&g, queued_by_kernel(w, st->life, all));
		for (size_t i = 0; i < g.nshares; i++) {
			const struct share *s = &g.shares[i];

			give(&g, st->life, (enum wait_kind)st->kind, s, s->ns - s->queued_ns);
			give(&g, st->life, WAIT_QUEUED, s, s->queued_ns);
		}
	}
	free(g.strata);
	free(g.rows);
	free(g.first_row);
	free(g.shares);
	free(g.weights);
	free(g.out);
}
