/* Event names. The expected numbers are those of include/uapi/linux/perf_event.h, written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "evlist/evlist.h"

static struct evlist list;

static int parse(const char *text)
{
	const struct event_spec spec = { .text = text };

	evlist_fini(&list);
	return evlist_parse(&list, &spec, 1, 99, NULL);
}

/* @text names one event. */
static int parse_one(struct evsel *ev, const char *text)
{
	int err = parse(text);

	if (err)
		return err;
	assert_int_equal(list.n, 1);
	*ev = list.v[0];
	return 0;
}

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
		assert_int_equal(parse_one(&ev, want[i].text), 0);
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
	assert_int_equal(parse_one(&ev, "cpu-clock:u"), 0);
	assert_true(ev.exclude_kernel && !ev.exclude_user);
	assert_string_equal(evsel_modifier(&ev), "u");
	assert_int_equal(parse_one(&ev, "cycles:k"), 0);
	assert_true(ev.exclude_user && !ev.exclude_kernel);
	assert_string_equal(evsel_modifier(&ev), "k");
	assert_int_equal(parse_one(&ev, "cycles:uk"), 0);
	assert_true(!ev.exclude_user && !ev.exclude_kernel);
	assert_int_equal(parse_one(&ev, "cycles:pppu"), 0);
	assert_true(ev.exclude_kernel && !ev.exclude_user);
	assert_int_equal(parse_one(&ev, "cpu-clock:pppH"), 0);
	assert_true(!ev.exclude_user && !ev.exclude_kernel);
	assert_int_equal(parse_one(&ev, "cycles:"), 0);
}

static void refused(void **state)
{
	static const char *const bad[] = {
		"", ":u", "nosuch", "cycle", "cycless", "cycles:z", "cycles:u:k", "cycles:G", "cycles:h",
		"cycles:W", "dummy.", "bpf-output", "duration_time:u", "intel_pt//u", "inst_retired.any", "cycles,", ",cycles", "cycles,,cs", "{cycles", "cycles}", "{}", "{cycles,{cs}}", "{cycles}x",
		"{cycles}{cs}", "cycles{cs}", "cycles/", "cycles/period/", "cycles/period=0/", "cycles/period=x/",
		"cycles/freq=-1/", "cycles/freq=1,period=1/", "cycles/,/", "cycles/nosuch=1/", "cycles/call-graph=xyz/",
		"cycles/call-graph/", "cycles/call-graph=lbr/", "cycles/call-graph='fp,4'/", "cycles/call-graph='dwarf,0'/", "cycles/call-graph='no,8'/",
		"cycles/stack-size=0/", "cycles/stack-size=65529/", "cycles/stack-size/", "cycles/stack-size=8K/", "cycles/max-stack=0/",
		"cycles/max-stack/", "cycles/max-stack=-1/", "cycles/max-stack=65536/", "cycles/no-call-graph/",
		"cycles/name='x/", "mem:", "mem:x", "mem:0x10/3", "mem:0x10/16:r", "mem:0x10:rwx", "mem:0x10:q", "mem:1:w:z",
		"rxyz", "0:x", "L1-dcache-nosuch", ":", "a:", ":b",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parse(bad[i]) != -EINVAL)
			fail_msg("'%s' is accepted", bad[i]);
}

static void fallback(void **state)
{
	static const int missing[] = { -ENOENT, -ENXIO, -ENODEV, -EOPNOTSUPP };
	static const int other[] = { -EACCES, -EPERM, -EINVAL, -EMFILE, -ESRCH, -EBUSY };
	struct evsel ev;

	(void)state;
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		assert_int_equal(parse_one(&ev, "cycles:u"), 0);
		assert_true(evsel_fall_back(&ev, missing[i]));
		assert_string_equal(ev.name, "cpu-clock");
		assert_int_equal(ev.type, 1);
		assert_int_equal(ev.config, 0);
		assert_true(ev.exclude_kernel);		/* the modifier stays */
		assert_false(evsel_fall_back(&ev, missing[i]));
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		assert_int_equal(parse_one(&ev, "cycles"), 0);
		assert_false(evsel_fall_back(&ev, other[i]));
		assert_string_equal(ev.name, "cycles");
	}
	/* Events that cpu-clock cannot replace have no substitute. */
	assert_int_equal(parse_one(&ev, "instructions"), 0);
	assert_false(evsel_fall_back(&ev, -ENOENT));
}

