#include "diff_amounts.h"

#include <stdlib.h>
#include <string.h>

#include "profile.h"
#include "util.h"
#include "xalloc.h"

void amounts_init(struct amounts *a, const struct profile *p, uint32_t *frame_row)
{
	uint32_t nblocks = p->block_ns ? MAX(p->nblocks, 1) : 1;

	memset(a, 0, sizeof(*a));
	a->profile = p;
	a->frame_row = frame_row;
	a->group = (nblocks + AMOUNTS_BLOCKS_MAX - 1) / AMOUNTS_BLOCKS_MAX;
}

void amounts_fini(struct amounts *a)
{
	free(a->frame_row);
	free(a->stack);
	free(a->seen);
}

void amounts_rows(struct amounts *a, size_t nrows)
{
	a->nrows = nrows;
	a->seen = xcalloc(nrows, sizeof(*a->seen));
}

/* A function that calls itself is in a stack once. */
size_t amounts_stack(struct amounts *a, uint32_t node)
{
	const struct profile *p = a->profile;
	size_t n = 0;

	a->self = 0;
	if (!++a->serial) {
		/* After 2^32 stacks: numbers would come again. */
		memset(a->seen, 0, a->nrows * sizeof(*a->seen));
		a->serial = 1;
	}
	for (; node; node = p->nodes[node].parent) {
		uint32_t row = a->frame_row[p->nodes[node].frame];

		if (!row || a->seen[row] == a->serial)
			continue;
		a->seen[row] = a->serial;
		if (!n)
			a->self = row;
		XGROW(a->stack, n, a->stack_cap);
		a->stack[n++] = row;
	}
	return n;
}

void amounts_add(const struct amounts *a, const struct diff *d, size_t nstack, double weight, double *columns)
{
	const struct diff_row *self = &d->row[a->self];

	for (size_t k = 0; k < nstack; k++) {
		const struct diff_row *r = &d->row[a->stack[k]];

		/* Where self and total are one column, it is counted as self. */
		if (r->column[DIFF_TOTAL] != UINT32_MAX && r->column[DIFF_TOTAL] != r->column[DIFF_SELF])
			columns[r->column[DIFF_TOTAL]] += weight;
	}
	if (a->self && self->column[DIFF_SELF] != UINT32_MAX)
		columns[self->column[DIFF_SELF]] += weight;
	if (d->row[0].column[DIFF_TOTAL] != UINT32_MAX)
		columns[d->row[0].column[DIFF_TOTAL]] += weight;
}

/* Seconds that the recording lasted: by its own account, or by its blocks. */
static double duration(const struct profile *p)
{
	const char *v = profile_meta(p, "duration_ns");
	double ns = v ? strtod(v, NULL) : 0;

	return (ns > 0 ? ns : (double)p->nblocks * (double)p->block_ns) / 1e9;
}

/* How much of a recording's time each block of @run has: all of it in one when times are not known. */
static void set_divisor(const struct amounts *a, const struct diff_input *in, enum diff_per per, struct diff_run *run)
{
	double all = duration(a->profile), block = (double)a->group * (double)a->profile->block_ns / 1e9, unit;

	/* The end of the recording is within its last block, or a little behind it; never before. */
	for (size_t b = 0; b < run->nblocks; b++) {
		if (per == DIFF_PER_TOTAL) {
			run->divisor[b] = run->weight[b];
			continue;
		}
		unit = b + 1 < run->nblocks || !(block > 0) ? block : MIN(MAX(all - (double)b * block, block / 1000), block);
		if (run->nblocks == 1)
			unit = all > 0 ? all : 1;
		run->divisor[b] = unit;
	}
	if (per == DIFF_PER_UNIT) {
		double sum = 0;

		for (size_t b = 0; b < run->nblocks; b++)
			sum += run->divisor[b];
		for (size_t b = 0; b < run->nblocks; b++)
			run->divisor[b] *= in->scale / sum;
	}
}

/* What rows have on @side is what one input's only block has. */
static void take_rows(const struct diff *d, unsigned int side, struct diff_run *run)
{
	run->weight[0] = d->weight[side];
	run->samples[0] = d->samples[side];
	for (size_t i = 0; i < d->nrows; i++) {
		const struct diff_row *r = &d->row[i];

		/* Self last: where self and total are one column, it is counted as self. */
		for (unsigned int v = DIFF_VALUES; v-- > 0;)
			if (r->column[v] != UINT32_MAX)
				run->x[r->column[v]] = r->weight[side][v];
	}
}

static void count_blocks(struct amounts *a, const struct diff *d, size_t ncolumns, struct diff_run *run)
{
	const struct profile *p = a->profile;

	for (size_t i = 0; i < p->ncounts; i++) {
		const struct profile_count *c = &p->counts[i];
		size_t b = p->block_ns ? MIN(c->block / a->group, run->nblocks - 1) : 0;
		double w = (double)(d->opts.period ? c->period : c->samples);

		run->weight[b] += w;
		run->samples[b] += (double)c->samples;
		amounts_add(a, d, amounts_stack(a, c->node), w, run->x + b * ncolumns);
	}
}

void amounts_run(struct amounts *a, const struct diff_input *in, const struct diff *d, size_t ncolumns, struct diff_run *run)
{
	const struct profile *p = a->profile;
	size_t n = p->block_ns ? (MAX(p->nblocks, 1) + a->group - 1) / a->group : 1;

	run->side = in->side;
	run->nblocks = n;
	run->divisor = xcalloc(n * (ncolumns + 3), sizeof(double));
	run->weight = run->divisor + n;
	run->samples = run->weight + n;
	run->x = run->samples + n;
	if (n == 1 && d->inputs[in->side] == 1)
		take_rows(d, in->side, run);
	else
		count_blocks(a, d, ncolumns, run);
	set_divisor(a, in, d->opts.per, run);
}
