/*
 * Names as text: valid UTF-8 on one line, without anything that steers a terminal or cannot be
 * seen; two names never become the same text; what is text already stays. What counts as hidden,
 * as a mark and as wide is compared with Python's tables of Unicode.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/unicode.h"
#include "random.h"

static void check(const char *name, const char *want)
{
	struct strbuf sb = STRBUF_INIT;

	escape_name(&sb, name);
	assert_string_equal(sb.s, want);
	assert_int_equal(sb.len, strlen(want));
	strbuf_fini(&sb);
}

static void test_every_byte(void **state)
{
	(void)state;
	for (int b = 1; b < 256; b++) {
		char in[] = { 'a', (char)b, 'z', '\0' }, want[16];

		if (b < 0x20 || b == 0x7f)
			snprintf(want, sizeof(want), "a\\u{%x}z", (unsigned int)b);
		else if (b >= 0x80)	/* not UTF-8 on its own */
			snprintf(want, sizeof(want), "a\\x{%02x}z", (unsigned int)b);
		else
			snprintf(want, sizeof(want), "a%cz", b);
		check(in, want);
	}
}

static void test_names(void **state)
{
	(void)state;
	check("", "");
	check("std::map<int, long>::operator[](int const&) const", "std::map<int, long>::operator[](int const&) const");
	check("\xe6\x97\xa5\xe6\x9c\xac gr\xc3\xb6\xc3\x9f e\xcc\x81 \xf0\x9f\x94\xa5", "\xe6\x97\xa5\xe6\x9c\xac gr\xc3\xb6\xc3\x9f e\xcc\x81 \xf0\x9f\x94\xa5");
	check("\033[31m\033]0;x\a", "\\u{1b}[31m\\u{1b}]0;x\\u{7}");
	/* CSI as a byte, and as a character */
	check("a\x9bm", "a\\x{9b}m");
	check("a\xc2\x9bm", "a\\u{9b}m");
	/* bidirectional controls; zero width; soft hyphen; a tag; an emoji of several with joiners */
	check("a\xe2\x80\xae" "b\xe2\x81\xa6\xd8\x9c", "a\\u{202e}b\\u{2066}\\u{61c}");
	check("a\xe2\x80\x8b\xe2\x81\xa0\xef\xbb\xbf\xc2\xad", "a\\u{200b}\\u{2060}\\u{feff}\\u{ad}");
	check("\xf3\xa0\x81\x81", "\\u{e0041}");
	check("\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", "\xf0\x9f\x91\xa9\\u{200d}\xf0\x9f\x92\xbb");
	/* blanks of other kinds, and line separators */
	check("a\xc2\xa0" "b\xe3\x80\x80" "c\xe2\x80\xa8" "d", "a\\u{a0}b\\u{3000}c\\u{2028}d");
	/* overlong '/' and ESC, a surrogate, above U+10FFFF, cut, U+FFFE */
	check("\xc0\xaf\xe0\x80\x9b", "\\x{c0}\\x{af}\\x{e0}\\x{80}\\x{9b}");
	check("\xed\xa0\x80\xf4\x90\x80\x80", "\\x{ed}\\x{a0}\\x{80}\\x{f4}\\x{90}\\x{80}\\x{80}");
	check("a\xe2\x82", "a\\x{e2}\\x{82}");
	check("\xef\xbf\xbe", "\\u{fffe}");
	check("\xf4\x8f\xbf\xbd", "\xf4\x8f\xbf\xbd");	/* U+10FFFD */
	/* blanks at the ends and in a row */
	check(" a b  c ", "\\u{20}a b \\u{20}c\\u{20}");
	check(" ", "\\u{20}");
	/* backslashes stay, unless there is an escape behind them */
	check("C:\\x\\u00e9 dev\\x2dsda \\u{xyz} \\u{} \\x{1} \\", "C:\\x\\u00e9 dev\\x2dsda \\u{xyz} \\u{} \\x{1} \\");
	check("\\u{1b}", "\\u{5c}u{1b}");
	check("\\\\x{9b}", "\\\\u{5c}x{9b}");
	/* marks with nothing below them, and so many that they cover other lines */
	check("\xcc\x81" "a\t\xcc\x81", "\\u{301}a\\u{9}\\u{301}");
	check("a\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81" "b\xcc\x81",
	      "a\xcc\x81\xcc\x81\xcc\x81\xcc\x81\\u{301}\\u{301}b\xcc\x81");
}

