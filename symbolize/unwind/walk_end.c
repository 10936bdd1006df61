/* The ends of stacks that need a word which was not copied (walk_priv.h). */
#include "modules/addrspace.h"
#include "modules/module.h"
#include "stackcopy.h"
#include "unwind/rules.h"
#include "unwind/walk_priv.h"

/*
 * An address up to this far above the copy counts as further up on the same stack. Thread stacks
 * are 8 MiB by default, and few programs ask for more than this limit.
 */
#define STACK_REACH (256ull << 20)

enum unwind_end walk_fault_end(const struct unwind_input *in, uint64_t addr, uint64_t sp)
{
	const struct stack_view *sv = in->stack;
	struct avma a = { addr };

	/* A word may cross the upper edge. */
	if (sv->lo == sv->hi || addr + 8 <= sv->hi || addr + 8 < addr ||
	    addr > sv->hi + STACK_REACH)
		return UNWIND_BAD_READ;
	if (addrspace_find(in->as, a))
		return UNWIND_BAD_READ;
	if (in->cut)
		return UNWIND_CUT;
	if (in->copy_full)
		return UNWIND_COPY_END;
	/* No stack ends within a frame. */
	if (sp < sv->hi && sv->hi % MAP_PAGE == 0)
		return UNWIND_HOLE;
	return stack_view_hole(sv, addr) ? UNWIND_HOLE : UNWIND_STACK_END;
}

bool walk_on_other_stack(const struct unwind_input *in, uint64_t sp)
{
	enum unwind_end end;

	if (sp >= in->stack->lo && sp < in->stack->hi)
		return false;
	end = sp < in->stack->lo ? UNWIND_BAD_READ : walk_fault_end(in, sp, UINT64_MAX);
	return end == UNWIND_BAD_READ || end == UNWIND_STACK_END;
}

uint64_t walk_frame_sp(const struct walker *w, const struct walk_at *at, bool after_call, uint64_t sp)
{
	struct rules *made = after_call ? w->made_return : w->made;
	const struct general_rule *g;
	struct cfi_fde fde;
	struct cfi_row row;
	rule_t rule;

	if (!at->mod)
		return UINT64_MAX;
	if (!cfi_find(module_cfi(at->mod), at->svma, &fde))
		return !cfi_row(module_cfi(at->mod), &fde, at->svma, &row) && row.cfa_how == CFI_REGISTER &&
		       row.cfa.reg == CFI_REG_SP ? sp : UINT64_MAX;
	/* Only compiled made rows: a slice would have it as a row. */
	rule = made ? rules_find(made, at->mod, at->svma) : RULE_NO_ROWS;
	g = rule_kind(rule) == RULE_GENERAL ? rules_general(made, rule) : NULL;
	if (g)
		return g->cfa_how == CFI_REGISTER && g->cfa.reg == CFI_REG_SP ? sp : UINT64_MAX;
	return rule_is_common_sp(rule) ? sp : UINT64_MAX;
}
