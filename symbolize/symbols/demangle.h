/* Turns mangled names into source names. */
#ifndef NSPROF_DEMANGLE_H
#define NSPROF_DEMANGLE_H

#include <stddef.h>

/* Returns an owned copy: the demangled name (C++, Rust v0 and legacy, D), or @name unchanged. */
char *demangle(const char *name);
/* The same, but @name unchanged if the result would have more than @max bytes. */
char *demangle_most(const char *name, size_t max);

#endif