static void attributes(void **state)
{
	struct perf_event_attr attr;
	struct evsel ev;

	(void)state;
	memset(&attr, 0, sizeof(attr));
	attr.sample_type = 0x1234;
	assert_int_equal(parse_one(&ev, "task-clock:k"), 0);
	evsel_attr(&ev, &attr);
	assert_int_equal(attr.type, 1);
	assert_int_equal(attr.config, 1);
	assert_int_equal(attr.exclude_user, 1);
	assert_int_equal(attr.exclude_kernel, 0);
	assert_int_equal(attr.sample_type, 0x1234);
	assert_true(evsel_is_clock(&ev));
	assert_false(evsel_is_hardware(&ev));
	assert_int_equal(parse_one(&ev, "cycles"), 0);
	assert_false(evsel_is_clock(&ev));
	assert_true(evsel_is_hardware(&ev));
	/* Config 0 and 1 of another type are no clocks. */
	assert_int_equal(parse_one(&ev, "instructions"), 0);
	assert_false(evsel_is_clock(&ev));
}

/* Events, groups and rates: as perf evlist -v shows them for the same options. */
static void lists(void **state)
{
	(void)state;
	assert_int_equal(parse(" cpu-clock , cs:u,{faults,minor-faults}:Sk,{major-faults}"), 0);
	assert_int_equal(list.n, 5);
	assert_string_equal(list.v[0].name, "cpu-clock");
	assert_string_equal(list.v[0].unit, "ns");
	assert_string_equal(list.v[1].unit, "");
	assert_true(list.v[1].exclude_kernel);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(list.v[i].leader, i == 3 ? 2 : i);
		assert_int_equal(list.v[i].sample_read, i == 2 || i == 3);
		assert_int_equal(list.v[i].exclude_user, i == 2 || i == 3);
		assert_int_equal(list.v[i].freq, 99);
		assert_int_equal(list.v[i].period, 0);
	}
	/* Groups may repeat an event; a list takes it once. */
	assert_int_equal(parse("cs,cs,{cs,cs},cs:u"), 0);
	assert_int_equal(list.n, 4);
	assert_string_equal(list.v[0].name, "context-switches");
	assert_string_equal(list.v[1].name, "context-switches#2");
	assert_string_equal(list.v[2].name, "context-switches#3");
	assert_string_equal(list.v[3].name, "context-switches");
	/* Made the same afterwards, they are told apart again. */
	evlist_narrow(&list, true, false);
	assert_string_equal(list.v[3].name, "context-switches#4");
	assert_true(list.v[0].exclude_kernel && !list.v[0].exclude_user);
}

static void rates(void **state)
{
	const struct event_spec specs[] = {
		{ .text = "cpu-clock,cs/period=5/", .rate = { .freq = 1000 } },
		{ .text = "faults/freq=7/,minor-faults,mem:0x1000/8:w", .rate = { .period = 3 } },
		{ .text = "major-faults,mem:0x2000:x" },
	};
	static const uint64_t freq[] = { 1000, 0, 7, 0, 0, 11, 0 }, period[] = { 0, 5, 0, 3, 3, 0, 1 };

	(void)state;
	evlist_fini(&list);
	assert_int_equal(evlist_parse(&list, specs, 3, 11, NULL), 0);
	assert_int_equal(list.n, 7);
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(list.v[i].freq, freq[i]);
		assert_int_equal(list.v[i].period, period[i]);
		assert_int_equal(list.v[i].every, i == 6);
		assert_int_equal(list.v[i].spec, i < 2 ? 0 : i < 5 ? 1 : 2);
	}
}

