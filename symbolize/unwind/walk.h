/*
 * The walk that all unwinders share. It alone pushes frames, looks up mappings, checks guards and
 * names the end. Unwinders differ only in the step from a frame to its caller. So the oracles can
 * disagree with the default unwinder about call frame information, but not about policy.
 */
#ifndef NSPROF_WALK_H
#define NSPROF_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"
#include "unwind/uregs.h"

enum step_end {
	STEP_CALLER, /* the registers are now the caller's, pc in CFI_REG_RA */
	STEP_OUTERMOST, /* the rows say that there is no caller */
	STEP_NO_ROWS, /* no rows, or damaged ones; registers untouched */
	STEP_UNKNOWN_REG, /* the rows need an unknown register; registers untouched */
	STEP_FAULT, /* the rows lead to walk_at.fault, which cannot be read */
};

/* The frame to step out of, and further results of the step. */
struct walk_at {
	const struct unwind_input *in;
	struct module *mod; /* never NULL */
	uint64_t svma; /* address to look up in the rows: frame_lookup_addr() in the binary's
		        * addresses */
	uint64_t bias; /* runtime address = svma + bias */
	bool signal; /* out, false before: the kernel built the frame for a signal */
	bool resumes; /* out, from compiled rules: the row saves %rax and %rdx, see walk_resumed() */
	uint64_t fault; /* out: runtime address, with STEP_FAULT */
};

typedef enum step_end (*walk_step_fn)(void *priv, struct walk_at *at, struct uregs *regs);

/* A mapping for the walk; valid for one generation of an address space. */
struct walk_map {
	uint64_t start, end; /* runtime addresses [start, end) */
	struct module *mod; /* NULL: not of a file */
	bool rows; /* @mod's bytes are available, and bias and entry are set */
	uint64_t bias; /* runtime address = svma + bias */
	uint64_t entry; /* runtime address of the binary's entry point; 0 when unknown */
	uint32_t entry_len; /* bytes of start-up code there, at most MADE_ENTRY_MAX; 0 when unknown */
	bool fast; /* rule_key() of any address in it is exact: the address plus @key_off */
	uint64_t key_off;
	bool go; /* @mod has a Go function table: made rows come first (made_rows.h) */
};

/* How the walk stepped out of a frame. */
struct walk_step {
	uint64_t sp; /* runtime address */
	uint64_t bp; /* value of %rbp if the rule is based on it; otherwise unset */
	uint64_t rule; /* RULE_COMMON (rules.h); 0: another kind of step, or none */
};

#define WALK_RECENT 8 /* a stack seldom alternates between more mappings */

struct reuse;

struct walker {
	walk_step_fn step; /* NULL: frame pointers only */
	void *priv; /* for @step */
	const struct rules *rules; /* borrowed; the rules that @step uses, for walk_fast(). NULL: it
				    * uses none */
	struct walk_step *steps; /* owned; parallel to unwind_result.frames */
	uint32_t steps_cap;
	struct reuse *reuse; /* owned; the threads' last stacks. With @rules, their outer frames are
			      * reused */
	uint64_t fault; /* runtime address above the copy at which the last stack ended */
	struct rules *made, *made_return; /* owned; made rules for instructions and for returns,
					   * NULL until used */
	uint32_t generation; /* addrspace.generation of the mappings in @recent; 0 = none */
	uint32_t nrecent, next; /* used entries; index of the next one to replace */
	struct walk_map recent[WALK_RECENT];
	struct walk_map jit[2]; /* the functions of this frame and of the next one */
	uint32_t njit;
};

void walker_init(struct walker *w, walk_step_fn step, void *priv);
void walker_fini(struct walker *w);

/* Unwinds one stack; implements unwinder_ops.unwind. Never fails. */
void walk_stack(struct walker *w, const struct unwind_input *in, struct unwind_result *out);
/* Implements unwinder_ops.forget. */
void walk_forget(struct walker *w, uint32_t tid);
/* Implements unwinder_ops.join_holds for objects that begin with their walker. */
bool walk_join_holds(const void *const *privs, size_t n, uint64_t border);

#endif
