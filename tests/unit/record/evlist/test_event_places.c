/*
 * PMUs and tracepoints by made-up trees of sysfs and tracefs. The expected numbers are worked out by
 * hand from the format files (event_trees.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "event_trees.h"
#include "evlist/evlist.h"
#include "evlist/tracefs.h"

static struct evlist list;
static struct strbuf said;

static int parse_at(const char *text, const char *filter, const char *pmus, const char *tracefs)
{
	const struct evlist_places places = { pmus, tracefs };
	char copy[512];
	const struct event_spec spec = { .text = text, .filter = filter ? strcpy(copy, filter) : NULL };

	evlist_fini(&list);
	strbuf_reset(&said);
	return evlist_parse(&list, &spec, 1, 99, &places);
}

static int parse(const char *text)
{
	return parse_at(text, NULL, tree_pmus, tree_tracefs);
}

static void pmu_events(void **state)
{
	static const struct {
		const char *text, *name;
		uint32_t type;
		uint64_t config, config1;
		uint8_t precise;
	} want[] = {
		{ "cpu/event=0x3c/", "cpu/event=0x3c/", 4, 0x3c, 0, 0 },
		{ "cpu/event=0x3c,umask=0x1/u", "cpu/event=0x3c,umask=0x1/", 4, 0x13c, 0, 0 },
		{ "cpu/event=60,umask=1,inv/", "cpu/event=60,umask=1,inv/", 4, 0x80013c, 0, 0 },
		{ "cpu/split=0xa5/", "cpu/split=0xa5/", 4, 0xa00000005, 0, 0 },
		{ "cpu/mem-loads/P", "cpu/mem-loads/", 4, 0x1cd, 3, 3 },
		{ "cpu/mem-loads,ldlat=30/pp", "cpu/mem-loads,ldlat=30/", 4, 0x1cd, 30, 2 },
		{ "mem-loads", "cpu/mem-loads/", 4, 0x1cd, 3, 0 },
		{ "cpu/asks,umask=7/", "cpu/asks,umask=7/", 4, 0x701, 0, 0 },
		{ "cpu/config=0x1234,config1=7/", "cpu/config=0x1234,config1=7/", 4, 0x1234, 7, 0 },
		{ "cpu/r1a8/", "cpu/r1a8/", 4, 0x1a8, 0, 0 },
		{ "cpu/cycles/", "cpu/cycles/", 0, 0, 0, 0 },
		{ "cpu/LLC-load-misses/", "cpu/LLC-load-misses/", 3, 0x10002, 0, 0 },
		{ "cpu/event=0x3c,period=7/", "cpu/event=0x3c/", 4, 0x3c, 0, 0 },
		{ "cpu/event=0x3c,name=halted/", "halted", 4, 0x3c, 0, 0 },
		{ "r1a8", "r1a8", 4, 0x1a8, 0, 0 },
		{ "4:0x1a8", "4:0x1a8", 4, 0x1a8, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		if (parse(want[i].text))
			fail_msg("'%s': %s", want[i].text, said.s);
		assert_int_equal(list.n, 1);
		assert_string_equal(list.v[0].name, want[i].name);
		assert_int_equal(list.v[0].type, want[i].type);
		assert_int_equal(list.v[0].config, want[i].config);
		assert_int_equal(list.v[0].config1, want[i].config1);
		assert_int_equal(list.v[0].precise, want[i].precise);
	}
}

static void several_alike(void **state)
{
	static const char *const ways[] = { "uncore_imc/data_reads/", "uncore_imc_*/data_reads/", "data_reads", "imc/data_reads/", "imc_*/data_reads/" };

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		assert_int_equal(parse(ways[i]), 0);
		assert_int_equal(list.n, 2);
		assert_string_equal(list.v[0].name, "uncore_imc_0/data_reads/");
		assert_string_equal(list.v[0].unit, "MiB");
		assert_true(list.v[0].scale == 6.103515625e-5);
		assert_string_equal(list.v[1].unit, "");
		assert_true(list.v[1].scale == 1);
		assert_int_equal(list.v[1].type, 1000015);
		assert_int_equal(list.v[1].ncpus, 2);
		assert_int_equal(list.v[1].cpus[1], 18);
	}
	assert_int_equal(parse("uncore_imc_1/data_reads/"), 0);
	assert_int_equal(list.n, 1);
	assert_int_equal(parse("imc_1/data_reads/"), 0);
	assert_int_equal(list.n, 1);
}

