/* Readable names for the code of Java JIT compilers. */
#ifndef NSPROF_DEMANGLE_JAVA_H
#define NSPROF_DEMANGLE_JAVA_H

/*
 * Returns an owned copy: a Java method written by a JVMTI agent in readable form, any other name
 * unchanged.
 */
char *demangle_java(const char *name);

#endif
