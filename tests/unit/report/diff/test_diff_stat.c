/*
 * Whether the statistics of a comparison hold. Programs are simulated whose functions' shares
 * wander in time and differ from run to run by known laws. False alarms and detections are counted
 * over many comparisons.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "diff/diff_stat.h"
#include "diff/diff_stat_priv.h"
#include "grid/distributions.h"
#include "random.h"

enum { FUNCTIONS = 20, BLOCKS = 40 };

struct world {
	double wander;		/* s.d. of the logarithm of a function's cost from block to block */
	double memory;		/* correlation of one block with the next */
	double run;		/* s.d. of the logarithm of a function's cost from run to run */
	double jump;		/* in a random half of the runs function 0 costs so much more */
	bool slow;		/* every fourth function has that memory, the others have none */
	double extra;		/* function 3 costs so much more in the second profile: relative */
	unsigned int samples;	/* of a block, in the first profile */
	unsigned int samples_after;
	double weight_after;	/* of one sample in the second profile; in the first: 1 */
	size_t blocks;
};

static uint64_t state;

static double uniform(void)
{
	return (double)(random_next(&state) >> 11) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform() + 1e-300)) * cos(2 * M_PI * uniform());
}

/* Costs of functions fall as 1/k, so that there are large and small ones. */
static void make_run(struct diff_run *r, const struct world *w, unsigned int side)
{
	double level[FUNCTIONS], run[FUNCTIONS], cost[FUNCTIONS], sum;
	unsigned int n = side == DIFF_AFTER ? w->samples_after : w->samples;
	double weight = side == DIFF_AFTER ? w->weight_after : 1;

	memset(r, 0, sizeof(*r));
	r->side = side;
	r->nblocks = w->blocks;
	r->divisor = calloc(r->nblocks * (FUNCTIONS + 3), sizeof(double));
	assert_non_null(r->divisor);
	r->weight = r->divisor + r->nblocks;
	r->samples = r->weight + r->nblocks;
	r->x = r->samples + r->nblocks;
	for (int f = 0; f < FUNCTIONS; f++) {
		level[f] = normal();
		run[f] = w->run * normal();
	}
	if (w->jump > 0 && uniform() < 0.5)
		run[0] += log(1 + w->jump);
	for (size_t b = 0; b < r->nblocks; b++) {
		sum = 0;
		for (int f = 0; f < FUNCTIONS; f++) {
			double memory = w->slow && f % 4 != 1 ? 0 : w->memory;

			level[f] = memory * level[f] + sqrt(1 - memory * memory) * normal();
			cost[f] = exp(w->wander * level[f] + run[f]) / (f + 1);
			if (f == 3 && side == DIFF_AFTER)
				cost[f] *= 1 + w->extra;
			sum += cost[f];
		}
		for (unsigned int k = 0; k < n; k++) {
			double at = uniform() * sum;
			int f = 0;

			while (f < FUNCTIONS - 1 && at >= cost[f])
				at -= cost[f++];
			r->x[b * FUNCTIONS + f] += weight;
		}
		r->samples[b] = n;
		r->divisor[b] = r->weight[b] = n * weight;
	}
}

struct outcome {
	int alarms;		/* comparisons with a significant column of an unchanged function */
	int found;		/* function 3 was significant */
	int covered;		/* the 95 % interval of function 3 contains the true change */
	double predicted;	/* sum of the predicted probabilities of finding function 3 */
	size_t batch;
};

static const struct world plain = { .samples = 100, .samples_after = 100, .weight_after = 1, .blocks = BLOCKS };

/* @truth: the change of function 3's share. */
static struct outcome compare_many(const struct world *w, int times, size_t runs_a_side, double truth)
{
	const struct diff_stat_opts o = { .share = true, .alpha = 0.05, .seed = 1 };
	struct outcome out = { 0 };

