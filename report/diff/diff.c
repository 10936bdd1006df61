#include "diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "diff/diff_amounts.h"
#include "diff/diff_threads.h"
#include "profile/normalize.h"
#include "profile/profile.h"

/* Adds @s to @names in the form in which it is compared. */
static uint32_t shown_name(struct intern *names, const char *s, bool keep)
{
	char *copy;
	uint32_t id;

	if (keep)
		return intern_add(names, s);
	copy = xstrdup(s);
	id = intern_addn(names, copy, normalize_name(copy));
	free(copy);
	return id;
}

static bool tells_kernel(const struct profile *p)
{
	for (uint32_t f = 1; f < p->nframes; f++)
		if (p->frames[f].kind == PROFILE_KERNEL)
			return true;
	return false;
}

/* Returns [frame] -> row, 0 if the frame is not a function, and adds rows for new names. */
static uint32_t *frame_rows(struct diff *d, const struct profile *p, size_t *cap)
{
	uint32_t *rows = xcalloc(p->nframes + 1, sizeof(*rows));

	for (uint32_t f = 1; f < p->nframes; f++) {
		const struct profile_frame *fr = &p->frames[f];
		uint32_t name;
		uint64_t *row;
		bool is_new;

		if (fr->kind == PROFILE_LEADING)
			continue;
		name = shown_name(d->names, intern_str(p->strings, fr->name), d->opts.keep_names);
		row = u64map_put(&d->by_name, (uint64_t)name << 1 | (d->kernel_apart && fr->kind == PROFILE_KERNEL), &is_new);
		if (is_new) {
			*row = d->nrows;
			XGROW(d->row, d->nrows, *cap);
			d->row[d->nrows++] = (struct diff_row){ .name = name, .kind = fr->kind };
		}
		rows[f] = (uint32_t)*row;
	}
	return rows;
}

static void count_rows(struct diff *d, struct amounts *a, unsigned int side)
{
	const struct profile *p = a->profile;

	for (size_t i = 0; i < p->ncounts; i++) {
		const struct profile_count *c = &p->counts[i];
		double w = (double)profile_weight(c, d->opts.period), n = (double)c->samples;
		size_t nrows = amounts_stack(a, c->node);

		for (size_t k = 0; k < nrows; k++) {
			d->row[a->stack[k]].weight[side][DIFF_TOTAL] += w;
			d->row[a->stack[k]].samples[side][DIFF_TOTAL] += n;
		}
		if (a->self) {
			d->row[a->self].weight[side][DIFF_SELF] += w;
			d->row[a->self].samples[side][DIFF_SELF] += n;
		}
		d->weight[side] += w;
		d->samples[side] += n;
	}
}

/* ---- columns ---- */

static double row_samples(const struct diff_row *r, unsigned int value)
{
	return r->samples[DIFF_BEFORE][value] + r->samples[DIFF_AFTER][value];
}

static int descending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x > y ? -1 : x < y;
}

/*
 * Number of samples that make a column: DIFF_SAMPLES_MIN, or more if needed to stay below
 * AMOUNTS_COLUMNS_MAX.
 */
static double samples_min(const struct diff *d)
{
	double *all = xcalloc(DIFF_VALUES * d->nrows + 1, sizeof(*all)), min = DIFF_SAMPLES_MIN;
	size_t n = 0;

	for (size_t i = 0; i < d->nrows; i++)
		for (unsigned int v = 0; v < DIFF_VALUES; v++)
			if (row_samples(&d->row[i], v) >= DIFF_SAMPLES_MIN)
				all[n++] = row_samples(&d->row[i], v);
	if (n > AMOUNTS_COLUMNS_MAX) {
		qsort(all, n, sizeof(*all), descending);
		min = all[AMOUNTS_COLUMNS_MAX] + 1;
	}
	free(all);
	return min;
}

/*
 * Chooses which rows have columns. Total and self share a column if all of a function's samples end
 * in it. All samples together are a column only if they are not the divisor.
 */
static size_t choose_columns(struct diff *d)
{
	double min = samples_min(d);
	size_t n = 0;

	for (size_t i = 0; i < d->nrows; i++) {
		struct diff_row *r = &d->row[i];
		bool same = true;

		for (unsigned int s = 0; s < DIFF_SIDES; s++)
			same = same && r->samples[s][DIFF_SELF] == r->samples[s][DIFF_TOTAL] &&
			       r->weight[s][DIFF_SELF] == r->weight[s][DIFF_TOTAL];
		for (unsigned int v = 0; v < DIFF_VALUES; v++) {
			r->column[v] = UINT32_MAX;
			if (row_samples(r, v) < min || (!i && d->opts.per == DIFF_PER_TOTAL))
				continue;
			r->column[v] = v == DIFF_TOTAL && same ? r->column[DIFF_SELF] : (uint32_t)n++;
		}
		d->tested += i && (r->column[DIFF_SELF] != UINT32_MAX || r->column[DIFF_TOTAL] != UINT32_MAX);
	}
	return n;
}

/*
 * Along a chain of callers, samples and thus columns are often equal; one column is enough. Columns
 * are merged if all their amounts are equal. @n becomes the number of columns left.
 */
