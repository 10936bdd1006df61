#include "diff/diff_amounts.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "diff/diff_times.h"
#include "profile/profile.h"

/*
 * Number of blocks in @p's time. Amounts need all of it, and its end may belong to threads that
 * were filtered out.
 */
static uint32_t blocks_of(const struct profile *p, enum diff_per per)
{
	uint32_t n = MAX(p->nblocks, 1);
	struct spans times;

	if (!p->block_ns)
		return 1;
	if (per == DIFF_PER_TOTAL)
		return n;
	times = times_of(p);
	if (times.n) {
		uint64_t end = times.v[times.n - 1].to / p->block_ns + !!(times.v[times.n - 1].to % p->block_ns);

		n = MAX(n, (uint32_t)MIN(end, PROFILE_BLOCKS_MAX));
	}
	free(times.v);
	return n;
}

void amounts_init(struct amounts *a, const struct profile *p, enum diff_per per, uint32_t *frame_row)
{
	memset(a, 0, sizeof(*a));
	a->profile = p;
	a->frame_row = frame_row;
	wait_frames_init(&a->waits, p);
	a->nblocks = blocks_of(p, per);
	a->group = (a->nblocks + AMOUNTS_BLOCKS_MAX - 1) / AMOUNTS_BLOCKS_MAX;
}

void amounts_fini(struct amounts *a)
{
	free(a->frame_row);
	wait_frames_fini(&a->waits);
	free(a->stack);
	free(a->seen);
}

void amounts_rows(struct amounts *a, size_t nrows)
{
	a->nrows = nrows;
	a->seen = xcalloc(nrows, sizeof(*a->seen));
}

/* A recursive function is listed once per stack. */
size_t amounts_stack(struct amounts *a, uint32_t node)
{
	const struct profile *p = a->profile;
	const uint32_t own = wait_frames_own(&a->waits, node);
	bool within = false;
	size_t n = 0;

	a->self = 0;
	if (!++a->serial) {
		/* After 2^32 stacks the numbers wrap around. */
		memset(a->seen, 0, a->nrows * sizeof(*a->seen));
		a->serial = 1;
	}
	for (; node; node = p->nodes[node].parent) {
		uint32_t row = a->frame_row[p->nodes[node].frame];

		within |= node == own;
		if (within && !a->self)
			a->self = row;
		if (!row || a->seen[row] == a->serial)
			continue;
		a->seen[row] = a->serial;
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

		/* If self and total share a column, it is counted as self. */
		if (r->column[DIFF_TOTAL] != UINT32_MAX && r->column[DIFF_TOTAL] != r->column[DIFF_SELF])
			columns[r->column[DIFF_TOTAL]] += weight;
	}
	if (a->self && self->column[DIFF_SELF] != UINT32_MAX)
		columns[self->column[DIFF_SELF]] += weight;
	if (d->row[0].column[DIFF_TOTAL] != UINT32_MAX)
		columns[d->row[0].column[DIFF_TOTAL]] += weight;
}

double amounts_missing(const struct profile *p)
{
	double missing = profile_number(p, "lost") + profile_number(p, "dropped") + profile_number(p, "throttled_samples");
	double all = profile_number(p, "kept") + profile_number(p, "cut") + missing;

	return missing > 0 && missing < all ? missing / all : 0;
}

/*
 * Sets the divisor per second or unit: the part of a recording's time in each block of @run, or all
 * in one if times are unknown. Missing samples count as time that was not recorded; the samples
 * that exist stand for them.
 */
static void set_divisor(const struct amounts *a, const struct diff_input *in, enum diff_per per, struct diff_run *run)
{
	const uint64_t block = a->group * a->profile->block_ns;
	struct spans times = times_of(a->profile);
	double there = 1 - amounts_missing(a->profile), least = (double)MAX(block, 1) / 1e12, sum = 0;

	for (size_t b = 0; b < run->nblocks; b++) {
		bool last = b + 1 == run->nblocks;
		double unit = times_within(&times, b * block, last ? UINT64_MAX : (b + 1) * block);

		/* The recording ends within its last block, or a little after it, never before. */
		if (run->nblocks == 1)
			unit = unit > 0 ? unit : 1;
		else if (run->weight[b] > 0)
			unit = MAX(unit, least);
		run->divisor[b] = unit * there;
		sum += run->divisor[b];
	}
	free(times.v);
	for (size_t b = 0; b < run->nblocks && per == DIFF_PER_UNIT; b++)
		run->divisor[b] *= in->scale * there / sum;
}

/* Times outside the profile must not count as idle time. */
static void drop_blocks(struct diff_run *run, size_t ncolumns)
{
	size_t n = 0;

	for (size_t b = 0; b < run->nblocks; b++) {
		if (!(run->divisor[b] > 0))
			continue;
		run->divisor[n] = run->divisor[b];
		run->weight[n] = run->weight[b];
		run->samples[n] = run->samples[b];
		memmove(run->x + n * ncolumns, run->x + b * ncolumns, ncolumns * sizeof(*run->x));
		n++;
	}
	run->nblocks = n;
}

/* Fills the only block of an input from the rows of @side. */
static void take_rows(const struct diff *d, unsigned int side, struct diff_run *run)
{
	run->weight[0] = d->weight[side];
	run->samples[0] = d->samples[side];
	for (size_t i = 0; i < d->nrows; i++) {
		const struct diff_row *r = &d->row[i];

		/* Self last: if self and total share a column, it is counted as self. */
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
		double w = (double)profile_weight(c, d->opts.period);

		run->weight[b] += w;
		run->samples[b] += (double)c->samples;
		amounts_add(a, d, amounts_stack(a, c->node), w, run->x + b * ncolumns);
	}
}

void amounts_run(struct amounts *a, const struct diff_input *in, const struct diff *d, size_t ncolumns, struct diff_run *run)
{
	size_t n = (a->nblocks + a->group - 1) / a->group;

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
	if (d->opts.per == DIFF_PER_TOTAL) {
		memcpy(run->divisor, run->weight, n * sizeof(*run->divisor));
	} else {
		set_divisor(a, in, d->opts.per, run);
		drop_blocks(run, ncolumns);
	}
}
