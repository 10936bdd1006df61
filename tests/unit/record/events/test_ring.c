/* The ring reader, on rings filled by hand as the kernel would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "events/perf_layout.h"
#include "events/ring.h"

#define SIZE 4096

struct fake {
	struct perf_event_mmap_page page;
	uint64_t data[SIZE / 8];
	struct ring ring;
	uint64_t head;
};

static struct fake *fake_new(uint64_t start)
{
	struct fake *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	memset(f->data, 0xa5, sizeof(f->data));
	ring_init(&f->ring, &f->page, f->data, SIZE);
	f->head = start;
	f->ring.head = f->ring.tail = f->ring.released = start;
	f->page.data_head = f->page.data_tail = start;
	return f;
}

/* The producer writes byte by byte, so that it shares no wrap-around code with the reader. */
static void put(struct fake *f, const void *rec, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)f->data)[(f->head + i) % SIZE] = ((const uint8_t *)rec)[i];
	f->head += len;
}

static void publish(struct fake *f)
{
	f->page.data_head = f->head;
}

/* A record of @size bytes, filled with @fill, with its time where @type has it. */
static void put_record(struct fake *f, uint32_t type, uint16_t size, uint64_t time, uint8_t fill)
{
	uint8_t rec[SIZE];
	struct perf_event_header h = { .type = type, .misc = 2, .size = size };

	memset(rec, fill, size);
	memcpy(rec, &h, sizeof(h));
	/* A sample: header 8, identifier 8, ip 8, pid/tid 8, time. Other records end with
	 * pid/tid, time, cpu, id. */
	memcpy(rec + (type == PERF_RECORD_SAMPLE ? 32 : size - 24), &time, 8);
	put(f, rec, size);
}

static void in_place(void **state)
{
	struct fake *f = fake_new(0);
	uint8_t bounce[SIZE];
	uint64_t t = 0;

	(void)state;
	ring_refresh(&f->ring);
	assert_false(ring_time(&f->ring, &t));
	put_record(f, PERF_RECORD_SAMPLE, 128, 1000, 1);
	ring_refresh(&f->ring);
	assert_false(ring_time(&f->ring, &t));		/* written, but not yet published */
	publish(f);
	assert_false(ring_time(&f->ring, &t));		/* published, but not yet looked at */
	ring_refresh(&f->ring);
	assert_true(ring_time(&f->ring, &t));
	assert_int_equal(t, 1000);
	assert_ptr_equal(ring_record(&f->ring, bounce), f->data);
	ring_next(&f->ring);
	assert_false(ring_time(&f->ring, &t));
	assert_int_equal(f->page.data_tail, 0);		/* released in batches, */
	ring_release(&f->ring);
	assert_int_equal(f->page.data_tail, 128);	/* or on request */
	free(f);
}

static void time_of_sideband(void **state)
{
	struct fake *f = fake_new(0);
	uint64_t t;

	(void)state;
	put_record(f, PERF_RECORD_COMM, 64, 77, 0xff);
	put_record(f, PERF_RECORD_SAMPLE, 64, 78, 0xff);
	put_record(f, PERF_RECORD_LOST, 56, 79, 0xff);
	publish(f);
	ring_refresh(&f->ring);
	for (uint64_t want = 77; want < 80; want++) {
		assert_true(ring_time(&f->ring, &t));
		assert_int_equal(t, want);
		ring_next(&f->ring);
	}
	assert_false(ring_time(&f->ring, &t));
	free(f);
}

/* Every offset at which a record, or its time field, can cross the end of the ring. */
static void wraps(void **state)
{
	uint8_t bounce[LAYOUT_RECORD_MAX];
	uint64_t t;

	(void)state;
	for (uint64_t before_end = 8; before_end <= 208; before_end += 8) {
		for (int sample = 0; sample < 2; sample++) {
			/* Positions count up without end: also with a start beyond 2^32. */
			struct fake *f =
				fake_new((before_end & 8 ? 3ull << 40 : 0) + SIZE - before_end);
			const uint8_t *rec;

			put_record(f, sample ? PERF_RECORD_SAMPLE : PERF_RECORD_MMAP2, 200, 4242,
				   0x5a);
			put_record(f, PERF_RECORD_EXIT, 64, 4243, 0x5b);
			publish(f);
			ring_refresh(&f->ring);
			assert_true(ring_time(&f->ring, &t));
			assert_int_equal(t, 4242);
			rec = (const uint8_t *)ring_record(&f->ring, bounce);
			assert_int_equal(rec == bounce, before_end < 200);
			assert_int_equal(rec[sample ? 199 : 175], 0x5a);
			for (int i = 8; i < 200; i++)
				if (i < (sample ? 32 : 176) || i >= (sample ? 40 : 184))
					assert_int_equal(rec[i], 0x5a);
			ring_next(&f->ring);
			assert_true(ring_time(&f->ring, &t));
			assert_int_equal(t, 4243);
			ring_next(&f->ring);
			assert_false(ring_time(&f->ring, &t));
			ring_release(&f->ring);
			assert_int_equal(f->page.data_tail, f->head);
			free(f);
		}
	}
}

