/* Event names. The expected numbers are those of include/uapi/linux/perf_event.h, written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "events/evsel.h"

static void names(void **state)
{
	static const struct {
		const char *text, *name;
		uint32_t type;
		uint64_t config;
	} want[] = {
		{ "cycles", "cycles", 0, 0 },
		{ "cpu-cycles", "cycles", 0, 0 },
		{ "instructions", "instructions", 0, 1 },
		{ "cache-misses", "cache-misses", 0, 3 },
		{ "branches", "branches", 0, 4 },
		{ "branch-instructions", "branches", 0, 4 },
		{ "cpu-clock", "cpu-clock", 1, 0 },
		{ "task-clock", "task-clock", 1, 1 },
		{ "page-faults", "page-faults", 1, 2 },
		{ "faults", "page-faults", 1, 2 },
		{ "cs", "context-switches", 1, 3 },
		{ "migrations", "cpu-migrations", 1, 4 },
		{ "minor-faults", "minor-faults", 1, 5 },
		{ "major-faults", "major-faults", 1, 6 },
		/* perf_event_open(2): cache | op << 8 | result << 16 */
		{ "L1-dcache-load-misses", "L1-dcache-load-misses", 3, 0x10000 },
		{ "LLC-stores", "LLC-stores", 3, 0x102 },
		{ "iTLB-loads", "iTLB-loads", 3, 4 },
	};
	struct evsel ev;

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(evsel_parse(&ev, want[i].text), 0);
		assert_string_equal(ev.name, want[i].name);
		assert_int_equal(ev.type, want[i].type);
		assert_int_equal(ev.config, want[i].config);
		assert_false(ev.exclude_user);
		assert_false(ev.exclude_kernel);
		assert_string_equal(evsel_modifier(&ev), "");
	}
}

static void modifiers(void **state)
{
	struct evsel ev;

	(void)state;
	assert_int_equal(evsel_parse(&ev, "cpu-clock:u"), 0);
	assert_true(ev.exclude_kernel && !ev.exclude_user);
	assert_string_equal(evsel_modifier(&ev), "u");
	assert_int_equal(evsel_parse(&ev, "cycles:k"), 0);
	assert_true(ev.exclude_user && !ev.exclude_kernel);
	assert_string_equal(evsel_modifier(&ev), "k");
	assert_int_equal(evsel_parse(&ev, "cycles:uk"), 0);
	assert_true(!ev.exclude_user && !ev.exclude_kernel);
	assert_int_equal(evsel_parse(&ev, "cycles:pppu"), 0);
	assert_true(ev.exclude_kernel && !ev.exclude_user);
	assert_int_equal(evsel_parse(&ev, "cpu-clock:pppH"), 0);
	assert_true(!ev.exclude_user && !ev.exclude_kernel);
	assert_int_equal(evsel_parse(&ev, "cycles:"), 0);
}

static void refused(void **state)
{
	static const char *const bad[] = {
		"", ":u", "nosuch", "cycle", "cycless", "Cycles", "cycles:z", "cycles:u:k",
		"cycles,cs", "{cycles,cs}", "r1a8", "cpu/cycles/", "mem:0x1000:rw", "sched:sched_switch",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct evsel ev = { .name = "untouched" };

		assert_int_equal(evsel_parse(&ev, bad[i]), -EINVAL);
		assert_string_equal(ev.name, "untouched");
	}
}

static void fallback(void **state)
{
	static const int missing[] = { -ENOENT, -ENXIO, -ENODEV, -EOPNOTSUPP };
	static const int other[] = { -EACCES, -EPERM, -EINVAL, -EMFILE, -ESRCH, -EBUSY };
	struct evsel ev;

	(void)state;
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		assert_int_equal(evsel_parse(&ev, "cycles:u"), 0);
		assert_true(evsel_fall_back(&ev, missing[i]));
		assert_string_equal(ev.name, "cpu-clock");
		assert_int_equal(ev.type, 1);
		assert_int_equal(ev.config, 0);
		assert_true(ev.exclude_kernel);		/* the modifier stays */
		assert_false(evsel_fall_back(&ev, missing[i]));
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		assert_int_equal(evsel_parse(&ev, "cycles"), 0);
		assert_false(evsel_fall_back(&ev, other[i]));
		assert_string_equal(ev.name, "cycles");
	}
	/* Events that cpu-clock cannot replace have no substitute. */
	assert_int_equal(evsel_parse(&ev, "instructions"), 0);
	assert_false(evsel_fall_back(&ev, -ENOENT));
}

static void attributes(void **state)
{
	struct perf_event_attr attr;
	struct evsel ev;

	(void)state;
	memset(&attr, 0, sizeof(attr));
	attr.sample_type = 0x1234;
	assert_int_equal(evsel_parse(&ev, "task-clock:k"), 0);
	evsel_attr(&ev, &attr);
	assert_int_equal(attr.type, 1);
	assert_int_equal(attr.config, 1);
	assert_int_equal(attr.exclude_user, 1);
	assert_int_equal(attr.exclude_kernel, 0);
	assert_int_equal(attr.sample_type, 0x1234);
	assert_true(evsel_is_clock(&ev));
	assert_false(evsel_is_hardware(&ev));
	assert_int_equal(evsel_parse(&ev, "cycles"), 0);
	assert_false(evsel_is_clock(&ev));
	assert_true(evsel_is_hardware(&ev));
	/* Config 0 and 1 of another type are no clocks. */
	assert_int_equal(evsel_parse(&ev, "instructions"), 0);
	assert_false(evsel_is_clock(&ev));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(modifiers),
		cmocka_unit_test(refused),
		cmocka_unit_test(fallback),
		cmocka_unit_test(attributes),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
