/*
 * A filter in front of "this code address was seen": stacks repeat, so nearly all addresses of a
 * sample were reported with the one before. Forgetful on purpose; a false "new" costs a lookup, a
 * false "seen" never happens as long as changes of a process's mappings are told.
 */
#ifndef NSPROF_SEEN_H
#define NSPROF_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#define SEEN_SLOTS 65536
#define SEEN_PIDS 4096

/* The kernel's own addresses, in the place of a pid. No process has it: pids end at 2^22. */
#define SEEN_KERNEL 0xfffffffeu

struct seen {
	struct {
		uint64_t addr;
		uint64_t owner;		/* pid, and its generation when the address was seen */
	} slot[SEEN_SLOTS];
	uint32_t gen[SEEN_PIDS];	/* by pid modulo; counted up at each change of mappings */
};

struct seen *seen_new(void);
void seen_free(struct seen *s);

/* True the first time, and again after it was pushed out or the process changed. */
bool seen_new_addr(struct seen *s, uint32_t pid, uint64_t addr);
/* Mappings of @pid came or went, or the pid has a new owner. */
void seen_forget(struct seen *s, uint32_t pid);
/* Side-band records were lost: nothing is sure any more. */
void seen_forget_all(struct seen *s);

#endif
