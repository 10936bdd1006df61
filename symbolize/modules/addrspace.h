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

/*
 * Where JIT code keeps a return address outside its frame: JIT_RETURN() values, sorted unless the
 * recording is damaged.
 */
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
	const struct jitcode *jit;	/* borrowed; NULL: nothing is known about JIT code */
	uint64_t time;		/* ns, current time of the replay; used only with @jit */
	size_t njit;		/* functions of @jit that were loaded by @time */
	const struct jit_returns *returns;	/* borrowed; NULL: none are known */
	bool jit_stacks;	/* JIT code has its own stacks, native code the thread's */
};

struct addrspace *addrspace_new(void);
struct addrspace *addrspace_clone(const struct addrspace *as);	/* fork */
void addrspace_free(struct addrspace *as);
void addrspace_add(struct addrspace *as, const struct mapping *m);
/* The mapping that holds @addr, or NULL. Borrowed until the next change. */
const struct mapping *addrspace_find(const struct addrspace *as, struct avma addr);

/*
 * Is @addr the start of the process's [uprobes] page? Functions with a return probe return there.
 */
bool addrspace_uretprobe(const struct addrspace *as, struct avma addr);

/* Sets the jitdump data of the process. Clones inherit it. */
void addrspace_set_jit(struct addrspace *as, const struct jitcode *jit);
/* The replay has reached @time. Changes the generation if JIT code has changed. */
void addrspace_advance(struct addrspace *as, uint64_t time);
/* The JIT function at @addr now, or NULL. Look up mappings of ELF files first. Borrowed. */
const struct jit_func *addrspace_find_jit(const struct addrspace *as, struct avma addr);

/*
 * Offset of the return address above the stack pointer, in bytes, if the JIT code at @addr keeps it
 * outside its frame; -1: not known to.
 */
int addrspace_jit_return(const struct addrspace *as, struct avma addr);

/*
 * Translates a runtime address to the binary's own address, through the file offset and the
 * PT_LOADs. Needs a successful module_load(). False if no segment holds it.
 */
bool mapping_to_svma(const struct mapping *m, struct avma addr, struct svma *out);

#endif
