/*
 * Shared by the files of the walk. Its loop is in walk.c. A file here calls only the files listed
 * above it; walk_map.c, at the top, calls none. No other code includes this file.
 */
#ifndef NSPROF_WALK_PRIV_H
#define NSPROF_WALK_PRIV_H

#include "unwind/walk.h"

/* ---- walk_map.c ---- */

/* walk_map() for any mapping but the last one. */
const struct walk_map *walk_map_slow(struct walker *w, const struct addrspace *as, uint64_t addr);

/*
 * Returns the mapping that holds runtime address @addr, or NULL. Valid until the next call that
 * returns a different one.
 */
static inline const struct walk_map *walk_map(struct walker *w, const struct addrspace *as,
					      uint64_t addr, const struct walk_map *last)
{
	if (last && addr - last->start < last->end - last->start)
		return last;
	return walk_map_slow(w, as, addr);
}

/* Is runtime address @addr in the start-up code of the binary that @wm maps? */
static inline bool walk_at_entry(const struct walk_map *wm, uint64_t addr)
{
	return addr - wm->entry < wm->entry_len;
}

/* ---- the frames so far ---- */

/* Adds a frame; false if in->max_frames are there already. */
static inline bool walk_push(const struct unwind_input *in, struct unwind_result *out, uint64_t addr, enum frame_kind kind)
{
	if (out->n >= in->max_frames)
		return false;
	out->frames[out->n++] = (struct frame){ .addr = { addr }, .kind = kind };
	return true;
}

/* ---- walk_end.c ---- */

/*
 * A saved register or return address this close to a base of 0 points nowhere; nothing is mapped
 * there.
 */
#define WALK_NEAR_NULL 4096

/*
 * Why runtime address @addr cannot be read: the end of a stack that needs it. @sp: stack pointer of
 * the frame, if its rows found @addr by it; otherwise UINT64_MAX.
 */
enum unwind_end walk_fault_end(const struct unwind_input *in, uint64_t addr, uint64_t sp);
/*
 * Is @sp, from before a signal, on another stack than the copied one? It is if it lies below the
 * copy, or further above than the copy's own stack can reach.
 */
bool walk_on_other_stack(const struct unwind_input *in, uint64_t sp);
/*
 * Returns @sp if the rows here are based on the stack pointer, which then shows where this frame
 * ends; otherwise UINT64_MAX. A frame pointer to above the copy is masked, and one that is there
 * may not be a frame pointer at all.
 */
uint64_t walk_frame_sp(const struct walker *w, const struct walk_at *at, bool after_call, uint64_t sp);

/*
 * In a masked copy, a frame pointer to above the copy is 0, and rows based on it lead to a word
 * near 0. In an unmasked copy they would have led to a word above it, which walk_fault_end()
 * judges.
 */
static inline bool walk_led_above(const struct unwind_input *in, uint64_t fault)
{
	return (in->copy_full || in->cut) && fault + WALK_NEAR_NULL < 2 * WALK_NEAR_NULL;
}

/* ---- walk_return.c ---- */

/* Returns the mapping of the call site if @ra is a return address; otherwise NULL. */
const struct walk_map *walk_called_from(struct walker *w, const struct unwind_input *in, uint64_t ra);
/* Does a call end at @addr? A best guess: the code bytes may be missing. */
bool walk_is_return(struct walker *w, const struct unwind_input *in, uint64_t addr);
/*
 * A return address of 0 was found below @sp: is that the base of a stack? Stacks that programs
 * create themselves have 0 there. But in a masked stack, so has any word that is not an address.
 * Above a base there are no callers.
 */
bool walk_is_base(struct walker *w, const struct unwind_input *in, uint64_t sp);

/* How far up to search, past functions without rows, for the frame of start-up code. */
#define WALK_BASE_BYTES 1024

/* ---- walk_step.c ---- */

/*
 * One step by the CFI of @wm's binary, otherwise by made rows. @after_call: the frame is a return
 * address.
 */
enum step_end walk_step_by_rows(struct walker *w, const struct walk_map *wm, struct walk_at *at,
				bool after_call, struct uregs *regs);
/*
 * Has the thread just begun? A new thread is right after the system call that created it, on the
 * stack it was given. In that function its parent has a return address at the stack pointer; the
 * thread has none, there or above. The kernel takes samples at this point, so they occur wherever
 * threads are short-lived. @sp: stack pointer of the frame that @at was; @caller: the registers
 * after the step.
 */
bool walk_just_begun(struct walker *w, const struct walk_at *at, uint64_t sp, const struct uregs *caller);
/*
 * The same if nothing could be copied: neither the parent nor the thread has touched the page in
 * which its stack begins. The parent would have read its own return address there.
 */
bool walk_just_begun_untouched(const struct walk_at *at, uint64_t sp);

/* ---- walk_switch.c ---- */

/* Fills @row from the CFI for @at, or from Go's function table. */
bool walk_row_at(const struct walk_at *at, bool after_call, struct cfi_row *row);
/*
 * The rows led to at->fault from a frame with stack pointer @sp and registers @regs. Do they say
 * that the caller's frame is on another stack? That is so where a fiber begins, or where a runtime
 * switched to the thread's own stack. Nothing of the caller's stack was copied, so the frame is a
 * root.
 */
bool walk_from_other_stack(const struct walk_at *at, bool after_call, uint64_t sp, const struct uregs *regs);

/* ---- walk_uretprobe.c ---- */

/*
 * Is @addr, found as a return address, in the kernel's page to which a function with a return probe
 * returns?
 */
