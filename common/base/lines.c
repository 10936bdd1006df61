/* Lines of a stream (lines.h). */
#include "base/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"

#define BUF_FIRST ((size_t)1 << 20)

void lines_init(struct lines *l, FILE *in)
{
	*l = (struct lines){ .in = in };
}

void lines_fini(struct lines *l)
{
	free(l->buf);
	l->buf = NULL;
}

/* Reads more bytes behind the unread ones, which move to the front. False: there are none. */
static bool fill(struct lines *l)
{
	size_t left = l->end - l->at, got;

	if (l->eof)
		return false;
	if (left)
		memmove(l->buf, l->buf + l->at, left);
	l->at = 0;
	l->end = left;
	/* One byte is reserved for the NUL behind the last line. */
	if (left + 1 >= l->cap) {
		l->cap = l->cap ? l->cap * 2 : BUF_FIRST;
		l->buf = xrealloc(l->buf, l->cap);
	}
	got = fread(l->buf + left, 1, l->cap - 1 - left, l->in);
	l->end += got;
	if (!got) {
		l->eof = true;
		if (ferror(l->in))
			l->err = errno ? -errno : -EIO;
	}
	return got;
}

bool lines_next(struct lines *l, char **line, size_t *len)
{
	size_t seen = 0;	/* bytes known to hold no newline */
	bool too_long = false;
	char *nl;

	for (;;) {
		nl = l->end > l->at + seen ? memchr(l->buf + l->at + seen, '\n', l->end - l->at - seen) : NULL;
		if (nl)
			break;
		seen = l->end - l->at;
		if (seen > LINES_MAX) {
			too_long = true;
			l->at = l->end;
			seen = 0;
		}
		if (!fill(l))
			break;
	}
	l->ended = nl;
	if (l->err || (!nl && l->at == l->end && !too_long))
		return false;
	if (!nl)
		nl = l->buf + l->end;
	*nl = '\0';
	*line = too_long ? NULL : l->buf + l->at;
	*len = (size_t)(nl - (l->buf + l->at));
	l->at = MIN((size_t)(nl - l->buf) + 1, l->end);
	l->n++;
	return true;
}
