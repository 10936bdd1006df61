/* The executable mappings of one process image at the current point of the replay. */
#ifndef NSPROF_ADDRSPACE_H
#define NSPROF_ADDRSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

struct jit_func;
struct jitcode;
struct module;

struct mapping {
	uint64_t start, end;	/* runtime addresses [start, end) */
	uint64_t pgoff;		/* byte offset in the file */
	struct module *mod;	/* NULL: no file behind it (JIT, anonymous) */
	const char *path;	/* borrowed; outlives the address space (the replay interns it) */
};

/* Where jitted code was outside of its frame: JIT_RETURN(), sorted, unless the recording is damaged. */
struct jit_returns {
	size_t n;
	uint64_t v[];
};

struct addrspace {
	struct mapping *maps;	/* sorted by start, disjoint: newer mappings cut older ones */
	uint32_t n;
	uint32_t cap;
	uint32_t generation;	/* changes with every change of maps; never repeats across processes */
	uint32_t serial;	/* ev_proc.serial of the process image */
	const struct jitcode *jit;	/* borrowed; NULL: nothing was told of jitted code */
	uint64_t time;		/* ns, where the replay is: of use with @jit only */
	size_t njit;		/* how far @jit has come by then */
	const struct jit_returns *returns;	/* borrowed; NULL: none is known */
	bool jit_stacks;	/* jitted code has stacks of its own, and calls native code on the thread's */
};

struct addrspace *addrspace_new(void);
struct addrspace *addrspace_clone(const struct addrspace *as);	/* fork */
void addrspace_free(struct addrspace *as);
void addrspace_add(struct addrspace *as, const struct mapping *m);
/* The mapping that holds @addr, or NULL. Borrowed until the next change. */
const struct mapping *addrspace_find(const struct addrspace *as, struct avma addr);

/* Is @addr where the kernel has functions return that have a return probe: the start of its page [uprobes]? */
bool addrspace_uretprobe(const struct addrspace *as, struct avma addr);

/* What the process's JIT told of its code; inherited by clones. */
void addrspace_set_jit(struct addrspace *as, const struct jitcode *jit);
/* The replay has come to @time: another generation when jitted code has changed. */
void addrspace_advance(struct addrspace *as, uint64_t time);
/* The jitted function at @addr now, or NULL. Mappings of ELF files come before it. Borrowed. */
const struct jit_func *addrspace_find_jit(const struct addrspace *as, struct avma addr);

/* Where the return address lies of jitted code at @addr that is outside of its frame: bytes above the stack pointer. -1: nothing says that it is. */
int addrspace_jit_return(const struct addrspace *as, struct avma addr);

/*
 * Runtime address to the binary's own address, through the file offset and the PT_LOADs. Needs
 * module_load() to have succeeded. False when no segment holds it.
 */
bool mapping_to_svma(const struct mapping *m, struct avma addr, struct svma *out);

#endif
