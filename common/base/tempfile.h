/* A file without a name, for what has to be read more than once. */
#ifndef NSPROF_TEMPFILE_H
#define NSPROF_TEMPFILE_H

#include <stddef.h>

/* In $TMPDIR, else in /tmp. Owned by the caller; negative errno after a message that says what helps. */
int tempfile_open(void);
/* All @n bytes of @buf to @fd. 0, or negative errno after a message. */
int tempfile_write(int fd, const void *buf, size_t n);

#endif
