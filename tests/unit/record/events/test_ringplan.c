/* Ring sizes: what the rule promises, for every combination in the tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "events/ringplan.h"

#define MIB (1ull << 20)

static const uint64_t rates[] = { 1, 99, 999, 4000, 10000, 100000 };
static const uint64_t records[] = { 512, 8704, 16896, 66040 };
static const uint64_t cpus[] = { 1, 2, 3, 16, 128, 1024, 8192 };
static const uint64_t rams[] = { 256 * MIB, 4096 * MIB, 1ull << 40 };

static void promise(uint64_t rate, uint64_t record, uint64_t ncpus, uint64_t ram)
{
	const double budget = (double)(ram / 8 < 512 * MIB ? ram / 8 : 512 * MIB);
	const uint64_t bytes = ringplan_bytes(rate * record, ncpus, ram);
	const double seconds = (double)bytes / ((double)rate * (double)record);

	assert_int_equal(bytes & (bytes - 1), 0);
	assert_true(bytes >= 512 << 10);
	/* All rings together stay within the budget, but each is large enough to be useful. */
	assert_true(bytes == 512 << 10 || (double)bytes * (double)ncpus <= budget);
	/* Less than a quarter of a second only if the budget requires it. */
	assert_true(seconds > 0.249 || 2.0 * (double)bytes * (double)ncpus > budget);
	/* And no larger than needed. */
	assert_true(bytes == 512 << 10 || seconds < 0.51);
}

static void promises(void **state)
{
	(void)state;
	for (size_t r = 0; r < ARRAY_SIZE(rates); r++)
		for (size_t s = 0; s < ARRAY_SIZE(records); s++)
			for (size_t c = 0; c < ARRAY_SIZE(cpus); c++)
				for (size_t m = 0; m < ARRAY_SIZE(rams); m++)
					promise(rates[r], records[s], cpus[c], rams[m]);
}

/* Side-band of all processes: what fits into 64 MiB and 1/128 of the memory, from 512 KiB to 4 MiB. */
static void side(void **state)
{
	(void)state;
	for (size_t c = 0; c < ARRAY_SIZE(cpus); c++)
		for (size_t m = 0; m < ARRAY_SIZE(rams); m++) {
			const double budget = (double)(rams[m] / 128 < 64 * MIB ? rams[m] / 128 : 64 * MIB);
			const uint64_t bytes = ringplan_side(cpus[c], rams[m]);

			assert_int_equal(bytes & (bytes - 1), 0);
			assert_in_range(bytes, 512 << 10, 4 * MIB);
			assert_true(bytes == 512 << 10 || (double)bytes * (double)cpus[c] <= budget);
			assert_true(bytes == 4 * MIB || 2.0 * (double)bytes * (double)cpus[c] > budget);
		}
}

static void the_time(void **state)
{
	(void)state;
	assert_int_equal(ringplan_ms(16 * MIB, 1000 * 65536), 256);
	assert_true(ringplan_ms(MIB, 0) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(promises),
		cmocka_unit_test(side),
		cmocka_unit_test(the_time),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
