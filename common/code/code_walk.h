/*
 * What code_walk.c and code_rows.c share: the ways through code, and the registers on them as far as
 * they can be told from those at the start.
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

/* Calls that are followed to see whether they return: exit() is three deep. */
#define DEPTH_MAX 4

/* Registers a callee keeps, as encoded, and their DWARF numbers (psABI 1.0, figure 3.36). */
#define NKEPT 6
struct kept_reg {
	uint8_t reg, dwarf;
};
extern const struct kept_reg code_kept[NKEPT];

#define CALLER_SAVED 0x0fc7 /* rax, rcx, rdx, rsi, rdi, r8-r11, as encoded */

enum val_kind {
	VAL_UNKNOWN,
	VAL_REG, /* what register @base held at the start, plus @off */
	VAL_MEM, /* what the stack held at the start at that address, plus @add */
	VAL_CONST, /* @off */
};

struct val {
	uint8_t kind;
	uint8_t base;
	int32_t off, add;
};

struct state {
	struct val r[NREG];
	/* What was stored since the start, at addresses that can be told; the last one counts. */
	struct slot {
		struct val at, val;
	} slots[SLOTS_MAX];
	uint8_t nslots;
};

struct path;

/* What an exploration found. */
struct found {
	bool returns; /* some way does; only the first is waited for when @brief */
	bool open; /* some way could not be followed */
	bool brief;
	bool conflict;
	bool have; /* the row below is set */
	bool sigreturn; /* some way ends in rt_sigreturn(2), with the stack pointer in @ra */
	bool exits; /* some way ends in exit(2) */
	bool calls; /* some way goes on behind a call */
	bool by_type; /* some way goes through a table of which only the index's type says how large it is */
	bool firsts; /* of such a table only the first entry is followed: set before */
	struct val ra; /* address of the return address */
	struct val saved[NKEPT];
	/* Jumps to where a register or memory says; of the first: where, and the registers there. */
	struct {
		uint32_t n;
		struct val to, sp, saved[NKEPT];
	} jump;
	/* Ways from a function's beginning to @target, which end there. */
	uint64_t target; /* svma; 0 = ways from an instruction to where they return */
	bool reached;
	struct state at; /* the registers there, by what they were at the beginning */
};

struct code_rows {
	struct code_source src;
	struct u64map endings; /* svma of a function to enum ending + 1 as found at each depth, 2 bits each */
	struct strbuf *exprs; /* owned; expressions of rows, which borrow them */
	size_t nexprs, cap_exprs;
	struct u64map seen[DEPTH_MAX + 1]; /* of the exploration at that depth: svma to SEEN_* */
	struct path *paths[DEPTH_MAX + 1]; /* owned; NULL until used */
	struct code_table *tables; /* owned (code_table.h) */
	size_t ntables, cap_tables;
	size_t tables_kept; /* they and their targets */
	struct u64map tables_by_jump; /* svma of a jump to its number there */
};

enum {
	SEEN_INSN = 1, /* a way goes over it */
	SEEN_BRANCH = 2, /* a conditional branch leads to it */
	SEEN_TWICE = 4, /* a second way goes over it, with another stack pointer; that of the first is in the upper half */
};

enum ending {
	END_RETURNS, /* at least one way does */
	END_NEVER, /* no way does, and all were followed */
	END_UNKNOWN,
};

static inline bool val_same(const struct val *a, const struct val *b)
{
	return a->kind == b->kind && a->base == b->base && a->off == b->off &&
	       a->add == b->add;
}

/* Whether @data begins with padding: nop in all its lengths, xchg %ax,%ax, int3. */
bool code_is_nop(const uint8_t *data, size_t n);
/* The same of endbr64, which stands where functions begin, and where setjmp() returns. */
bool code_is_endbr(const uint8_t *data, size_t n);

/*
 * Follows all ways from @svma; what is asked for is set in @f before. @depth: 0, or how many calls were
 * followed to get here.
 */
void code_explore(struct code_rows *cr, uint64_t svma, int depth, struct found *f);

/*
 * Whether the code behind @call, at svma @next, is run when the callee is done. END_NEVER: the callee does
 * not return, by its code or its name. END_UNKNOWN: it looks like the end of the function.
 */
struct x86_insn;
enum ending code_call_ending(struct code_rows *cr, const struct x86_insn *call, uint64_t next,
			     int depth);

#endif