static void hybrid(void **state)
{
	static const char *const lacked[] = { "cpu/topdown-retiring/", "cpu_*/topdown-retiring,period=7/u" };

	(void)state;
	/* PERF_PMU_TYPE_SHIFT is 32. */
	assert_int_equal(parse_at("cycles:u", NULL, tree_hybrid, tree_tracefs), 0);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.v[0].name, "cpu_core/cycles/");
	assert_string_equal(list.v[1].name, "cpu_atom/cycles/");
	assert_int_equal(list.v[0].config, 4ull << 32);
	assert_int_equal(list.v[1].config, 10ull << 32);
	assert_int_equal(list.v[1].type, 0);
	assert_int_equal(list.v[0].ncpus, 16);
	assert_int_equal(list.v[1].cpus[0], 16);
	assert_true(list.v[1].exclude_kernel);
	/* A raw event has the type of the core. */
	assert_int_equal(parse_at("r3c", NULL, tree_hybrid, tree_tracefs), 0);
	assert_int_equal(list.n, 2);
	assert_int_equal(list.v[1].type, 10);
	assert_int_equal(list.v[1].config, 0x3c);
	/* "cpu" stands for all of them. */
	assert_int_equal(parse_at("cpu/slots/", NULL, tree_hybrid, tree_tracefs), 0);
	assert_int_equal(list.n, 2);
	assert_int_equal(parse_at("cpu_atom/instructions/", NULL, tree_hybrid, tree_tracefs), 0);
	assert_int_equal(list.n, 1);
	assert_int_equal(list.v[0].config, 1 | 10ull << 32);
	assert_int_equal(parse_at("topdown-retiring", NULL, tree_hybrid, tree_tracefs), 0);
	assert_int_equal(list.n, 1);
	/* One kind does not have it: the other one is taken, however they are named. */
	for (size_t i = 0; i < sizeof(lacked) / sizeof(*lacked); i++) {
		assert_int_equal(parse_at(lacked[i], NULL, tree_hybrid, tree_tracefs), 0);
		assert_int_equal(list.n, 1);
		assert_string_equal(list.v[0].pmu, "cpu_core");
		assert_non_null(strstr(said.s, "PMU cpu_atom does not have it, and is left out"));
	}
	assert_int_equal(parse_at("cpu_atom/topdown-retiring/", NULL, tree_hybrid, tree_tracefs), -EINVAL);
	assert_non_null(strstr(said.s, "PMU 'cpu_atom' has no event or term 'topdown-retiring'"));
	assert_int_equal(parse_at("cpu_*/nosuch/", NULL, tree_hybrid, tree_tracefs), -EINVAL);
	assert_non_null(strstr(said.s, "PMU 'cpu_core' has no event or term 'nosuch'"));
	assert_int_equal(parse_at("cpu-clock", NULL, tree_hybrid, tree_tracefs), 0);
	assert_int_equal(list.n, 1);
	/* One group for each kind of core; what is no event of a core is in the first. */
	assert_int_equal(parse_at("cs,{cycles,faults,instructions}:S", NULL, tree_hybrid, tree_tracefs), 0);
	assert_int_equal(list.n, 6);
	assert_string_equal(list.v[1].name, "cpu_core/cycles/");
	assert_string_equal(list.v[2].name, "page-faults");
	assert_string_equal(list.v[3].name, "cpu_core/instructions/");
	assert_string_equal(list.v[4].name, "cpu_atom/cycles/");
	assert_string_equal(list.v[5].name, "cpu_atom/instructions/");
	for (size_t i = 1; i < 6; i++) {
		assert_int_equal(list.v[i].leader, i < 4 ? 1 : 4);
		assert_true(list.v[i].sample_read);
	}
	assert_int_equal(list.v[0].leader, 0);
	assert_false(list.v[0].sample_read);
}

