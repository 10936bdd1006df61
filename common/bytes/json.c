/* A streaming JSON writer (RFC 8259). */
#include "bytes/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/strbuf.h"
#include "base/unicode.h"
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

/*
 * Characters that must not reach a reader as they are become \u escapes of JSON, so that a document
 * on a terminal is harmless and its strings are still exact. Bytes that are not UTF-8 become
 * escapes of names (escape.h). "</" and "<!" are escaped so that a document can be embedded in an
 * HTML <script> element, whatever the functions are called (HTML standard, 4.12.1.3).
 */
static void put_char(FILE *to, uint32_t cp)
{
	if (cp == '\n')
		fputs("\\n", to);
	else if (cp == '\t')
		fputs("\\t", to);
	else if (cp < 0x10000)
		fprintf(to, "\\u%04" PRIx32, cp);
	else
		fprintf(to, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + ((cp - 0x10000) >> 10), 0xdc00 + (cp & 0x3ff));
}

static void put_string(FILE *to, const char *s)
{
	size_t left = strlen(s), n;
	uint32_t cp;

	putc('"', to);
	for (; left; s += n, left -= n) {
		n = utf8_char(s, left, &cp);
		if (!n) {
			fprintf(to, "\\\\x{%02x}", (unsigned char)*s);
			n = 1;
		} else if (cp == '"' || cp == '\\') {
			fprintf(to, "\\%c", *s);
		} else if (unicode_hidden(cp) || (cp == '<' && (s[1] == '/' || s[1] == '!'))) {
			put_char(to, cp);
		} else {
			fwrite(s, 1, n, to);
		}
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

void json_name(struct json *j, const char *key, const char *name)
{
	struct strbuf sb = STRBUF_INIT;

	escape_name(&sb, name);
	json_str(j, key, sb.s);
	strbuf_fini(&sb);
}

void json_bytes(struct json *j, const char *key, const char *val)
{
	struct strbuf sb = STRBUF_INIT;

	escape_bytes(&sb, val);
	json_str(j, key, sb.s);
	strbuf_fini(&sb);
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
