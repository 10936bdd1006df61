/*
 * The lines of a perf map that a recording needs. A JIT appends, and the last line for an address
 * is the valid one. So the file is read backwards: the first line found for an address settles it,
 * and reading stops when all addresses have a line.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "capture/capture.h"
#include "capture/pcset.h"
#include "jit/perfmap_line.h"

#define READ_MAX (256ull << 20)
#define CHUNK (256u << 10)
#define LINE_MAX_BYTES (64u << 10)	/* longer is not a name; Java signatures reach a few KiB */

struct line {
	char *text;	/* owned, without newline */
	size_t len;
};

struct search {
	struct pcset pcs;	/* runtime addresses */
	/* next[i] = i: not found yet, otherwise where to go on; pcs.n + 1 entries */
	size_t *next;
	size_t nleft;		/* not found yet */
	struct line *lines;	/* kept lines, the last of the file first */
	size_t nlines, cap;
};

static void search_init(struct search *s, const uint64_t *addrs, size_t n)
{
	memset(s, 0, sizeof(*s));
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

static void take_line(struct search *s, const char *p, size_t len)
{
	struct perfmap_line l;
	bool wanted = false;

	if (!perfmap_line(p, len, &l))
		return;
	for (size_t i = unfound_from(s, pcset_from(&s->pcs, l.start));
	     i < s->pcs.n && s->pcs.v[i] < l.end; i = unfound_from(s, i)) {
		s->next[i] = i + 1;
		s->nleft--;
		wanted = true;
	}
	if (!wanted)
		return;
	XGROW(s->lines, s->nlines, s->cap);
	s->lines[s->nlines++] = (struct line){ xmemdup(p, len), len };
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

static int read_backwards(int fd, struct search *s, uint64_t size)
{
	uint64_t pos = size, stop = size > READ_MAX ? size - READ_MAX : 0;
	char *buf = xmalloc(CHUNK + LINE_MAX_BYTES);
	size_t left = 0;	/* bytes at the start of buf: the end of a line */
	bool synced = false;	/* found a newline: the line after it may be incomplete */
	int err = 0;

	while (pos > stop && s->nleft && !err) {
		size_t want = MIN(pos - stop, (uint64_t)CHUNK);
		char *nl;

		if (left > LINE_MAX_BYTES) {
			left = 0;
			synced = false;
		}
		memmove(buf + want, buf, left);
		err = read_at(fd, buf, want, pos - want);
		if (err)
			break;
		pos -= want;
		left += want;
		if (!synced) {
			nl = memrchr(buf, '\n', left);
			left = nl ? (size_t)(nl - buf) + 1 : 0;
			synced = nl != NULL;
		}
		if (left)
			left = take_lines(s, buf, left);
	}
	/* No newline precedes the first line of the file. */
	if (!err && !pos && left > 1)
		take_line(s, buf, left - 1);
	free(buf);
	return err;
}

int capture_perf_map(int fd, const uint64_t *addrs, size_t n, struct strbuf *out)
{
	struct search s;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	search_init(&s, addrs, n);
	err = read_backwards(fd, &s, (uint64_t)st.st_size);
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
