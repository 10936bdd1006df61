/* Flattened ranges, compared with painting a small address space byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "base/ranges.h"

#define SPACE 200

static uint64_t seed = 1;

static uint32_t rnd(uint32_t n)
{
	return (uint32_t)random_next(&seed) % n;
}

static void test_painting(void **state)
{
	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct ranges r = RANGES_INIT;
		int64_t paint[SPACE];
		uint32_t n = rnd(40);

		memset(paint, 0xff, sizeof(paint));
		for (uint32_t i = 0; i < n; i++) {
			uint64_t start = rnd(SPACE), end = start + rnd(round % 3 ? 60 : 5);
			uint32_t id = round % 2 ? i : rnd(10); /* ids may repeat */

			if (end > SPACE)
				end = SPACE;
			ranges_add(&r, start, end, id);
			for (uint64_t a = start; a < end; a++)
				if (paint[a] < (int64_t)id)
					paint[a] = id;
		}
		ranges_flatten(&r);
		for (size_t i = 0; i < r.n; i++) {
			assert_true(r.v[i].start < r.v[i].end);
			if (i)
				assert_true(r.v[i - 1].end <= r.v[i].start);
		}
		for (uint64_t a = 0; a < SPACE; a++) {
			const struct range *f = ranges_find(&r, a);

			assert_int_equal(f ? (int64_t)f->id : -1, paint[a]);
		}
		ranges_fini(&r);
	}
}

static void test_edges(void **state)
{
	struct ranges r = RANGES_INIT;

	(void)state;
	ranges_flatten(&r);
	assert_null(ranges_find(&r, 0));
	ranges_add(&r, 5, 5, 1);
	ranges_add(&r, 6, 5, 1);
	assert_int_equal(r.n, 0);
	ranges_add(&r, 0, UINT64_MAX, 1);
	ranges_add(&r, UINT64_MAX - 1, UINT64_MAX, 2);
	ranges_flatten(&r);
	assert_int_equal(ranges_find(&r, 0)->id, 1);
	assert_int_equal(ranges_find(&r, UINT64_MAX - 2)->id, 1);
	assert_int_equal(ranges_find(&r, UINT64_MAX - 1)->id, 2);
	assert_null(ranges_find(&r, UINT64_MAX));
	ranges_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_painting),
		cmocka_unit_test(test_edges),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize ranges", tests, NULL, NULL);
}
