/*
 * Steps where no rows lead on: by frame pointers, through PLTs and jitted code, otherwise by a
 * search (walk_priv.h).
 */
#include "code/made_rows.h"
#include "modules/addrspace.h"
#include "modules/jitcode.h"
#include "modules/module.h"
#include "stackcopy.h"
#include "unwind/walk_priv.h"

enum fp_end {
	FP_CALLER,
	FP_NULL, /* both words of the frame, or the frame pointer, are 0: the end of a chain by the
		  * ABI */
	FP_IMPLAUSIBLE, /* not a frame, or its return address does not point to code */
	FP_ABOVE, /* the frame lies above the copy, at *@fault */
};

/* Sets the caller's registers after a step by frame pointer; all others are unknown. */
static void only_frame_regs(struct uregs *regs, uint64_t bp, uint64_t sp, uint64_t ra)
{
	regs->known = 0;
	regs->in_mem = 0;
	uregs_set(regs, CFI_REG_BP, bp);
	uregs_set(regs, CFI_REG_SP, sp);
	uregs_set(regs, CFI_REG_RA, ra);
}

/*
 * One step by frame pointer (psABI 1.0, 3.2.2: saved %rbp at 0(%rbp), return address at 8(%rbp)).
 * Any function may use %rbp for something else, so its target has to look like a frame. All other
 * registers are unknown afterwards.
 */
static enum fp_end fp_step(struct walker *w, const struct unwind_input *in, struct uregs *regs,
			   uint64_t *fault)
{
	const struct stack_view *sv = in->stack;
	uint64_t bp, ra, next, sp = regs->v[CFI_REG_SP];

	if (!uregs_get(regs, CFI_REG_BP, sv, &bp))
		return FP_IMPLAUSIBLE;
	if (bp == 0)
		return FP_NULL;
	if (bp < sp || bp % 8)
		return FP_IMPLAUSIBLE;
	if (stack_view_read(sv, bp, &next) || stack_view_read(sv, bp + 8, &ra)) {
		*fault = bp + 8;
		return bp + 16 > sv->hi ? FP_ABOVE : FP_IMPLAUSIBLE;
	}
	if (ra == 0 && next == 0)
		return FP_NULL;
	if (!walk_called_from(w, in, ra) && !walk_is_uretprobe(in, ra))
		return FP_IMPLAUSIBLE;
	only_frame_regs(regs, next, bp + 16, ra);
	return FP_CALLER;
}

/*
 * Steps out of HotSpot's stub for method entry barriers (generate_method_entry_barrier() in
 * stubGenerator_x86_64.cpp). A compiled method calls it after its prologue if the garbage collector
 * has armed the method. The stub pushes a cookie and then saves %rbp. So the cookie (-1, and 0 in a
 * masked stack) is where a return address is expected, and the return address is one word above.
 */
static bool barrier_step(struct walker *w, const struct unwind_input *in, struct uregs *regs)
{
	const struct walk_map *wm;
	uint64_t bp, next, cookie, ra;

	if (!uregs_get(regs, CFI_REG_BP, in->stack, &bp) || bp < regs->v[CFI_REG_SP] || bp % 8 ||
	    stack_view_read(in->stack, bp, &next) || stack_view_read(in->stack, bp + 8, &cookie) ||
	    stack_view_read(in->stack, bp + 16, &ra))
		return false;
	if ((cookie && cookie != UINT64_MAX) || next <= bp)
		return false;
	wm = walk_called_from(w, in, ra);
	if (!wm || wm->mod)
		return false;
	only_frame_regs(regs, next, bp + 24, ra);
	return true;
}

bool walk_fp_step(struct walker *w, const struct unwind_input *in, struct uregs *regs)
{
	uint64_t fault;

	return fp_step(w, in, regs, &fault) == FP_CALLER;
}

/*
 * Are @regs as a step by frame pointer leaves them? Then %rbp was a frame pointer one frame ago,
 * and its 0 is the end of a chain, not a number. Registers found by rows include others.
 */
static bool came_by_fp(const struct uregs *regs)
{
	return regs->known == (1u << CFI_REG_BP | 1u << CFI_REG_SP | 1u << CFI_REG_RA) && !regs->in_mem;
}

/*
 * Is @f, in @wm, the C library's start-up code? @sp: stack pointer of @f. Start-up code keeps no
 * frame pointer, and %rbp holds other values there: argv in glibc 2.43. Rows are used here even if
 * the user wants frame pointers only. At most one function is between @f and the program's entry
 * point.
 */
static bool in_start_up(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, const struct frame *f, uint64_t sp)
{
	uint64_t addr = frame_lookup_addr(f).v;

	for (int i = 0; i < 2 && wm && wm->rows; i++) {
		const struct walk_at at = { .in = in, .mod = wm->mod, .bias = wm->bias, .svma = addr - wm->bias };
		struct cfi_row row;
		uint64_t ra;

		if (!walk_row_at(&at, true, &row) || row.cfa_how != CFI_REGISTER || row.cfa.reg != CFI_REG_SP)
			return false;
		sp += (uint64_t)row.cfa.off;
		if (stack_view_read(in->stack, sp - 8, &ra) || !ra)
			return false;
		addr = ra - 1;
		wm = walk_map(w, in->as, addr, NULL);
		if (wm && walk_at_entry(wm, addr))
			return true;
	}
	return false;
}

/* Is @addr, in @wm, in an entry of a PLT? */
static bool in_plt(const struct walk_map *wm, uint64_t addr)
{
	struct made_rows *made = wm->rows ? module_made(wm->mod) : NULL;

	return made && made_rows_in_plt(made, addr - wm->bias);
}

