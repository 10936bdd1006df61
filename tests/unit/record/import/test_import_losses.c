/*
 * How losses in a perf.data are attributed: by event, by second and CPU, and in total exactly what
 * the kernel counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "import/import_losses.h"
#include "in_range.h"

#define S 1000000000ull
#define START (5 * S)

enum { CHOSEN, OTHER, SIDE, EVENTS };

struct rig {
	struct perfdata_attr attrs[EVENTS];
	struct perfdata pd;
	struct import_losses il;
	struct ledger lg;
	struct ev_tally *rows;
	size_t n;
};

static void rig_open(struct rig *r, size_t nattrs, const uint64_t lost[EVENTS])
{
	memset(r, 0, sizeof(*r));
	for (size_t i = 0; i < EVENTS; i++) {
		r->attrs[i].type = PERF_TYPE_SOFTWARE;
		r->attrs[i].config = i == SIDE ? PERF_COUNT_SW_DUMMY : i;
		r->attrs[i].read_format = PERF_FORMAT_LOST;
		r->attrs[i].lost = lost[i];
		r->attrs[i].taken = i == CHOSEN;
	}
	r->pd.attrs = r->attrs;
	r->pd.nattrs = nattrs;
	r->lg.tally.start = START;
}

static void settle(struct rig *r)
{
	import_losses_settle(&r->il, &r->pd, &r->lg, START, START + 9 * S);
	r->rows = second_counts_take(&r->lg.tally, &r->n);
}

static struct ev_tally at(const struct rig *r, uint64_t second, uint32_t cpu)
{
	struct ev_tally sum = { 0 };

	for (size_t i = 0; i < r->n; i++) {
		if (r->rows[i].second == second && r->rows[i].cpu == cpu) {
			sum.lost += r->rows[i].lost;
			sum.side_lost += r->rows[i].side_lost;
		}
	}
	return sum;
}

/* What the ledger will report; also checks that the rows add up to it. */
static void expect(const struct rig *r, uint64_t samples, uint64_t side)
{
	uint64_t lost = 0, side_lost = 0;

	for (size_t i = 0; i < r->n; i++) {
		lost += r->rows[i].lost;
		side_lost += r->rows[i].side_lost;
	}
	assert_int_equal(r->lg.lost_told, samples);
	assert_int_equal(r->lg.side_told, side);
	assert_int_equal(lost, samples);
	assert_int_equal(side_lost, side);
}

static void rig_close(struct rig *r)
{
	free(r->rows);
	import_losses_fini(&r->il);
	ledger_fini(&r->lg);
}

/* perf before 6.1, or one that was killed: only the rings' records count. */
static void test_not_counted(void **state)
{
	static const uint64_t lost[EVENTS] = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, EVENTS, lost);
	import_losses_told(&r.il, 1, START + S, START, 70);
	import_losses_told(&r.il, 1, START + S + S / 2, START, 7);
	import_losses_told(&r.il, 0, START - 1, START, 20);
	settle(&r);
	expect(&r, 97, 0);
	assert_int_equal(at(&r, 1, 1).lost, 77);
	assert_int_equal(at(&r, 0, 0).lost, 20);
	assert_false(r.lg.l.have_format_lost);
	rig_close(&r);
}

/* One event, which also records mappings: losses without a record come at the end. */
static void test_one_event(void **state)
{
	static const uint64_t lost[EVENTS] = { 105 };
	struct rig r;

	(void)state;
	rig_open(&r, 1, lost);
	import_losses_told(&r.il, 2, START + S, START, 100);
	settle(&r);
	expect(&r, 105, 0);
	assert_true(r.lg.l.have_format_lost);
	/* In proportion: all 100 that the record reports belong to this event. */
	assert_int_equal(at(&r, 1, 2).lost, 100);
	assert_int_equal(at(&r, 9, 0).lost, 5);
	rig_close(&r);
}

/*
 * 1,000 are lost: 100 of the chosen event, 200 of side-band. Each ring's losses are split in
 * proportion, and the rounded parts add up.
 */
