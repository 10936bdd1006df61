/*
 * Finds out which runtime generates code in a process, from the files it maps, and tells users how
 * to make that runtime name its code and keep its callers visible. See nsprof-symbolize(1), JIT
 * CODE.
 */
#ifndef NSPROF_JITRUNTIME_H
#define NSPROF_JITRUNTIME_H

#include <stdbool.h>

/* Bits. If a process has several, the lowest one is the likeliest source of code. */
enum jit_runtime {
	JIT_QEMU = 1 << 0,	/* before the others: its guest program maps its own runtime */
	JIT_OPENJ9 = 1 << 1,	/* before JIT_JVM: its libjvm.so is named like HotSpot's */
	JIT_JVM = 1 << 2,
	JIT_DOTNET = 1 << 3,
	JIT_ERLANG = 1 << 4,
	JIT_NODE = 1 << 5,
	JIT_POSTGRES = 1 << 6,
	JIT_PHP = 1 << 7,
	JIT_LUAJIT = 1 << 8,
	JIT_SBCL = 1 << 9,
	JIT_RUBY = 1 << 10,
	JIT_DUMP = 1 << 11,	/* not a runtime: the process has a jitdump */
};

/* enum jit_runtime bits that the mapping of @path proves; 0: none. */
unsigned int jit_runtime_proof(const char *path);

/* How to make the runtime name its code; NULL: it cannot. Static. */
const char *jit_runtime_naming(unsigned int runtimes);
/*
 * How to make the runtime generate code that can be unwound. @named: it already names its code.
 * NULL: it cannot, or it already does. Static.
 */
const char *jit_runtime_unwinding(unsigned int runtimes, bool named);

#endif