static void test_words(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	escape_word(&sb, "a b\t");
	assert_string_equal(sb.s, "a\\u{20}b\\u{9}");
	strbuf_reset(&sb);
	escape_bytes(&sb, " a  b\n");
	assert_string_equal(sb.s, " a  b\\u{a}");
	strbuf_reset(&sb);
	escape_text(&sb, " \\u{1b}\033  \x9b\\x{9b}");
	assert_string_equal(sb.s, " \\u{1b}\\u{1b}  \\x{9b}\\x{9b}");
	strbuf_fini(&sb);
}

/* ---- the other way, from escape.h alone ---- */

static void put_utf8(struct strbuf *out, uint32_t cp)
{
	char c[4];

	if (cp < 0x80) {
		strbuf_addc(out, (char)cp);
	} else if (cp < 0x800) {
		c[0] = (char)(0xc0 | cp >> 6);
		c[1] = (char)(0x80 | (cp & 0x3f));
		strbuf_add(out, c, 2);
	} else if (cp < 0x10000) {
		c[0] = (char)(0xe0 | cp >> 12);
		c[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		c[2] = (char)(0x80 | (cp & 0x3f));
		strbuf_add(out, c, 3);
	} else {
		c[0] = (char)(0xf0 | cp >> 18);
		c[1] = (char)(0x80 | (cp >> 12 & 0x3f));
		c[2] = (char)(0x80 | (cp >> 6 & 0x3f));
		c[3] = (char)(0x80 | (cp & 0x3f));
		strbuf_add(out, c, 4);
	}
}

static void undo(struct strbuf *out, const char *s)
{
	while (*s) {
		unsigned int v;
		int n = 0;
		char kind, end;

		if (sscanf(s, "\\%c{%6[0-9a-f]%c%n", &kind, (char[8]){ 0 }, &end, &n) == 3 && end == '}' &&
		    sscanf(s + 3, "%x", &v) == 1 && (kind == 'u' || (kind == 'x' && n == 6))) {
			if (kind == 'u')
				put_utf8(out, v);
			else
				strbuf_addc(out, (char)v);
			s += n;
		} else {
			strbuf_addc(out, *s++);
		}
	}
}

static const char *const pieces[] = {
	"a", "f", "1", " ", " ", "\\", "\\", "u", "x", "{", "}", "1b", "\\u{1b}", "\\x{9b}", "\\u{5c}", "\033", "\n", "\t", "\r", ";",
	"\x9b", "\xc2", "\xc2\x9b", "\xe2\x80", "\xe2\x80\xae", "\xe2\x80\x8d", "\xef\xbb\xbf", "\xf0\x9f\x94\xa5", "\xcc\x81", "\xed",
	"\xa0", "\x80", "\xe6\x97\xa5", "#", "_[k]", "=", "\"", "<", "12", ".",
};

static void random_name(uint64_t *rnd, char *name)
{
	*name = '\0';
	for (uint64_t n = random_next(rnd) >> 60; n; n--)
		strcat(name, pieces[(random_next(rnd) >> 20) % (sizeof(pieces) / sizeof(*pieces))]);
}

static bool all_seen(const char *s)
{
	size_t left = strlen(s), n;
	uint32_t cp;

	for (; left; s += n, left -= n) {
		n = utf8_char(s, left, &cp);
		if (!n || unicode_hidden(cp))
			return false;
	}
	return true;
}

static void test_no_two_names_are_one(void **state)
{
	uint64_t rnd = 27;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		struct strbuf text = STRBUF_INIT, again = STRBUF_INIT, back = STRBUF_INIT;
		char name[256], cut[64];
		size_t len, taken, size = 1 + (size_t)i % sizeof(cut);

		random_name(&rnd, name);
		escape_name(&text, name);
		assert_true(all_seen(text.s));
		undo(&back, text.s);
		assert_string_equal(back.s ? back.s : "", name);
		/* Text stays, and anything becomes text. */
		assert_true(escape_is_text(text.s, text.len));
		escape_text(&again, text.s);
		assert_string_equal(again.s, text.s);
		strbuf_reset(&again);
		escape_text(&again, name);
		assert_true(all_seen(again.s));
		assert_int_equal(escape_is_text(name, strlen(name)), !strcmp(again.s, name));
		/* As much of it as fits. */
		taken = strlen(name);
		len = escape_into(cut, size, name, &taken);
		assert_true(len <= size && !memcmp(cut, again.s, len));
		name[taken] = '\0';
		strbuf_reset(&back);
		escape_text(&back, name);
		assert_int_equal(back.len, len);
		strbuf_fini(&text);
		strbuf_fini(&again);
		strbuf_fini(&back);
	}
}

