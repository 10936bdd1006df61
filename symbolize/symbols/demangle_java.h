/* What JIT compilers of Java call their code. */
#ifndef NSPROF_DEMANGLE_JAVA_H
#define NSPROF_DEMANGLE_JAVA_H

/* Owned copy of what a JIT compiler's name says: a method as a Java agent writes it, readable; any other one as it is. */
char *demangle_java(const char *name);

#endif