/* What perf record gives such an event is in tests/cmd/record/event-stacks.sh. */
static void stacks(void **state)
{
	static const struct {
		const char *text;
		struct stack_terms want;
	} want[] = {
		{ "cpu-clock", { CALLGRAPH_UNSET, 0, 0 } },
		{ "cpu-clock/call-graph=no/", { CALLGRAPH_NONE, 0, 0 } },
		{ "cpu-clock/call-graph=none/u", { CALLGRAPH_NONE, 0, 0 } },
		{ "cpu-clock/freq=7,call-graph=fp/", { CALLGRAPH_FP, 0, 0 } },
		{ "cpu-clock/call-graph=fp,max-stack=127/", { CALLGRAPH_FP, 0, 127 } },
		{ "cpu-clock/call-graph=dwarf/", { CALLGRAPH_DWARF, 0, 0 } },
		{ "cpu-clock/call-graph=dwarf,stack-size=4090/", { CALLGRAPH_DWARF, 4096, 0 } },
		{ "cpu-clock/call-graph='dwarf,8192'/", { CALLGRAPH_DWARF, 8192, 0 } },
		{ "cpu-clock/stack-size=0xfff8,max-stack=3/", { CALLGRAPH_UNSET, 65528, 3 } },
		{ "software/page-faults,call-graph=no/", { CALLGRAPH_NONE, 0, 0 } },
	};
	struct evsel ev;

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(parse_one(&ev, want[i].text), 0);
		assert_int_equal(ev.stacks.callgraph, want[i].want.callgraph);
		assert_int_equal(ev.stacks.dump_size, want[i].want.dump_size);
		assert_int_equal(ev.stacks.max_stack, want[i].want.max_stack);
	}
	/* Events of a list are not the same if their stacks are not. */
	assert_int_equal(parse("cpu-clock,cpu-clock/call-graph=no/,{faults/call-graph=fp/,cs}"), 0);
	assert_int_equal(list.n, 4);
	assert_string_equal(list.v[1].name, "cpu-clock#2");
	assert_int_equal(list.v[2].stacks.callgraph, CALLGRAPH_FP);
	assert_int_equal(list.v[3].stacks.callgraph, CALLGRAPH_UNSET);
}

/* HW_BREAKPOINT_*: R 1, W 2, X 4. */
static void breakpoints(void **state)
{
	static const struct {
		const char *text, *name;
		uint64_t addr, len;
		uint32_t type;
	} want[] = {
		{ "mem:0x1000", "mem:0x1000", 0x1000, 4, 3 },
		{ "mem:4096/8:w", "mem:4096/8:w", 4096, 8, 2 },
		{ "mem:0x1000:x", "mem:0x1000:x", 0x1000, 8, 4 },
		{ "mem:0x1000:rw:u", "mem:0x1000:rw", 0x1000, 4, 3 },
		{ "mem:0x1000/2:k", "mem:0x1000/2", 0x1000, 2, 3 },
	};
	struct perf_event_attr attr;
	struct evsel ev;

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(parse_one(&ev, want[i].text), 0);
		assert_string_equal(ev.name, want[i].name);
		memset(&attr, 0, sizeof(attr));
		evsel_attr(&ev, &attr);
		assert_int_equal(attr.type, 5);
		assert_int_equal(attr.bp_addr, want[i].addr);
		assert_int_equal(attr.bp_len, want[i].len);
		assert_int_equal(attr.bp_type, want[i].type);
		assert_int_equal(attr.exclude_kernel, i == 3);
		assert_int_equal(attr.exclude_user, i == 4);
	}
}

static void spellings(void **state)
{
	static const struct {
		const char *text;
		uint64_t config;
	} caches[] = {
		{ "L1-dcache-load-misses", 0x10000 }, { "l1d-read-miss", 0x10000 }, { "L1-data-misses-load", 0x10000 },
		{ "LLC", 2 }, { "LLC-prefetches", 0x202 }, { "dTLB-store-misses", 0x10103 }, { "branch-load-misses", 0x10005 },
		{ "L1-icache-speculative-read", 0x201 }, { "node-stores", 0x106 },
	};
	struct evsel ev;

	(void)state;
	for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++) {
		assert_int_equal(parse_one(&ev, caches[i].text), 0);
		assert_int_equal(ev.type, 3);
		assert_int_equal(ev.config, caches[i].config);
	}
	/* These are events of their own, not of the branch predictor. */
	assert_int_equal(parse_one(&ev, "branches"), 0);
	assert_int_equal(ev.type, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(modifiers),
		cmocka_unit_test(refused),
		cmocka_unit_test(fallback),
		cmocka_unit_test(attributes),
		cmocka_unit_test(lists),
		cmocka_unit_test(rates),
		cmocka_unit_test(stacks),
		cmocka_unit_test(breakpoints),
		cmocka_unit_test(spellings),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