	for (int i = 0; i < times; i++) {
		struct diff_run runs[16];
		const struct diff_column *c;
		struct diff_stat st;
		int alarm = 0;

		for (size_t k = 0; k < 2 * runs_a_side; k++)
			make_run(&runs[k], w, k < runs_a_side ? DIFF_BEFORE : DIFF_AFTER);
		diff_stat_compute(runs, 2 * runs_a_side, FUNCTIONS, &o, &st);
		for (int f = 0; f < FUNCTIONS; f++)
			if (st.column[f].p_all <= 0.05 && f != (w->extra != 0 ? 3 : -1))
				alarm = 1;
		c = &st.column[3];
		out.alarms += alarm;
		out.found += c->p_all <= 0.05;
		out.covered += fabs(c->change - truth) <= dist_t_limit(0.05, c->df) * c->se;
		out.predicted += dist_normal(fabs(truth) / c->se - st.critical);
		out.batch += st.batch;
		diff_stat_fini(&st);
		for (size_t k = 0; k < 2 * runs_a_side; k++)
			free(runs[k].divisor);
	}
	printf("# %d comparisons: %d alarms, found %d (predicted %.1f), interval has the truth in %d, batches of %.1f blocks\n",
	       times, out.alarms, out.found, out.predicted, out.covered, (double)out.batch / times);
	return out;
}

/* The most events among @n at rate @p, exceeded in one of a thousand such tests. */
static int limit(int n, double p)
{
	return (int)ceil(n * p + 3.1 * sqrt(n * p * (1 - p)));
}

static void no_alarms(struct world w, int times, size_t runs_a_side)
{
	struct outcome o;

	state = 42;
	o = compare_many(&w, times, runs_a_side, 0);
	assert_true(o.alarms <= limit(times, 0.05));
	assert_true(times - o.covered <= limit(times, 0.05));
}

static void same_independent(void **unused)
{
	(void)unused;
	no_alarms(plain, 200, 1);
}

static void same_wandering(void **unused)
{
	struct world w = plain;

	(void)unused;
	w.wander = 0.5;
	no_alarms(w, 200, 1);
	w.memory = 0.6;
	no_alarms(w, 200, 1);
	w.memory = 0.9;
	w.blocks = 100;
	no_alarms(w, 100, 1);
	/* A few autocorrelated functions do not hide among the others. */
	w.slow = true;
	w.wander = 1;
	w.blocks = 60;
	no_alarms(w, 200, 1);
}

static void same_at_another_rate(void **unused)
{
	struct world w = plain;

	(void)unused;
	w.wander = 0.3;
	w.memory = 0.5;
	w.samples_after = 10;
	w.weight_after = 10;
	no_alarms(w, 200, 1);
}

static void same_with_runs_that_differ(void **unused)
{
	struct world w = plain;

	(void)unused;
	w.run = 0.1;
	no_alarms(w, 200, 3);
	w.run = 0;
	no_alarms(w, 100, 2);
	/* One function unlike the others: their behaviour does not make it look steady. */
	w.run = 0.005;
	w.jump = 0.2;
	no_alarms(w, 200, 5);
}

/* Share of function 3 when its cost is multiplied by @more; costs are 1/k. */
static double share_of_3(double more)
{
	double sum = 0;

	for (int f = 0; f < FUNCTIONS; f++)
		sum += (f == 3 ? more : 1) / (f + 1);
	return more / 4 / sum;
}

static void finds_as_predicted(struct world w, int times, size_t runs_a_side)
{
	double truth = share_of_3(1 + w.extra) - share_of_3(1);
	struct outcome o;
	double n = times, p;

	state = 7;
	o = compare_many(&w, times, runs_a_side, truth);
	p = o.predicted / n;
	/*
	 * In both directions: neither too high nor too low. The prediction uses a normal law with
	 * estimated variances: +- 0.1.
	 */
	assert_true(fabs(o.found / n - p) <= 0.1 + 3.1 * sqrt(p * (1 - p) / n));
	assert_true(times - o.covered <= limit(times, 0.05));
}

static void finds_what_changed(void **unused)
{
	struct world w = plain;

	(void)unused;
	w.extra = 0.2;
	finds_as_predicted(w, 200, 1);
	w.extra = 0.3;
	finds_as_predicted(w, 200, 1);
	w.extra = 0.5;
	w.run = 0.05;
	finds_as_predicted(w, 100, 3);
}

