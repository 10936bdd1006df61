/* Suggestions for a mistyped word: the nearest existing words, and nothing when none is near. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/suggest.h"
#include "base/util.h"

static const char *const words[] = { "record", "report", "symbolize", "ps", "diff", "info", "doctor", "import", "export" };

/* The suggestion for @given among @words. */
static const char *meant(const char *given)
{
	static char buf[160];
	struct suggest s;

	suggest_init(&s, given, strlen(given));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		suggest_offer(&s, words[i]);
	return suggest_text(&s, "", buf, sizeof(buf));
}

static void test_one_slip(void **state)
{
	(void)state;
	assert_string_equal(meant("reprot"), " Did you mean 'report'?");	/* two neighbours swapped */
	assert_string_equal(meant("recrod"), " Did you mean 'record'?");
	assert_string_equal(meant("symbolise"), " Did you mean 'symbolize'?");	/* replaced */
	assert_string_equal(meant("recordd"), " Did you mean 'record'?");	/* added */
	assert_string_equal(meant("nifo"), " Did you mean 'info'?");
	assert_string_equal(meant("dif"), " Did you mean 'diff'?");	/* left out */
}

static void test_beginnings(void **state)
{
	(void)state;
	assert_string_equal(meant("rec"), " Did you mean 'record'?");
	assert_string_equal(meant("symb"), " Did you mean 'symbolize'?");
	assert_string_equal(meant("re"), " Did you mean 'record' or 'report'?");
}

static void test_equally_near(void **state)
{
	(void)state;
	assert_string_equal(meant("xmport"), " Did you mean 'import'?");
	assert_string_equal(meant("mport"), " Did you mean 'import'?");
	assert_string_equal(meant("xport"), " Did you mean 'export'?");
	assert_string_equal(meant("eport"), " Did you mean 'report' or 'export'?");
}

static void test_nothing_near(void **state)
{
	static const char *const far[] = { "", "x", "zz", "rp", "foo", "flamegraph", "container", "mmmmmm" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(far); i++)
		assert_string_equal(meant(far[i]), "");
}

/* The given word ends where its length says; nothing is read beyond. */
static void test_no_terminator(void **state)
{
	struct suggest s;
	char buf[160];

	(void)state;
	suggest_init(&s, "contaner=web", strlen("contaner"));
	suggest_offer(&s, "container");
	suggest_offer(&s, "container");
	assert_string_equal(suggest_text(&s, "--", buf, sizeof(buf)), " Did you mean '--container'?");
}

static void test_longer_than_compared(void **state)
{
	char given[200], name[200];
	struct suggest s;

	(void)state;
	memset(given, 'a', sizeof(given) - 1);
	given[sizeof(given) - 1] = '\0';
	memset(name, 'b', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	suggest_init(&s, given, strlen(given));
	suggest_offer(&s, name);
	assert_int_equal(s.n, 0);
	/* Too many equally near words give no suggestion. */
	suggest_init(&s, "abcx", 4);
	suggest_offer(&s, "abca");
	suggest_offer(&s, "abcb");
	suggest_offer(&s, "abcc");
	suggest_offer(&s, "abcd");
	assert_int_equal(s.n, 4);
	assert_string_equal(suggest_text(&s, "", name, sizeof(name)), "");
	/* A small buffer is not overrun. */
	suggest_init(&s, "recor", 5);
	suggest_offer(&s, "record");
	assert_int_equal(strlen(suggest_text(&s, "", name, 8)), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_slip),
		cmocka_unit_test(test_beginnings),
		cmocka_unit_test(test_equally_near),
		cmocka_unit_test(test_nothing_near),
		cmocka_unit_test(test_no_terminator),
		cmocka_unit_test(test_longer_than_compared),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
