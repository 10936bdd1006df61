/* gzip (RFC 1952) into a stream. */
#ifndef NSPROF_GZIP_H
#define NSPROF_GZIP_H

#include <stddef.h>
#include <stdio.h>

/* @len bytes of @data, compressed, to @to, whose error flag has write errors. 0, or -ENOMEM. */
int gzip_write(FILE *to, const void *data, size_t len);

#endif
