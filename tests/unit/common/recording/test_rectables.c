/* What a recording holds apart from its stream: captures, texts, the ledger and its tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "event.h"
#include "recgen.h"
#include "recording.h"
#include "recording/ledger_codec.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"

/* ---- the other blocks ---- */

struct caps {
	const struct capture *want;
	size_t n, at;
};

static int on_capture(void *ctx, const struct capture *cap)
{
	struct caps *c = ctx;

	assert_true(c->at < c->n);
	assert_int_equal(cap->kind, c->want[c->at].kind);
	assert_int_equal(cap->id, c->want[c->at].id);
	assert_int_equal(cap->size, c->want[c->at].size);
	if (cap->size)
		assert_memory_equal(cap->data, c->want[c->at].data, cap->size);
	c->at++;
	return 0;
}

static void test_captures_info_ledger(void **state)
{
	size_t big = REC_CAPTURE_CHUNK * 2 + 12345;
	uint8_t *noise = malloc(big);
	struct capture caps[] = {
		{ CAPTURE_ELF, 7,
		  "\x7f"
		  "ELF...",
		  7, 0 },
		{ CAPTURE_PERF_MAP, 1, noise,
		  big, 0 }, /* noise: more than one block even when compressed */
		{ CAPTURE_KALLSYMS, 0, "", 0, 0 },
		{ CAPTURE_ELF, 8, noise, REC_CAPTURE_CHUNK, 0 },
	};
	struct caps ctx = { caps, ARRAY_SIZE(caps), 0 };
	struct ev_ledger in = { .kept = 1,
				.lost_kernel = 2,
				.lost_sideband = 3,
				.dropped = 4,
				.throttled = 5,
				.unordered = 6,
				.maps_unknown = 7,
				.copy_full = 8,
				.cut = 9,
				.own = 10,
				.throttled_ns = 11,
				.throttled_samples = 12,
				.count = UINT64_MAX,
				.periods = 14,
				.pool_waits = 15,
				.pool_peak = 16,
				.pressure_n = { 17, 18, 19, 20, 21 },
				.pressure_ns = { 22, 23, 24, 25, 26 },
				.cpus_away = 27,
				.cgroups_gone = 28,
				.withheld = 29,
				.unread = 30,
				.have_format_lost = true,
				.exact = true };
	struct ev_ledger out;
	struct capture huge = { CAPTURE_ELF, 9, noise, (size_t)REC_CAPTURE_MAX + 1, 0 };
	struct gen *g = calloc(1, sizeof(*g));
	time_t before = time(NULL);
	const char *key, *val;
	struct rec_writer *w;
	struct rec_reader *r;
	char path[32];
	size_t it = 0;
	int fd = gen_memfd(path), err;

	(void)state;
	g->rnd = 42;
	for (size_t i = 0; i + 8 <= big; i += 8) {
		uint64_t v = gen_rnd(g);

		memcpy(noise + i, &v, 8);
	}
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	rec_writer_info(w, "event", "cycles");
	rec_writer_info(w, "cmdline", "");
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		assert_int_equal(rec_writer_capture(w, &caps[i]), 0);
	assert_int_equal(rec_writer_capture(w, &huge), -EFBIG);
	rec_writer_info(w, "event", "cpu-clock");	/* the later value wins */
	assert_int_equal(rec_writer_ledger(w, &in), 0);
	assert_int_equal(rec_writer_finish(w), 0);
	assert_int_equal(rec_writer_bytes(w), lseek(fd, 0, SEEK_END));
	rec_writer_free(w);

	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_captures(r, on_capture, &ctx), 0);
	assert_int_equal(ctx.at, ARRAY_SIZE(caps));
	assert_string_equal(rec_reader_info(r, "event"), "cpu-clock");
	assert_string_equal(rec_reader_info(r, "cmdline"), "");
	assert_null(rec_reader_info(r, "nothing"));
	/* The first comes from the file header. */
	assert_true(rec_reader_info_next(r, &it, &key, &val));
	assert_string_equal(key, "start_wall_ns");
	assert_true(strtoull(val, NULL, 10) / 1000000000 >= (unsigned long long)before);
	assert_true(strtoull(val, NULL, 10) / 1000000000 <= (unsigned long long)time(NULL));
	assert_true(rec_reader_info_next(r, &it, &key, &val));
	assert_string_equal(key, "event");
	assert_true(rec_reader_info_next(r, &it, &key, &val));
	assert_string_equal(key, "cmdline");
	assert_false(rec_reader_info_next(r, &it, &key, &val));
	memset(&out, 0xff, sizeof(out));
	assert_true(rec_reader_ledger(r, &out));
	assert_int_equal(out.kept, 1);
	assert_int_equal(out.lost_kernel, 2);
	assert_int_equal(out.lost_sideband, 3);
	assert_int_equal(out.dropped, 4);
	assert_int_equal(out.throttled, 5);
	assert_int_equal(out.unordered, 6);
	assert_int_equal(out.maps_unknown, 7);
	assert_int_equal(out.copy_full, 8);
	assert_int_equal(out.cut, 9);
	assert_int_equal(out.own, 10);
	assert_int_equal(out.throttled_ns, 11);
	assert_int_equal(out.throttled_samples, 12);
	assert_true(out.count == UINT64_MAX);
	assert_int_equal(out.periods, 14);
	assert_int_equal(out.pool_waits, 15);
	assert_int_equal(out.pool_peak, 16);
	for (uint64_t i = 0; i < PRESSURE_LEVELS; i++) {
		assert_int_equal(out.pressure_n[i], 17 + i);
		assert_int_equal(out.pressure_ns[i], 22 + i);
	}
	assert_int_equal(out.cpus_away, 27);
	assert_int_equal(out.cgroups_gone, 28);
	assert_int_equal(out.withheld, 29);
	assert_int_equal(out.unread, 30);
	assert_true(out.have_format_lost);
	assert_false(out.have_count);
	assert_true(out.exact);
	assert_int_equal(rec_reader_size(r), lseek(fd, 0, SEEK_END));
	rec_reader_close(r);
	close(fd);
	free(noise);
	free(g);
}

