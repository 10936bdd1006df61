/* Where results go: stdout or a file, with every write error noticed in the end. */
#ifndef NSPROF_OUTFILE_H
#define NSPROF_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

/*
 * "-" or NULL is stdout. A file is written under a temporary name beside it and renamed by
 * outfile_close(), so that a failure leaves what was there. NULL after a message.
 */
struct outfile;
struct outfile *outfile_open(const char *path);
/* Is @path, "-" or NULL for standard output, a terminal? */
bool outfile_is_terminal(const char *path);
/*
 * Is @path a terminal? Then false after a message: @what ("an SVG file"), made by @option, is nothing that a terminal can
 * show. To be asked before outfile_open().
 */
bool outfile_check_terminal(const char *path, const char *option, const char *what);
FILE *outfile_stream(struct outfile *o);	/* borrowed */
/*
 * Another stream to the same place, for much text (write_behind.h): it has no descriptor, and nothing may be written to
 * the other one from here on. What was is before it. Borrowed.
 */
FILE *outfile_text(struct outfile *o);
/* Flush, check, rename. 0, or negative errno after a message naming the file. Frees @o. */
int outfile_close(struct outfile *o);
/* The number of the open descriptor that @path is another name of, as /dev/stdout and /dev/fd/3 are; -1: of none. */
int outfile_descriptor(const char *path);
/* Give up: the temporary file is removed. Frees @o. */
void outfile_abort(struct outfile *o);

#endif
