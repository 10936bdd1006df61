#include "input/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/intern.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/unicode.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "input/stacks.h"
#include "profile/folded_frame.h"
#include "views/frame_texts.h"

#define BAD_MAX 60	/* bytes of a bad line that are shown */

struct reader {
	struct profile *p;
	char *text;		/* owned: the line read last */
	size_t len, cap;
	/*
	 * Its frames. The next line mostly begins with the same ones; these are copied instead of
	 * looked up. While lines are sorted, the ids are those of nodes. Then the list may also
	 * hold frames of earlier lines that continue within a frame here: for "a;b2;c" after "a;b",
	 * the frames of "a;b", since "a;b;c" may come.
	 */
	struct frame_list last;
	struct stacks *stacks;	/* NULL while lines are sorted */
	struct frame_texts *frames;
	/*
	 * So far each text followed the previous one in bytewise order, none had an empty frame,
	 * and each frame is spelled like its name. Equal stacks are then equal texts, and texts
	 * with the same beginning are adjacent. So if a frame is neither in the last text nor in
	 * its list of nodes, its node is new.
	 */
	bool sorted;
	bool respelled;		/* of some frame, name and text differ: others may have its name */
};

/* Returns the frame for a name with marks. */
static uint32_t make_frame(void *ctx, const char *s, size_t len)
{
	struct reader *r = ctx;
	struct profile_frame f = { 0 };
	struct strbuf name = STRBUF_INIT;

	f.kind = folded_take_marks(s, &len, &f.joined);
	if (escape_is_text(s, len) && !memchr(s, '\\', len)) {
		f.name = intern_addn(r->p->strings, s, len);
	} else {
		folded_read_name(&name, s, len);
		f.name = intern_addn(r->p->strings, name.s, name.len);
		r->respelled = r->respelled || name.len != len || memcmp(name.s, s, len) != 0;
		strbuf_fini(&name);
	}
	return profile_frame(r->p, &f);
}

/*
 * Splits "frames COUNT" (flamegraph.pl's pattern). Returns the length of the frames, or 0 if the
 * line has another form. Digits after a decimal point are cut; *@fraction: some were not zero.
 */
static size_t split_count(const char *line, size_t len, uint64_t *count, bool *fraction)
{
	size_t at = len;
	uint64_t v = 0;
	const char *s;

	while (at && line[at - 1] != ' ' && line[at - 1] != '\t')
		at--;
	if (at < 2 || at == len)
		return 0;
	s = line + at;
	if (*s < '0' || *s > '9')
		return 0;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			v = UINT64_MAX;
	}
	*fraction = *s == '.' && strspn(s + 1, "0") != strspn(s + 1, "0123456789");
	if (*s == '.')
		s += 1 + strspn(s + 1, "0123456789");
	if (*s)
		return 0;
	*count = v;
	while (at && (line[at - 1] == ' ' || line[at - 1] == '\t'))
		at--;
	return at;
}

static size_t same_bytes(const char *a, const char *b, size_t n)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t x, y;

		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		if (x != y)
			return i + (size_t)(__builtin_ctzll(x ^ y) / 8);
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

static bool frame_ends(const char *s, size_t len, size_t at)
{
	return at == len || s[at] == ';';
}

static void keep_text(struct reader *r, const char *s, size_t len, size_t same)
{
	if (r->cap < len + 1) {
		r->cap = (len + 1) * 2;
		r->text = xrealloc(r->text, r->cap);
	}
	memcpy(r->text + same, s + same, len - same);
	r->len = len;
}

/*
 * Adds a stack that follows the last one in bytewise order. Otherwise, or if it has an empty frame,
 * returns false and counts nothing.
 */
static bool add_sorted(struct reader *r, const char *s, size_t len, uint64_t samples)
{
	struct frame_list *l = &r->last;
	size_t same = same_bytes(r->text, s, MIN(r->len, len)), pos = 0, known;
	uint32_t node = 0, first;

	if (same < r->len && (same == len || (uint8_t)s[same] < (uint8_t)r->text[same]))
		return false;
	while (l->n && l->ends[l->n - 1] > same)
		l->n--;
	for (size_t n = l->n; n && !pos; n--) {
		size_t end = l->ends[n - 1];

		if (!frame_ends(s, len, end))
			continue;
		pos = end + 1;
		node = l->ids[n - 1];
	}
	known = l->n;
	if (!frame_texts_split(r->frames, s, len, pos, l) || r->respelled)
		return false;
	if (l->n > known) {
		first = profile_chain(r->p, node, l->ids + known, l->n - known);
		while (known < l->n)
			l->ids[known++] = first++;
		node = l->ids[l->n - 1];
	}
	keep_text(r, s, len, same);
	profile_count(r->p, &(struct profile_count){ .node = node, .samples = samples });
	return true;
}

