/*
 * What the files of the walk share: its loop (walk.c), mappings (walk_map.c), and what is done where rows
 * do not lead on (walk_rowless.c). Nothing else includes this file.
 */
#ifndef NSPROF_WALK_PRIV_H
#define NSPROF_WALK_PRIV_H

#include "walk.h"

/* ---- walk_map.c ---- */

/* The way of walk_map() that is not the last mapping. */
const struct walk_map *walk_map_slow(struct walker *w, const struct addrspace *as, uint64_t addr);

/* The mapping that holds runtime address @addr, or NULL. Valid until the next call that gives another one. */
static inline const struct walk_map *walk_map(struct walker *w, const struct addrspace *as,
					      uint64_t addr, const struct walk_map *last)
{
	if (last && addr - last->start < last->end - last->start)
		return last;
	return walk_map_slow(w, as, addr);
}

/* True when runtime address @addr is in the start-up code of the binary that @wm maps. */
static inline bool walk_at_entry(const struct walk_map *wm, uint64_t addr)
{
	return addr - wm->entry < wm->entry_len;
}

/* ---- walk.c ---- */

/*
 * Why runtime address @addr cannot be read: what a stack that needs it ends with. @sp: stack pointer of the frame whose
 * rows say so by it; UINT64_MAX when something else does.
 */
enum unwind_end walk_fault_end(const struct unwind_input *in, uint64_t addr, uint64_t sp);
/* One more frame; false when there are as many as asked for. */
bool walk_push(const struct unwind_input *in, struct unwind_result *out, uint64_t addr,
	       enum frame_kind kind);
/* What the sample's registers were, all of them known. */
void walk_leaf_regs(const struct unwind_input *in, struct uregs *regs);
/* One step by what is stated for the binary of @wm, else made. @after_call: the frame is a return address. */
enum step_end walk_step_by_rows(struct walker *w, const struct walk_map *wm, struct walk_at *at,
				bool after_call, struct uregs *regs);

/* How far from a base of 0 a saved register or return address can be; nothing is mapped there. */
#define WALK_NEAR_NULL 4096

/* ---- walk_switch.c ---- */

/*
 * Of a masked copy, a frame pointer that leads above it is 0, and what rows base on it is a word near 0:
 * a stack in full would have led to walk_fault_end()'s verdict about a word above.
 */
static inline bool walk_led_above(const struct unwind_input *in, uint64_t fault)
{
	return (in->copy_full || in->cut) && fault + WALK_NEAR_NULL < 2 * WALK_NEAR_NULL;
}

/* The row that is stated for @at, or made of Go's table. */
bool walk_row_at(const struct walk_at *at, bool after_call, struct cfi_row *row);
/*
 * Whether the rows that led to at->fault, from a frame with stack pointer @sp and registers @regs, say that the caller's frame is on another
 * stack: a fiber begins here, or a runtime has changed to the thread's own stack. Of the caller's stack there is nothing, so this is a root.
 */
bool walk_from_other_stack(const struct walk_at *at, bool after_call, uint64_t sp, const struct uregs *regs);

/* ---- walk_uretprobe.c ---- */

/* Is @addr, found as a return address, the kernel's page to which a function with a return probe returns? */
bool walk_is_uretprobe(const struct unwind_input *in, uint64_t addr);

enum uretprobe {
	URETPROBE_LOST,		/* nothing tells who called it */
	URETPROBE_CALLER,	/* @regs are as if the return address were there; of which a frame may have been pushed already */
	URETPROBE_DEPTH,	/* no room for a frame */
};
/* @regs: after a step out of @probed that led to such an address. */
enum uretprobe walk_uretprobe(struct walker *w, const struct unwind_input *in, struct unwind_result *out, const struct frame *probed,
			      struct uregs *regs);

/* ---- walk_rowless.c ---- */

/* A step by frame pointer, where nothing else is known of the frame. */
bool walk_fp_step(struct walker *w, const struct unwind_input *in, struct uregs *regs);

/* Whether a call ends at @addr, as far as anyone can tell: there may be no bytes to look at. */
bool walk_is_return(struct walker *w, const struct unwind_input *in, uint64_t addr);
/* A return address of 0 was found below @sp: is that a stack's base? */
bool walk_is_base(struct walker *w, const struct unwind_input *in, uint64_t sp);

/*
 * CFI says nothing for the last frame of @out, in @wm (@res): frame pointers, else the thread's base, else
 * the reason. STEP_CALLER, or STEP_OUTERMOST with @out->end set. *@scanned: the caller was searched for.
 */
enum step_end walk_rowless(struct walker *w, const struct unwind_input *in, struct unwind_result *out,
			   const struct walk_map *wm, enum step_end res, struct uregs *regs,
			   bool *scanned);

/* Bytes below the stack pointer that a function may use (psABI 1.0, 3.2.2) and no stack copy holds. */
#define WALK_RED_ZONE 128

/*
 * Rows of the leaf, whose stack pointer is @sp, lead to a word in its red zone (at->fault): functions of libcrypto
 * that move their stack pointer on and on (sha512 for AVX2) keep the caller's there. They have it in their frame,
 * too: the first word up the stack that, in place of the missing one, gives a return address whose function
 * leads on. @regs: the leaf's, then the caller's.
 */
bool walk_red_zone(struct walker *w, const struct walk_at *at, uint64_t sp, struct uregs *regs);

/*
 * Assembly with rows for one block of code, as LuaJIT's interpreter, may call a place of its own in it, where the rows
 * are then a word off: they led to @regs, which return to no mapping. True when the word at the leaf's stack pointer
 * @sp is a return address into @leaf's binary, from where the rows find a caller with the same offset: @regs are then
 * those behind that call.
 */
bool walk_unstated_call(struct walker *w, const struct walk_at *leaf, uint64_t sp, struct uregs *regs);

/*
 * The unwinder of exceptions goes to a handler with __builtin_eh_return(), whose functions are known by their rows: no
 * others save %rax and %rdx. Before that it puts what the handler's function has in its registers where its own
 * caller's were saved (uw_install_context_1() in libgcc), the return address too: that is the handler's function's then, whose
 * frame lies further up, behind the very call that has the same return address. True when @at was stepped out of so:
 * @regs are those of the handler's function as of its caller, and have its stack pointer.
 */
bool walk_resumed(struct walker *w, const struct walk_at *at, struct uregs *regs);

#endif
