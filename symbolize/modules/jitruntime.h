/*
 * Which runtime makes the code of a process, proven by the files it maps, and how that runtime is told to name its code and to
 * leave its callers visible. The text is for people: nsprof-symbolize(1), JIT CODE.
 */
#ifndef NSPROF_JITRUNTIME_H
#define NSPROF_JITRUNTIME_H

#include <stdbool.h>

/* Bits; where a process has several, the first one is the likeliest to have made code. */
enum jit_runtime {
	JIT_QEMU = 1 << 0,	/* before others: what it runs maps its own runtime */
	JIT_OPENJ9 = 1 << 1,	/* before JIT_JVM: its libjvm.so has HotSpot's name */
	JIT_JVM = 1 << 2,
	JIT_DOTNET = 1 << 3,
	JIT_ERLANG = 1 << 4,
	JIT_NODE = 1 << 5,
	JIT_POSTGRES = 1 << 6,
	JIT_PHP = 1 << 7,
	JIT_LUAJIT = 1 << 8,
	JIT_SBCL = 1 << 9,
	JIT_RUBY = 1 << 10,
	JIT_DUMP = 1 << 11,	/* no runtime: it has a jitdump */
};

/* enum jit_runtime bits that the mapping of @path proves; 0: none. */
unsigned int jit_runtime_proof(const char *path);

/* How it is told to name its code; NULL: it cannot. Static. */
const char *jit_runtime_naming(unsigned int runtimes);
/* How it is told to keep what a stack is unwound by, when it is not. @named: it names its code. NULL: it cannot. Static. */
const char *jit_runtime_unwinding(unsigned int runtimes, bool named);

#endif
