/* A file without a name, for data that must be read more than once. */
#ifndef NSPROF_TEMPFILE_H
#define NSPROF_TEMPFILE_H

#include <stddef.h>

/*
 * Opens it in $TMPDIR, or in /tmp without it. Owned by the caller. Negative errno after a message
 * that says what helps.
 */
int tempfile_open(void);
/* From now on, @open does what tempfile_open() does: for a process that has no right to (parser.h). */
void tempfile_use(int (*open)(void));
/* Writes all @n bytes of @buf to @fd. 0, or negative errno after a message. */
int tempfile_write(int fd, const void *buf, size_t n);

#endif