/* Table values (NIST/SEMATECH 1.3.6.7; Abramowitz and Stegun 6.1, 6.4). */
static void distributions(void **unused)
{
	(void)unused;
	assert_true(fabs(dist_normal(1.96) - 0.9750021) < 1e-6);
	assert_true(fabs(dist_t_limit(0.05, 10) - 2.228) < 5e-4);
	assert_true(fabs(dist_t_limit(0.05, 1) - 12.706) < 5e-4);
	assert_true(fabs(dist_t_limit(0.001, 30) - 3.646) < 5e-4);
	assert_true(fabs(dist_t_limit(0.05, INFINITY) - 1.959964) < 1e-5);
	assert_true(fabs(dist_t_tails(2.228, 10) - 0.05) < 1e-4);
	assert_true(dist_t_tails(0, 3) == 1);
	assert_true(fabs(dist_f_tail(3.326, 5, 10) - 0.05) < 1e-4);
	assert_true(fabs(dist_f_tail(4.351, 1, 20) - 0.05) < 1e-4);
	assert_true(fabs(dist_digamma(1) + 0.5772156649) < 1e-9);
	assert_true(fabs(dist_digamma(0.5) + 1.9635100260) < 1e-9);
	assert_true(fabs(dist_trigamma(1) - M_PI * M_PI / 6) < 1e-9);
	assert_true(fabs(dist_trigamma_inverse(M_PI * M_PI / 6) - 1) < 1e-6);
}

/*
 * Nothing to divide by, an empty column, a column that is always everything: the results are
 * numbers, and never significant.
 */
static void degenerate(void **unused)
{
	const struct diff_stat_opts o = { .share = true, .alpha = 0.05, .seed = 1 };

	(void)unused;
	for (size_t blocks = 1; blocks < 12; blocks++) {
		for (int filled = 0; filled < 3; filled++) {
			struct diff_run runs[2];
			struct diff_stat st;

			for (unsigned int s = 0; s < 2; s++) {
				double *v = calloc(blocks * 6, sizeof(*v));

				runs[s] = (struct diff_run){ s, blocks, v, v + blocks, v + 2 * blocks, v + 3 * blocks };
				for (size_t b = 0; b < blocks && (unsigned int)filled > s; b++) {
					v[b] = v[blocks + b] = v[2 * blocks + b] = 5;
					runs[s].x[3 * b] = 5;
					runs[s].x[3 * b + 2] = b == 0;
				}
			}
			diff_stat_compute(runs, 2, 3, &o, &st);
			for (size_t c = 0; c < 3; c++) {
				assert_true(isfinite(st.column[c].change) && isfinite(st.column[c].se));
				assert_true(st.column[c].p >= 0 && st.column[c].p <= 1);
				assert_true(st.column[c].p_all >= 0 && st.column[c].p_all <= 1);
				if (filled != 1)
					assert_true(st.column[c].p_all > 0.05);
			}
			diff_stat_fini(&st);
			free(runs[0].divisor);
			free(runs[1].divisor);
		}
	}
}

/*
 * A thread that keeps its work: time within one recording does not show how shares would differ
 * with other threads.
 */
static void threads_widen(void **unused)
{
	double wide[FUNCTIONS], narrow[FUNCTIONS];
	struct diff_stat_opts o = { .share = true, .alpha = 0.05, .seed = 1 };
	struct world w = plain;
	struct diff_run runs[2];
	struct diff_stat st;
	double se;

	(void)unused;
	state = 3;
	for (unsigned int s = 0; s < 2; s++)
		make_run(&runs[s], &w, s);
	for (int f = 0; f < FUNCTIONS; f++) {
		wide[f] = 1e-2;
		narrow[f] = 1e-12;
	}
	diff_stat_compute(runs, 2, FUNCTIONS, &o, &st);
	se = st.column[0].se;
	diff_stat_fini(&st);
	for (unsigned int s = 0; s < 2; s++) {
		o.thread_var[s] = narrow;
		o.thread_df[s] = 7;
	}
	diff_stat_compute(runs, 2, FUNCTIONS, &o, &st);
	assert_true(st.column[0].se == se);
	diff_stat_fini(&st);
	o.thread_var[0] = o.thread_var[1] = wide;
	diff_stat_compute(runs, 2, FUNCTIONS, &o, &st);
	assert_true(st.column[0].se > sqrt(2e-2));
	diff_stat_fini(&st);
	free(runs[0].divisor);
	free(runs[1].divisor);
}

