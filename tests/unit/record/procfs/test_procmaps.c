/* Map sets, compared with an array of one slot per page, and copy on write. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "procfs/procmaps.h"

static struct map_entry entry(uint64_t start, uint64_t end, uint64_t pgoff, uint32_t path)
{
	return (struct map_entry){
		.start = start, .end = end, .pgoff = pgoff, .path = path, .ino = path
	};
}

static void check(const struct mapset *ms, uint32_t n, const uint64_t want[][4])
{
	uint32_t i;

	assert_int_equal(ms->n, n);
	for (i = 0; i < n; i++) {
		assert_int_equal(ms->maps[i].start, want[i][0]);
		assert_int_equal(ms->maps[i].end, want[i][1]);
		assert_int_equal(ms->maps[i].pgoff, want[i][2]);
		assert_int_equal(ms->maps[i].path, want[i][3]);
		assert_int_equal(ms->ranges[i].start, want[i][0]);
		assert_int_equal(ms->ranges[i].end, want[i][1]);
	}
}

static void add(struct mapset **ms, uint64_t start, uint64_t end, uint64_t pgoff, uint32_t path,
		int want)
{
	struct map_entry e = entry(start, end, pgoff, path);

	assert_int_equal(mapset_add(ms, &e), want);
}

static void test_cutting(void **state)
{
	struct mapset *ms = mapset_new();

	(void)state;
	add(&ms, 0x1000, 0x9000, 0x10000, 1, 1);
	add(&ms, 0x1000, 0x9000, 0x10000, 1, 0);
	/* Into the middle: two pieces stay, and the right one has a larger file offset. */
	add(&ms, 0x3000, 0x5000, 0, 2, 1);
	check(ms, 3,
	      (const uint64_t[][4]){ { 0x1000, 0x3000, 0x10000, 1 },
				     { 0x3000, 0x5000, 0, 2 },
				     { 0x5000, 0x9000, 0x14000, 1 } });
	/* Over the end of one, all of another, and the start of a third. */
	add(&ms, 0x2000, 0x6000, 0x500, 3, 1);
	check(ms, 3,
	      (const uint64_t[][4]){ { 0x1000, 0x2000, 0x10000, 1 },
				     { 0x2000, 0x6000, 0x500, 3 },
				     { 0x6000, 0x9000, 0x15000, 1 } });
	/* Exactly one of them. */
	add(&ms, 0x2000, 0x6000, 0, 4, 1);
	check(ms, 3,
	      (const uint64_t[][4]){ { 0x1000, 0x2000, 0x10000, 1 },
				     { 0x2000, 0x6000, 0, 4 },
				     { 0x6000, 0x9000, 0x15000, 1 } });
	/* All of them; then one adjacent to it. */
	add(&ms, 0, 0xa000, 0, 5, 1);
	add(&ms, 0xa000, 0xb000, 0, 6, 1);
	check(ms, 2, (const uint64_t[][4]){ { 0, 0xa000, 0, 5 }, { 0xa000, 0xb000, 0, 6 } });
	add(&ms, 0xc000, 0xc000, 0, 7, -EINVAL);
	assert_int_equal(ms->n, 2);
	mapset_put(ms);
}

static void test_find(void **state)
{
	struct mapset *ms = mapset_new();

	(void)state;
	assert_null(mapset_find(ms, 0x1000));
	add(&ms, 0x1000, 0x2000, 0, 1, 1);
	add(&ms, 0x5000, 0x6000, 0, 2, 1);
	assert_null(mapset_find(ms, 0xfff));
	assert_int_equal(mapset_find(ms, 0x1000)->path, 1);
	assert_int_equal(mapset_find(ms, 0x1fff)->path, 1);
	assert_null(mapset_find(ms, 0x2000));
	assert_null(mapset_find(ms, 0x4fff));
	assert_int_equal(mapset_find(ms, 0x5fff)->path, 2);
	assert_null(mapset_find(ms, UINT64_MAX));
	mapset_put(ms);
}

