/*
 * Frames of folded text: readers see the frame that was written, our reader gets the name back, and
 * no name becomes a kernel function, a comment or a count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "profile/folded_frame.h"
#include "profile/profile.h"
#include "random.h"

static void check(const char *name, const char *frame, const char *last)
{
	struct strbuf sb = STRBUF_INIT, back = STRBUF_INIT;

	folded_add_name(&sb, name);
	assert_string_equal(sb.s ? sb.s : "", frame);
	if (folded_ends_in_count(sb.s ? sb.s : "", sb.len))
		folded_guard_count(&sb);
	assert_string_equal(sb.s ? sb.s : "", last);
	folded_read_name(&back, last, strlen(last));
	assert_string_equal(back.s, name);
	strbuf_fini(&sb);
	strbuf_fini(&back);
}

static void test_names(void **state)
{
	(void)state;
	check("main", "main", "main");
	check("a;b;", "a\\u{3b}b\\u{3b}", "a\\u{3b}b\\u{3b}");
	check("#x#", "\\u{23}x#", "\\u{23}x#");
	check("x_[k]", "x_\\u{5b}k]", "x_\\u{5b}k]");
	check("x_[joined]", "x_\\u{5b}joined]", "x_\\u{5b}joined]");
	check("_[i]", "_\\u{5b}i]", "_\\u{5b}i]");
	check("x_[w]", "x_[w]", "x_[w]");
	check("x_[k]y", "x_[k]y", "x_[k]y");
	check("[kernel]", "[kernel]", "[kernel]");
	check("foo 12", "foo 12", "foo\\u{20}12");
	check("foo 1.5", "foo 1.5", "foo\\u{20}1.5");
	check("foo 1.", "foo 1.", "foo\\u{20}1.");
	check("foo 12 9", "foo 12 9", "foo 12\\u{20}9");
	check("foo .5", "foo .5", "foo .5");
	check("foo 1.2.3", "foo 1.2.3", "foo 1.2.3");
	check("12", "12", "12");
	check("foo12", "foo12", "foo12");
	/* as escape_name() makes them */
	check("\\u{20}12", "\\u{20}12", "\\u{20}12");
	check("foo \\u{20}12", "foo \\u{20}12", "foo \\u{20}12");
	check("foo \\u{20}\\u{20}12", "foo \\u{20}\\u{20}12", "foo \\u{20}\\u{20}12");
	check("\\u{5c}u{3b}", "\\u{5c}u{3b}", "\\u{5c}u{3b}");
	check("x_\\u{5c}u{5b}k]", "x_\\u{5c}u{5b}k]", "x_\\u{5c}u{5b}k]");
	check("\\u{5b}kernel]", "\\u{5b}kernel]", "\\u{5b}kernel]");
}

static void test_random_names(void **state)
{
	static const char *const pieces[] = {
		"a", ";", "#", " ", "1", "2", ".", "_[k]", "_[", "k]", "[", "]", "joined]", "\\", "u{20}", "u{3b}", "u{5b}", "\\u{23}", "\t", "\x9b", "_",
	};
	uint64_t rnd = 5;
	regex_t count, mark;

	(void)state;
	/* flamegraph.pl's, for a line and for what is left of it; and its colors. */
	assert_int_equal(regcomp(&count, "^(.*)[[:space:]]+([0-9]+(\\.[0-9]*)?)$", REG_EXTENDED), 0);
	assert_int_equal(regcomp(&mark, "_\\[([kji]|joined)\\]$", REG_EXTENDED), 0);
	for (int i = 0; i < 100000; i++) {
		struct strbuf name = STRBUF_INIT, frame = STRBUF_INIT, back = STRBUF_INIT;
		char raw[128] = "";
		uint8_t kind;
		size_t len;
		bool joined;

		for (uint64_t n = 1 + (random_next(&rnd) >> 61); n; n--)
			strcat(raw, pieces[(random_next(&rnd) >> 20) % (sizeof(pieces) / sizeof(*pieces))]);
		escape_name(&name, raw);
		folded_add_name(&frame, name.s);
		assert_null(strchr(frame.s, ';'));
		assert_int_not_equal(frame.s[0], '#');
		assert_int_not_equal(regexec(&mark, frame.s, 0, NULL, 0), 0);
		folded_read_name(&back, frame.s, frame.len);
		assert_string_equal(back.s, name.s);
		if (folded_ends_in_count(frame.s, frame.len))
			folded_guard_count(&frame);
		assert_int_not_equal(regexec(&count, frame.s, 0, NULL, 0), 0);
		strbuf_reset(&back);
		folded_read_name(&back, frame.s, frame.len);
		assert_string_equal(back.s, name.s);
		/* Marks come off as they came on. */
		len = frame.len;
		folded_add_marks(&frame, (uint8_t)(i % 4), i % 8 > 3);
		kind = folded_take_marks(frame.s, &frame.len, &joined);
		assert_int_equal(kind, i % 4);
		assert_int_equal(joined, i % 8 > 3);
		assert_int_equal(frame.len, len);
		/* Any bytes become a name, and that one stays. */
		strbuf_reset(&name);
		strbuf_reset(&frame);
		strbuf_reset(&back);
		folded_read_name(&name, raw, strlen(raw));
		assert_true(escape_is_text(name.s, name.len));
		folded_add_name(&frame, name.s);
		folded_read_name(&back, frame.s, frame.len);
		assert_string_equal(back.s, name.s);
		strbuf_fini(&name);
		strbuf_fini(&frame);
		strbuf_fini(&back);
	}
	regfree(&count);
	regfree(&mark);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_random_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
