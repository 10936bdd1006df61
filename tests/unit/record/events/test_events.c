/*
 * Several events on the real kernel: those of some CPUs only, groups, and what is left out. Skipped
 * where no events of CPUs may be opened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "events/open.h"
#include "events/wakeup_events.h"

static struct record_opts opts = { .freq = 99, .callgraph = CALLGRAPH_NONE, .all_cpus = true };
static struct target target;
static struct events ev;
static struct strbuf said;

static void clock_at(struct evsel *sel, uint32_t leader)
{
	evsel_init(sel, "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	sel->freq = 99;
	sel->leader = leader;
}

/* A type that no PMU has. */
static void nobody_at(struct evsel *sel, uint32_t leader)
{
	evsel_init(sel, "nobody/x/", 12345678, 1);
	sel->freq = 99;
	sel->leader = leader;
}

static void faults_at(struct evsel *sel, uint32_t leader)
{
	evsel_init(sel, "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	sel->period = 1;
	sel->leader = leader;
}

static int open_events(const struct evsel *sels, size_t n)
{
	int err;

	strbuf_reset(&said);
	log_divert(&said);
	err = target_resolve(&target, &opts);
	if (!err)
		err = events_open(&ev, &opts, &target, sels, n, NULL, false);
	log_divert(NULL);
	return err;
}

static void close_events(void)
{
	events_close(&ev);
	target_fini(&target);
}

static size_t count_of(size_t event)
{
	size_t n = 0;

	for (size_t i = 0; i < ev.nsamples; i++)
		n += ev.samples[i].event == event;
	return n;
}

static int setup(void **state)
{
	struct evsel sel;
	int err;

	(void)state;
	clock_at(&sel, 0);
	err = open_events(&sel, 1);
	close_events();
	if (!err)
		return 0;
	print_message("# no events of CPUs may be opened here: %s\n", said.s ? said.s : "");
	return -1;
}

/* As one of a hybrid PMU: only on the last CPU. */
static void on_some_cpus(void **state)
{
	struct evsel sels[2];
	struct events_count *counts;
	uint32_t last;

	(void)state;
	clock_at(&sels[0], 0);
	faults_at(&sels[1], 1);
	assert_int_equal(target_resolve(&target, &opts), 0);
	last = target.cpus[target.ncpus - 1];
	target_fini(&target);
	sels[1].cpus = &last;
	sels[1].ncpus = 1;
	assert_int_equal(open_events(sels, 2), 0);
	assert_int_equal(count_of(0), target.ncpus);
	assert_int_equal(count_of(1), 1);
	assert_true(events_split(&ev));
	/* Bounded and unbounded ones have rings of their own. */
	assert_non_null(ev.data[0].page);
	assert_non_null(ev.data[2 * target.ncpus - 1].page);
	assert_true(ev.data[2 * target.ncpus - 1].extra);
	if (target.ncpus > 1)
		assert_null(ev.data[target.ncpus].page);
	counts = calloc(2 * target.nall, sizeof(*counts));
	assert_true(events_counts(&ev, counts));
	for (uint32_t c = 0; c < target.ncpus; c++) {
		assert_int_equal(counts[c].events, 1);
		assert_int_equal(counts[target.nall + c].events, c == target.ncpus - 1);
	}
	free(counts);
	close_events();
}

static void one_fails(void **state)
{
	struct evsel sels[2];

	(void)state;
	clock_at(&sels[0], 0);
	nobody_at(&sels[1], 1);
	opts.optional_events = false;
	assert_true(open_events(sels, 2) < 0);
	assert_non_null(strstr(said.s, "'nobody/x/'"));
	close_events();
}

/* With its group, if it leads one. Indices have no gaps afterwards. */
static void leaves_out(void **state)
{
	struct evsel sels[5];

	(void)state;
	opts.optional_events = true;
	nobody_at(&sels[0], 0);
	clock_at(&sels[1], 0);
	clock_at(&sels[2], 2);
	faults_at(&sels[3], 2);
	nobody_at(&sels[4], 2);
	assert_int_equal(open_events(sels, 5), 0);
	assert_int_equal(ev.n, 2);
	assert_int_equal(ev.nleft, 3);
	assert_string_equal(ev.left[0].name, "nobody/x/");
	assert_non_null(strstr(ev.left[0].why, "'nobody/x/'"));
	assert_string_equal(ev.v[0].sel.name, "cpu-clock");
	assert_string_equal(ev.v[1].sel.name, "page-faults");
	assert_int_equal(ev.v[1].sel.leader, 0);
	assert_int_equal(count_of(0), target.ncpus);
	assert_int_equal(count_of(1), target.ncpus);
	close_events();
	/* If nothing is left, that is an error. */
	assert_true(open_events(sels, 1) < 0);
	close_events();
	opts.optional_events = false;
}

/* The counts of a leader with a read format of its own, and of its member. */
static void reads_groups(void **state)
{
	struct evsel sels[2];
	struct events_count *counts;

	(void)state;
	clock_at(&sels[0], 0);
	faults_at(&sels[1], 0);
	sels[0].sample_read = true;
	sels[1].period = 0;
	assert_int_equal(open_events(sels, 2), 0);
	assert_true(ev.v[0].reads);
	assert_true(ev.v[1].member);
	assert_false(events_split(&ev));
	events_enable(&ev);
	for (volatile unsigned int i = 0; i < 50000000; i++)
		;
	events_disable(&ev);
	counts = calloc(2 * target.nall, sizeof(*counts));
	assert_true(events_counts(&ev, counts));
	for (uint32_t c = 1; c < target.ncpus; c++) {
		counts[0].count += counts[c].count;
		counts[0].running += counts[c].running;
	}
	assert_true(counts[0].count > 0);
	/* A clock counts the time for which it runs. */
	assert_in_range(counts[0].count, counts[0].running - counts[0].running / 10, counts[0].running + counts[0].running / 10);
	free(counts);
	close_events();
}

/* A CPU that comes back reports wake-ups again, into its ring, also one that is not sampled. */
static void wakeups_again(void **state)
{
	struct wakeup_source src;
	struct evsel sel;
	uint32_t last;
	int err;

	(void)state;
	ev = (struct events){ 0 };
	target = (struct target){ .fs.fd = -1 };
	strbuf_reset(&said);
	log_divert(&said);
	err = wakeup_events_find(&src);
	opts.cpus = "0";
	if (!err)
		err = target_resolve(&target, &opts);
	clock_at(&sel, 0);
	if (!err)
		err = events_open(&ev, &opts, &target, &sel, 1, &src, false);
	log_divert(NULL);
	opts.cpus = NULL;
	if (err) {
		print_message("# no wake-ups may be recorded here: %s", said.s ? said.s : "");
		close_events();
		skip();
	}
	assert_int_equal(ev.ndata, EVENT_RINGS + target.nall);
	assert_int_equal(ev.nwakeups, target.nall);
	last = (uint32_t)target.nall - 1;
	assert_non_null(ev.data[EVENT_RINGS + last].page);
	assert_true(ev.data[EVENT_RINGS + last].wakeups);
	assert_int_equal(events_reopen_cpu(&ev, last, true), 0);
	assert_int_equal(ev.nwakeups, target.nall + 1);
	assert_int_equal(ev.wakeups[target.nall].cpu, last);
	close_events();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_some_cpus),
		cmocka_unit_test(one_fails),
		cmocka_unit_test(leaves_out),
		cmocka_unit_test(reads_groups),
		cmocka_unit_test(wakeups_again),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (setup(NULL)) {
		print_message("1..0 # SKIP no events of CPUs may be opened here\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
