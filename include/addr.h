/*
 * Address spaces as types, so that one cannot be taken for another: in many binaries the three
 * coincide and a mix-up stays unnoticed for long.
 */
#ifndef NSPROF_ADDR_H
#define NSPROF_ADDR_H

#include <stdbool.h>
#include <stdint.h>

/* Runtime address in a process (or in the kernel). */
struct avma {
	uint64_t v;
};

/* Address a binary states for itself: p_vaddr, st_value, FDE pc, DW_AT_low_pc. */
struct svma {
	uint64_t v;
};

/* Bytes; mappings begin and end at multiples of it, at runtime and in their file. x86-64's smallest. */
#define MAP_PAGE 4096u

/* Byte offset in a file. */
struct file_off {
	uint64_t v;
};

enum frame_kind {
	FRAME_IP,	/* the instruction that runs or, above a signal frame, ran */
	FRAME_RETURN,	/* a return address: one behind the call */
};

struct frame {
	struct avma addr;
	uint8_t kind;	/* enum frame_kind */
	bool kernel;
	bool joined;	/* not in the stack copy: known from an earlier stack of the thread */
	bool scanned;	/* found by a search of the stack: callers between it and its callee may be missing */
};

/* The one place that subtracts 1: the address to look a frame's function and rules up with. */
static inline struct avma frame_lookup_addr(const struct frame *f)
{
	struct avma a = { f->addr.v - (f->kind == FRAME_RETURN && f->addr.v ? 1 : 0) };

	return a;
}

#endif