static void merge_columns(struct diff *d, struct diff_run *runs, size_t nruns, double *const thread_var[DIFF_SIDES], size_t *n)
{
	uint64_t *hash = xcalloc(*n + 1, sizeof(*hash));
	uint32_t *to = xcalloc(*n + 1, sizeof(*to)), kept = 0;
	struct u64map seen = U64MAP_INIT;

	for (size_t i = 0; i < nruns; i++)
		for (size_t b = 0; b < runs[i].nblocks; b++)
			for (size_t c = 0; c < *n; c++) {
				uint64_t bits;

				memcpy(&bits, &runs[i].x[b * *n + c], sizeof(bits));
				hash[c] = hash_combine(hash[c], bits);
			}
	for (size_t c = 0; c < *n; c++) {
		bool is_new;
		uint64_t *first = u64map_put(&seen, hash[c], &is_new);

		if (is_new)
			*first = kept++;
		to[c] = (uint32_t)*first;
		thread_var[DIFF_BEFORE][to[c]] = thread_var[DIFF_BEFORE][c];
		thread_var[DIFF_AFTER][to[c]] = thread_var[DIFF_AFTER][c];
	}
	for (size_t i = 0; i < nruns; i++) {
		double *x = runs[i].x;

		/* In place: a column only moves towards the front, and rows get shorter. */
		for (size_t b = 0; b < runs[i].nblocks; b++)
			for (size_t c = 0; c < *n; c++)
				x[b * kept + to[c]] = x[b * *n + c];
	}
	for (size_t i = 0; i < d->nrows; i++)
		for (unsigned int v = 0; v < DIFF_VALUES; v++)
			if (d->row[i].column[v] != UINT32_MAX)
				d->row[i].column[v] = to[d->row[i].column[v]];
	*n = kept;
	free(hash);
	free(to);
	u64map_fini(&seen);
}

/* ---- all of it ---- */

struct diff *diff_new(const struct diff_input *in, size_t n, const struct diff_opts *opts)
{
	struct diff *d = xcalloc(1, sizeof(*d));
	struct amounts *a = xcalloc(n, sizeof(*a));
	struct diff_run *runs = xcalloc(n, sizeof(*runs));
	struct diff_stat_opts so = { .share = opts->per == DIFF_PER_TOTAL, .alpha = opts->alpha, .run_noise = opts->run_noise,
				     .seed = opts->seed };
	double *thread_var[DIFF_SIDES];
	size_t cap = 0, ncolumns;

	d->opts = *opts;
	d->names = intern_new();
	XGROW(d->row, d->nrows, cap);
	d->row[d->nrows++] = (struct diff_row){ 0 };
	d->kernel_apart = true;
	for (size_t i = 0; i < n; i++)
		d->kernel_apart = d->kernel_apart && tells_kernel(in[i].profile);
	for (size_t i = 0; i < n; i++) {
		amounts_init(&a[i], in[i].profile, opts->per, frame_rows(d, in[i].profile, &cap));
		d->inputs[in[i].side]++;
	}
	for (size_t i = 0; i < n; i++) {
		amounts_rows(&a[i], d->nrows);
		count_rows(d, &a[i], in[i].side);
	}
	for (unsigned int s = 0; s < DIFF_SIDES; s++) {
		d->row[0].weight[s][DIFF_TOTAL] = d->weight[s];
		d->row[0].samples[s][DIFF_TOTAL] = d->samples[s];
	}
	ncolumns = choose_columns(d);
	for (size_t i = 0; i < n; i++) {
		amounts_run(&a[i], &in[i], d, ncolumns, &runs[i]);
		for (size_t b = 0; b < runs[i].nblocks; b++)
			d->divisor[in[i].side] += runs[i].divisor[b];
		if (!d->block_ns[in[i].side] && runs[i].nblocks > 1)
			d->block_ns[in[i].side] = a[i].group * in[i].profile->block_ns;
	}
	for (unsigned int s = 0; s < DIFF_SIDES; s++) {
		thread_var[s] = xcalloc(ncolumns + 1, sizeof(double));
		so.thread_df[s] = threads_variance(a, in, n, s, d, ncolumns, thread_var[s]);
		so.thread_var[s] = so.thread_df[s] > 0 ? thread_var[s] : NULL;
	}
	merge_columns(d, runs, n, thread_var, &ncolumns);
	diff_stat_compute(runs, n, ncolumns, &so, &d->stat);
	for (size_t i = 0; i < n; i++) {
		amounts_fini(&a[i]);
		free(runs[i].divisor);
	}
	free(thread_var[0]);
	free(thread_var[1]);
	free(runs);
	free(a);
	return d;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	intern_free(d->names);
	free(d->row);
	u64map_fini(&d->by_name);
	diff_stat_fini(&d->stat);
	free(d);
}

const struct diff_column *diff_column(const struct diff *d, const struct diff_row *r, unsigned int value)
{
	return r->column[value] == UINT32_MAX ? NULL : &d->stat.column[r->column[value]];
}

double diff_rate(const struct diff *d, const struct diff_row *r, unsigned int side, unsigned int value)
{
	return d->divisor[side] > 0 ? r->weight[side][value] / d->divisor[side] : 0;
}

double diff_unit_seconds(const struct diff *d, unsigned int side)
{
	return d->stat.method == DIFF_BY_TIME ? (double)d->stat.batch * (double)d->block_ns[side] / 1e9 : 0;
}

bool diff_significant(const struct diff *d, const struct diff_row *r, unsigned int value)
{
	const struct diff_column *c = diff_column(d, r, value);

	return c && c->p_all <= d->opts.alpha && d->stat.method != DIFF_BY_COUNT;
}

bool diff_frame_significant(const struct diff *d, const char *name, bool kernel, bool leaf)
{
	uint32_t id = intern_find(d->names, name);
	const uint64_t *row;

	if (!*name)
		return diff_significant(d, &d->row[0], DIFF_TOTAL);
	row = id == UINT32_MAX ? NULL : u64map_get(&d->by_name, (uint64_t)id << 1 | (d->kernel_apart && kernel));
	return row && diff_significant(d, &d->row[*row], leaf ? DIFF_SELF : DIFF_TOTAL);
}
