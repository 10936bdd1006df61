#include "folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "intern.h"
#include "lines.h"
#include "log.h"
#include "strbuf.h"
#include "util.h"
#include "xalloc.h"

#define BAD_MAX 60	/* bytes shown of a bad line */

/* The annotation of flamegraph.pl's stackcollapse tools: "name_[k]". Cuts it off *@len. */
static uint8_t tool_kind(const char *s, size_t *len)
{
	size_t n = *len;

	if (n <= 4 || memcmp(s + n - 4, "_[", 2) || s[n - 1] != ']')
		return PROFILE_USER;
	switch (s[n - 2]) {
	case 'k':
		*len -= 4;
		return PROFILE_KERNEL;
	case 'j':
		*len -= 4;
		return PROFILE_JIT;
	case 'i':
		*len -= 4;
		return PROFILE_INLINED;
	default:
		return PROFILE_USER;
	}
}

/* The frame that a name with annotations stands for. */
static uint32_t make_frame(struct profile *p, const char *s, size_t len)
{
	static const char joined[] = "_[joined]";
	struct profile_frame f = { .kind = tool_kind(s, &len) };
	size_t n = sizeof(joined) - 1;

	/* Of our own: a frame that was joined is the same function as one that was not. */
	if (len > n && memcmp(s + len - n, joined, n) == 0) {
		len -= n;
		f.joined = true;
	}
	f.name = intern_addn(p->strings, s, len);
	return profile_frame(p, &f);
}

/*
 * Split "frames COUNT" (flamegraph.pl's pattern): length of the frames, or 0 when the line is not of that
 * shape.
 */
static size_t split_count(const char *line, size_t len, uint64_t *count)
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
	if (*s == '.')
		s += 1 + strspn(s + 1, "0123456789");
	if (*s)
		return 0;
	*count = v;
	while (at && (line[at - 1] == ' ' || line[at - 1] == '\t'))
		at--;
	return at;
}

/*
 * The stack that was read last. Texts are sorted mostly: the next one begins with the same frames, which are taken over
 * instead of looked up.
 */
struct last {
	char *text;		/* owned */
	size_t len, cap;
	struct last_frame {
		size_t end;	/* in the text, behind the frame and its ';' */
		uint32_t node;
	} *frames;		/* owned */
	size_t n, frames_cap;
};

struct reader {
	struct profile *p;
	struct last last;
	struct intern *texts;	/* of frames, annotations included; */
	uint32_t *frame_of;	/* owned: by id in there, the frame; 0: not made yet */
	size_t frame_cap;
};

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

static uint32_t frame_of(struct reader *r, const char *s, size_t len)
{
	uint32_t id = intern_addn(r->texts, s, len);

	if (id >= r->frame_cap) {
		size_t cap = MAX((size_t)id + 1, r->frame_cap * 2);

		r->frame_of = xrealloc(r->frame_of, cap * sizeof(*r->frame_of));
		memset(r->frame_of + r->frame_cap, 0, (cap - r->frame_cap) * sizeof(*r->frame_of));
		r->frame_cap = cap;
	}
	if (!r->frame_of[id])
		r->frame_of[id] = make_frame(r->p, s, len);
	return r->frame_of[id];
}

/* Its node. */
static uint32_t add_stack(struct reader *r, const char *s, size_t len)
{
	struct last *l = &r->last;
	size_t same = same_bytes(l->text, s, MIN(l->len, len)), pos = 0;
	uint32_t node = 0;

	/* Frames that end within what is the same. */
	while (l->n && l->frames[l->n - 1].end > same)
		l->n--;
	if (l->n) {
		pos = l->frames[l->n - 1].end;
		node = l->frames[l->n - 1].node;
	}
	while (pos <= len) {
		const char *sep = memchr(s + pos, ';', len - pos);
		size_t n = sep ? (size_t)(sep - (s + pos)) : len - pos;

		if (n)	/* an empty frame would be a box without a name */
			node = profile_child(r->p, node, frame_of(r, s + pos, n));
		if (!sep)
			break;
		pos += n + 1;
		XGROW(l->frames, l->n, l->frames_cap);
		l->frames[l->n++] = (struct last_frame){ pos, node };
	}
	if (l->cap < len + 1) {
		l->cap = (len + 1) * 2;
		l->text = xrealloc(l->text, l->cap);
	}
	memcpy(l->text + same, s + same, len - same);
	l->len = len;
	return node;
}

static void note_bad(struct strbuf *bad, struct folded_stats *st, const char *line, size_t len)
{
	char text[BAD_MAX + 1];

	if (st->bad++ >= FOLDED_BAD_SHOWN)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)MIN(len, (size_t)BAD_MAX), line);
	strbuf_adds(bad, bad->len ? "', '" : "'");
	strbuf_add_clean(bad, text);
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
	struct reader r = { .p = p, .texts = intern_new() };
	struct strbuf bad = STRBUF_INIT;
	struct lines lines;
	size_t len;
	char *line;

	memset(st, 0, sizeof(*st));
	lines_init(&lines, in);
	while (lines_next(&lines, &line, &len)) {
		struct profile_count c = { 0 };
		size_t end;

		if (!line) {
			note_bad(&bad, st, "(longer than 256 MiB)", SIZE_MAX);
			continue;
		}
		while (len && line[len - 1] == '\r')
			line[--len] = '\0';
		if (!len || line[0] == '#')
			continue;
		/* A NUL byte would end names early: such a line is no folded text. */
		end = memchr(line, 0, len) ? 0 : split_count(line, len, &c.samples);
		if (!end) {
			note_bad(&bad, st, line, len);
			continue;
		}
		st->lines++;
		if (!c.samples)
			continue;
		c.node = add_stack(&r, line, end);
		if (c.node)
			profile_count(p, &c);
	}
	/* With no good line it is a foreign file, which the caller says. */
	if (lines.err)
		pr_err("cannot read '%s': %s", name, strerror(-lines.err));
	else if (st->bad && st->lines)
		tell_bad(name, st, &bad);
	strbuf_fini(&bad);
	free(r.last.text);
	free(r.last.frames);
	free(r.frame_of);
	intern_free(r.texts);
	lines_fini(&lines);
	return lines.err;
}
