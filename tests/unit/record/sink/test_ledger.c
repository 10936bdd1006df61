/*
 * The ledger while it counts: totals and tally agree, and the tally reaches the file before the
 * end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "events/open.h"
#include "events/target.h"
#include "in_range.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"
#include "sink/ledger.h"

#define S 1000000000ull
#define MS (S / 1000)

struct rig {
	struct ledger lg;
	struct rec_writer *w;
	uint64_t start;
	int fd;
	char path[32];
};

static void rig_open(struct rig *r, bool clock, bool tasks)
{
	int err;

	memset(r, 0, sizeof(*r));
	r->fd = memfd_create("recording", 0);
	assert_true(r->fd >= 0);
	snprintf(r->path, sizeof(r->path), "/proc/self/fd/%d", r->fd);
	r->w = rec_writer_new(r->fd, &err);
	assert_non_null(r->w);
	r->start = rec_writer_start(r->w);
	ledger_begin(&r->lg, r->w, clock, tasks);
}

static void rig_close(struct rig *r)
{
	ledger_fini(&r->lg);
	rec_writer_free(r->w);
	close(r->fd);
}

static void put(struct rig *r, enum ledger_what what, uint32_t cpu, uint64_t time, uint64_t period)
{
	struct sample_in in = { .cpu = cpu, .time = time, .period = period };

	ledger_sample(&r->lg, what, &in);
}

/* Rows of the file, summed in a table of our own. */
struct sums {
	struct ev_tally at[100][3];	/* by second and CPU */
	struct ev_tally all;
	unsigned int rows;
};

static int add_row(void *ctx, const struct ev_tally *row)
{
	struct sums *s = ctx;
	struct ev_tally *to[2] = { &s->all };

	assert_true(row->second < 100);
	assert_true(row->cpu < 3);
	to[1] = &s->at[row->second][row->cpu];
	for (int i = 0; i < 2; i++) {
		to[i]->kept += row->kept;
		to[i]->cut += row->cut;
		to[i]->dropped += row->dropped;
		to[i]->own += row->own;
		to[i]->lost += row->lost;
		to[i]->throttled += row->throttled;
		to[i]->throttled_ns += row->throttled_ns;
		to[i]->side_lost += row->side_lost;
	}
	s->rows++;
	return 0;
}

static void read_rows(struct rig *r, struct sums *s)
{
	struct rec_reader *rd = rec_reader_open(r->path);

	memset(s, 0, sizeof(*s));
	assert_non_null(rd);
	assert_int_equal(rec_reader_tally(rd, add_row, s), 0);
	rec_reader_close(rd);
}

static void test_seconds(void **state)
{
	static struct sums s;
	struct rig r;

	(void)state;
	rig_open(&r, false, false);
	put(&r, LEDGER_KEPT, 0, r.start - 5, 10);	/* before the header was written: second 0 */
	put(&r, LEDGER_KEPT, 0, r.start + S - 1, 10);
	put(&r, LEDGER_CUT, 0, r.start + S, 20);
	put(&r, LEDGER_KEPT, 2, r.start + S, 30);
	put(&r, LEDGER_DROPPED, 0, r.start + 2 * S, 40);
	put(&r, LEDGER_OWN, 0, r.start + S + 1, 50);	/* late: a second row for that second */
	ledger_lost(&r.lg, 2, 0, r.start + 7 * S, 100);
	ledger_lost_pmu(&r.lg, 2, 0, r.start + 7 * S, 11);
	ledger_lost_side(&r.lg, 0, r.start + 7 * S, 5);
	assert_int_equal(second_counts_flush(&r.lg.tally), 0);
	assert_int_equal(rec_writer_finish(r.w), 0);
	read_rows(&r, &s);
	assert_int_equal(s.at[0][0].kept, 2);
	assert_int_equal(s.at[1][0].cut, 1);
	assert_int_equal(s.at[1][0].own, 1);
	assert_int_equal(s.at[1][2].kept, 1);
	assert_int_equal(s.at[2][0].dropped, 1);
	assert_int_equal(s.at[7][2].lost, 111);
	assert_int_equal(s.at[7][0].side_lost, 5);
	assert_int_equal(s.rows, 7);		/* none for CPU 1 and for empty seconds */
	assert_int_equal(r.lg.l.kept, 3);
	assert_int_equal(r.lg.l.cut, 1);
	assert_int_equal(r.lg.l.dropped, 1);
	assert_int_equal(r.lg.l.own, 1);
	assert_int_equal(r.lg.l.periods, 160);
	assert_int_equal(r.lg.lost_told, 100);
	assert_int_equal(r.lg.lost_pmu, 11);
	assert_int_equal(r.lg.side_told, 5);
	rig_close(&r);
}

