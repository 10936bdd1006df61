/* The steps of back-pressure: when each is taken, in which order they end, and what they keep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sink/pressure.h"

#define SEC 1000000000ull
#define MS 1000000ull

static void rises_at_once(void **state)
{
	static const struct {
		unsigned int pool, rings;
		enum pressure_level level;
	} want[] = {
		{ 0, 0, PRESSURE_NONE },    { 12, 25, PRESSURE_NONE },  { 31, 0, PRESSURE_FAST },
		{ 0, 45, PRESSURE_FAST },   { 56, 0, PRESSURE_STORED }, { 0, 60, PRESSURE_STORED },
		{ 81, 0, PRESSURE_CUT },    { 0, 75, PRESSURE_CUT },    { 94, 0, PRESSURE_DROP },
		{ 100, 0, PRESSURE_DROP },  { 0, 100, PRESSURE_DROP },  { 50, 99, PRESSURE_DROP },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct pressure p = { 0 };

		assert_int_equal(pressure_update(&p, SEC, want[i].pool, want[i].rings),
				 want[i].level != PRESSURE_NONE);
		assert_int_equal(p.level, want[i].level);
		assert_int_equal(p.n[p.level], want[i].level != PRESSURE_NONE);
		if (p.level)
			assert_int_equal(p.cause, want[i].rings > want[i].pool ? PRESSURE_RINGS :
										 PRESSURE_WRITER);
	}
}

/* One level per second; each is counted and timed. */
static void falls_step_by_step(void **state)
{
	struct pressure p = { 0 };
	uint64_t now = SEC, fell[PRESSURE_LEVELS] = { 0 };

	(void)state;
	assert_true(pressure_update(&p, now, 100, 0));
	for (; p.level && now < 60 * SEC; ) {
		enum pressure_level before = p.level;

		now += 50 * MS;
		if (pressure_update(&p, now, 0, 0)) {
			assert_int_equal(p.level, before - 1);
			fell[p.level] = now;
		}
	}
	for (int i = 0; i < PRESSURE_DROP; i++) {
		assert_int_equal(fell[i], SEC + (uint64_t)(PRESSURE_DROP - i) * SEC);
		assert_int_equal(p.n[i], 1);
	}
	for (int i = 1; i < PRESSURE_LEVELS; i++)
		assert_int_equal(p.ns[i], SEC);
}

/* A level is kept while it is needed now and then. */
static void stays_while_asked(void **state)
{
	struct pressure p = { 0 };
	uint64_t now = SEC;

	(void)state;
	pressure_update(&p, now, 0, 72);
	for (int i = 0; i < 100; i++) {
		now += 450 * MS;
		assert_false(pressure_update(&p, now, 0, i % 2 ? 72 : 10));
		assert_int_equal(p.level, PRESSURE_CUT);
	}
	assert_int_equal(pressure_copy_max(&p, false), PRESSURE_COPY_BYTES);
	assert_false(pressure_drops(&p));
}

/* While dropping half is not enough, more is dropped, and the same share from each thread. */
static void drops_more_and_evenly(void **state)
{
	struct pressure p = { 0 };
	uint64_t now = SEC;

	(void)state;
	pressure_update(&p, now, 0, 100);
	for (uint32_t turns = 1; turns <= PRESSURE_TURNS_MAX; turns++) {
		unsigned int kept = 0;

		assert_true(pressure_drops(&p));
		for (uint32_t i = 0; i < 6400; i++)
			kept += pressure_keeps(&p, i, false);
		assert_int_equal(kept, 6400 >> turns);
		now += SEC;
		pressure_update(&p, now, 0, 100);
	}
	now += 100 * SEC;
	pressure_update(&p, now, 0, 100);
	assert_int_equal(p.turns, PRESSURE_TURNS_MAX);
	/* On the way back each halving takes a calm second. */
	for (int i = 1; i < PRESSURE_TURNS_MAX; i++) {
		now += SEC;
		assert_false(pressure_update(&p, now, 0, 0));
	}
	assert_int_equal(p.turns, 1);
	now += SEC;
	assert_true(pressure_update(&p, now, 0, 0));
	assert_int_equal(p.level, PRESSURE_CUT);
	assert_int_equal(p.turns, 0);
}

/* Where some samples are spare, others are cut only when these are dropped, and dropped a second later. */
static void spares_go_first(void **state)
{
	struct pressure p = { .spares = true };
	uint64_t now = SEC;
	unsigned int kept = 0, spare = 0;

	(void)state;
	pressure_update(&p, now, 0, 72);
	assert_int_equal(pressure_copy_max(&p, true), PRESSURE_COPY_BYTES);
	assert_int_equal(pressure_copy_max(&p, false), SIZE_MAX);
	pressure_update(&p, now, 0, 100);
	assert_true(pressure_drops(&p));
	assert_int_equal(pressure_copy_max(&p, false), PRESSURE_COPY_BYTES);
	for (uint32_t i = 0; i < 6400; i++) {
		kept += pressure_keeps(&p, i, false);
		spare += pressure_keeps(&p, i, true);
	}
	assert_int_equal(kept, 6400);
	assert_int_equal(spare, 6400 >> PRESSURE_TURNS_MAX);
	pressure_update(&p, now + SEC, 0, 100);
	for (uint32_t i = 0; i < 6400; i++)
		kept += pressure_keeps(&p, i, false);
	assert_int_equal(kept, 6400 + 3200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rises_at_once),
		cmocka_unit_test(falls_step_by_step),
		cmocka_unit_test(stays_while_asked),
		cmocka_unit_test(drops_more_and_evenly),
		cmocka_unit_test(spares_go_first),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
