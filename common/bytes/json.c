/* A streaming JSON writer (RFC 8259). */
#include "bytes/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* The nesting of our documents depends on their format, not on data. Only a bug can exceed this. */
#define DEPTH_MAX 64

struct json {
	FILE *to;		/* borrowed */
	unsigned int depth;
	bool any[DEPTH_MAX + 1];	/* by depth: a value was written, so a comma is due */
};

struct json *json_new(FILE *to)
{
	struct json *j = xcalloc(1, sizeof(*j));

	j->to = to;
	return j;
}

void json_free(struct json *j)
{
	if (!j)
		return;
	putc('\n', j->to);
	free(j);
}

/* Length of the well-formed UTF-8 sequence at @s (Unicode 15, table 3-7), or 0. */
static unsigned int utf8_len(const unsigned char *s)
{
	unsigned char lo = 0x80, hi = 0xbf;
	unsigned int n, i;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2;
	else if ((s[0] & 0xf0) == 0xe0)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4;
	else
		return 0;
	/* The second byte rules out overlong forms, surrogates and values above U+10FFFF. */
	if (s[0] == 0xe0)
		lo = 0xa0;
	else if (s[0] == 0xed)
		hi = 0x9f;
	else if (s[0] == 0xf0)
		lo = 0x90;
	else if (s[0] == 0xf4)
		hi = 0x8f;
	if (s[1] < lo || s[1] > hi)
		return 0;
	/* The NUL at the end of the string fails this check like any other wrong byte. */
	for (i = 2; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/*
 * "</" and "<!" are escaped so that a document can be embedded in an HTML <script> element,
 * whatever the functions are called (HTML standard, 4.12.1.3).
 */
static void put_string(FILE *to, const char *str)
{
	const unsigned char *s = (const unsigned char *)str;

	putc('"', to);
	while (*s) {
		unsigned int n = utf8_len(s);

		if (!n) {
			fputs("\xef\xbf\xbd", to);	/* U+FFFD, one for each wrong byte */
			s++;
			continue;
		}
		if (*s == '"' || *s == '\\')
			fprintf(to, "\\%c", *s);
		else if (*s == '\n')
			fputs("\\n", to);
		else if (*s == '\t')
			fputs("\\t", to);
		else if (*s < 0x20 || *s == 0x7f || (*s == '<' && (s[1] == '/' || s[1] == '!')))
			fprintf(to, "\\u%04x", *s);
		else
			fwrite(s, 1, n, to);
		s += n;
	}
	putc('"', to);
}

/* Writes what precedes a value: the comma and, in an object, the key. */
static void lead_in(struct json *j, const char *key)
{
	if (j->any[j->depth])
		putc(',', j->to);
	j->any[j->depth] = true;
	if (key) {
		put_string(j->to, key);
		putc(':', j->to);
	}
}

static void begin(struct json *j, const char *key, char bracket)
{
	assert(j->depth < DEPTH_MAX);
	lead_in(j, key);
	putc(bracket, j->to);
	j->any[++j->depth] = false;
}

static void end(struct json *j, char bracket)
{
	assert(j->depth);
	j->depth--;
	putc(bracket, j->to);
}

void json_begin_object(struct json *j, const char *key)
{
	begin(j, key, '{');
}

void json_end_object(struct json *j)
{
	end(j, '}');
}

void json_begin_array(struct json *j, const char *key)
{
	begin(j, key, '[');
}

void json_end_array(struct json *j)
{
	end(j, ']');
}

void json_str(struct json *j, const char *key, const char *val)
{
	lead_in(j, key);
	put_string(j->to, val);
}

void json_u64(struct json *j, const char *key, uint64_t val)
{
	lead_in(j, key);
	fprintf(j->to, "%" PRIu64, val);
}

void json_i64(struct json *j, const char *key, int64_t val)
{
	lead_in(j, key);
	fprintf(j->to, "%" PRId64, val);
}

/*
 * Writes the shortest of 15 to 17 digits that reads back as @val. JSON has no NaN and no infinity:
 * they become null.
 */
void json_double(struct json *j, const char *key, double val)
{
	char buf[40];
	int digits;

	lead_in(j, key);
	if (!isfinite(val)) {
		fputs("null", j->to);
		return;
	}
	for (digits = 15; digits <= 17; digits++) {
		snprintf(buf, sizeof(buf), "%.*g", digits, val);
		if (strtod(buf, NULL) == val)
			break;
	}
	fputs(buf, j->to);
}

void json_bool(struct json *j, const char *key, bool val)
{
	lead_in(j, key);
	fputs(val ? "true" : "false", j->to);
}

void json_null(struct json *j, const char *key)
{
	lead_in(j, key);
	fputs("null", j->to);
}