static void test_events(void **state)
{
	static const uint64_t lost[EVENTS] = { 100, 700, 200 };
	struct rig r;

	(void)state;
	rig_open(&r, EVENTS, lost);
	for (uint32_t i = 0; i < 333; i++)
		import_losses_told(&r.il, i % 3, START + i * (S / 100), START, 3);
	settle(&r);
	expect(&r, 100, 200);
	for (uint64_t second = 0; second < 3; second++) {
		for (uint32_t cpu = 0; cpu < 3; cpu++) {
			assert_within(at(&r, second, cpu).lost, 9, 11);
			assert_within(at(&r, second, cpu).side_lost, 19, 21);
		}
	}
	assert_int_equal(at(&r, 9, 0).lost, 1);
	rig_close(&r);
}

static uint64_t lost_of(struct rig *r, uint32_t cpu, uint32_t event)
{
	return second_counts_event(&r->lg.tally, second_counts_cpu(&r->lg.tally, cpu), event)->sum.lost;
}

/* Both are imported: each has its own losses, on the CPUs whose rings reported them. */
static void test_several(void **state)
{
	static const uint64_t lost[EVENTS] = { 30, 90, 0 };
	static const bool clock[2] = { false, false };
	struct rig r;

	(void)state;
	rig_open(&r, EVENTS, lost);
	ledger_events(&r.lg, clock, 2);
	r.attrs[OTHER].taken = true;
	r.attrs[OTHER].event = 1;
	import_losses_told(&r.il, 0, START, START, 40);
	import_losses_told(&r.il, 1, START, START, 60);
	import_losses_settle(&r.il, &r.pd, &r.lg, START, START + 9 * S);
	/* No ring reports the other 20. They count for CPU 0. */
	assert_int_equal(lost_of(&r, 0, 0), 10 + 5);
	assert_int_equal(lost_of(&r, 1, 0), 15);
	assert_int_equal(lost_of(&r, 0, 1), 30 + 15);
	assert_int_equal(lost_of(&r, 1, 1), 45);
	r.rows = second_counts_take(&r.lg.tally, &r.n);
	expect(&r, 120, 0);
	rig_close(&r);
}

/* The side-band event lost more after its count was read. */
static void test_after_the_count(void **state)
{
	static const uint64_t lost[EVENTS] = { 50, 0, 10 };
	struct rig r;

	(void)state;
	rig_open(&r, EVENTS, lost);
	import_losses_told(&r.il, 0, START, START, 75);
	settle(&r);
	expect(&r, 50, 25);
	rig_close(&r);
}

static void test_nothing(void **state)
{
	static const uint64_t lost[EVENTS] = { 0 };
	struct rig r;

	(void)state;
	rig_open(&r, EVENTS, lost);
	settle(&r);
	expect(&r, 0, 0);
	assert_true(r.lg.l.have_format_lost);
	rig_close(&r);
	/* The file was not read to its end: what perf writes there may be missing. */
	rig_open(&r, EVENTS, lost);
	r.pd.cut = true;
	settle(&r);
	assert_false(r.lg.l.have_format_lost);
	rig_close(&r);
}

/* Numbers and times that no machine writes: nothing overflows. */
static void test_hostile(void **state)
{
	static const uint64_t lost[EVENTS] = { 1ull << 62, 1ull << 61, 1ull << 60 };
	struct rig r;

	(void)state;
	rig_open(&r, EVENTS, lost);
	import_losses_told(&r.il, UINT32_MAX, UINT64_MAX, START, 1ull << 62);
	import_losses_told(&r.il, 65536, 0, START, 1);
	settle(&r);
	expect(&r, 1ull << 62, 1ull << 60);
	assert_int_equal(at(&r, (UINT64_MAX - START) / S, 0).lost > 1ull << 60, 1);
	rig_close(&r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_counted),
		cmocka_unit_test(test_one_event),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_after_the_count),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_hostile),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
