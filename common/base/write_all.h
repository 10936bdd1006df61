/* write(2) until everything is written. */
#ifndef NSPROF_WRITE_ALL_H
#define NSPROF_WRITE_ALL_H

#include <stddef.h>

/*
 * Writes @len bytes to @fd in as many calls as it takes. Waits if a non-blocking descriptor is
 * full. 0 or negative errno.
 */
int write_all(int fd, const void *data, size_t len);

#endif
