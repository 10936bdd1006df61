/* Turns mangled names into source names. */
#ifndef NSPROF_DEMANGLE_H
#define NSPROF_DEMANGLE_H

/* Returns an owned copy: the demangled name (C++, Rust v0 and legacy, D), or @name unchanged. */
char *demangle(const char *name);

#endif
