/*
 * Shared by code_walk.c and code_rows.c: the paths through code, and the registers on them in terms
 * of their values at the start.
 */
#ifndef NSPROF_CODE_WALK_H
#define NSPROF_CODE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "code/code_rows.h"

#define NREG 16
#define RAX 0
#define RSP 4
#define RBP 5

#define SLOTS_MAX 48

/* How many levels of calls are followed to see whether they return: exit() needs three. */
#define DEPTH_MAX 4

/* Callee-saved registers: encoding and DWARF number (psABI 1.0, figure 3.36). */
#define NKEPT 6
struct kept_reg {
	uint8_t reg, dwarf;
};
extern const struct kept_reg code_kept[NKEPT];

#define CALLER_SAVED 0x0fc7 /* rax, rcx, rdx, rsi, rdi, r8-r11, as encoded */

enum val_kind {
	VAL_UNKNOWN,
	VAL_REG, /* the initial value of register @base, plus @off */
	VAL_MEM, /* the initial content of the stack at that address, plus @add */
	VAL_CONST, /* @off */
};

struct val {
	uint8_t kind;
	uint8_t base;
	int32_t off, add;
};

struct state {
	struct val r[NREG];
	/* Values stored since the start at known addresses; the last one for an address counts. */
	struct slot {
		struct val at, val;
	} slots[SLOTS_MAX];
	uint8_t nslots;
};

struct path;

/* The result of an exploration. */
struct found {
	bool returns; /* a path returns; with @brief the exploration stops at the first */
	bool open; /* a path could not be followed */
	bool brief;
	bool conflict;
	bool have; /* the row below is set */
	bool sigreturn; /* a path ends in rt_sigreturn(2), with the stack pointer in @ra */
	bool exits; /* a path ends in exit(2) */
	bool calls; /* a path continues behind a call */
	/* a path uses a jump table whose size only follows from the type of the index */
	bool by_type;
	bool firsts; /* input: of such a table follow only the first entry */
	struct val ra; /* the address where the return address is stored */
	struct val saved[NKEPT];
	/*
	 * Jumps through a register or memory: their number. For the first: its target and the
	 * registers there.
	 */
	struct {
		uint32_t n;
		struct val to, sp, saved[NKEPT];
	} jump;
	/* Paths from a function's beginning that end at @target. */
	uint64_t target; /* svma; 0 = paths from an instruction until they return */
	bool reached;
	struct state at; /* the registers at @target, in terms of their values at the beginning */
};

struct code_rows {
	struct code_source src;
	/* svma of a function to enum ending + 1 as found at each depth, 2 bits each */
	struct u64map endings;
	struct strbuf *exprs; /* owned; expressions that rows borrow */
	size_t nexprs, cap_exprs;
	struct u64map seen[DEPTH_MAX + 1]; /* per depth, for its exploration: svma to SEEN_* */
	struct path *paths[DEPTH_MAX + 1]; /* owned; NULL until used */
	struct code_table *tables; /* owned (code_table.h) */
	size_t ntables, cap_tables;
	size_t tables_kept; /* total of tables and targets */
	struct u64map tables_by_jump; /* svma of a jump to the index of its table */
};

enum {
	SEEN_INSN = 1, /* a path runs over it */
	SEEN_BRANCH = 2, /* a conditional branch leads to it */
	/*
	 * a second path with another stack pointer runs over it; the upper half has that of the
	 * first
	 */
	SEEN_TWICE = 4,
};

enum ending {
	END_RETURNS, /* at least one path returns */
	END_NEVER, /* no path returns, and all were followed */
	END_UNKNOWN,
};

static inline bool val_same(const struct val *a, const struct val *b)
{
	return a->kind == b->kind && a->base == b->base && a->off == b->off &&
	       a->add == b->add;
}

/* Does @data begin with padding: nop of any length, xchg %ax,%ax, int3? */
bool code_is_nop(const uint8_t *data, size_t n);
/* Does it begin with endbr64, which is at the beginning of functions and where setjmp() returns? */
bool code_is_endbr(const uint8_t *data, size_t n);

/*
 * Follows all paths from @svma. The caller sets the inputs in @f first. @depth: the number of calls
 * followed to get here.
 */
void code_explore(struct code_rows *cr, uint64_t svma, int depth, struct found *f);

/*
 * Does the code behind @call, at svma @next, run after the callee is done? END_NEVER: the callee
 * never returns, by its code or its name. END_UNKNOWN: @next looks like the end of the function.
 */
struct x86_insn;
enum ending code_call_ending(struct code_rows *cr, const struct x86_insn *call, uint64_t next,
			     int depth);

#endif
