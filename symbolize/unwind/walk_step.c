/*
 * One step of the walk by rows: by the binary's CFI, otherwise by rows made from its code
 * (walk_priv.h).
 */
#include "code/made_rows.h"
#include "modules/module.h"
#include "unwind/rules.h"
#include "unwind/rules_step.h"
#include "unwind/walk_priv.h"

/*
 * Has the program just made a system call, or been created by one? A slice has no code to check.
 * The instruction leaves the address behind it in rcx, and a new thread begins with its parent's
 * value.
 */
static bool after_syscall(const struct walk_at *at)
{
	struct made_rows *made = module_made(at->mod);

	return made ? made_rows_after_syscall(made, at->svma) : at->in->regs[UREG_CX] == at->in->regs[UREG_IP];
}

bool walk_just_begun(struct walker *w, const struct walk_at *at, uint64_t sp, const struct uregs *caller)
{
	const struct unwind_input *in = at->in;

	return sp == in->regs[UREG_SP] && caller->v[CFI_REG_SP] == sp + 8 && after_syscall(at) &&
	       !walk_map(w, in->as, caller->v[CFI_REG_RA] - 1, NULL) && walk_is_base(w, in, sp);
}

bool walk_just_begun_untouched(const struct walk_at *at, uint64_t sp)
{
	return sp == at->in->regs[UREG_SP] && at->fault == sp && at->in->stack->lo == at->in->stack->hi &&
	       after_syscall(at);
}

/*
 * The step by a made row. It has to lead to a caller: code after a call that never returns may look
 * as if it continued into the next function. Go's table needs no such check, and goexit() was never
 * called. Kept out of the loop: most programs never need it.
 */
static __attribute__((noinline)) enum step_end made_step(struct walker *w,
							 const struct walk_map *wm,
							 struct walk_at *at, bool after_call,
							 struct uregs *regs)
{
	struct rules **rs = after_call ? &w->made_return : &w->made;
	struct uregs old = *regs;
	enum step_end res;

	if (!*rs)
		*rs = rules_new(after_call ? RULES_MADE_RETURN : RULES_MADE);
	res = rules_step(*rs, at, regs);
	if (res == STEP_FAULT && !after_call && walk_just_begun_untouched(at, old.v[CFI_REG_SP]))
		return STEP_OUTERMOST;
	if (res == STEP_UNKNOWN_REG ||
	    (res == STEP_CALLER && !at->signal && !wm->go &&
	     !walk_is_return(w, at->in, regs->v[CFI_REG_RA]))) {
		if (res == STEP_CALLER && !after_call &&
		    walk_just_begun(w, at, old.v[CFI_REG_SP], regs))
			return STEP_OUTERMOST;
		*regs = old;
		at->signal = false;
		return STEP_NO_ROWS;
	}
	return res;
}

/* Is the row, in a slice, a made one? */
static bool is_made(const struct walk_at *at)
{
	struct cfi *cfi = module_cfi(at->mod);
	struct cfi_fde fde;
	struct cfi_row row;

	return at->mod->cfi_cut && !cfi_find(cfi, at->svma, &fde) && !cfi_row(cfi, &fde, at->svma, &row) && row.made;
}

enum step_end walk_step_by_rows(struct walker *w, const struct walk_map *wm, struct walk_at *at,
				bool after_call, struct uregs *regs)
{
	const bool go = wm->go;
	enum step_end res = STEP_NO_ROWS;
	struct walk_map own;

	at->mod = wm->mod;
	at->bias = wm->bias;
	at->signal = false;
	at->resumes = false;
	/* A check of its target may replace @wm among the recent mappings. */
	if (go) {
		own = *wm;
		res = made_step(w, &own, at, after_call, regs);
	}
	/* Our own rules know it; the libraries cannot. */
	if (res == STEP_NO_ROWS && (w->rules || !is_made(at)))
		res = w->step(w->priv, at, regs);
	if (res == STEP_NO_ROWS && !go) {
		own = *wm;
		res = made_step(w, &own, at, after_call, regs);
	}
	return res;
}