/* A column's own variance counts if it is larger than the others suggest. */
static void own_memory(void **unused)
{
	double d[12], x[12];
	struct diff_run r = { DIFF_BEFORE, 12, d, d, d, x };
	double steady, pairs;

	(void)unused;
	for (int b = 0; b < 12; b++) {
		d[b] = 100;
		x[b] = b % 2 ? 60 : 40;
	}
	steady = batches_persistence(&r, 1, DIFF_BEFORE, 1, 0, 0);
	for (int b = 0; b < 12; b++)
		x[b] = b / 2 % 2 ? 60 : 40;
	pairs = batches_persistence(&r, 1, DIFF_BEFORE, 1, 0, 0);
	/*
	 * Twelve in pairs are six independent ones: their mean varies twice as much as that of
	 * twelve. The estimate is too uncertain to allow less.
	 */
	assert_true(steady > 1 && steady < 1.5);
	assert_true(pairs > 2 && pairs < 3);
}

/* If two blocks or recordings have nearly all samples, they count as two. */
static void few_have_most(void **unused)
{
	const struct diff_stat_opts o = { .share = true, .alpha = 0.05, .seed = 1 };
	struct world w = plain;
	struct diff_run runs[8];
	struct diff_stat st;
	double df[2];

	(void)unused;
	state = 12;
	w.blocks = 20;
	for (unsigned int most = 0; most < 2; most++) {
		for (unsigned int s = 0; s < 2; s++) {
			make_run(&runs[s], &w, s);
			for (size_t k = 0; k < w.blocks * (FUNCTIONS + 3); k++) {
				size_t block = k < 3 * w.blocks ? k % w.blocks : (k - 3 * w.blocks) / FUNCTIONS;

				runs[s].divisor[k] *= most && block % 10 == 0 ? 1000 : 1;
			}
		}
		diff_stat_compute(runs, 2, FUNCTIONS, &o, &st);
		df[most] = st.column[0].df;
		diff_stat_fini(&st);
		free(runs[0].divisor);
		free(runs[1].divisor);
	}
	assert_true(df[0] > 15 && df[1] < 3);
	/*
	 * One of four recordings per side is a hundred times as long. With equal lengths there
	 * would be six degrees of freedom.
	 */
	for (unsigned int k = 0; k < 8; k++) {
		w.blocks = k % 4 ? 4 : 400;
		make_run(&runs[k], &w, k / 4);
	}
	diff_stat_compute(runs, 8, FUNCTIONS, &o, &st);
	assert_int_equal(st.method, DIFF_BY_RUNS);
	assert_true(st.column[0].df - st.prior_df < 1.5);
	diff_stat_fini(&st);
	for (unsigned int k = 0; k < 8; k++)
		free(runs[k].divisor);
}

static void own_jumps(void **unused)
{
	const struct diff_stat_opts o = { .share = true, .alpha = 0.05, .seed = 1 };
	struct world w = plain;
	struct diff_run runs[6];
	struct diff_stat st;
	double rate[6], mean[2] = { 0 }, squares = 0;

	(void)unused;
	state = 11;
	for (unsigned int k = 0; k < 6; k++) {
		make_run(&runs[k], &w, k / 3);
		/* In every other run function 0 takes samples from function 1. */
		for (size_t b = 0; b < w.blocks && k % 2; b++) {
			double moved = runs[k].x[b * FUNCTIONS + 1] / 2;

			runs[k].x[b * FUNCTIONS] += moved;
			runs[k].x[b * FUNCTIONS + 1] -= moved;
		}
		rate[k] = 0;
		for (size_t b = 0; b < w.blocks; b++)
			rate[k] += runs[k].x[b * FUNCTIONS] / (double)(w.blocks * w.samples);
		mean[k / 3] += rate[k] / 3;
	}
	for (int k = 0; k < 6; k++)
		squares += (rate[k] - mean[k / 3]) * (rate[k] - mean[k / 3]);
	diff_stat_compute(runs, 6, FUNCTIONS, &o, &st);
	assert_int_equal(st.method, DIFF_BY_RUNS);
	/* Three against three, with four degrees of freedom. */
	assert_true(st.column[0].se >= sqrt(squares / 4 * 2 / 3) - 1e-9);
	diff_stat_fini(&st);
	for (int k = 0; k < 6; k++)
		free(runs[k].divisor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distributions),
		cmocka_unit_test(degenerate),
		cmocka_unit_test(same_independent),
		cmocka_unit_test(same_wandering),
		cmocka_unit_test(same_at_another_rate),
		cmocka_unit_test(same_with_runs_that_differ),
		cmocka_unit_test(finds_what_changed),
		cmocka_unit_test(threads_widen),
		cmocka_unit_test(own_memory),
		cmocka_unit_test(few_have_most),
		cmocka_unit_test(own_jumps),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
