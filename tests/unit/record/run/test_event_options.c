/*
 * -F and -c beside several -e. One of them counts for all events wherever it stands, as in perf 7.2
 * (evsel__config() in tools/perf/util/evsel.c); the rest is event_options.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "run/event_options.h"

#define WORDS 12

/* Gives @c the options in @line, of words with a blank between them. */
static int give(struct record_cmdline *c, const char *line)
{
	static char text[256];
	char *word[WORDS] = { NULL };
	int n = 0, err = 0;

	memset(c, 0, sizeof(*c));
	strcpy(text, line);
	for (char *p = strtok(text, " "); p && n < WORDS - 1; p = strtok(NULL, " "))
		word[n++] = p;
	for (int i = 0; i + 1 < n && !err; i += 2)
		err = word[i][1] == 'e' ? event_options_event(c, word[i + 1]) :
		      word[i][1] == 'F' ? event_options_freq(c, word[i + 1]) :
		      word[i][1] == 'c' ? event_options_period(c, word[i + 1]) : event_options_filter(c, word[i + 1]);
	return err ? err : event_options_finish(c);
}

static void rates(void **state)
{
	/* Frequencies of the events, or minus their periods; 0: the default. */
	static const struct {
		const char *line;
		int64_t rate[3];
	} want[] = {
		{ "", { 0 } },
		{ "-e a", { 0 } },
		{ "-F 9", { 9 } },
		{ "-F 9 -e a -e b", { 9, 9 } },
		{ "-e a -F 9 -e b", { 9, 9 } },
		{ "-e a -e b -c 7", { -7, -7 } },
		{ "-F 9 -e a -c 7 -e b", { 9, -7 } },
		{ "-e a -F 9 -e b -c 7 -e c", { 9, 9, -7 } },
		{ "-F 9 -e a -F 8 -e b", { 9, 8 } },
		/* As scripts do that append an option to replace one. */
		{ "-F 9 -e a -F 8", { 8 } },
		{ "-F 9 -F 8 -e a", { 8 } },
		{ "-F max -e a", { -1 - INT64_MAX } },
	};
	struct record_cmdline c;

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(give(&c, want[i].line), 0);
		for (size_t k = 0; k < c.o.nspecs; k++) {
			const struct event_rate *r = &c.o.specs[k].rate;
			const int64_t rate = r->freq == EVSEL_FREQ_MAX ? INT64_MIN : r->freq ? (int64_t)r->freq : -(int64_t)r->period;

			if (rate != want[i].rate[k])
				fail_msg("'%s': %lld", want[i].line, (long long)rate);
		}
		if (!strstr(want[i].line, "-e"))
			assert_string_equal(c.o.specs[0].text, "cycles");
		event_options_fini(&c);
	}
}

static void exclusive(void **state)
{
	static const char *const bad[] = {
		"-F 9 -c 7 -e a", "-c 7 -F 9", "-e a -F 9 -c 7", "-F 9 -e a -c 7", "-c 7 -e a -F 9 -e b -c 7", "-F 0 -e a", "-c x",
	};
	struct record_cmdline c;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (give(&c, bad[i]) != -EINVAL)
			fail_msg("'%s' is accepted", bad[i]);
		event_options_fini(&c);
	}
}

static void filters(void **state)
{
	struct record_cmdline c;

	(void)state;
	assert_int_equal(give(&c, "-e a -f x==1 -e b -f y==1||y==2 -f z==3"), 0);
	assert_string_equal(c.o.specs[0].filter, "x==1");
	assert_string_equal(c.o.specs[1].filter, "(y==1||y==2) && (z==3)");
	event_options_fini(&c);
	assert_int_equal(give(&c, "-f x==1 -e a"), -EINVAL);
	event_options_fini(&c);
}

static void fields(void **state)
{
	struct record_cmdline c = { .quiet = false };

	(void)state;
	assert_int_equal(event_options_fields(&c, NULL), 0);
	assert_int_equal(c.o.payloads, PAYLOADS_NUMBERS);
	assert_int_equal(event_options_fields(&c, "all"), 0);
	assert_int_equal(c.o.payloads, PAYLOADS_ALL);
	assert_int_equal(event_options_fields(&c, "none"), 0);
	assert_int_equal(c.o.payloads, PAYLOADS_NONE);
	assert_int_equal(event_options_fields(&c, "text"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates), cmocka_unit_test(exclusive), cmocka_unit_test(filters), cmocka_unit_test(fields),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
