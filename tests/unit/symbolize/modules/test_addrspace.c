/* The address space, compared with a model that keeps each page separately. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "modules/addrspace.h"
#include "random.h"

#define PAGE 0x1000ull
#define PAGES 128

struct page {
	const char *path;	/* NULL: nothing mapped */
	uint64_t off;
};

static const char *const files[] = { "/lib/a.so", "/lib/b.so", "//anon", "/lib/c.so" };

static uint32_t rnd(uint32_t below)
{
	static uint64_t state;

	return (uint32_t)random_next(&state) % below;
}

static void check_against(const struct addrspace *as, const struct page *model)
{
	uint32_t i;

	for (i = 0; i < PAGES; i++) {
		uint64_t addr = i * PAGE + rnd(PAGE);
		const struct mapping *m = addrspace_find(as, (struct avma){ addr });

		if (!model[i].path) {
			assert_null(m);
			continue;
		}
		assert_non_null(m);
		assert_string_equal(m->path, model[i].path);
		assert_int_equal(addr - m->start + m->pgoff, model[i].off + addr % PAGE);
	}
	for (i = 0; i < as->n; i++) {
		assert_true(as->maps[i].start < as->maps[i].end);
		if (i)
			assert_true(as->maps[i - 1].end <= as->maps[i].start);
	}
}

static void test_random_overlaps(void **state)
{
	struct page model[PAGES] = { { NULL, 0 } };
	struct addrspace *as = addrspace_new();
	int round;

	(void)state;
	for (round = 0; round < 3000; round++) {
		uint32_t first = rnd(PAGES), n = 1 + rnd(round % 3 ? 8 : PAGES), i;
		uint32_t file = rnd(4), off = rnd(64);
		struct mapping m = { .path = files[file] };

		if (first + n > PAGES)
			n = PAGES - first;
		m.start = first * PAGE;
		m.end = (first + n) * PAGE;
		m.pgoff = off * PAGE;
		addrspace_add(as, &m);
		for (i = 0; i < n; i++)
			model[first + i] = (struct page){ files[file], (off + i) * PAGE };
		check_against(as, model);
	}
	addrspace_free(as);
}

static void test_hole_punched_in_the_middle(void **state)
{
	struct addrspace *as = addrspace_new();

	(void)state;
	addrspace_add(as, &(struct mapping){ 0x10000, 0x20000, 0x3000, NULL, "/lib/a.so" });
	addrspace_add(as, &(struct mapping){ 0x14000, 0x15000, 0, NULL, "/lib/b.so" });
	assert_int_equal(as->n, 3);
	assert_int_equal(as->maps[0].end, 0x14000);
	assert_int_equal(as->maps[0].pgoff, 0x3000);
	assert_int_equal(as->maps[2].start, 0x15000);
	assert_int_equal(as->maps[2].end, 0x20000);
	assert_int_equal(as->maps[2].pgoff, 0x8000);	/* 0x3000 + 0x5000 into the mapping */
	addrspace_free(as);
}

static void test_edges(void **state)
{
	struct addrspace *as = addrspace_new();

	(void)state;
	assert_null(addrspace_find(as, (struct avma){ 0 }));
	addrspace_add(as, &(struct mapping){ 0x2000, 0x2000, 0, NULL, "/empty" });
	addrspace_add(as, &(struct mapping){ 0x3000, 0x2000, 0, NULL, "/backwards" });
	assert_int_equal(as->n, 0);
	addrspace_add(as, &(struct mapping){ 0x1000, 0x2000, 0, NULL, "/a" });
	addrspace_add(as, &(struct mapping){ UINT64_MAX - 0xfff, UINT64_MAX, 0, NULL, "/top" });
	assert_null(addrspace_find(as, (struct avma){ 0xfff }));
	assert_non_null(addrspace_find(as, (struct avma){ 0x1000 }));
	assert_non_null(addrspace_find(as, (struct avma){ 0x1fff }));
	assert_null(addrspace_find(as, (struct avma){ 0x2000 }));
	assert_string_equal(addrspace_find(as, (struct avma){ UINT64_MAX - 1 })->path, "/top");
	addrspace_free(as);
}

static void test_generation(void **state)
{
	struct addrspace *a = addrspace_new(), *b = addrspace_new(), *c;
	uint32_t before;

	(void)state;
	assert_int_not_equal(a->generation, b->generation);
	before = a->generation;
	addrspace_add(a, &(struct mapping){ 0x1000, 0x5000, 0, NULL, "/a" });
	assert_int_not_equal(a->generation, before);
	before = a->generation;
	/* A part of it again, as after mprotect(2): no change. */
	addrspace_add(a, &(struct mapping){ 0x2000, 0x3000, 0x1000, NULL, "/a" });
	assert_int_equal(a->generation, before);
	assert_int_equal(a->n, 1);
	/* The same range from elsewhere in the file is a change. */
	addrspace_add(a, &(struct mapping){ 0x2000, 0x3000, 0, NULL, "/a" });
	assert_int_not_equal(a->generation, before);
	assert_int_equal(a->n, 3);
	c = addrspace_clone(a);
	assert_int_not_equal(c->generation, a->generation);
	addrspace_free(a);
	addrspace_free(b);
	addrspace_free(c);
}

static void test_clone_is_independent(void **state)
{
	struct addrspace *a = addrspace_new(), *b;

	(void)state;
	addrspace_add(a, &(struct mapping){ 0x1000, 0x2000, 0, NULL, "/a" });
	b = addrspace_clone(a);
	addrspace_add(b, &(struct mapping){ 0x1000, 0x2000, 0, NULL, "/b" });
	assert_string_equal(addrspace_find(a, (struct avma){ 0x1000 })->path, "/a");
	assert_string_equal(addrspace_find(b, (struct avma){ 0x1000 })->path, "/b");
	addrspace_free(a);
	assert_string_equal(addrspace_find(b, (struct avma){ 0x1000 })->path, "/b");
	addrspace_free(b);
}

static void test_svma_needs_a_binary(void **state)
{
	struct mapping m = { 0x1000, 0x2000, 0, NULL, "//anon" };
	struct svma out;

	(void)state;
	assert_false(mapping_to_svma(&m, (struct avma){ 0x1800 }, &out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_overlaps),
		cmocka_unit_test(test_hole_punched_in_the_middle),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_generation),
		cmocka_unit_test(test_clone_is_independent),
		cmocka_unit_test(test_svma_needs_a_binary),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
