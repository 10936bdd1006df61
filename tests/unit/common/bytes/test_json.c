/* The JSON writer, compared byte by byte with what RFC 8259 requires. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "bytes/json.h"

static char *text;	/* what was written; valid after finish() */
static size_t text_len;
static FILE *stream;

static struct json *start(void)
{
	stream = open_memstream(&text, &text_len);
	return json_new(stream);
}

static void finish(struct json *j)
{
	json_free(j);
	fclose(stream);
}

/* The document that consists of the string @s alone. */
static void assert_string_is(const char *s, const char *want)
{
	struct json *j = start();

	json_str(j, NULL, s);
	finish(j);
	assert_string_equal(text, want);
	free(text);
}

static void commas_and_keys(void **state)
{
	struct json *j = start();

	(void)state;
	json_begin_object(j, NULL);
	json_str(j, "a", "x");
	json_u64(j, "b", UINT64_MAX);
	json_begin_array(j, "c");
	json_begin_array(j, NULL);
	json_end_array(j);
	json_begin_object(j, NULL);
	json_end_object(j);
	json_bool(j, NULL, true);
	json_u64(j, NULL, 0);
	json_i64(j, NULL, INT64_MIN);
	json_null(j, NULL);
	json_end_array(j);
	json_begin_object(j, "d");
	json_bool(j, "e", false);
	json_end_object(j);
	json_str(j, "f\"", "");
	json_end_object(j);
	finish(j);
	assert_string_equal(text, "{\"a\":\"x\",\"b\":18446744073709551615,\"c\":[[],{},true,0,-9223372036854775808,null],"
				  "\"d\":{\"e\":false},\"f\\\"\":\"\"}\n");
	free(text);
}

static void strings_are_escaped(void **state)
{
	(void)state;
	assert_string_is("a\"b\\c/d", "\"a\\\"b\\\\c/d\"\n");
	assert_string_is("\n\t\r\x01\x1f\x7f", "\"\\n\\t\\u000d\\u0001\\u001f\\u007f\"\n");
	/* Safe within <script>; other angle brackets stay as they are. */
	assert_string_is("</script><!--", "\"\\u003c/script>\\u003c!--\"\n");
	assert_string_is("std::vector<int>", "\"std::vector<int>\"\n");
	/* A document on a terminal steers it as little, and its strings are exact. */
	assert_string_is("\xc2\x9b" "a\xe2\x80\xae\xef\xbb\xbf", "\"\\u009ba\\u202e\\ufeff\"\n");
	assert_string_is("\xf3\xa0\x81\x81\xf4\x8f\xbf\xbf", "\"\\udb40\\udc41\\udbff\\udfff\"\n");
	assert_string_is("a\\u{1b}", "\"a\\\\u{1b}\"\n");
}

static void names_are_text(void **state)
{
	struct json *j = start();

	(void)state;
	json_begin_object(j, NULL);
	json_name(j, "name", " \033 \\u{1b}");
	json_bytes(j, "bytes", " \033 ");
	json_end_object(j);
	finish(j);
	assert_string_equal(text, "{\"name\":\"\\\\u{20}\\\\u{1b} \\\\u{5c}u{1b}\",\"bytes\":\" \\\\u{1b} \"}\n");
	free(text);
}

/* Well-formed and ill-formed sequences of Unicode 15, 3.9, tables 3-7 to 3-9. */
static void utf8_is_checked(void **state)
{
	static const char *const good[] = { "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x94\xa5", "\xef\xbf\xbd",
		"\xf4\x8f\xbf\xbd", "\xed\x9f\xbf", "\xe0\xa0\x80", "\xf0\x90\x80\x80" };
	static const struct {
		const char *s;
		int replaced;
	} bad[] = {
		{ "\x80", 1 }, { "\xff", 1 }, { "\xc3", 1 }, { "\xc0\xaf", 2 },
		{ "\xe2\x82", 2 }, { "\xed\xa0\x80", 3 }, { "\xf4\x90\x80\x80", 4 }, { "\xe0\x80\x80", 3 },
		{ "\xf0\x8f\xbf\xbf", 4 }, { "\xf5\x80\x80\x80", 4 }, { "\xf0\x9f\x94", 3 },
	};
	char want[64];
	size_t i;
	int n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		snprintf(want, sizeof(want), "\"%s\"\n", good[i]);
		assert_string_is(good[i], want);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		char *p = want + sprintf(want, "\"");

		for (n = 0; n < bad[i].replaced; n++)
			p += sprintf(p, "\\\\x{%02x}", (unsigned char)bad[i].s[n]);
		sprintf(p, "\"\n");
		assert_string_is(bad[i].s, want);
	}
	/* A cut sequence does not swallow the bytes after it. */
	assert_string_is("\xe2\x82" "A\"", "\"\\\\x{e2}\\\\x{82}A\\\"\"\n");
}

static void doubles_read_back(void **state)
{
	static const double vals[] = { 0.1, 1.0 / 3, 1e300, 5e-324, 12345678.9, -0.5, 99.99 };
	struct json *j = start();
	char *p, *end;
	size_t i;

	(void)state;
	json_begin_array(j, NULL);
	for (i = 0; i < ARRAY_SIZE(vals); i++)
		json_double(j, NULL, vals[i]);
	json_double(j, NULL, NAN);
	json_double(j, NULL, -INFINITY);
	json_end_array(j);
	finish(j);
	assert_non_null(strstr(text, "[0.1,"));
	assert_non_null(strstr(text, ",99.99,null,null]\n"));
	p = text + 1;
	for (i = 0; i < ARRAY_SIZE(vals); i++, p = end + 1)
		assert_true(strtod(p, &end) == vals[i]);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_and_keys),
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(names_are_text),
		cmocka_unit_test(utf8_is_checked),
		cmocka_unit_test(doubles_read_back),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
