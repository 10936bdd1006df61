/*
 * What the files of the walk share. Its loop is walk.c; a file here calls those above it only, and
 * walk_map.c, at the top, none. Nothing else includes this file.
 */
#ifndef NSPROF_WALK_PRIV_H
#define NSPROF_WALK_PRIV_H

#include "unwind/walk.h"

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

/* ---- the frames so far ---- */

/* One more frame; false when there are as many as asked for. */
static inline bool walk_push(const struct unwind_input *in, struct unwind_result *out, uint64_t addr, enum frame_kind kind)
{
	if (out->n >= in->max_frames)
		return false;
	out->frames[out->n++] = (struct frame){ .addr = { addr }, .kind = kind };
	return true;
}

/* ---- walk_end.c ---- */

/* How far from a base of 0 a saved register or return address can be; nothing is mapped there. */
#define WALK_NEAR_NULL 4096

/*
 * Why runtime address @addr cannot be read: what a stack that needs it ends with. @sp: stack pointer of the frame whose
 * rows say so by it; UINT64_MAX when something else does.
 */
enum unwind_end walk_fault_end(const struct unwind_input *in, uint64_t addr, uint64_t sp);
/*
 * Whether @sp, from before a signal, lies on another stack than the copied one: below it, or further above
 * than the copy's own stack can reach.
 */
bool walk_on_other_stack(const struct unwind_input *in, uint64_t sp);
/*
 * @sp, if the rows here go by the stack pointer, which says where this frame ends; else UINT64_MAX: a frame pointer to above
 * the copy is masked, and one that is there may be no frame pointer at all.
 */
uint64_t walk_frame_sp(const struct walker *w, const struct walk_at *at, bool after_call, uint64_t sp);

/*
 * Of a masked copy, a frame pointer that leads above it is 0, and what rows base on it is a word near 0:
 * a stack in full would have led to walk_fault_end()'s verdict about a word above.
 */
static inline bool walk_led_above(const struct unwind_input *in, uint64_t fault)
{
	return (in->copy_full || in->cut) && fault + WALK_NEAR_NULL < 2 * WALK_NEAR_NULL;
}

/* ---- walk_return.c ---- */

/* The mapping that a frame was called from if @ra is its return address; NULL: it is none. */
const struct walk_map *walk_called_from(struct walker *w, const struct unwind_input *in, uint64_t ra);
/* Whether a call ends at @addr, as far as anyone can tell: there may be no bytes to look at. */
bool walk_is_return(struct walker *w, const struct unwind_input *in, uint64_t addr);
/*
 * A return address of 0 was found below @sp: is that a stack's base? Stacks that people make themselves have 0 there, but so
 * has any word that is not an address, in a masked stack. At a base there are no callers further up.
 */
bool walk_is_base(struct walker *w, const struct unwind_input *in, uint64_t sp);

/* How far up to look for a start-up code's frame past functions without rows. */
#define WALK_BASE_BYTES 1024

/* ---- walk_step.c ---- */

/* One step by what is stated for the binary of @wm, else made. @after_call: the frame is a return address. */
enum step_end walk_step_by_rows(struct walker *w, const struct walk_map *wm, struct walk_at *at,
				bool after_call, struct uregs *regs);
/*
 * A thread that has just begun stands behind the system call that made it, with the stack it was given: in that
 * function its parent has a return address at the stack pointer, and it has none, there or above. The kernel is
 * where such samples are taken, so there are some wherever threads are short-lived. @sp: of the frame that @at was, @caller: the
 * registers behind it.
 */
bool walk_just_begun(struct walker *w, const struct walk_at *at, uint64_t sp, const struct uregs *caller);
/*
 * The same where nothing could be copied: neither who made the thread nor itself has touched the page its stack begins in.
 * Its parent would have read its own return address there.
 */
bool walk_just_begun_untouched(const struct walk_at *at, uint64_t sp);

/* ---- walk_switch.c ---- */

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

/* ---- walk_search.c ---- */

/*
 * musl is built without call frame information and frame pointers, so that above main() nothing
 * leads on to _start. Only start-up code calls from start-up code, so a return address into it is
 * no accident; with no other code address below it nothing was left out that could be had. True with it in *@ra.
 */
bool walk_scan_base(struct walker *w, const struct unwind_input *in, uint64_t sp, uint64_t *ra);

/*
 * The step out of jitted code that keeps no frame pointer and was told of without rows, as Python's
 * trampolines. Return addresses lie 8 below a multiple of 16 (psABI 1.0, 3.2.2), the lowest of them
 * is the frame's, and it is believed when it leads into a binary whose rows go on from there.
 * Code that puts data into %rbp saves it first of all, right below: LLVM's, called by binaries with frame pointers.
 * Another jitted function's cannot be told from one left behind by an earlier call.
 */
bool walk_scan_jit(struct walker *w, const struct unwind_input *in, struct uregs *regs);

/* The caller's registers, as far as the row has them in the frame below @cfa. */
void walk_restore_saved(const struct cfi_row *row, uint64_t cfa, struct uregs *regs);

/*
 * A return address behind a direct call of what the code shows to be this function (@addr is in it, in @wm): the ways from where it
 * is called lead here, and have the frame end at that very word.
 */
bool walk_called_step(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, uint64_t addr, bool after_call,
		      struct uregs *regs);

/* Whether a frame that returns to @ra and has its stack from @sp on leads on to a caller or is a root. */
bool walk_leads_on(struct walker *w, const struct unwind_input *in, const struct uregs *regs, uint64_t ra, uint64_t sp);

/*
 * Nothing tells where the caller is: the first word up the stack that is a return address, if what is known
 * of the function there leads on from that place. Registers are taken to be as they were; the one that the
 * next step needs is tried so.
 */
bool walk_scan(struct walker *w, const struct unwind_input *in, struct uregs *regs);

/*
 * A function without rows and without a frame of its own leaves %rbp at its caller's frame, and a step by it would pass over
 * the caller. So before it: a return address between, behind a call of this very function (@addr is in it, in @wm), with
 * which what is known of the caller leads on. Where the code does not say what is called it will do if what %rbp leads to
 * cannot be this function's caller, since it calls another one.
 */
bool walk_caller_below_bp(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, uint64_t addr,
			  struct uregs *regs);

/* ---- walk_misled.c ---- */

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

/* ---- walk_rowless.c ---- */

/* A step by frame pointer, where nothing else is known of the frame. */
bool walk_fp_step(struct walker *w, const struct unwind_input *in, struct uregs *regs);

/*
 * CFI says nothing for the last frame of @out, in @wm (@res): frame pointers, else the thread's base, else
 * the reason. STEP_CALLER, or STEP_OUTERMOST with @out->end set. *@scanned: the caller was searched for.
 */
enum step_end walk_rowless(struct walker *w, const struct unwind_input *in, struct unwind_result *out,
			   const struct walk_map *wm, enum step_end res, struct uregs *regs,
			   bool *scanned);

#endif