/*
 * In an imported recording: a clock of 10 us stands still for 30 ms, and again for the last 20 ms;
 * in addition, some samples never arrived.
 */
static void test_told(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r, true, false);
	for (uint64_t t = 0; t < S / 10; t += S / 1000)
		put(&r, LEDGER_KEPT, 1, r.start + t, 10000);
	ledger_throttle(&r.lg, 1, 0, r.start + S / 10, 7, true);
	ledger_throttle(&r.lg, 1, 0, r.start + S / 10 + 3 * (S / 100), 7, false);
	ledger_throttle(&r.lg, 1, 0, r.start + S / 5, 7, true);
	ledger_lost_pmu(&r.lg, 1, 0, r.start + S / 5, 11);
	assert_int_equal(ledger_finish_told(&r.lg, r.w, r.start + S / 5 + 2 * (S / 100)), 0);
	assert_int_equal(rec_writer_finish(r.w), 0);
	assert_int_equal(r.lg.l.throttled, 2);
	assert_int_equal(r.lg.l.throttled_ns, 5 * (S / 100));
	assert_int_equal(r.lg.l.throttled_samples, 5000);
	assert_int_equal(r.lg.l.lost_kernel, 11);
	rig_close(&r);
}

/*
 * 95 seconds on three CPUs: the first minute is in the file before the end, and its memory is
 * freed.
 */
static void test_long(void **state)
{
	static struct sums s;
	struct rig r;

	(void)state;
	rig_open(&r, false, false);
	for (uint64_t t = 0; t < 95 * S; t += S / 10)
		for (uint32_t cpu = 0; cpu < 3; cpu++)
			put(&r, cpu == 1 ? LEDGER_OWN : LEDGER_KEPT, cpu, r.start + t, 1);
	assert_true(r.lg.tally.nrow < 3 * 61);
	/* As after SIGKILL: only what reached the writer's thread is written. */
	rec_writer_free(r.w);
	r.w = NULL;
	read_rows(&r, &s);
	for (uint64_t sec = 0; sec < 60; sec++) {
		assert_int_equal(s.at[sec][0].kept, 10);
		assert_int_equal(s.at[sec][1].own, 10);
		assert_int_equal(s.at[sec][2].kept, 10);
	}
	assert_within(s.all.kept, 1200, 1900);
	rig_close(&r);
}

static void test_throttle(void **state)
{
	static struct sums s;
	struct rig r;

	(void)state;
	for (int tasks = 0; tasks < 2; tasks++) {
		rig_open(&r, true, tasks);
		ledger_throttle(&r.lg, 0, 0, r.start + S, 77, true);
		ledger_throttle(&r.lg, 1, 0, r.start + S, 78, true);
		ledger_throttle(&r.lg, 1, 0, r.start + S + 3000000, 78, false);
		ledger_throttle(&r.lg, 1, 0, r.start + S + 4000000, 78, false);	/* its throttle
										 * record is lost */
		ledger_throttle(&r.lg, 0, 0, r.start + 3 * S, 77, false);
		ledger_throttle(&r.lg, 0, 0, r.start + 4 * S, 77, true);		/* until the end */
		assert_int_equal(second_counts_flush(&r.lg.tally), 0);
		assert_int_equal(rec_writer_finish(r.w), 0);
		read_rows(&r, &s);
		assert_int_equal(r.lg.l.throttled, 3);
		assert_int_equal(s.at[1][0].throttled, 1);
		assert_int_equal(s.at[1][1].throttled, 1);
		assert_int_equal(s.at[1][1].throttled_ns, 3000000);
		/*
		 * A thread may have been off its CPU for most of that time, so at most one tick
		 * counts.
		 */
		assert_int_equal(s.at[3][0].throttled_ns, tasks ? 10000000 : 2 * S);
		assert_int_equal(s.all.throttled_ns, r.lg.l.throttled_ns);
		rig_close(&r);
	}
}

