/* What nsprof list shows of made-up machines (event_trees.h), and of none at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "event_trees.h"
#include "list/event_catalog.h"

static struct event_catalog catalog;

static void load(const char *pattern, const char *pmus, const char *tracefs, bool fields)
{
	const struct evlist_places places = { pmus, tracefs };
	char copy[64], *patterns[] = { copy };

	snprintf(copy, sizeof(copy), "%s", pattern ? pattern : "");
	event_catalog_fini(&catalog);
	event_catalog_load(&catalog, &places, patterns, !!pattern, fields);
}

/* The names of @kind, with a blank behind each. */
static const char *names(enum catalog_kind kind)
{
	static char text[2048];

	text[0] = '\0';
	for (size_t i = 0; i < catalog.n; i++)
		if (catalog.v[i].kind == kind)
			strcat(strcat(text, catalog.v[i].name), " ");
	return text;
}

static const struct catalog_event *event(const char *name)
{
	for (size_t i = 0; i < catalog.n; i++)
		if (!strcmp(catalog.v[i].name, name))
			return &catalog.v[i];
	fail_msg("'%s' is not listed", name);
	return NULL;
}

static void everything(void **state)
{
	(void)state;
	load(NULL, tree_pmus, tree_tracefs, false);
	assert_string_equal(names(CATALOG_TRACEPOINT),
			    "block:block_rq_complete block:block_rq_issue sched:sched_switch sched:sched_waking ");
	assert_string_equal(names(CATALOG_PMU),
			    "cpu/asks/ cpu/cpu-cycles/ cpu/mem-loads/ cpu/TERM,.../ uncore_imc_0/data_reads/ uncore_imc_0/TERM,.../ "
			    "uncore_imc_1/data_reads/ uncore_imc_1/TERM,.../ ");
	assert_non_null(strstr(names(CATALOG_SOFTWARE), "cpu-clock task-clock page-faults "));
	assert_non_null(strstr(names(CATALOG_HARDWARE), "cycles instructions "));
	assert_string_equal(event("sched:sched_switch")->text, "prev_comm, prev_pid, prev_state");
	assert_string_equal(event("cpu/mem-loads/")->text, "event=0xcd,umask=0x1,ldlat=3");
	assert_string_equal(event("uncore_imc_0/data_reads/")->text, "event=0x20, in MiB");
	/* A term of 8 bits, one of one bit, and none of a field that is unknown here. */
	assert_string_equal(event("cpu/TERM,.../")->text,
			    "by its terms: event=0..0xff, inv, ldlat=0..0xffff, split=0..0xff, umask=0..0xff");
	assert_null(event("sched:sched_switch")->format);
	assert_false(event("page-faults")->missing);
	for (size_t i = 1; i < catalog.n; i++)
		assert_true(catalog.v[i - 1].kind <= catalog.v[i].kind);
	assert_int_equal(catalog.absent[CATALOG_PMU].len, 0);
	assert_int_equal(catalog.absent[CATALOG_TRACEPOINT].len, 0);
}

static void patterns(void **state)
{
	(void)state;
	load("sched:*", tree_pmus, tree_tracefs, true);
	assert_int_equal(catalog.n, 2);
	assert_non_null(strstr(event("sched:sched_waking")->format, "field:pid_t pid;"));
	load("RQ_ISS", tree_pmus, tree_tracefs, false);
	assert_int_equal(catalog.n, 1);
	load("pmu", tree_hybrid, tree_tracefs, false);
	assert_string_equal(names(CATALOG_PMU), "cpu_core/slots/ cpu_core/topdown-retiring/ cpu_core/TERM,.../ "
						"cpu_atom/slots/ cpu_atom/TERM,.../ ");
	assert_int_equal(catalog.n, 5);
	load("Tracepoint", tree_hybrid, tree_tracefs, false);
	assert_int_equal(catalog.n, 4);
	/* The other name of an event finds it, too. */
	load("cpu-cycles", tree_none, tree_tracefs, false);
	assert_non_null(event("cycles"));
	load("nosuch", tree_pmus, tree_tracefs, false);
	assert_int_equal(catalog.n, 0);
}

static void nothing(void **state)
{
	(void)state;
	load(NULL, tree_none, tree_none, false);
	assert_string_equal(names(CATALOG_PMU), "");
	assert_string_equal(names(CATALOG_TRACEPOINT), "");
	assert_non_null(strstr(catalog.absent[CATALOG_PMU].s, "cannot be read: No such file or directory"));
	assert_non_null(strstr(catalog.absent[CATALOG_TRACEPOINT].s, "cannot be read: No such file or directory"));
	assert_false(event("page-faults")->missing);
}

static int setup(void **state)
{
	(void)state;
	trees_make();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	event_catalog_fini(&catalog);
	trees_remove();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything), cmocka_unit_test(patterns), cmocka_unit_test(nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
