/* Levels of owners, against the rules of fair_level.h computed in the simplest way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/fair_level.h"
#include "random.h"

static uint64_t taken(const struct fair_item *items, size_t n, uint32_t owner, uint64_t level)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		const uint64_t to = items[i].to < level ? items[i].to : level;

		if (items[i].owner == owner && to > items[i].from)
			sum += to - items[i].from;
	}
	return sum;
}

static void nothing_to_cut(void **state)
{
	const struct fair_item items[] = { { 0, 0, 5 }, { 1, 2, 9 } };

	(void)state;
	assert_null(fair_levels(items, 2, 2, (struct fair_limit){ 12, 0 }));
	assert_null(fair_levels(items, 2, 2, (struct fair_limit){ 0, 7 }));
	assert_null(fair_levels(NULL, 0, 1, (struct fair_limit){ 0, 0 }));
	assert_null(fair_levels(NULL, 0, 0, (struct fair_limit){ 0, 0 }));
}

/* One owner with long stacks does not shorten those of the other. */
static void others_lose_nothing(void **state)
{
	const struct fair_item items[] = { { 0, 0, 40 }, { 1, 0, 1000000 }, { 1, 0, 1000000 } };
	uint64_t *levels = fair_levels(items, 3, 2, (struct fair_limit){ 100, 0 });

	(void)state;
	assert_non_null(levels);
	assert_true(levels[0] == FAIR_WHOLE);
	assert_int_equal(levels[1], 30);
	free(levels);
}

static void sums_saturate(void **state)
{
	const struct fair_item items[] = { { 0, 0, UINT64_MAX }, { 0, 0, UINT64_MAX }, { 1, 0, 3 } };
	uint64_t *levels = fair_levels(items, 3, 2, (struct fair_limit){ UINT64_MAX - 1, UINT64_MAX });

	(void)state;
	assert_null(levels);
	levels = fair_levels(items, 3, 2, (struct fair_limit){ 13, 0 });
	assert_int_equal(levels[0], 5);
	assert_true(levels[1] == FAIR_WHOLE);
	free(levels);
}

/* Each owner takes as much as it may, and all together no more than the limit. */
static void random_owners(void **state)
{
	enum { OWNERS = 4, ITEMS = 12 };
	uint64_t seed = 1;

	(void)state;
	for (int turn = 0; turn < 3000; turn++) {
		const struct fair_limit limit = { random_next(&seed) % 200, random_next(&seed) % 6 };
		struct fair_item items[ITEMS];
		uint64_t *levels, sum = 0, least = UINT64_MAX, whole = 0;

		for (int i = 0; i < ITEMS; i++) {
			const uint64_t from = random_next(&seed) % 10;

			items[i] = (struct fair_item){ (uint32_t)random_next(&seed) % OWNERS, from, from + random_next(&seed) % 60 };
		}
		levels = fair_levels(items, ITEMS, OWNERS, limit);
		for (uint32_t o = 0; o < OWNERS; o++) {
			const uint64_t wants = taken(items, ITEMS, o, UINT64_MAX), level = levels ? levels[o] : FAIR_WHOLE;
			uint64_t own = 0, gets = taken(items, ITEMS, o, level), next;

			for (int i = 0; i < ITEMS; i++)
				own += items[i].owner == o ? limit.each : 0;
			sum += gets > own ? gets - own : 0;
			if (level == FAIR_WHOLE) {
				whole = wants > own && wants - own > whole ? wants - own : whole;
				continue;
			}
			/* It takes what it may, to the last unit of depth. */
			assert_true(gets < wants);
			next = taken(items, ITEMS, o, level + 1);
			assert_true(next > own);
			least = next - own < least ? next - own : least;
		}
		assert_true(sum <= limit.pool);
		/* Nobody who is whole takes more of the pool than one who is cut may. */
		assert_true(whole < least);
		free(levels);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_cut), cmocka_unit_test(others_lose_nothing), cmocka_unit_test(sums_saturate),
		cmocka_unit_test(random_owners),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
