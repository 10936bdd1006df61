/*
 * What a profile says that each of several events lost: of the kernel's counts, of the samples in the
 * file, and nothing that the recording does not tell.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <unistd.h>

#include "base/util.h"
#include "collectrun.h"
#include "output/to_profile.h"
#include "profile/profile.h"
#include "recgen.h"
#include "recording/rec_writer.h"
#include "unwind/unwind.h"

#define START UINT64_C(1000000)
#define PID 100u
#define EVENTS 3u		/* in the file: a clock, page faults, switches */
#define UNKNOWN PROFILE_UNKNOWN

/*
 * Of each event: samples that are whole, that are cut, and that lack their user stack. Then those
 * that are not there: dropped and lost ones.
 */
static const struct {
	uint64_t kept, cut, withheld, dropped, lost;
} made[EVENTS] = { { 20, 3, 1, 7, 2 }, { 5, 0, 0, 11, 0 }, { 9, 4, 2, 0, 13 } };

static void put_samples(struct rec_writer *w, uint32_t event)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x1000, CHAIN_WITHHELD };

	for (uint64_t i = 0; i < made[event].kept + made[event].cut; i++) {
		const struct sample_in s = {
			.time = START + 1000 * (i + 1) + event, .pid = PID, .tid = PID, .period = 1, .event = event,
			.cut = i < made[event].cut, .chain = chain, .nchain = i < made[event].withheld ? 3 : 2,
		};

		assert_int_equal(rec_writer_sample(w, &s), 0);
	}
}

/* @own: samples that were left out on purpose. @more: kept, by the ledger, than are in the file. */
static void write_recording(int fd, uint64_t own, uint64_t more)
{
	static const struct ev_event events[] = {
		{ .type = PERF_TYPE_SOFTWARE, .period = 1000000, .name = "cpu-clock", .unit = "ns" },
		{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .period = 1, .name = "page-faults", .unit = "" },
		{ .role = ROLE_WAITS, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES, .period = 1,
		  .name = "off-cpu", .unit = "ns" },
	};
	const struct ev_proc proc = {
		.time = START, .serial = 1, .pid = PID, .ppid = 1, .start_ticks = 1, .comm = "made", .exe = "/bin/x", .root = "/",
		.cgroup = "/", .maps_known = true,
	};
	struct ev_ledger led = { .have_format_lost = true, .own = own, .kept = more };
	struct ev_counts counts[EVENTS];
	struct rec_writer *w;
	int err;

	w = rec_writer_new_at(fd, START, 1, true, &err);
	assert_non_null(w);
	for (uint32_t e = 0; e < EVENTS; e++) {
		struct ev_event ev = events[e];

		ev.index = ev.leader = e;
		ev.modifier = ev.filter = ev.fields = "";
		assert_int_equal(rec_writer_event(w, &ev), 0);
	}
	assert_int_equal(rec_writer_proc(w, &proc), 0);
	for (uint32_t e = 0; e < EVENTS; e++) {
		put_samples(w, e);
		counts[e] = (struct ev_counts){
			.event = e, .events = 1, .samples = made[e].kept + made[e].cut + made[e].dropped + own, .lost = made[e].lost,
			.throttled = e, .throttled_ns = 1000 * e, .throttled_samples = 10 * e,
		};
		led.throttled += e;
		led.throttled_samples += 10 * e;
		led.kept += made[e].kept;
		led.cut += made[e].cut;
		led.withheld += made[e].withheld;
		led.dropped += made[e].dropped;
		led.lost_kernel += made[e].lost;
	}
	assert_int_equal(rec_writer_counts(w, counts, EVENTS), 0);
	assert_int_equal(rec_writer_ledger(w, &led), 0);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
}

