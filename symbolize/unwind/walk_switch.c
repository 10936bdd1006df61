/*
 * Where a thread switches stacks: roots whose callers are on a stack that was not copied
 * (walk_priv.h).
 */
#include <errno.h>
#include <string.h>

#include "code/made_rows.h"
#include "modules/module.h"
#include "stackcopy.h"
#include "unwind/walk_priv.h"

/*
 * Frames that rows do not find by the stack pointer are smaller than this: ld.so's, with room for
 * all vector registers, takes 11 KiB with AMX. A place this close to a frame is on the same stack.
 */
#define NEAR_FRAME (16u << 10)

bool walk_row_at(const struct walk_at *at, bool after_call, struct cfi_row *row)
{
	struct made_rows *made = module_made(at->mod);
	struct cfi *cfi = module_cfi(at->mod);
	struct cfi_fde fde;

	if (made && made_rows_first(made, at->svma, after_call))
		return !made_row(made, at->svma, after_call, row);
	return !cfi_find(cfi, at->svma, &fde) && !cfi_row(cfi, &fde, at->svma, row);
}

/*
 * Go calls the vdso on the thread's own stack and keeps the goroutine's stack pointer in a
 * callee-saved register. If nothing was copied, or the copy may end below the caller's frame, a
 * masked register tells nothing: %rbx, on which _dl_runtime_resolve() bases its frame, is then 0 in
 * any case.
 */
static bool kept_register(const struct walk_at *at, const struct cfi_rule *cfa)
{
	return cfa->reg >= 12 || (cfa->reg == 3 && !walk_led_above(at->in, at->fault));
}

struct reads {
	const struct stack_view *stack;
	struct uregs regs;
	uint64_t last;	/* runtime address of the word of the copy that was read last */
	bool any;
};

static int read_reg(void *ctx, unsigned int reg, uint64_t *val)
{
	struct reads *r = ctx;

	return uregs_get(&r->regs, reg, r->stack, val) ? 0 : -ENODATA;
}

static int read_mem(void *ctx, uint64_t addr, uint64_t *val)
{
	struct reads *r = ctx;
	int ret = stack_view_read(r->stack, addr, val);

	if (!ret) {
		r->last = addr;
		r->any = true;
	}
	return ret;
}

/*
 * OCaml's runtime, and others that link stacks, store the other stack's pointer in the frame and
 * use an expression to read it. So do frames that gcc has aligned, but their pointer leads right
 * above that word.
 */
static bool by_stored_pointer(const struct walk_at *at, const struct cfi_rule *cfa, const struct uregs *regs)
{
	const struct unwind_input *in = at->in;
	struct reads r = { .stack = in->stack, .regs = *regs };
	struct cfi_expr_env env = { .ctx = &r, .reg = read_reg, .mem = read_mem, .bias = at->bias };
	uint64_t ignored;

	cfi_expr_eval(cfa->expr, cfa->expr_len, &env, false, 0, &ignored);
	if (!r.any || at->fault - r.last < NEAR_FRAME)
		return false;
	/* In a masked copy, a pointer to above the copy is 0. */
	return !walk_led_above(in, at->fault) || in->stack->hi - r.last >= NEAR_FRAME;
}

bool walk_from_other_stack(const struct walk_at *at, bool after_call, uint64_t sp, const struct uregs *regs)
{
	struct cfi_row row;

	/*
	 * Stacks of goroutines are near each other: a place too far from the frame is on another
	 * stack.
	 */
	if (at->fault - sp < NEAR_FRAME || at->in->stack->lo == at->in->stack->hi || !walk_row_at(at, after_call, &row) ||
	    row.made)
		return false;
	/* The kernel's frame itself holds the registers that a signal interrupted. */
	if (row.cfa_how == CFI_VAL_EXPR)
		return row.ra_reg == CFI_REG_RA && row.regs[CFI_REG_RA].how == CFI_OFFSET && by_stored_pointer(at, &row.cfa, regs);
	return row.cfa_how == CFI_REGISTER && kept_register(at, &row.cfa);
}
