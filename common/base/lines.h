/* Lines of a stream, of any length up to a bound, without a copy of each. */
#ifndef NSPROF_LINES_H
#define NSPROF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A stack of a million frames has names of 256 bytes on average within it. */
#define LINES_MAX ((size_t)256 << 20)

struct lines {
	FILE *in;		/* borrowed; nobody else reads it */
	char *buf;		/* owned */
	size_t cap, at, end;	/* unread: [at, end) */
	uint64_t n;		/* lines given out or skipped */
	bool eof;
	bool ended;		/* the last line had an end; not so at the end of a text that was cut */
	int err;		/* negative errno of a read that failed: the lines end there */
};

void lines_init(struct lines *l, FILE *in);
void lines_fini(struct lines *l);
/*
 * The next line without its '\n', NUL-terminated in place, and its length; may be written to, and is valid until the next
 * call. False at the end, or when reading failed (l->err). Of a line longer than LINES_MAX, *@line is NULL
 * and it is skipped.
 */
bool lines_next(struct lines *l, char **line, size_t *len);

#endif