/* Adds a stack in any order. */
static void add_stack(struct reader *r, const char *s, size_t len, uint64_t samples)
{
	struct frame_list *l = &r->last;
	size_t same = same_bytes(r->text, s, MIN(r->len, len)), known;

	if (!r->stacks) {
		r->stacks = stacks_new(r->p);
		l->n = 0;
	}
	while (l->n && (l->ends[l->n - 1] > same || !frame_ends(s, len, l->ends[l->n - 1])))
		l->n--;
	known = l->n;
	frame_texts_split(r->frames, s, len, known ? l->ends[known - 1] + 1 : 0, l);
	keep_text(r, s, len, same);
	if (l->n)
		stacks_add(r->stacks, l->ids, l->n, known, samples);
}

static void note_bad(struct strbuf *bad, struct folded_stats *st, const char *line, size_t len)
{
	char text[BAD_MAX + 1];

	if (st->bad++ >= FOLDED_BAD_SHOWN)
		return;
	len = strnlen(line, len);
	if (len > BAD_MAX)
		len = utf8_whole(line, BAD_MAX);
	snprintf(text, sizeof(text), "%.*s", (int)len, line);
	strbuf_adds(bad, bad->len ? "', '" : "'");
	escape_text(bad, text);
}

static void tell_bad(const char *name, const struct folded_stats *st, const struct strbuf *bad)
{
	pr_warn("'%s': %" PRIu64 " %s: %s'%s", name, st->bad,
		st->bad == 1 ? "line is not a folded stack" :
		st->bad > FOLDED_BAD_SHOWN ? "lines are not folded stacks, the first" : "lines are not folded stacks",
		bad->s, st->bad > FOLDED_BAD_SHOWN ? ", ..." : "");
}

int folded_read(FILE *in, const char *name, struct profile *p, struct folded_stats *st)
{
	/* Nodes that exist already do not come from this text. */
	struct reader r = { .p = p, .frames = frame_texts_new(make_frame, &r), .sorted = p->nnodes == 1 };
	struct strbuf bad = STRBUF_INIT;
	struct lines lines;
	uint64_t fractions = 0, lost = 0;
	size_t len;
	char *line;

	memset(st, 0, sizeof(*st));
	lines_init(&lines, in);
	while (lines_next(&lines, &line, &len)) {
		uint64_t samples = 0;
		bool fraction = false;
		size_t end;

		if (!line) {
			note_bad(&bad, st, "(longer than 256 MiB)", SIZE_MAX);
			continue;
		}
		while (len && line[len - 1] == '\r')
			line[--len] = '\0';
		if (!len || line[0] == '#')
			continue;
		/* A NUL byte would end names early: a line with one is not folded text. */
		end = memchr(line, 0, len) ? 0 : split_count(line, len, &samples, &fraction);
		if (!end) {
			note_bad(&bad, st, line, len);
			continue;
		}
		st->lines++;
		fractions += fraction;
		lost += fraction && !samples;
		if (!samples)
			continue;
		r.sorted = r.sorted && add_sorted(&r, line, end, samples);
		if (!r.sorted)
			add_stack(&r, line, end, samples);
	}
	stacks_finish(r.stacks);
	/* Without any good line the file is foreign, which the caller reports. */
	if (lines.err)
		pr_err("cannot read '%s': %s", name, strerror(-lines.err));
	else if (st->bad && st->lines)
		tell_bad(name, st, &bad);
	if (!lines.err && fractions)
		pr_warn("'%s': %" PRIu64 " %s; the fraction is dropped%s: scale the counts up first",
			name, fractions, fractions == 1 ? "count is not a whole number" : "counts are not whole numbers",
			lost ? ", and whole stacks with it" : "");
	strbuf_fini(&bad);
	free(r.text);
	free(r.last.ends);
	free(r.last.ids);
	frame_texts_free(r.frames);
	lines_fini(&lines);
	return lines.err;
}
