/* Lines of a stream, of any length up to a limit, without copying each one. */
#ifndef NSPROF_LINES_H
#define NSPROF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Enough for a stack of a million frames with names of 256 bytes on average. */
#define LINES_MAX ((size_t)256 << 20)

struct lines {
	FILE *in;		/* borrowed; nothing else may read it */
	char *buf;		/* owned */
	size_t cap, at, end;	/* unread: [at, end) */
	uint64_t n;		/* lines returned or skipped */
	bool eof;
	/* the last line ended in a newline; false at the end of a truncated text */
	bool ended;
	int err;		/* negative errno of a failed read, which ends the lines */
};

void lines_init(struct lines *l, FILE *in);
void lines_fini(struct lines *l);
/*
 * The next line without its '\n', NUL-terminated in place, and its length. The caller may write to
 * it; it is valid until the next call. A line longer than LINES_MAX is skipped, and *@line is NULL
 * for it. False at the end, or when reading failed (l->err).
 */
bool lines_next(struct lines *l, char **line, size_t *len);

#endif
