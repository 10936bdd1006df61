/*
 * The walk that all unwinders share: frames are pushed, mappings looked up, guards checked and the
 * end named in one place. What differs is one step from a frame to its caller. So the oracles
 * disagree with the default unwinder about call frame information only, never about policy.
 */
#ifndef NSPROF_WALK_H
#define NSPROF_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"
#include "unwind/uregs.h"

enum step_end {
	STEP_CALLER, /* the registers are the caller's now, pc in CFI_REG_RA */
	STEP_OUTERMOST, /* rows say that there is no caller */
	STEP_NO_ROWS, /* no rows, or damaged ones; registers untouched */
	STEP_UNKNOWN_REG, /* rows need a register that is not known; registers untouched */
	STEP_FAULT, /* rows lead to walk_at.fault, which cannot be read */
};

/* The frame to step out of, and what the step says besides its result. */
struct walk_at {
	const struct unwind_input *in;
	struct module *mod; /* never NULL */
	uint64_t svma; /* where to look rows up: frame_lookup_addr() in the binary's addresses */
	uint64_t bias; /* runtime address = svma + bias */
	bool signal; /* out, false before: the frame was built by the kernel for a signal */
	bool resumes; /* out, of compiled rules: the row has %rax and %rdx saved, see walk_resumed() */
	uint64_t fault; /* out: runtime address, with STEP_FAULT */
};

typedef enum step_end (*walk_step_fn)(void *priv, struct walk_at *at, struct uregs *regs);

/* A mapping as the walk needs it; valid for one generation of an address space. */
struct walk_map {
	uint64_t start, end; /* runtime addresses [start, end) */
	struct module *mod; /* NULL: no file behind it */
	bool rows; /* @mod has its bytes, and bias and entry are set */
	uint64_t bias; /* runtime address = svma + bias */
	uint64_t entry; /* runtime address of the binary's entry point; 0 when unknown */
	uint32_t entry_len; /* bytes of start-up code there, at most MADE_ENTRY_MAX; 0 when unknown */
	bool fast; /* rule_key() of an address in it is exact, and the address plus @key_off */
	uint64_t key_off;
	bool go; /* @mod has a Go function table: made rows come first (made_rows.h) */
};

/* How a frame was stepped out of. */
struct walk_step {
	uint64_t sp; /* runtime address */
	uint64_t bp; /* with a rule that is based on %rbp: its value; else nothing */
	uint64_t rule; /* RULE_COMMON (rules.h); 0: in another way, or not at all */
};

#define WALK_RECENT 8 /* a stack seldom runs through more mappings at a time */

struct reuse;

struct walker {
	walk_step_fn step; /* NULL: frame pointers only */
	void *priv; /* for @step */
	const struct rules *rules; /* borrowed; those @step goes by, for walk_fast(). NULL: others */
	struct walk_step *steps; /* owned; beside unwind_result.frames */
	uint32_t steps_cap;
	struct reuse *reuse; /* owned; the threads' last stacks. With @rules their outer frames are taken over */
	uint64_t fault; /* runtime address above the copy that the last stack ended for */
	struct rules *made, *made_return; /* owned; for instructions and returns, NULL until used */
	uint32_t generation; /* addrspace.generation that @recent holds mappings of; 0 = none */
	uint32_t nrecent, next; /* used entries; the one to replace next */
	struct walk_map recent[WALK_RECENT];
	struct walk_map jit[2]; /* this frame's function and the next one's */
	uint32_t njit;
};

void walker_init(struct walker *w, walk_step_fn step, void *priv);
void walker_fini(struct walker *w);

/* Unwinds one stack: all of unwinder_ops.unwind. Never fails. */
void walk_stack(struct walker *w, const struct unwind_input *in, struct unwind_result *out);
/* unwinder_ops.forget. */
void walk_forget(struct walker *w, uint32_t tid);
/* unwinder_ops.join_holds, for objects that begin with their walker. */
bool walk_join_holds(const void *const *privs, size_t n, uint64_t border);

#endif