/*
 * An event that is throttled when it is stopped has lost the time until then. At a file boundary
 * nothing is counted.
 */
static void test_throttled_at_the_end(void **state)
{
	struct target none = { 0 };
	struct rec_event first = { .now = 1 };
	struct events ev = { .target = &none, .v = &first, .n = 1 };
	struct ledger_part part;
	struct rig r;

	(void)state;
	for (int tasks = 0; tasks < 2; tasks++) {
		rig_open(&r, true, tasks);
		put(&r, LEDGER_KEPT, 1, r.start + S, 1000000);
		ledger_throttle(&r.lg, 1, 0, r.start + S, 0, true);
		ledger_cut(&r.lg, &ev, r.start + 2 * S, 2 * S, false, &part);
		assert_int_equal(part.l.throttled, 1);
		assert_int_equal(part.l.throttled_ns, 0);
		ledger_part_fini(&part);
		put(&r, LEDGER_KEPT, 1, r.start + 3 * S, 1000000);
		ledger_cut(&r.lg, &ev, r.start + 3 * S, S, true, &part);
		assert_int_equal(part.l.throttled_ns, tasks ? 10000000 : 2 * S);
		assert_int_equal(part.nrows, 1);
		assert_int_equal(part.rows[0].cpu, 1);
		assert_int_equal(part.rows[0].throttled_ns, part.l.throttled_ns);
		ledger_part_fini(&part);
		rig_close(&r);
	}
}

/*
 * When a file ends, the event's own count includes a loss whose record comes in the next file. It
 * counts once, also if that record includes later losses, and if it comes two files later.
 */
static void test_lost_across_files(void **state)
{
	static const struct { uint64_t kernel, told, want; } files[] = {
		{ 100, 0, 100 }, { 150, 150, 50 }, { 150, 0, 0 }, { 170, 0, 20 }, { 190, 0, 20 }, { 190, 40, 0 }, { 200, 10, 10 },
	};
	uint32_t cpu = 1;
	struct events_count closed = { 0 };
	struct target t = { .cpus = &cpu, .ncpus = 1, .nall = 1 };
	struct rec_event first = { .now = 1 };
	struct events ev = { .target = &t, .v = &first, .n = 1, .closed = &closed, .feats = FEAT_FORMAT_LOST };
	struct rig r;

	(void)state;
	rig_open(&r, true, false);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct ledger_part part;
		uint64_t lost = 0, side = 0;

		closed.lost = files[i].kernel;
		closed.side_lost = 2 * files[i].kernel;
		if (files[i].told) {
			ledger_lost(&r.lg, 1, 0, r.start + i * S, files[i].told);
			ledger_lost_side(&r.lg, 1, r.start + i * S, 2 * files[i].told);
		}
		ledger_cut(&r.lg, &ev, r.start + i * S, S, i + 1 == ARRAY_SIZE(files), &part);
		assert_int_equal(part.l.lost_kernel, files[i].want);
		assert_int_equal(part.l.lost_sideband, 2 * files[i].want);
		for (size_t k = 0; k < part.nrows; k++) {
			lost += part.rows[k].lost;
			side += part.rows[k].side_lost;
		}
		assert_int_equal(lost, files[i].want);
		assert_int_equal(side, 2 * files[i].want);
		ledger_part_fini(&part);
	}
	rig_close(&r);
}

/*
 * Two events share a ring, whose LOST records are of both. Each event's count says which samples
 * were its own; without such counts, the event that wrote the record has them all.
 */