/* Steps out of a PLT entry without rows. */
static bool plt_step(const struct unwind_input *in, struct uregs *regs)
{
	uint64_t sp = regs->v[CFI_REG_SP];

	if (stack_view_read(in->stack, sp, &regs->v[CFI_REG_RA]))
		return false;
	regs->v[CFI_REG_SP] = sp + 8;
	return true;
}

/*
 * Steps out of jitted code that was interrupted before it created its frame, or after it removed
 * it: %rbp is its caller's. Evidence: the recorder looked at the next instructions, or the jitdump
 * says that nothing was done yet, or %rbp was just pushed and so is right at the stack pointer.
 */
static bool jit_frameless(struct walker *w, const struct unwind_input *in, uint64_t ip, struct uregs *regs)
{
	const struct jit_func *func = addrspace_find_jit(in->as, (struct avma){ ip });
	const int off = func && func->start == ip ? 0 : addrspace_jit_return(in->as, (struct avma){ ip });
	uint64_t sp = regs->v[CFI_REG_SP], bp, word, ra;

	if (!uregs_get(regs, CFI_REG_BP, in->stack, &bp) || !bp || stack_view_read(in->stack, sp, &word))
		return false;
	if (off >= 0) {
		sp += (uint64_t)off + 8;
		if (stack_view_read(in->stack, sp - 8, &ra))
			return false;
	} else if (word == bp && !stack_view_read(in->stack, sp + 8, &ra)) {
		sp += 16;
	} else {
		return false;
	}
	if (!walk_called_from(w, in, ra))
		return false;
	only_frame_regs(regs, bp, sp, ra);
	return true;
}

/* Why nothing leads on from code in @wm. */
static enum unwind_end rowless_end(const struct walk_map *wm)
{
	if (!wm->mod)
		return UNWIND_NO_JIT_ROWS;
	return !wm->rows && !wm->mod->elf && !wm->mod->captured ? UNWIND_NO_MODULE : UNWIND_NO_ROWS;
}

/*
 * Marks the outermost frame of a stack that a JIT created. The JIT planted the address of a
 * function there as the return address, and nothing called it. A jitdump tells whether a function
 * begins there; without one, that is assumed.
 */
static void name_planted_jit(const struct unwind_input *in, struct frame *f)
{
	const struct jit_func *func = addrspace_find_jit(in->as, f->addr);

	if (f->kind == FRAME_RETURN && (!func || func->start == f->addr.v))
		f->kind = FRAME_IP;
}

enum step_end walk_rowless(struct walker *w, const struct unwind_input *in, struct unwind_result *out,
			   const struct walk_map *wm, enum step_end res, struct uregs *regs,
			   bool *scanned)
{
	struct frame *f = &out->frames[out->n - 1];
	struct module *mod = wm->mod;
	const struct walk_map at = *wm;
	bool have_bytes = wm->rows;
	uint64_t addr = frame_lookup_addr(f).v, fault = 0, ra;
	enum unwind_end above = UNWIND_BAD_READ;
	enum fp_end fp;

	if (w->step && f->kind == FRAME_IP && in_plt(wm, f->addr.v) && plt_step(in, regs))
		return STEP_CALLER;
	if (w->step && have_bytes && res == STEP_NO_ROWS &&
	    (walk_called_step(w, in, &at, addr, f->kind == FRAME_RETURN, regs) ||
	     (*scanned = walk_caller_below_bp(w, in, &at, addr, regs))))
		return STEP_CALLER;
	if (w->step && !mod && f->kind == FRAME_IP && out->n == 1 && jit_frameless(w, in, addr, regs))
		return STEP_CALLER;
	fp = fp_step(w, in, regs, &fault);
	if (fp == FP_CALLER || (!mod && barrier_step(w, in, regs)))
		return STEP_CALLER;
	/*
	 * The code it called runs on the thread's own stack, which begins here. The stack of the
	 * caller was not copied.
	 */
	if (w->step && !mod && in->as->jit_stacks && out->n > 1 && !came_by_fp(regs)) {
		out->end = UNWIND_COMPLETE;
		return STEP_OUTERMOST;
	}
	/*
	 * Jitted code that creates its own stack, such as Erlang's: no start-up code is below it.
	 */
	if (fp == FP_NULL && !mod && came_by_fp(regs)) {
		name_planted_jit(in, f);
		out->end = UNWIND_COMPLETE;
		return STEP_OUTERMOST;
	}
	if (w->step && !mod && walk_scan_jit(w, in, regs))
		return STEP_CALLER;
	if (fp == FP_ABOVE)
		above = walk_fault_end(in, w->fault = fault, UINT64_MAX);
	if (!w->step && (fp == FP_NULL || (f->kind == FRAME_RETURN && in_start_up(w, in, &at, f, regs->v[CFI_REG_SP]))))
		out->end = UNWIND_COMPLETE;
	/*
	 * If the copy reaches the end of the stack, %rbp was not a frame pointer, provided that
	 * anything else leads on.
	 */
	else if (above != UNWIND_BAD_READ && (above != UNWIND_STACK_END || res == STEP_UNKNOWN_REG || !w->step))
		out->end = above;
	else if (res == STEP_UNKNOWN_REG || !w->step)
		out->end = UNWIND_BAD_READ;
	else if (walk_scan_base(w, in, regs->v[CFI_REG_SP], &ra))
		out->end = walk_push(in, out, ra, FRAME_RETURN) ? UNWIND_COMPLETE : UNWIND_DEPTH;
	else if (have_bytes && (*scanned = walk_scan(w, in, regs)))
		return STEP_CALLER;
	else
		out->end = above != UNWIND_BAD_READ ? above : rowless_end(&at);
	return STEP_OUTERMOST;
}
