/*
 * The lines of a perf map that some addresses need (perfmap_slice.h). A JIT appends, and the last line for an address
 * is the valid one. So the file is read backwards: the first line found for an address settles it,
 * and reading stops when all addresses have a line.
 */
#include "jit/perfmap_slice.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/longname.h"
#include "base/pcset.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "jit/perfmap_line.h"

#define CHUNK (256u << 10)
#define NUMBERS_MAX 64u	/* start and size of a line, with blanks */
/* A longer line is read a second time, in pieces. */
#define LINE_MAX_BYTES (LONGNAME_MAX + NUMBERS_MAX)

struct line {
	char *text;	/* owned, without newline */
	size_t len;
};

struct search {
	int fd;
	size_t *room;		/* borrowed */
	struct pcset pcs;	/* runtime addresses */
	/* next[i] = i: not found yet, otherwise where to go on; pcs.n + 1 entries */
	size_t *next;
	size_t nleft;		/* not found yet */
	struct line *lines;	/* kept lines, the last of the file first */
	size_t nlines, cap;
};

static void search_init(struct search *s, int fd, const uint64_t *addrs, size_t n, size_t *room)
{
	memset(s, 0, sizeof(*s));
	s->fd = fd;
	s->room = room;
	pcset_init(&s->pcs, addrs, n);
	s->nleft = s->pcs.n;
	s->next = xcalloc(s->pcs.n + 1, sizeof(*s->next));
	for (size_t i = 0; i <= s->pcs.n; i++)
		s->next[i] = i;
}

static void search_fini(struct search *s)
{
	for (size_t i = 0; i < s->nlines; i++)
		free(s->lines[i].text);
	free(s->lines);
	pcset_fini(&s->pcs);
	free(s->next);
}

/*
 * The first pc at or after @i without a line. Union-find with path halving: a hostile map whose
 * lines all cover everything costs no more than an honest one.
 */
static size_t unfound_from(struct search *s, size_t i)
{
	while (s->next[i] != i) {
		s->next[i] = s->next[s->next[i]];
		i = s->next[i];
	}
	return i;
}

/* Claims the addresses of a line that have none yet; false if there are none. */
static bool claim(struct search *s, const struct perfmap_line *l)
{
	bool wanted = false;

	for (size_t i = unfound_from(s, pcset_from(&s->pcs, l->start));
	     i < s->pcs.n && s->pcs.v[i] < l->end; i = unfound_from(s, i)) {
		s->next[i] = i + 1;
		s->nleft--;
		wanted = true;
	}
	return wanted;
}

/* The most bytes that a name of @len may keep. */
static size_t name_max(struct search *s, uint64_t len)
{
	const size_t more = len > LONGNAME_BRIEF ? (size_t)MIN(len, (uint64_t)LONGNAME_MAX) - LONGNAME_BRIEF : 0;

	if (more > *s->room)
		return LONGNAME_BRIEF;
	*s->room -= more;
	return LONGNAME_MAX;
}

/* Consumes @text. */
static void keep(struct search *s, struct strbuf *text)
{
	XGROW(s->lines, s->nlines, s->cap);
	s->lines[s->nlines++] = (struct line){ text->s, text->len };
}

static void take_line(struct search *s, const char *p, size_t len)
{
	struct strbuf text = STRBUF_INIT;
	struct perfmap_line l;

	if (!perfmap_line(p, len, &l) || !claim(s, &l))
		return;
	strbuf_add(&text, p, (size_t)(l.name - p));
	longname_add(&text, l.name, l.name_len, name_max(s, l.name_len));
	keep(s, &text);
}

/* Reads exactly @len bytes at @pos; -EIO if the file has become shorter. */
static int read_at(int fd, char *buf, size_t len, uint64_t pos)
{
	while (len) {
		ssize_t got = pread(fd, buf, len, (off_t)pos);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		buf += got;
		len -= (size_t)got;
		pos += (uint64_t)got;
	}
	return 0;
}

/*
 * Takes the line at bytes [@start, @end) of the file, which is longer than LINE_MAX_BYTES. Its name
 * is read in pieces.
 */
