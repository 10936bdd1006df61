/* Mangled names as the source has them. */
#ifndef NSPROF_DEMANGLE_H
#define NSPROF_DEMANGLE_H

/* Owned copy: demangled (C++, Rust v0 and legacy, D), or the name itself. @raw: no demangling. */
char *demangle(const char *name);

#endif
