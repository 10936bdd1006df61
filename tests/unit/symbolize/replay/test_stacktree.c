/* Shared prefixes, unique locations, counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "replay/stacktree.h"
#include "support/location.h"

static void test_equal_stacks_are_one_node(void **state)
{
	struct stacktree t;
	uint32_t a, ab, ac;

	(void)state;
	stacktree_init(&t);
	assert_int_equal(t.n, 1);
	a = stacktree_child(&t, STACKTREE_ROOT, 7);
	ab = stacktree_child(&t, a, 8);
	ac = stacktree_child(&t, a, 9);
	assert_int_equal(t.n, 4);
	assert_int_equal(stacktree_child(&t, STACKTREE_ROOT, 7), a);
	assert_int_equal(stacktree_child(&t, a, 8), ab);
	assert_int_equal(stacktree_child(&t, a, 9), ac);
	assert_int_equal(t.n, 4);
	assert_int_equal(t.nodes[ab].parent, a);
	assert_int_equal(t.nodes[ab].loc, 8);
	/* Recursion: the same location below itself is a different node. */
	assert_int_not_equal(stacktree_child(&t, a, 7), a);
	/* (7, 8) and (8, 7) must not be confused. */
	assert_int_not_equal(stacktree_child(&t, stacktree_child(&t, STACKTREE_ROOT, 8), 7), ab);
	stacktree_fini(&t);
}

static void test_counts(void **state)
{
	struct stacktree t;
	uint32_t a;

	(void)state;
	stacktree_init(&t);
	a = stacktree_child(&t, STACKTREE_ROOT, 0);
	stacktree_count(&t, a, 1, 1000);
	stacktree_count(&t, a, 2, 500);
	assert_int_equal(t.nodes[a].samples, 3);
	assert_int_equal(t.nodes[a].period, 1500);
	stacktree_count(&t, a, 1, UINT64_MAX - 5);
	assert_true(t.nodes[a].period == UINT64_MAX);
	stacktree_fini(&t);
}

static void test_many_stacks(void **state)
{
	struct stacktree t;
	uint32_t round, i, j, first_n = 0;

	(void)state;
	stacktree_init(&t);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 200; i++) {
			uint32_t node = stacktree_child(&t, STACKTREE_ROOT, i % 10);

			for (j = 0; j < 50; j++)
				node = stacktree_child(&t, node, (i + j) % 200);
			stacktree_count(&t, node, 1, 1);
		}
		if (!round)
			first_n = (uint32_t)t.n;
	}
	/* 10 roots with 200 different chains of 50 below them; the second round adds none. */
	assert_int_equal(first_n, 1 + 10 + 200 * 50);
	assert_int_equal(t.n, first_n);
	for (i = 1; i < t.n; i++)
		assert_true(t.nodes[i].parent < i);
	stacktree_fini(&t);
}

/* Children keep their ids as their number grows, in whatever order they are looked up. */
static void test_any_number_of_children(void **state)
{
	uint32_t ids[3 * STACKTREE_FEW], random = 1;

	(void)state;
	for (uint32_t n = 1; n <= 3 * STACKTREE_FEW; n++) {
		struct stacktree t;

		stacktree_init(&t);
		for (uint32_t i = 0; i < n; i++) {
			ids[i] = stacktree_child(&t, STACKTREE_ROOT, 100 + i);
			assert_int_equal(ids[i], 1 + i);
			for (uint32_t asked = 0; asked < 20; asked++) {
				uint32_t k;

				random = random * 1103515245 + 12345;
				k = (random >> 16) % (i + 1);
				assert_int_equal(stacktree_child(&t, STACKTREE_ROOT, 100 + k), ids[k]);
			}
		}
		assert_int_equal(t.n, 1 + n);
		stacktree_fini(&t);
	}
}

static void test_locations(void **state)
{
	struct locations ls;
	struct location loc = { .kind = LOC_FILE, .owner = 1, .addr = 0x1000 };
	uint32_t first, i;

	(void)state;
	locations_init(&ls);
	first = locations_id(&ls, &loc);
	assert_int_equal(locations_id(&ls, &loc), first);
	loc.kind = LOC_ANON;
	assert_int_not_equal(locations_id(&ls, &loc), first);
	loc.kind = LOC_FILE;
	loc.owner = 2;
	assert_int_not_equal(locations_id(&ls, &loc), first);
	loc.owner = 1;
	loc.part = 5;	/* not part of the identity */
	assert_int_equal(locations_id(&ls, &loc), first);
	assert_int_equal(ls.n, 3);
	/* IDs stay the same while the tables grow several times. */
	for (i = 0; i < 20000; i++) {
		loc.addr = 0x100000 + i * 16ull;
		assert_int_equal(locations_id(&ls, &loc), 3 + i);
	}
	for (i = 0; i < 20000; i++) {
		loc.addr = 0x100000 + i * 16ull;
		assert_int_equal(locations_id(&ls, &loc), 3 + i);
	}
	loc.addr = 0x1000;
	assert_int_equal(locations_id(&ls, &loc), first);
	locations_fini(&ls);
}

/* Several functions at one address of an image, one after the other: each keeps its identity. */
static void test_locations_in_turn(void **state)
{
	struct module *mods[] = { (struct module *)&(char){ 0 }, (struct module *)&(char){ 1 } };
	struct location file = { .kind = LOC_NOELF, .owner = 7, .addr = 0x1000, .mod = mods[0], .off = 0x10 };
	struct location anon = { .kind = LOC_ANON, .owner = 7, .addr = 0x1000, .path = "[heap]" };
	char same[] = "[heap]";
	struct locations ls;
	uint32_t first;

	(void)state;
	locations_init(&ls);
	first = locations_id(&ls, &file);
	file.mod = mods[1];
	assert_int_not_equal(locations_id(&ls, &file), first);
	file.off = 0x20;
	assert_int_equal(locations_id(&ls, &file), 2);
	file.mod = mods[0];
	file.off = 0x10;
	assert_int_equal(locations_id(&ls, &file), first);
	first = locations_id(&ls, &anon);
	anon.path = "//anon";
	assert_int_not_equal(locations_id(&ls, &anon), first);
	anon.path = same;
	assert_int_equal(locations_id(&ls, &anon), first);
	assert_int_equal(ls.n, 5);
	locations_fini(&ls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_stacks_are_one_node),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_many_stacks),
		cmocka_unit_test(test_any_number_of_children),
		cmocka_unit_test(test_locations),
		cmocka_unit_test(test_locations_in_turn),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