static int take_long_line(struct search *s, uint64_t start, uint64_t end)
{
	char *head = xmalloc(LINE_MAX_BYTES), *piece = xmalloc(LONGNAME_PIECE);
	struct strbuf text = STRBUF_INIT;
	uint64_t at, hash = 0;
	struct perfmap_line l;
	int err = read_at(s->fd, head, LINE_MAX_BYTES, start);

	if (err || !perfmap_line(head, LINE_MAX_BYTES, &l) || !claim(s, &l))
		goto out;
	start += (uint64_t)(l.name - head);
	for (at = start; at < end && !err; at += LONGNAME_PIECE) {
		const size_t len = (size_t)MIN(end - at, (uint64_t)LONGNAME_PIECE);

		err = read_at(s->fd, piece, len, at);
		hash = longname_hash(hash, piece, err ? 0 : len);
		/* As in perfmap_line(). The file has changed if a line ends here. */
		if (!err && (memchr(piece, '\0', len) || memchr(piece, '\n', len)))
			goto out;
	}
	if (err)
		goto out;
	strbuf_add(&text, head, (size_t)(l.name - head));
	longname_add_part(&text, l.name, l.name_len, end - start, hash, name_max(s, end - start));
	keep(s, &text);
out:
	free(head);
	free(piece);
	return err;
}

/*
 * @buf holds @len bytes of the file and ends where the lines taken before begin. Takes the whole
 * lines in it, from the last to the first. Returns the number of bytes at the front that belong to
 * a line whose beginning is not in @buf.
 */
static size_t take_lines(struct search *s, const char *buf, size_t len)
{
	while (s->nleft) {
		/* buf[len - 1] is the newline that ends the previous line. */
		const char *nl = len > 1 ? memrchr(buf, '\n', len - 1) : NULL;

		if (!nl)
			break;
		take_line(s, nl + 1, (size_t)(buf + len - 1 - (nl + 1)));
		len = (size_t)(nl + 1 - buf);
	}
	return len;
}

/*
 * Reads the file in chunks, from its end. @buf holds the end of a line that begins before it; of a
 * line that is too long for it, only the end's offset is kept.
 */
static int read_backwards(struct search *s, uint64_t size)
{
	uint64_t pos = size, stop = size > PERFMAP_READ_MAX ? size - PERFMAP_READ_MAX : 0, long_end = 0;
	char *buf = xmalloc(CHUNK + LINE_MAX_BYTES);
	size_t left = 0;	/* bytes at the start of buf: the end of a line */
	bool synced = false;	/* found a newline: the line after it may be incomplete */
	int err = 0;

	while (pos > stop && s->nleft && !err) {
		size_t want = MIN(pos - stop, (uint64_t)CHUNK);
		char *nl;

		if (left > LINE_MAX_BYTES) {
			long_end = pos + left - 1;
			left = 0;
		}
		memmove(buf + want, buf, left);
		err = read_at(s->fd, buf, want, pos - want);
		if (err)
			break;
		pos -= want;
		left += want;
		if (!synced || long_end) {
			nl = memrchr(buf, '\n', left);
			left = nl ? (size_t)(nl - buf) + 1 : 0;
			if (nl && long_end)
				err = take_long_line(s, pos + left, long_end);
			long_end = nl ? 0 : long_end;
			synced |= nl != NULL;
		}
		if (left)
			left = take_lines(s, buf, left);
	}
	/* No newline precedes the first line of the file. */
	if (!err && !pos && long_end)
		err = take_long_line(s, 0, long_end);
	else if (!err && !pos && left > LINE_MAX_BYTES)
		err = take_long_line(s, 0, left - 1);
	else if (!err && !pos && left > 1)
		take_line(s, buf, left - 1);
	free(buf);
	return err;
}

int perfmap_slice(int fd, const uint64_t *addrs, size_t n, size_t *room, struct strbuf *out)
{
	struct search s;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	search_init(&s, fd, addrs, n, room);
	err = read_backwards(&s, (uint64_t)st.st_size);
	/*
	 * Lines found before an error are valid all the same. They are written in the file's order,
	 * so that the last one wins.
	 */
	for (size_t i = s.nlines; i-- > 0;) {
		strbuf_add(out, s.lines[i].text, s.lines[i].len);
		strbuf_addc(out, '\n');
	}
	search_fini(&s);
	return err;
}
