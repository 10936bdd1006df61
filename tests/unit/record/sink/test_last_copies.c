/* Which of a thread's stack copies in the rings its next copy may be compared with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "events/ring.h"
#include "sink/last_copies.h"

#define RING_BYTES (1u << 20)

static struct perf_event_mmap_page page;
static uint64_t data[RING_BYTES / 8];
static const struct maskset maps = { .version = 7, .top = 0x7ffe0000 };

static void put(struct last_copies *rs, uint64_t who, const struct ring *ring, uint64_t pos, uint64_t serial)
{
	const struct last_copy now = {
		.who = who, .ring = ring, .pos = pos, .version = maps.version, .top = maps.top, .serial = serial,
	};

	last_copies_room(rs)->nkept = (uint32_t)serial;
	last_copies_put(rs, &now);
}

static uint64_t serial_of(const struct last_copies *rs, uint64_t who, const struct maskset *ms)
{
	const struct last_copy *r = last_copies_find(rs, who, ms);

	if (!r)
		return 0;
	/* The copy's words belong to it. */
	assert_int_equal(r->last.words->nkept, r->serial);
	return r->serial;
}

static void by_thread(void **state)
{
	struct last_copies *rs = last_copies_new();
	struct ring ring;

	(void)state;
	ring_init(&ring, &page, data, RING_BYTES);
	for (uint64_t who = 1; who < 40; who++) {
		put(rs, who, &ring, 0, who);
		put(rs, who, &ring, 0, 100 + who);
		assert_int_equal(serial_of(rs, who, &maps), 100 + who);
	}
	/* The copies that were not evicted are found. */
	for (uint64_t who = 24; who < 40; who++)
		assert_int_equal(serial_of(rs, who, &maps), 100 + who);
	assert_int_equal(serial_of(rs, 23, &maps), 0);
	last_copies_forget(rs);
	assert_int_equal(serial_of(rs, 39, &maps), 0);
	last_copies_free(rs);
}

static void as_long_as_it_lies_there(void **state)
{
	struct last_copies *rs = last_copies_new();
	struct ring ring;

	(void)state;
	memset(&page, 0, sizeof(page));
	ring_init(&ring, &page, data, RING_BYTES);
	ring.tail = 4096;
	put(rs, 1, &ring, 4096, 5);
	put(rs, 2, NULL, 0, 6);			/* the copy of a record that wraps around */
	assert_int_equal(serial_of(rs, 2, &maps), 0);
	/* Some of what was read stays in the ring, the rest is given back in pieces. */
	ring.tail = 4096 + RING_BYTES / 64 + 65536;
	assert_int_equal(serial_of(rs, 1, &maps), 5);
	ring_release_due(&ring);
	assert_int_equal(page.data_tail, ring.tail - RING_BYTES / 64);
	assert_int_equal(serial_of(rs, 1, &maps), 0);
	put(rs, 1, &ring, ring.tail, 7);
	ring_release_due(&ring);
	assert_int_equal(serial_of(rs, 1, &maps), 7);
	ring.tail += 100;
	ring_release(&ring);
	assert_int_equal(page.data_tail, ring.tail);
	assert_int_equal(serial_of(rs, 1, &maps), 0);
	last_copies_free(rs);
}

static void with_the_same_mappings(void **state)
{
	const struct range stack = { 0x1000, 0x2000 };
	const struct maskset newer = { .version = 8, .top = maps.top }, higher = { .version = 7, .top = maps.top + 8 },
			     unknown = { .top = maps.top },
			     more = { .version = 7, .top = maps.top, .stacks = &stack, .nstacks = 1 };
	struct last_copies *rs = last_copies_new();
	struct ring ring;

	(void)state;
	ring_init(&ring, &page, data, RING_BYTES);
	put(rs, 1, &ring, 0, 5);
	assert_int_equal(serial_of(rs, 1, &maps), 5);
	assert_int_equal(serial_of(rs, 1, &newer), 0);
	assert_int_equal(serial_of(rs, 1, &higher), 0);
	assert_int_equal(serial_of(rs, 1, &unknown), 0);
	assert_int_equal(serial_of(rs, 1, &more), 0);
	last_copies_put(rs, &(struct last_copy){ .who = 1, .ring = &ring, .top = maps.top });
	assert_int_equal(serial_of(rs, 1, &unknown), 0);
	last_copies_free(rs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_thread),
		cmocka_unit_test(as_long_as_it_lies_there),
		cmocka_unit_test(with_the_same_mappings),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
