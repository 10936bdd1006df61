/* What unbounded events may write: who is thinned, by how much, and when it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sink/event_budget.h"

#define MS 1000000ull
#define LIMIT 20000000ull	/* bytes per second and CPU */
#define EVENTS 3u

/* What the events would write, had they their own periods: bytes per second on each of two CPUs. */
struct load {
	struct event_budget b;
	uint64_t rate[EVENTS][2];
	uint32_t level[EVENTS];
	unsigned int changes;
	uint64_t now;
};

static void changed(void *ctx, uint32_t event, uint32_t level)
{
	struct load *l = ctx;

	assert_true(event < EVENTS);
	assert_int_not_equal(level, l->level[event]);
	l->level[event] = level;
	l->changes++;
}

static void begin(struct load *l)
{
	memset(l, 0, sizeof(*l));
	event_budget_init(&l->b, LIMIT, EVENTS);
	for (unsigned int i = 0; i < EVENTS; i++)
		l->b.ev[i].thins = true;
	l->now = 1000 * MS;
	event_budget_step(&l->b, l->now, false, changed, l);
}

/* Bytes that all events really write on @cpu in a second, at their present levels. */
static uint64_t written(const struct load *l, unsigned int cpu)
{
	uint64_t sum = 0;

	for (unsigned int e = 0; e < EVENTS; e++)
		sum += l->rate[e][cpu] >> l->level[e];
	return sum;
}

static void run(struct load *l, unsigned int ms, bool hurry)
{
	for (unsigned int t = 0; t < ms; t += 50) {
		for (unsigned int e = 0; e < EVENTS; e++)
			for (uint32_t cpu = 0; cpu < 2; cpu++)
				event_budget_take(&l->b, cpu, e, l->now, (l->rate[e][cpu] >> l->level[e]) / 20);
		l->now += 50 * MS;
		event_budget_step(&l->b, l->now, hurry, changed, l);
	}
}

/* Within its budget for ever, and beyond it for a moment. */
static void leaves_alone_what_fits(void **state)
{
	struct load l;

	(void)state;
	begin(&l);
	l.rate[0][0] = LIMIT / 2;
	l.rate[1][0] = LIMIT / 2;
	l.rate[2][1] = LIMIT;
	run(&l, 60000, false);
	l.rate[2][1] = 3 * LIMIT;
	run(&l, 100, false);
	l.rate[2][1] = 0;
	run(&l, 60000, false);
	assert_int_equal(l.changes, 0);
	event_budget_fini(&l.b);
}

/* A CPU with far too much is down to its budget within half a second, and the small ones stay. */
static void thins_the_largest(void **state)
{
	struct load l;

	(void)state;
	for (uint64_t times = 2; times < 100000; times *= 3) {
		begin(&l);
		l.rate[0][0] = LIMIT / 100;
		l.rate[1][0] = LIMIT / 4;
		l.rate[2][0] = times * LIMIT;
		l.rate[2][1] = LIMIT / 10;
		run(&l, 500, false);
		assert_true(written(&l, 0) <= LIMIT + LIMIT / 20);
		assert_int_equal(l.level[0], 0);
		assert_int_equal(l.level[1], 0);
		/* Not more than needed: twice as much would not fit. */
		assert_true(2 * written(&l, 0) > LIMIT);
		assert_int_equal(l.b.ev[2].level_max, l.level[2]);
		assert_true(l.b.ev[2].first > 1000 * MS);
		event_budget_fini(&l.b);
	}
}

/* Two that are equally much too many share what there is. */
static void thins_equals_alike(void **state)
{
	struct load l;

	(void)state;
	begin(&l);
	l.rate[0][1] = 40 * LIMIT;
	l.rate[1][1] = 40 * LIMIT;
	run(&l, 1500, false);
	assert_true(written(&l, 1) <= LIMIT + LIMIT / 20);
	assert_in_range(l.level[0], l.level[1] ? l.level[1] - 1 : 0, l.level[1] + 1);
	event_budget_fini(&l.b);
}

static void comes_back_when_calm(void **state)
{
	struct load l;

	(void)state;
	begin(&l);
	l.rate[0][0] = 500 * LIMIT;
	run(&l, 1000, false);
	assert_true(l.level[0] >= 9);
	l.rate[0][0] = LIMIT / 100;
	run(&l, 60000, false);
	assert_int_equal(l.level[0], 0);
	/* A steady load does not make it swing. */
	l.rate[0][0] = 500 * LIMIT;
	run(&l, 5000, false);
	l.changes = 0;
	run(&l, 60000, false);
	assert_int_equal(l.changes, 0);
	event_budget_fini(&l.b);
}

/* What is behind the rings falls behind: less is taken although the budget is not used up. */
static void hurries(void **state)
{
	struct load l;

	(void)state;
	begin(&l);
	l.rate[0][0] = LIMIT / 2;
	run(&l, 1000, false);
	assert_int_equal(l.level[0], 0);
	run(&l, 1000, true);
	assert_true(l.level[0] >= 3);
	/* Not for ever: what is next to nothing stays, and comes back soon. */
	run(&l, 60000, true);
	assert_true(l.level[0] <= 6);
	run(&l, 10000, false);
	assert_int_equal(l.level[0], 0);
	event_budget_fini(&l.b);
}

/* A LOST record that comes after a change may be about what was lost before it. */
static void forgives_old_losses(void **state)
{
	struct load l;

	(void)state;
	begin(&l);
	l.rate[0][0] = 100 * LIMIT;
	run(&l, 500, false);
	l.changes = 0;
	event_budget_lost(&l.b, 0, 0, l.now - 1, 0);
	l.b.ev[0].changed = l.now;
	event_budget_lost(&l.b, 0, 0, l.now + 1, 1000 * LIMIT);
	run(&l, 1000, false);
	assert_int_equal(l.changes, 0);
	/* The next one is not. */
	event_budget_lost(&l.b, 0, 0, l.now + 2, 1000 * LIMIT);
	run(&l, 500, false);
	assert_true(l.changes > 0);
	event_budget_fini(&l.b);
}

/* An event with a period that its user insists on. */
static void leaves_alone_what_does_not_thin(void **state)
{
	struct load l;

	(void)state;
	begin(&l);
	l.b.ev[0].thins = false;
	l.rate[0][0] = 500 * LIMIT;
	l.rate[1][0] = LIMIT / 2;
	run(&l, 5000, false);
	assert_int_equal(l.changes, 0);
	event_budget_fini(&l.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_alone_what_fits),
		cmocka_unit_test(thins_the_largest),
		cmocka_unit_test(thins_equals_alike),
		cmocka_unit_test(comes_back_when_calm),
		cmocka_unit_test(hurries),
		cmocka_unit_test(forgives_old_losses),
		cmocka_unit_test(leaves_alone_what_does_not_thin),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
