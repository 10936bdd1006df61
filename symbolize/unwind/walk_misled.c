/* Rows that lead somewhere, but not to the caller (walk_priv.h). */
#include <errno.h>

#include "base/util.h"
#include "cfi/cfi.h"
#include "modules/module.h"
#include "stackcopy.h"
#include "unwind/walk_priv.h"

/*
 * How far up to search for a second copy of a word below the stack pointer: the size of libcrypto's
 * largest frames.
 */
#define RED_SCAN_BYTES 4096

/* ---- below the stack pointer ---- */

/*
 * The input of an expression: the leaf's registers and stack, and a word assumed to be at @fault.
 */
struct red_zone {
	const struct stack_view *stack;
	struct uregs *regs;
	uint64_t fault, word;
};

static int red_reg(void *ctx, unsigned int reg, uint64_t *val)
{
	struct red_zone *rz = ctx;

	return uregs_get(rz->regs, reg, rz->stack, val) ? 0 : -ENODATA;
}

static int red_mem(void *ctx, uint64_t addr, uint64_t *val)
{
	struct red_zone *rz = ctx;

	if (addr != rz->fault)
		return stack_view_read(rz->stack, addr, val);
	*val = rz->word;
	return 0;
}

bool walk_red_zone(struct walker *w, const struct walk_at *at, uint64_t sp, struct uregs *regs)
{
	const struct unwind_input *in = at->in;
	struct red_zone rz = { .stack = in->stack, .fault = at->fault };
	struct cfi_expr_env env = { .ctx = &rz, .reg = red_reg, .mem = red_mem, .bias = at->bias };
	struct cfi *cfi = module_cfi(at->mod);
	struct cfi_fde fde;
	struct cfi_row row;

	if (cfi_find(cfi, at->svma, &fde) || cfi_row(cfi, &fde, at->svma, &row) ||
	    row.cfa_how != CFI_VAL_EXPR || row.signal_frame || row.ra_reg != CFI_REG_RA ||
	    row.regs[CFI_REG_RA].how != CFI_OFFSET)
		return false;
	for (uint64_t a = align_up(sp, 8); a - sp < RED_SCAN_BYTES; a += 8) {
		struct uregs to = *regs;
		uint64_t cfa, ra;

		if (stack_view_read(in->stack, a, &rz.word))
			return false;
		if (rz.word <= a || rz.word >= in->stack->hi)
			continue;
		rz.regs = &to;
		if (cfi_expr_eval(row.cfa.expr, row.cfa.expr_len, &env, false, 0, &cfa) || cfa <= a ||
		    stack_view_read(in->stack, cfa + (uint64_t)row.regs[CFI_REG_RA].off, &ra) ||
		    !walk_is_return(w, in, ra))
			continue;
		walk_restore_saved(&row, cfa, &to);
		if (!walk_leads_on(w, in, &to, ra, cfa))
			continue;
		*regs = to;
		uregs_set(regs, CFI_REG_RA, ra);
		return true;
	}
	return false;
}

/* ---- calls that rows do not describe ---- */

bool walk_unstated_call(struct walker *w, const struct walk_at *leaf, uint64_t sp, struct uregs *regs)
{
	const struct unwind_input *in = leaf->in;
	uint64_t claimed = regs->v[CFI_REG_SP], ra;
	struct walk_at at = { .in = in };
	const struct walk_map *wm;
	struct uregs to, next;

	if (sp % 8 || sp != in->regs[UREG_SP] || stack_view_read(in->stack, sp, &ra) || !walk_is_return(w, in, ra))
		return false;
	wm = walk_map(w, in->as, ra - 1, NULL);
	if (!wm->rows || wm->mod != leaf->mod)
		return false;
	uregs_init(&to, in->regs);
	uregs_set(&to, CFI_REG_SP, sp + 8);
	uregs_set(&to, CFI_REG_RA, ra);
	next = to;
	at.svma = ra - 1 - wm->bias;
	if (walk_step_by_rows(w, wm, &at, true, &next) != STEP_CALLER || at.signal ||
	    next.v[CFI_REG_SP] != claimed + 8 || !walk_is_return(w, in, next.v[CFI_REG_RA]))
		return false;
	*regs = to;
	return true;
}

/* ---- exceptions ---- */

bool walk_resumed(struct walker *w, const struct walk_at *at, struct uregs *regs)
{
	const struct unwind_input *in = at->in;
	uint64_t sp = regs->v[CFI_REG_SP], ra = regs->v[CFI_REG_RA], v;
	struct cfi_fde fde;
	struct cfi_row row;

	if (w->rules && !at->resumes)
		return false;
	/* Other unwinders do not report the row they used. */
	if (cfi_find(module_cfi(at->mod), at->svma, &fde) ||
	    cfi_row(module_cfi(at->mod), &fde, at->svma, &row) ||
	    row.regs[0].how != CFI_OFFSET || row.regs[1].how != CFI_OFFSET)
		return false;
	if (walk_leads_on(w, in, regs, ra, sp))
		return false;
	for (uint64_t a = align_up(sp, 8); !stack_view_read(in->stack, a, &v); a += 8) {
		if (v != ra || !walk_leads_on(w, in, regs, ra, a + 8))
			continue;
		uregs_set(regs, CFI_REG_SP, a + 8);
		return true;
	}
	return false;
}