static void test_same_mapping(void **state)
{
	struct mapset *ms = mapset_new();
	struct map_entry e = entry(0x1000, 0x2000, 0, 1);

	(void)state;
	assert_int_equal(mapset_add(&ms, &e), 1);
	/* From a record with a build-id: it has no inode, and so does not contradict. */
	e.ino = 0;
	assert_int_equal(mapset_add(&ms, &e), 0);
	/* The same path at the same address, but another file. */
	e.ino = 99;
	assert_int_equal(mapset_add(&ms, &e), 1);
	e.deleted = true;
	assert_int_equal(mapset_add(&ms, &e), 1);
	assert_int_equal(ms->n, 1);
	mapset_put(ms);
}

static void test_copy_on_write(void **state)
{
	struct mapset *parent = mapset_new(), *child, *grandchild;
	uint64_t gen;

	(void)state;
	add(&parent, 0x1000, 0x4000, 0, 1, 1);
	gen = parent->gen;
	child = mapset_get(parent);
	grandchild = mapset_get(parent);
	assert_ptr_equal(child, parent);
	/* Adding what is there already changes nothing and copies nothing. */
	add(&child, 0x1000, 0x4000, 0, 1, 0);
	assert_ptr_equal(child, parent);
	add(&child, 0x2000, 0x3000, 0, 2, 1);
	assert_ptr_not_equal(child, parent);
	assert_int_equal(child->n, 3);
	check(parent, 1, (const uint64_t[][4]){ { 0x1000, 0x4000, 0, 1 } });
	assert_int_equal(parent->gen, gen);
	assert_int_not_equal(child->gen, gen);
	assert_int_equal(parent->refs, 2);
	mapset_put(parent);
	check(grandchild, 1, (const uint64_t[][4]){ { 0x1000, 0x4000, 0, 1 } });
	/* The last holder owns it: no copy. */
	parent = grandchild;
	add(&grandchild, 0x8000, 0x9000, 0, 3, 1);
	assert_ptr_equal(parent, grandchild);
	mapset_put(grandchild);
	mapset_put(child);
	mapset_put(NULL);
}

#define PAGES 64

static void test_random(void **state)
{
	uint32_t seed = 7;
	int round, i;

	(void)state;
	for (round = 0; round < 300; round++) {
		uint32_t owner[PAGES] = { 0 }, base[PAGES] = { 0 };
		struct mapset *ms = mapset_new();
		uint32_t path;

		for (path = 1; path < 40; path++) {
			uint32_t a, b, p;

			seed = seed * 1103515245 + 12345;
			a = seed >> 16 & 63;
			b = a + 1 + (seed >> 24) % (PAGES - a);
			add(&ms, a * 4096ull, b * 4096ull, 0, path, 1);
			for (p = a; p < b; p++) {
				owner[p] = path;
				base[p] = a;
			}
		}
		for (i = 0; i < PAGES; i++) {
			const struct map_entry *e = mapset_find(ms, (uint64_t)i * 4096 + 17);

			if (!owner[i]) {
				assert_null(e);
				continue;
			}
			assert_non_null(e);
			assert_int_equal(e->path, owner[i]);
			/*
			 * The file offset of an address does not change when its neighbours are cut
			 * off.
			 */
			assert_int_equal((uint64_t)i * 4096 - e->start + e->pgoff,
					 (i - base[i]) * 4096ull);
		}
		for (i = 1; i < (int)ms->n; i++)
			assert_true(ms->maps[i - 1].end <= ms->maps[i].start);
		mapset_put(ms);
	}
}

static void test_bound(void **state)
{
	struct mapset *ms = mapset_new();
	uint64_t i;

	(void)state;
	for (i = 0; i < MAPSET_MAX; i++)
		add(&ms, i * 0x2000, i * 0x2000 + 0x1000, 0, 1, 1);
	add(&ms, i * 0x2000, i * 0x2000 + 0x1000, 0, 1, -ENOSPC);
	/* Replacing does not make the set larger. */
	add(&ms, 0, 0x1000, 0, 2, 1);
	assert_int_equal(ms->n, MAPSET_MAX);
	mapset_put(ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cutting),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_same_mapping),
		cmocka_unit_test(test_copy_on_write),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_bound),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