static struct profile *profile_of(const char *path, uint32_t event, unsigned int nthreads)
{
	static const struct naming_opts nopts = { .demangle = true, .detail = true };
	struct collect_run run;
	struct collect_opts copts = {
		.unwinder = &unwind_cached, .max_stack = 100, .events = &run.events, .event = event, .block_ns = 1000000000,
	};
	struct profile *p;

	collect_run_open(&run, path);
	copts.start = rec_reader_start(run.r);
	collect_run_all(&run, &copts, nthreads, &nopts);
	p = to_profile(&(struct to_profile){ path, &run.col, &run.nm, run.r });
	collect_run_close(&run);
	return p;
}

static void same(const struct profile_event *ev, uint64_t kept, uint64_t lost, uint64_t cut, uint64_t dropped, uint64_t withheld)
{
	assert_int_equal(ev->kept, kept);
	assert_int_equal(ev->lost, lost);
	assert_int_equal(ev->cut, cut);
	assert_int_equal(ev->dropped, dropped);
	assert_int_equal(ev->withheld, withheld);
}

static void test_losses(void **state)
{
	char path[32];
	int fd = gen_memfd(path);

	(void)state;
	write_recording(fd, 0, 0);
	for (unsigned int nthreads = 1; nthreads <= 3; nthreads += 2) {
		struct profile *p = profile_of(path, REC_EVENTS_ALL, nthreads);

		assert_int_equal(p->nevents, EVENTS + 1);
		for (uint32_t e = 0; e < EVENTS; e++)
			same(&p->events[e], made[e].kept, made[e].lost, made[e].cut, made[e].dropped, made[e].withheld);
		for (uint32_t e = 0; e < EVENTS; e++) {
			assert_int_equal(p->events[e].throttled_times, e);
			assert_int_equal(p->events[e].throttled_samples, 10 * e);
		}
		assert_int_equal(p->events[EVENTS].throttled_times, EVENTS - 1);
		/* The wall clock is made of the first and the last. */
		same(&p->events[EVENTS], 29, 15, 7, 7, 3);
		assert_int_equal(profile_number(p, "kept"), 34);
		assert_int_equal(profile_number(p, "dropped"), 18);
		profile_free(p);
	}
	close(fd);
}

/* One of them by itself has its own, whether it is chosen before or afterwards. */
static void test_one(void **state)
{
	char path[32];
	int fd = gen_memfd(path);

	(void)state;
	write_recording(fd, 0, 0);
	for (int after = 0; after < 2; after++) {
		struct profile *p = profile_of(path, after ? REC_EVENTS_ALL : 1, 1);

		if (after)
			p = profile_only(p, 1);
		assert_int_equal(profile_number(p, "kept"), 5);
		assert_int_equal(profile_number(p, "lost"), 0);
		assert_int_equal(profile_number(p, "cut"), 0);
		assert_int_equal(profile_number(p, "dropped"), 11);
		assert_int_equal(profile_number(p, "withheld"), 0);
		assert_int_equal(profile_number(p, "throttled_times"), 1);
		assert_int_equal(profile_number(p, "throttled_samples"), 10);
		profile_free(p);
	}
	close(fd);
}

static void test_unknown(void **state)
{
	struct profile *p;
	char path[32];
	int fd = gen_memfd(path);

	(void)state;
	/* Nobody knows of which event the samples were that were left out. */
	write_recording(fd, 6, 0);
	p = profile_of(path, REC_EVENTS_ALL, 1);
	same(&p->events[0], made[0].kept, made[0].lost, made[0].cut, UNKNOWN, made[0].withheld);
	p = profile_only(p, 0);
	assert_int_equal(profile_number(p, "dropped"), 18);
	profile_free(p);
	close(fd);
	/* Samples of the ledger that were not read. */
	fd = gen_memfd(path);
	write_recording(fd, 0, 3);
	p = profile_of(path, REC_EVENTS_ALL, 1);
	same(&p->events[0], UNKNOWN, made[0].lost, UNKNOWN, UNKNOWN, UNKNOWN);
	profile_free(p);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_unknown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
