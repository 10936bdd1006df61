/* write(2) until all is written. */
#ifndef NSPROF_WRITE_ALL_H
#define NSPROF_WRITE_ALL_H

#include <stddef.h>

/* @len bytes to @fd, in as many pieces as it takes. Waits where the descriptor does not. 0 or negative errno. */
int write_all(int fd, const void *data, size_t len);

#endif