bool walk_is_uretprobe(const struct unwind_input *in, uint64_t addr);

enum uretprobe {
	URETPROBE_LOST,		/* the caller cannot be determined */
	URETPROBE_CALLER,	/* @regs are as if the return address were there; one of its frames
				 * may have been pushed already */
	URETPROBE_DEPTH,	/* no room for a frame */
};
/* @regs: after a step out of @probed that led to such an address. */
enum uretprobe walk_uretprobe(struct walker *w, const struct unwind_input *in, struct unwind_result *out, const struct frame *probed,
			      struct uregs *regs);

/* ---- walk_search.c ---- */

/*
 * musl is built without call frame information and frame pointers, so nothing leads from main() to
 * _start. Only start-up code calls start-up code, so a return address into it is not an accident.
 * If no other code address lies below it, no frame that could be found is left out. Returns true
 * with the address in *@ra.
 */
bool walk_scan_base(struct walker *w, const struct unwind_input *in, uint64_t sp, uint64_t *ra);

/*
 * Steps out of jitted code that keeps no frame pointer and was described without rows, such as
 * Python's trampolines. Return addresses lie 8 below a multiple of 16 (psABI 1.0, 3.2.2), and the
 * lowest one is the frame's. It is accepted if it leads into a binary whose rows lead on from
 * there. Code that uses %rbp for data saves it first, right below: LLVM's code, called by binaries
 * with frame pointers. A return address of another jitted function is indistinguishable from one
 * that an earlier call left behind.
 */
bool walk_scan_jit(struct walker *w, const struct unwind_input *in, struct uregs *regs);

/* Restores the caller's registers that the row has in the frame below @cfa. */
void walk_restore_saved(const struct cfi_row *row, uint64_t cfa, struct uregs *regs);

/*
 * Steps to a return address that follows a direct call of this function; the code of @wm around
 * @addr shows which one that is. Every path from the call leads here, and has the frame end at that
 * very word.
 */
bool walk_called_step(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, uint64_t addr, bool after_call,
		      struct uregs *regs);

/*
 * Does a frame that returns to @ra and has its stack from @sp on lead on to a caller, or is it a
 * root?
 */
bool walk_leads_on(struct walker *w, const struct unwind_input *in, const struct uregs *regs, uint64_t ra, uint64_t sp);

/*
 * Nothing tells where the caller is. Takes the first word up the stack that is a return address
 * whose function leads on from that place. Registers are assumed to be unchanged; the one that the
 * next step needs is tested that way.
 */
bool walk_scan(struct walker *w, const struct unwind_input *in, struct uregs *regs);

/*
 * A function without rows and without a frame of its own leaves %rbp at its caller's frame, so a
 * step by %rbp would skip the caller. This step searches below for a return address after a call
 * of this function (@addr is in it, in @wm) from which the caller leads on. If the code does not
 * show what is called, the address is accepted if the target of %rbp cannot be this function's
 * caller, because it calls another one.
 */
bool walk_caller_below_bp(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, uint64_t addr,
			  struct uregs *regs);

/* ---- walk_misled.c ---- */

/*
 * Bytes below the stack pointer that a function may use (psABI 1.0, 3.2.2). No stack copy holds
 * them.
 */
#define WALK_RED_ZONE 128

/*
 * The rows of the leaf, with stack pointer @sp, lead to a word in its red zone (at->fault).
 * Functions of libcrypto that keep moving their stack pointer (sha512 for AVX2) keep the caller's
 * there. Their frame holds it, too. Takes the first word up the stack that, used instead of the
 * missing one, gives a return address whose function leads on. @regs: the leaf's, then the
 * caller's.
 */
bool walk_red_zone(struct walker *w, const struct walk_at *at, uint64_t sp, struct uregs *regs);

/*
 * Assembly with rows for one block of code, such as LuaJIT's interpreter, may call a place within
 * itself. The rows are then off by one word: they led to @regs, which return to no mapping. Returns
 * true if the word at the leaf's stack pointer @sp is a return address into @leaf's binary from
 * which the rows find a caller with the same offset. @regs are then those after that call.
 */
bool walk_unstated_call(struct walker *w, const struct walk_at *leaf, uint64_t sp, struct uregs *regs);

/*
 * The exception unwinder enters a handler with __builtin_eh_return(). Functions that use it are
 * known by their rows: no others save %rax and %rdx. Before that, it overwrites its own caller's
 * saved registers with those of the handler's function (uw_install_context_1() in libgcc),
 * including the return address. That return address then belongs to the handler's function. Its
 * frame lies further up, after the call with the same return address. Returns true if @at was such
 * a frame: @regs are those of the handler's function as the caller, with its stack pointer.
 */
bool walk_resumed(struct walker *w, const struct walk_at *at, struct uregs *regs);

/* ---- walk_rowless.c ---- */

/* A step by frame pointer, for frames without other information. */
bool walk_fp_step(struct walker *w, const struct unwind_input *in, struct uregs *regs);

/*
 * CFI has nothing for the last frame of @out, in @wm (@res). Tries frame pointers, then the
 * thread's base; otherwise sets the reason. Returns STEP_CALLER, or STEP_OUTERMOST with @out->end
 * set. *@scanned: the caller was found by a search.
 */
enum step_end walk_rowless(struct walker *w, const struct unwind_input *in, struct unwind_result *out,
			   const struct walk_map *wm, enum step_end res, struct uregs *regs,
			   bool *scanned);

#endif