/*
 * A kernel symbol record as the third listener gets it: the size also includes the id fields of the
 * listeners before it, which nobody writes. Names of all lengths, with the record at every offset
 * before the end of the ring.
 */
static void told_to_others_before(void **state)
{
	static const char name[] = "bpf_prog_0123456789abcdef_sixteen_and_more";
	uint8_t bounce[LAYOUT_RECORD_MAX];
	struct ring_glimpse g;
	uint64_t t;

	(void)state;
	for (size_t len = 1; len <= sizeof(name); len++) {
		const uint16_t size = (uint16_t)(24 + (len + 7) / 8 * 8 + 32);

		for (uint64_t before_end = 8; before_end <= 208; before_end += 8) {
			struct fake *f = fake_new(SIZE - before_end);
			struct perf_event_header told = { .type = PERF_RECORD_KSYMBOL, .size = size + 72 };
			const struct perf_event_header *h;
			uint8_t rec[SIZE];

			memset(rec, 0x77, sizeof(rec));
			memset(rec + 24, 0, size - 24u - 32u);
			memcpy(rec + 24, name, len - 1);
			memcpy(rec, &told, sizeof(told));
			t = 4242;
			memcpy(rec + size - 24, &t, 8);
			put(f, rec, size);
			memset(rec, before_end & 8 ? 0 : 0xff, 72);
			put(f, rec, 72);
			put_record(f, PERF_RECORD_COMM, 64, 4243, 0);
			publish(f);
			assert_true(ring_ahead(&f->ring, &g));
			assert_int_equal(g.time, 4242);
			ring_refresh(&f->ring);
			assert_true(ring_time(&f->ring, &t));
			assert_int_equal(t, 4242);
			h = ring_record(&f->ring, bounce);
			assert_int_equal(h->size, size);
			assert_int_equal(strlen((const char *)h + 24), len - 1);
			assert_memory_equal((const char *)h + 24, name, len - 1);
			ring_next(&f->ring);
			assert_true(ring_time(&f->ring, &t));
			assert_int_equal(t, 4243);
			free(f);
		}
	}
}

static void full_ring(void **state)
{
	struct fake *f = fake_new(SIZE / 2);
	uint64_t t;
	int n = 0;

	(void)state;
	for (int i = 0; i < SIZE / 64; i++)
		put_record(f, PERF_RECORD_COMM, 64, (uint64_t)i, 0);
	publish(f);
	ring_refresh(&f->ring);
	while (ring_time(&f->ring, &t)) {
		assert_int_equal(t, n++);
		ring_next(&f->ring);
	}
	assert_int_equal(n, SIZE / 64);
	assert_int_equal(f->ring.broken, 0);
	free(f);
}

/*
 * Impossible sizes end the reading of the present content. The program continues, and so does the
 * ring.
 */
static void nonsense(void **state)
{
	static const uint16_t sizes[] = { 0, 8, 32, 39, 41, 200 };
	uint64_t t;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct fake *f = fake_new(0);
		struct perf_event_header h = { .type = PERF_RECORD_COMM, .size = sizes[i] };
		uint8_t rec[64] = { 0 };

		memcpy(rec, &h, sizeof(h));
		put(f, rec, sizeof(rec));
		publish(f);
		ring_refresh(&f->ring);
		assert_false(ring_time(&f->ring, &t));
		assert_int_equal(f->ring.broken, 1);
		put_record(f, PERF_RECORD_COMM, 64, 5, 0);
		publish(f);
		ring_refresh(&f->ring);
		assert_true(ring_time(&f->ring, &t));
		assert_int_equal(t, 5);
		free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_place),
		cmocka_unit_test(time_of_sideband),
		cmocka_unit_test(wraps),
		cmocka_unit_test(told_to_others_before),
		cmocka_unit_test(full_ring),
		cmocka_unit_test(nonsense),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
