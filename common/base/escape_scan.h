/* The characters of a name one after the other, without memory of its own: escape.c and log.c use it. */
#ifndef NSPROF_ESCAPE_SCAN_H
#define NSPROF_ESCAPE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#define ESCAPE_PIECE_MAX 16	/* bytes: "\u{10ffff}" */
/* More marks on one character are drawn across the lines above and below. */
#define ESCAPE_MARKS_MAX 4

enum escape_blanks { BLANKS_STAY, BLANKS_INSIDE, BLANKS_NONE };

/* What is being escaped, and how far. Begin with @marks at ESCAPE_MARKS_MAX. */
struct escape_scan {
	const char *s;
	size_t len, at;
	bool text;		/* escapes that are there stay */
	enum escape_blanks blanks;
	unsigned int marks;	/* on the last character; ESCAPE_MARKS_MAX: it takes none */
};

/*
 * Takes the next character. Returns the bytes it becomes and their number in *@n: of the input
 * itself, or @piece.
 */
const char *escape_next(struct escape_scan *sc, char piece[ESCAPE_PIECE_MAX], size_t *n);
/* The number of bytes at @s that are text, regardless of what surrounds them. */
size_t escape_plain_len(const char *s, size_t left);
/* Length of the escape at @s, or 0. */
size_t escape_len(const char *s, size_t left);

#endif