/* ---- tally and counts ---- */

#define TALLY_ROWS 3000

/* Row @i: every field has a different number, rising and falling, up to the largest. */
static struct ev_tally tally_made(uint64_t i)
{
	return (struct ev_tally){
		.second = i / 7, .cpu = (uint32_t)(i % 7 * 100), .kept = i * i, .cut = i % 5,
		.dropped = 3000 - i, .own = i & 1, .lost = i % 100 ? 0 : UINT64_MAX - i,
		.throttled = 17, .throttled_ns = i * 1000003, .side_lost = i / 1000,
	};
}

static struct ev_counts counts_made(uint64_t i)
{
	return (struct ev_counts){
		.cpu = (uint32_t)i, .events = (uint32_t)(i % 3), .count = UINT64_MAX / (i + 1),
		.samples = 99 * i, .periods = i << 40, .lost = 7 * i, .enabled = 5 * i,
		.running = 4 * i, .event = i % 5, .throttled = i % 3, .throttled_ns = i << 30, .throttled_samples = 2 * i,
	};
}

static int on_tally(void *ctx, const struct ev_tally *row)
{
	const struct ev_tally want = tally_made((*(uint64_t *)ctx)++);

	assert_int_equal(row->second, want.second);
	assert_int_equal(row->cpu, want.cpu);
	assert_int_equal(row->kept, want.kept);
	assert_int_equal(row->cut, want.cut);
	assert_int_equal(row->dropped, want.dropped);
	assert_int_equal(row->own, want.own);
	assert_true(row->lost == want.lost);
	assert_int_equal(row->throttled, want.throttled);
	assert_int_equal(row->throttled_ns, want.throttled_ns);
	assert_int_equal(row->side_lost, want.side_lost);
	return 0;
}

static int on_counts(void *ctx, const struct ev_counts *row)
{
	const struct ev_counts want = counts_made((*(uint64_t *)ctx)++);

	assert_int_equal(row->cpu, want.cpu);
	assert_int_equal(row->events, want.events);
	assert_true(row->count == want.count);
	assert_int_equal(row->samples, want.samples);
	assert_int_equal(row->periods, want.periods);
	assert_int_equal(row->enabled, want.enabled);
	assert_int_equal(row->throttled, want.throttled);
	assert_int_equal(row->throttled_ns, want.throttled_ns);
	assert_int_equal(row->throttled_samples, want.throttled_samples);
	assert_int_equal(row->running, want.running);
	assert_int_equal(row->lost, want.lost);
	assert_int_equal(row->event, want.event);
	return 0;
}

/* Of one event, there is no column of events: rows, columns, and the bytes of each column. */
static void test_counts_of_one_event(void **state)
{
	struct ev_counts rows[3] = { { .cpu = 1 }, { .cpu = 2 }, { .cpu = 3 } };
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	counts_enc(&sb, rows, 3);
	assert_int_equal(sb.len, 2 + 8 * (1 + 3));
	assert_memory_equal(sb.s, "\3\10\3\2\2\2\3\0\0\0", 10);
	strbuf_reset(&sb);
	rows[2].event = 1;
	counts_enc(&sb, rows, 3);
	assert_int_equal(sb.len, 2 + 9 * (1 + 3));
	assert_memory_equal(sb.s + sb.len - 4, "\3\0\0\2", 4);
	strbuf_fini(&sb);
}

/* Rows come back in the order given, across blocks and between samples, and 0 rows are allowed. */
static void test_tables(void **state)
{
	struct ev_tally *rows = calloc(TALLY_ROWS, sizeof(*rows));
	struct ev_counts counts[128];
	struct gen *g = calloc(1, sizeof(*g));
	struct rec_writer *w;
	struct rec_reader *r;
	uint64_t n = 0;
	char path[32];
	int fd = gen_memfd(path), err;

	(void)state;
	for (uint64_t i = 0; i < TALLY_ROWS; i++)
		rows[i] = tally_made(i);
	for (uint64_t i = 0; i < ARRAY_SIZE(counts); i++)
		counts[i] = counts_made(i);
	gen_init(g, 4, 2, 100);
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	assert_int_equal(rec_writer_tally(w, rows, 0), 0);
	for (int i = 0; i < 3; i++) {
		gen_next(g);
		assert_int_equal(rec_writer_sample(w, &g->s), 0);
		assert_int_equal(rec_writer_tally(w, rows + 1000 * i, 1000), 0);
	}
	assert_int_equal(rec_writer_counts(w, counts, ARRAY_SIZE(counts)), 0);
	assert_int_equal(rec_writer_finish(w), 0);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_true(rec_reader_start(r) == rec_writer_start(w));
	assert_true(rec_reader_start(r) > 0);
	assert_int_equal(rec_reader_tally(r, on_tally, &n), 0);
	assert_int_equal(n, TALLY_ROWS);
	n = 0;
	assert_int_equal(rec_reader_counts(r, on_counts, &n), 0);
	assert_int_equal(n, ARRAY_SIZE(counts));
	rec_reader_close(r);
	rec_writer_free(w);
	gen_fini(g);
	free(g);
	free(rows);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_captures_info_ledger),
		cmocka_unit_test(test_counts_of_one_event),
		cmocka_unit_test(test_tables),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