static void test_columns(void **state)
{
	static const char text[] = "a\xe6\x97\xa5" "e\xcc\x81\\u{1b}b";

	(void)state;
	assert_int_equal(escape_width(""), 0);
	assert_int_equal(escape_width(text), 1 + 2 + 1 + 6 + 1);
	assert_int_equal(escape_prefix(text, 0), 0);
	assert_int_equal(escape_prefix(text, 2), 1);
	assert_int_equal(escape_prefix(text, 3), 4);
	assert_int_equal(escape_prefix(text, 4), 7);
	assert_int_equal(escape_prefix(text, 9), 7);
	assert_int_equal(escape_prefix(text, 10), 13);
	assert_int_equal(escape_prefix(text, 99), sizeof(text) - 1);
}

/* ---- against Python's Unicode ---- */

/*
 * One letter for each code point: w wide, m mark, h hidden, n narrow, '-' not assigned. The format
 * characters that have a glyph of their own (Prepended_Concatenation_Mark) are not hidden.
 */
static const char classes[] =
	"python3 -c '\n"
	"import unicodedata as u\n"
	"shown = {*range(0x600, 0x606), 0x6dd, 0x70f, 0x890, 0x891, 0x8e2, 0x110bd, 0x110cd}\n"
	"ignored = {0x2800, 0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xffa0, *range(0x180b, 0x1810), *range(0xfe00, 0xfe10), *range(0xe0100, 0xe01f0)}\n"
	"def kind(c):\n"
	"    cat = u.category(chr(c))\n"
	"    if c & 0xfffe == 0xfffe or 0xfdd0 <= c < 0xfdf0 or c in ignored: return \"h\"\n"
	"    if cat in (\"Cn\", \"Cs\", \"Co\"): return \"-\"\n"
	"    if cat in (\"Cc\", \"Cf\", \"Zl\", \"Zp\", \"Zs\") and c != 32 and c not in shown: return \"h\"\n"
	"    if cat in (\"Mn\", \"Me\") or 0x1161 <= c < 0x1200: return \"m\"\n"
	"    return \"w\" if u.east_asian_width(chr(c)) in \"WF\" else \"n\"\n"
	"print(u.unidata_version.split(\".\")[0], \"\".join(map(kind, range(0x110000))))'";

/* That of the tables in unicode.c. */
#define OUR_UNICODE 16
/* Between 14 and 16 one did: U+1171E. */
#define CHANGED_MAX 8

static void test_tables(void **state)
{
	FILE *python = popen(classes, "r");
	uint32_t cp = 0;
	int c, theirs = 0, changed = 0;

	(void)state;
	assert_non_null(python);
	if (fscanf(python, "%d ", &theirs) != 1)
		theirs = 0;
	for (; (c = getc(python)) != EOF && c != '\n'; cp++) {
		char ours = unicode_hidden(cp) ? 'h' : unicode_mark(cp) ? 'm' : unicode_width(cp) == 2 ? 'w' : 'n';

		/*
		 * Another version has other code points, and symbols that are wide only in one of them. Of
		 * the rest, a few changed their category.
		 */
		if (c == '-' || c == ours || (theirs != OUR_UNICODE && (ours == 'w' || c == 'w')))
			continue;
		if (theirs == OUR_UNICODE || ours == 'h' || c == 'h' || ++changed > CHANGED_MAX)
			fail_msg("U+%04X is %c, not %c", cp, c, ours);
	}
	if (pclose(python) || cp != 0x110000)
		skip();	/* no python3 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_no_two_names_are_one),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_tables),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