static void test_events(void **state)
{
	static const bool clock[] = { true, false };
	uint32_t cpus[] = { 0, 1 };
	struct events_count closed[4] = {
		/* event 0 on both CPUs, event 1 on both CPUs */
		{ .lost = 3, .count = 5000000 }, { .lost = 0, .count = 4000000 },
		{ .lost = 40, .count = 77 }, { .lost = 5, .count = 11 },
	};
	struct target t = { .cpus = cpus, .ncpus = 2, .nall = 2 };
	struct rec_event two[2] = { { .now = 0 }, { .now = 1 } };

	(void)state;
	for (int has_lost = 0; has_lost < 2; has_lost++) {
		struct events ev = { .target = &t, .v = two, .n = 2, .closed = closed, .feats = has_lost ? FEAT_FORMAT_LOST : 0 };
		struct sample_in in = { .cpu = 1, .event = 1, .period = 4 };
		struct ev_counts sum[2][2] = { 0 };
		uint64_t shared = 0;
		struct ledger_part part;
		struct rig r;

		rig_open(&r, true, false);
		ledger_events(&r.lg, clock, 2);
		in.time = r.start;
		for (int i = 0; i < 6; i++)
			ledger_sample(&r.lg, LEDGER_KEPT, &in);
		put(&r, LEDGER_DROPPED, 0, r.start, 1);
		ledger_lost(&r.lg, 0, 1, r.start + S, 20);
		/* 100 ms on CPU 0, and twice 150 ms on CPU 1. */
		ledger_throttle(&r.lg, 0, 1, r.start, 5, true);
		ledger_throttle(&r.lg, 0, 1, r.start + 100 * MS, 5, false);
		for (int i = 0; i < 2; i++) {
			ledger_throttle(&r.lg, 1, 1, r.start + i * 200 * MS, 6, true);
			ledger_throttle(&r.lg, 1, 1, r.start + (i * 200 + 150) * MS, 6, false);
		}
		/* Rows are only of events that are open. */
		for (int i = 0; i < 2; i++)
			for (int c = 0; c < 2; c++)
				closed[2 * i + c].events = 1;
		ledger_cut(&r.lg, &ev, r.start + S, S, true, &part);
		assert_int_equal(part.l.kept, 6);
		assert_int_equal(part.l.dropped, 1);
		assert_int_equal(part.l.lost_kernel, has_lost ? 48 : 20);
		/* Nanoseconds and events do not add up. */
		assert_int_equal(part.l.count, 0);
		assert_int_equal(part.l.periods, 0);
		for (size_t i = 0; i < part.ncounts; i++)
			sum[part.counts[i].event][part.counts[i].cpu] = part.counts[i];
		assert_int_equal(sum[1][1].samples, 6);
		assert_int_equal(sum[1][1].periods, 24);
		assert_int_equal(sum[1][1].count, 11);
		assert_int_equal(sum[1][0].samples, 0);
		/* Only clocks have a least period. */
		assert_int_equal(sum[0][0].periods, 10000);
		for (int i = 0; i < 2; i++)
			for (int c = 0; c < 2; c++)
				assert_int_equal(sum[i][c].lost, has_lost ? closed[2 * i + c].lost : i == 1 && c == 0 ? 20 : 0);
		/* The ledger's number is that of the event that stood, a quarter of the time on CPU 0. */
		for (int i = 0; i < 2; i++)
			for (int c = 0; c < 2; c++) {
				const bool stood = i == 1;

				assert_int_equal(sum[i][c].throttled, stood ? 1 + c : 0);
				assert_int_equal(sum[i][c].throttled_ns, stood ? (c ? 300 : 100) * MS : 0);
				shared += sum[i][c].throttled_samples;
			}
		assert_int_equal(shared, part.l.throttled_samples);
		assert_int_equal(sum[1][0].throttled_samples, part.l.throttled_samples / 4);
		assert_true(part.l.throttled_samples > 0);
		ledger_part_fini(&part);
		rig_close(&r);
	}
}

/* A clock's timer never fires more often than every 10 us, whatever period its samples have. */
static void test_short_period(void **state)
{
	struct rig r;

	(void)state;
	rig_open(&r, true, false);
	put(&r, LEDGER_KEPT, 0, r.start, 1000);
	put(&r, LEDGER_KEPT, 0, r.start, 12000);
	assert_int_equal(r.lg.l.periods, 22000);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seconds),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_throttle),
		cmocka_unit_test(test_throttled_at_the_end),
		cmocka_unit_test(test_lost_across_files),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_short_period),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
