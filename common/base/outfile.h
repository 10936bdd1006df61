/* Where results go: stdout or a file. Every write error is reported at the end. */
#ifndef NSPROF_OUTFILE_H
#define NSPROF_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

/*
 * "-" or NULL is stdout. A file is written under a temporary name beside its final name and renamed
 * by outfile_close(), so that a failure leaves the old file. NULL after a message.
 */
struct outfile;
struct outfile *outfile_open(const char *path);
/* Is @path a terminal? "-" or NULL means standard output. */
bool outfile_is_terminal(const char *path);
/*
 * Returns false after a message if @path is a terminal, which cannot show @what ("an SVG file"),
 * the output of @option. Call it before outfile_open().
 */
bool outfile_check_terminal(const char *path, const char *option, const char *what);
FILE *outfile_stream(struct outfile *o);	/* borrowed */
/*
 * Another stream to the same place, for much text (write_behind.h). Borrowed. It has no descriptor.
 * What was written to the first stream comes before it; nothing may be written to the first stream
 * from here on.
 */
FILE *outfile_text(struct outfile *o);
/* Flush, check, rename. 0, or negative errno after a message naming the file. Frees @o. */
int outfile_close(struct outfile *o);
/*
 * The number of the open descriptor that @path is another name for (/dev/stdout, /dev/fd/3); -1:
 * none.
 */
int outfile_descriptor(const char *path);
/*
 * Creates @path, a folder to write to, unless it exists. 0, or negative errno after a message.
 */
int outfile_folder(const char *path);
/* Gives up: removes the temporary file. Frees @o. */
void outfile_abort(struct outfile *o);

/*
 * Another process that opens files and gives them their names, for one that has no right to do so
 * (parser.h).
 */
struct outfile_keeper {
	/* fd, owned, and *@number; or negative errno after a message */
	int (*open)(const char *path, int *number);
	/* outfile_close() or outfile_abort() there: 0, or negative errno after a message */
	int (*finish)(int number, bool keep);
	int (*folder)(const char *path);
};
void outfile_use_keeper(const struct outfile_keeper *k);

#endif