static void tracepoints(void **state)
{
	(void)state;
	assert_int_equal(parse("sched:sched_switch"), 0);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.v[0].name, "sched:sched_switch");
	assert_int_equal(list.v[0].type, 2);
	assert_int_equal(list.v[0].config, 316);
	assert_int_equal(list.v[0].period, 1);
	assert_true(list.v[0].every && list.v[0].tracepoint);
	assert_non_null(strstr(list.v[0].format, "field:long prev_state;"));
	assert_int_equal(parse("sched:sched_switch/period=10,name=sw/u"), 0);
	assert_string_equal(list.v[0].name, "sw");
	assert_int_equal(list.v[0].period, 10);
	assert_false(list.v[0].every);
	assert_true(list.v[0].exclude_kernel);
	assert_int_equal(parse("sched:sched_waking:k"), 0);
	assert_true(list.v[0].exclude_user);
	assert_int_equal(parse("block:*"), 0);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.v[0].name, "block:block_rq_complete");
	assert_int_equal(parse("*:*_switch"), 0);
	assert_int_equal(list.n, 1);
	/* Given twice, by a pattern and by name. */
	assert_int_equal(parse("block:*,block:block_rq_issue"), 0);
	assert_int_equal(list.n, 2);
	assert_non_null(strstr(said.s, "'block:block_rq_issue' is given twice"));
}

static void filters(void **state)
{
	static const struct {
		const char *event, *filter;
		const char *said;	/* NULL: it is taken */
	} tries[] = {
		{ "sched:sched_switch", "prev_state==2 && prev_comm!=\"x\"", NULL },
		{ "sched:sched_*", "common_pid == 7", NULL },
		{ "cpu-clock,sched:sched_switch", "prev_pid>0", NULL },
		{ "sched:sched_switch", "prev_stat==2", "Did you mean 'prev_state'? The fields are prev_comm, prev_pid, prev_state, common_type" },
		{ "sched:sched_switch", "prev_state==", "a number or text in quotes is missing at the end" },
		{ "sched:sched_*", "prev_state==2", "of event 'sched:sched_waking': there is no field 'prev_state'" },
		{ "cpu-clock", "prev_state==2", "names no tracepoint" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		int err = parse_at(tries[i].event, tries[i].filter, tree_pmus, tree_tracefs);

		assert_int_equal(err, tries[i].said ? -EINVAL : 0);
		if (tries[i].said && !strstr(said.s, tries[i].said))
			fail_msg("'%s' is not in: %s", tries[i].said, said.s);
		for (size_t k = 0; k < list.n && !err; k++)
			assert_int_equal(!!list.v[k].filter, list.v[k].tracepoint);
	}
}

/* What is wrong is named, and what exists instead. */
static void refused(void **state)
{
	static const struct {
		const char *text, *said;
	} bad[] = {
		{ "cpu/nosuch/", "PMU 'cpu' has no event or term 'nosuch'" },
		{ "cpu/even=1/", "Did you mean 'event'? Its terms are event, inv, ldlat, split, third, umask" },
		{ "cpu/mem-load/", "Did you mean 'mem-loads'?" },
		{ "cpu/event=0x100/", "event=0x100 is too large; 'event' has 8 bits" },
		{ "cpu/event=x/", "'event=x' is not a number" },
		{ "cpu/third=1/", "sets fields that nsprof does not know" },
		{ "cpu/event=1", "the second slash is missing" },
		{ "cpux/event=1/", "there is no PMU 'cpux'. Did you mean 'cpu'? This machine has cpu, software" },
		{ "cpu/../", "has no event or term" },
		{ "mem-load", "unknown event 'mem-load'. Did you mean 'mem-loads'?" },
		{ "sched_switch", "Did you mean 'sched:sched_switch'?" },
		{ "sched:sched_swich", "unknown tracepoint 'sched:sched_swich'. Did you mean 'sched:sched_switch'?" },
		{ "shed:sched_switch", "there is no group 'shed'. Did you mean 'sched'?" },
		{ "sched:nosuch*", "no tracepoint matches 'sched:nosuch*'" },
		{ "ftrace:function", "unknown tracepoint 'ftrace:function'" },
		{ "uprobe:/bin/x:f", "nsprof makes no probes" },
		{ "sdt_x:y", "nsprof makes no probes" },
		{ "..:events", "unknown tracepoint" },
		{ "sched:..", "unknown tracepoint" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i].text), -EINVAL);
		if (!strstr(said.s, bad[i].said))
			fail_msg("'%s': '%s' is not in: %s", bad[i].text, bad[i].said, said.s);
	}
}

