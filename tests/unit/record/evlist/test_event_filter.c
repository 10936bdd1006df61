/*
 * Syntax of filters. What is right and wrong is that of Documentation/trace/events.rst;
 * tests/cmd/record/events.sh asks the kernel about the same ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "evlist/event_filter.h"

static const char text[] =
	"field:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"field:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"field:long prev_state;\toffset:24;\tsize:8;\tsigned:1;\n"
	"field:const char * filename;\toffset:32;\tsize:8;\tsigned:0;\n";

static struct tp_format format;

static int check(const char *filter, struct strbuf *why)
{
	strbuf_reset(why);
	return event_filter_check(filter, &format, why);
}

static void right(void **state)
{
	static const char *const good[] = {
		"prev_state==2", "prev_state == 2 && prev_comm != \"x\"", "(prev_state==2||prev_state==1)&&common_pid!=0",
		"!(prev_state == 0x10)", "!prev_state==1", "prev_state & 3", "prev_state<=-1", "prev_comm ~ \"ba*\"",
		"prev_comm == 'x'", "prev_comm != \"&& (\"", " ( ( prev_state > 1 ) ) ", "comm == \"x\"", "COMM ~ \"a*\"",
		"cpu == 1", "CPU < 2", "common_cpu & CPUS{0-3}", "filename.ustring == \"x\"", "filename == \"x\"",
		"prev_state == 1 && prev_state == 2 || prev_state == 3",
	};
	struct strbuf why = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (check(good[i], &why))
			fail_msg("'%s': %s", good[i], why.s);
	strbuf_fini(&why);
}

static void wrong(void **state)
{
	static const struct {
		const char *filter, *why;
	} bad[] = {
		{ "", "a field is missing at the end" },
		{ "()", "a field is expected before ')'" },
		{ "prev_state", "a comparison (== != < <= > >= & ~) is missing at the end" },
		{ "prev_state=2", "a comparison (== != < <= > >= & ~) is expected before '=2'" },
		{ "prev_state==", "a number or text in quotes is missing" },
		{ "prev_state==x", "'x' is neither a number nor text in quotes" },
		{ "prev_state==2 &&", "a field is missing at the end" },
		{ "prev_state==2 & common_pid==1", "'&&' or '||' is expected before '& common_pid==1'" },
		{ "(prev_state==2", "')', '&&' or '||' is missing at the end" },
		{ "prev_state==2)", "'&&' or '||' is expected before ')'" },
		{ "prev_comm==\"x", "the quote \" is not closed" },
		{ "prev_comm==1", "field 'prev_comm' is text: write prev_comm==\"1\"" },
		{ "prev_comm<\"x\"", "text is compared by ==, != or ~ (pattern), not by <" },
		{ "prev_state==\"x\"", "field 'prev_state' is a number, and is compared with text" },
		{ "prev_stat==2", "there is no field 'prev_stat'. Did you mean 'prev_state'? The fields are prev_comm, prev_state, "
				   "filename, common_pid" },
		{ "2==prev_state", "there is no field '2'." },
	};
	struct strbuf why = STRBUF_INIT, deep = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (!check(bad[i].filter, &why))
			fail_msg("'%s' is accepted", bad[i].filter);
		if (!strstr(why.s, bad[i].why))
			fail_msg("'%s': '%s' is not in: %s", bad[i].filter, bad[i].why, why.s);
	}
	for (int i = 0; i < 100000; i++)
		strbuf_addc(&deep, '(');
	assert_int_equal(check(deep.s, &why), -EINVAL);
	strbuf_fini(&deep);
	strbuf_fini(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(right), cmocka_unit_test(wrong) };

	if (tp_format_parse(&format, text, sizeof(text) - 1))
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
