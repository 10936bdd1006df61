/* What a file is that is none of ours, so that a message can say what to do with it. */
#ifndef NSPROF_FILEKIND_H
#define NSPROF_FILEKIND_H

#include <stddef.h>

/* Bytes of a file's beginning that are enough. */
#define FILEKIND_HEAD 4096

/*
 * By the first @n bytes, @head: "gzip-compressed perf.data: decompress it first (zcat)", to be put behind "it is ". NULL: not known. Static.
 */
const char *filekind_text(const void *head, size_t n);

#endif