static void nothing_there(void **state)
{
	(void)state;
	/* No sysfs: names that every kernel knows still work. */
	assert_int_equal(parse_at("cycles,cpu-clock,r1,sched:sched_switch", NULL, tree_none, tree_tracefs), 0);
	assert_int_equal(list.n, 4);
	assert_int_equal(parse_at("cpu/event=1/", NULL, tree_none, tree_tracefs), -EINVAL);
	assert_non_null(strstr(said.s, "No such file or directory"));
	/* No tracefs where it should be. */
	assert_int_equal(parse_at("sched:sched_switch", NULL, tree_pmus, tree_none), -ENOENT);
	assert_non_null(strstr(said.s, "is a tracepoint, and tracefs at '"));
	assert_int_equal(parse_at("cpu-clock", NULL, tree_none, tree_none), 0);
}

static void too_many(void **state)
{
	struct strbuf text = STRBUF_INIT;

	(void)state;
	for (int i = 0; i < 2000; i++)
		strbuf_addf(&text, "%sr%x", i ? "," : "", i);
	assert_int_equal(parse_at(text.s, NULL, tree_pmus, tree_tracefs), -EINVAL);
	assert_non_null(strstr(said.s, "a recording has at most 1024"));
	strbuf_fini(&text);
}

static void where_mounted(void **state)
{
	static const char both[] =
		"21 20 0:7 / /sys rw - sysfs sysfs rw\n"
		"22 21 0:8 / /sys/kernel/debug rw - debugfs none rw\n"
		"23 21 0:9 / /sys/kernel/tra\\040cing ro - tracefs none ro\n";
	char text[sizeof(both)], path[64];

	(void)state;
	assert_true(tracefs_mounted_at(strcpy(text, both), path, sizeof(path)));
	assert_string_equal(path, "/sys/kernel/tra cing");
	strcpy(text, both);
	*strstr(text, "23 21") = '\0';
	assert_true(tracefs_mounted_at(text, path, sizeof(path)));
	assert_string_equal(path, "/sys/kernel/debug/tracing");
	strcpy(text, both);
	*strstr(text, "22 21") = '\0';
	assert_false(tracefs_mounted_at(text, path, sizeof(path)));
	/* A folder of it is not all of it. */
	strcpy(text, "23 21 0:9 /events /mnt rw - tracefs none rw\n");
	assert_false(tracefs_mounted_at(text, path, sizeof(path)));
}

static int setup(void **state)
{
	(void)state;
	log_divert(&said);
	trees_make();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	log_divert(NULL);
	evlist_fini(&list);
	strbuf_fini(&said);
	trees_remove();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pmu_events), cmocka_unit_test(several_alike), cmocka_unit_test(hybrid),
		cmocka_unit_test(tracepoints), cmocka_unit_test(filters), cmocka_unit_test(refused),
		cmocka_unit_test(nothing_there), cmocka_unit_test(too_many), cmocka_unit_test(where_mounted),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
