/*
 * Address spaces as types, so that the compiler catches mix-ups. In many binaries the three spaces
 * coincide, so a mix-up could go unnoticed for long.
 */
#ifndef NSPROF_ADDR_H
#define NSPROF_ADDR_H

#include <stdbool.h>
#include <stdint.h>

/* Runtime address in a process (or in the kernel). */
struct avma {
	uint64_t v;
};

/* Address as the binary itself states it: p_vaddr, st_value, FDE pc, DW_AT_low_pc. */
struct svma {
	uint64_t v;
};

/*
 * Bytes; the smallest page of x86-64. Mappings begin and end at multiples of it, in memory and in
 * their file.
 */
#define MAP_PAGE 4096u

/* Byte offset in a file. */
struct file_off {
	uint64_t v;
};

enum frame_kind {
	FRAME_IP,	/* the running instruction or, above a signal frame, the interrupted one */
	FRAME_RETURN,	/* a return address: the instruction after the call */
};

struct frame {
	struct avma addr;
	uint8_t kind;	/* enum frame_kind */
	bool kernel;
	bool joined;	/* not in the stack copy; taken from an earlier stack of the thread */
	bool scanned;	/* found by scanning the stack; callers of its callee may be missing */
};

/* The address to look up a frame's function and rules with. The only place that subtracts 1. */
static inline struct avma frame_lookup_addr(const struct frame *f)
{
	struct avma a = { f->addr.v - (f->kind == FRAME_RETURN && f->addr.v ? 1 : 0) };

	return a;
}

#endif
