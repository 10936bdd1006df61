/* Recognizes foreign files, so that a message can say what they are and what to do with them. */
#ifndef NSPROF_FILEKIND_H
#define NSPROF_FILEKIND_H

#include <stddef.h>

/* Bytes at the beginning of a file that are enough to recognize it. */
#define FILEKIND_HEAD 4096

/*
 * Describes a file by its first @n bytes, @head: "gzip-compressed perf.data: decompress it first
 * (gunzip -k)". The text follows "it is ". NULL: unknown. Static.
 */
const char *filekind_text(const void *head, size_t n);

#endif
