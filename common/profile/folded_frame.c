#include "profile/folded_frame.h"

#include <string.h>

#include "base/escape.h"
#include "base/util.h"
#include "profile/profile.h"

#define BLANK "\\u{20}"
#define SEMICOLON "\\u{3b}"
#define HASH "\\u{23}"
#define BRACKET "\\u{5b}"

#define JOINED "_[joined]"

static const char *const marks[PROFILE_KINDS] = {
	[PROFILE_KERNEL] = "_[k]", [PROFILE_JIT] = "_[j]", [PROFILE_INLINED] = "_[i]",
};

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !memcmp(s + len - n, end, n);
}

static bool begins_with(const char *s, size_t len, const char *begin)
{
	return len >= strlen(begin) && !memcmp(s, begin, strlen(begin));
}

/* Length of the mark at the end of a name, as it would be read; 0: none. */
static size_t mark_len(const char *s, size_t len)
{
	for (size_t i = 0; i < PROFILE_KINDS; i++)
		if (marks[i] && ends_with(s, len, marks[i]))
			return strlen(marks[i]);
	return ends_with(s, len, JOINED) ? strlen(JOINED) : 0;
}

void folded_add_name(struct strbuf *out, const char *name)
{
	const size_t mark = mark_len(name, strlen(name)), end = strlen(name) - mark;

	if (*name == '#')
		strbuf_adds(out, HASH);
	for (size_t at = *name == '#', n; at < end; at += n) {
		n = MIN(strcspn(name + at, ";"), end - at);
		strbuf_add(out, name + at, n);
		if (at + n < end) {
			strbuf_adds(out, SEMICOLON);
			n++;
		}
	}
	if (mark)	/* "_[k]" */
		strbuf_addf(out, "_" BRACKET "%s", name + end + 2);
}

void folded_add_marks(struct strbuf *out, uint8_t kind, bool joined)
{
	if (joined)
		strbuf_adds(out, JOINED);
	if (marks[kind])
		strbuf_adds(out, marks[kind]);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Where the number at the end of a frame begins, with its point; @len: there is none. */
static size_t number_at(const char *s, size_t len)
{
	size_t i = len;

	while (i && is_digit(s[i - 1]))
		i--;
	if (i && s[i - 1] == '.') {
		size_t point = --i;

		while (i && is_digit(s[i - 1]))
			i--;
		if (i == point)		/* no digit before the point */
			return len;
	}
	return i;
}

bool folded_ends_in_count(const char *frame, size_t len)
{
	size_t at = number_at(frame, len);

	return at && frame[at - 1] == ' ' && at < len;
}

void folded_guard_count(struct strbuf *out)
{
	const size_t at = number_at(out->s, out->len), n = out->len - at;

	strbuf_adds(out, BLANK);
	memmove(out->s + at - 1 + strlen(BLANK), out->s + at, n);
	memcpy(out->s + at - 1, BLANK, strlen(BLANK));
	out->len--;
	out->s[out->len] = '\0';
}

uint8_t folded_take_marks(const char *frame, size_t *len, bool *joined)
{
	uint8_t kind = PROFILE_USER;

	for (uint8_t i = 0; i < PROFILE_KINDS && kind == PROFILE_USER; i++) {
		/* A mark alone is a name. */
		if (!marks[i] || *len <= strlen(marks[i]) || !ends_with(frame, *len, marks[i]))
			continue;
		kind = i;
		*len -= strlen(marks[i]);
	}
	*joined = *len > strlen(JOINED) && ends_with(frame, *len, JOINED);
	if (*joined)
		*len -= strlen(JOINED);
	return kind;
}

/* Is what follows @at folded_guard_count()'s? escape_name() itself writes such a blank only beside another one. */
static bool is_guard(const char *s, size_t at)
{
	return at >= strlen(BLANK) + 1 && ends_with(s, at, BLANK) && s[at - strlen(BLANK) - 1] != ' ' &&
	       !ends_with(s, at - strlen(BLANK), BLANK);
}

/* Length of a name's end that folded_add_name() has written instead of a mark; 0: none. */
static size_t escaped_mark_len(const char *s, size_t len)
{
	static const char begin[] = "_" BRACKET;

	for (size_t n = strlen(begin) + 2; n <= strlen(begin) + strlen(JOINED) - 2 && n <= len; n++) {
		const char *end = s + len - n;
		char mark[sizeof(JOINED)];

		if (memcmp(end, begin, strlen(begin)) != 0)
			continue;
		mark[0] = '_';
		mark[1] = '[';
		memcpy(mark + 2, end + strlen(begin), n - strlen(begin));
		return mark_len(mark, 2 + n - strlen(begin)) == 2 + n - strlen(begin) ? n : 0;
	}
	return 0;
}

void folded_read_name(struct strbuf *out, const char *frame, size_t len)
{
	struct strbuf name = STRBUF_INIT;
	size_t mark = escaped_mark_len(frame, len), number = mark ? len : number_at(frame, len), end = len - mark, at = 0;

	if (begins_with(frame, len, HASH)) {
		strbuf_addc(&name, '#');
		at = strlen(HASH);
	}
	for (size_t n = 1; at < end; at += n) {
		n = 1;
		if (frame[at] != '\\') {
			strbuf_addc(&name, frame[at]);
		} else if (begins_with(frame + at, end - at, SEMICOLON)) {
			strbuf_addc(&name, ';');
			n = strlen(SEMICOLON);
		} else if (number < len && at + strlen(BLANK) == number && is_guard(frame, number)) {
			strbuf_addc(&name, ' ');
			n = strlen(BLANK);
		} else {
			strbuf_addc(&name, '\\');
		}
	}
	if (mark)
		strbuf_addf(&name, "_[%.*s", (int)(mark - 1 - strlen(BRACKET)), frame + end + 1 + strlen(BRACKET));
	escape_text(out, name.s ? name.s : "");
	strbuf_fini(&name);
}
