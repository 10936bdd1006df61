/*
 * A filter in front of "this code address was seen": stacks repeat, so nearly all addresses of a
 * sample were reported with the one before. It forgets on purpose. A false "new" costs a lookup; a
 * false "seen" never happens if all changes of a process's mappings are reported here.
 */
#ifndef NSPROF_SEEN_ADDRS_H
#define NSPROF_SEEN_ADDRS_H

#include <stdbool.h>
#include <stdint.h>

#include "stackcopy.h"

#define SEEN_ADDRS_SLOT_BITS 16
#define SEEN_ADDRS_SLOTS (1u << SEEN_ADDRS_SLOT_BITS)
#define SEEN_ADDRS_PIDS 4096
#define SEEN_ADDRS_TAG_BITS 16
#define SEEN_ADDRS_TAGS (1u << SEEN_ADDRS_TAG_BITS)

/* Stands for the kernel's own addresses instead of a pid. No process has it: pids end at 2^22. */
#define SEEN_ADDRS_KERNEL 0xfffffffeu

/* Half a MiB, mostly read for every sample: small enough for a CPU's own cache. */
struct seen_addrs {
	uint64_t slot[SEEN_ADDRS_SLOTS];	/* 48 bits of an address, owner's tag; 0 = empty */
	struct seen_addrs_owner {
		uint32_t pid;
		uint32_t tag;		/* 0 = none; a new one at each change of mappings */
	} owner[SEEN_ADDRS_PIDS];		/* by pid modulo */
	uint32_t last;			/* the latest tag */
};

struct seen_addrs *seen_addrs_new(void);
void seen_addrs_free(struct seen_addrs *s);

/* The owner to pass to seen_addrs_new_addr(), valid until the next call of any other function. */
uint32_t seen_addrs_owner(struct seen_addrs *s, uint32_t pid);
/*
 * The first of the kept words @i to @n of @words that is no stack address and not known to be seen;
 * @n: none.
 */
uint32_t seen_addrs_skip(const struct seen_addrs *s, uint32_t owner, const struct stack_words *words, uint32_t i, uint32_t n);
/* Was it seen? False also if that was forgotten. */
bool seen_addrs_has(const struct seen_addrs *s, uint32_t owner, uint64_t addr);
/* True the first time, and again after it was evicted or the process changed. */
bool seen_addrs_new_addr(struct seen_addrs *s, uint32_t owner, uint64_t addr);
/* Mappings of @pid came or went, or the pid has a new owner. */
void seen_addrs_forget(struct seen_addrs *s, uint32_t pid);
/* Side-band records were lost: nothing is certain any more. */
void seen_addrs_forget_all(struct seen_addrs *s);

#endif
