/* One tenant's files do not push out those of others before its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <cmocka.h>

#include "procfs/pins.h"

#define BUDGET 20
#define MANY 100

static void on_evict(void *ctx, struct pin *p)
{
	(void)ctx;
	assert_true(p->fd >= 0);
}

static void hold(struct pins *ps, struct pin *p, uint32_t owner)
{
	pin_init(p, PIN_ELF, NULL);
	p->owner = owner;
	pins_hold(ps, p, open("/dev/null", O_RDONLY));
}

static size_t held(const struct pin *p, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += p[i].fd >= 0;
	return sum;
}

static void test_shares(void **state)
{
	struct pin evil[MANY], good[5], late[BUDGET];
	struct pins ps;

	(void)state;
	pins_init(&ps, on_evict, NULL);
	ps.budget = BUDGET;
	for (size_t i = 0; i < 5; i++)
		hold(&ps, &good[i], 1);
	for (size_t i = 0; i < MANY; i++)
		hold(&ps, &evil[i], 2);
	assert_int_equal(held(good, 5), 5);
	assert_int_equal(held(evil, MANY), BUDGET - 5);
	/* The latest of its own are left. */
	assert_int_equal(held(evil + MANY - (BUDGET - 5), BUDGET - 5), BUDGET - 5);
	/* One that comes late gets a third of it, from the one with most. */
	for (size_t i = 0; i < BUDGET; i++)
		hold(&ps, &late[i], 7);
	assert_int_equal(held(good, 5), 5);
	assert_in_range(held(late, BUDGET), BUDGET / 3, BUDGET / 2);
	assert_int_equal(held(late, BUDGET) + held(evil, MANY), BUDGET - 5);
	for (size_t i = 0; i < 5; i++)
		pins_drop(&ps, &good[i]);
	assert_int_equal(ps.nowners, 2);
	pins_fini(&ps);
	assert_int_equal(ps.nowners, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_shares) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
