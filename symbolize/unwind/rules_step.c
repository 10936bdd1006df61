/*
 * A step by a compiled rule (rules.h). The common shape reads one word, the return address; all
 * other rules evaluate a whole row.
 */
#include "unwind/rules_step.h"

#include <errno.h>

#include "stackcopy.h"

/* ---- the common shape ---- */

/* Ignores slots below @sp, which are stale (uregs.h). */
static inline void restore_saved(struct uregs *regs, uint64_t sp, uint64_t cfa, uint32_t saved)
{
	uint32_t mask = 0;

#define RESTORE(field, reg)                                                                        \
	do {                                                                                       \
		uint32_t k = saved >> 5 * (field)&RULE_SAVED_MAX;                                  \
		bool have = k && cfa - 8 * k >= sp;                                                \
		regs->v[reg] = have ? cfa - 8 * k : regs->v[reg];                                  \
		mask |= (uint32_t)have << (reg);                                                   \
	} while (0)

	RESTORE(0, 3);
	RESTORE(1, CFI_REG_BP);
	RESTORE(2, 12);
	RESTORE(3, 13);
	RESTORE(4, 14);
	RESTORE(5, 15);
#undef RESTORE
	regs->known |= mask;
	regs->in_mem |= mask;
}

static enum step_end step_common(struct walk_at *at, struct uregs *regs, rule_t rule)
{
	const struct stack_view *sv = at->in->stack;
	uint64_t sp = regs->v[CFI_REG_SP], cfa = sp;
	uint32_t saved = rule_saved(rule);

	if (rule_base_is_bp(rule) && !uregs_get(regs, CFI_REG_BP, sv, &cfa))
		return STEP_UNKNOWN_REG;
	cfa += rule_cfa_off(rule);
	at->fault = cfa - 8;
	if (stack_view_read(sv, cfa - 8, &regs->v[CFI_REG_RA]))
		return STEP_FAULT;
	if (saved)
		restore_saved(regs, sp, cfa, saved);
	regs->v[CFI_REG_SP] = cfa;
	return STEP_CALLER;
}

/* ---- whole rows ---- */

struct eval {
	struct walk_at *at;
	struct uregs *regs;
	bool own_sp; /* as in struct general_rule */
	enum step_end failed; /* reason for a callback's error */
};

static int eval_reg(void *ctx, unsigned int reg, uint64_t *val)
{
	struct eval *ev = ctx;

	if (uregs_get(ev->regs, reg, ev->at->in->stack, val))
		return 0;
	ev->failed = STEP_UNKNOWN_REG;
	return -ENODATA;
}

static int eval_mem(void *ctx, uint64_t addr, uint64_t *val)
{
	struct eval *ev = ctx;
	int ret = stack_view_read(ev->at->in->stack, addr, val);

	if (ret) {
		ev->failed = STEP_FAULT;
		ev->at->fault = addr;
	}
	return ret;
}

/* Returns STEP_CALLER with *@val set, or the error. */
static enum step_end eval_expr(struct eval *ev, const struct cfi_rule *rule, bool has_cfa,
			       uint64_t cfa, uint64_t *val)
{
	struct cfi_expr_env env = {
		.ctx = ev,
		.reg = eval_reg,
		.mem = eval_mem,
		.bias = ev->at->bias,
	};

	ev->failed = STEP_NO_ROWS;
	if (cfi_expr_eval(rule->expr, rule->expr_len, &env, has_cfa, cfa, val))
		return ev->failed;
	return STEP_CALLER;
}

static enum step_end eval_cfa(struct eval *ev, const struct general_rule *g, uint64_t *cfa)
{
	if (g->cfa_how == CFI_VAL_EXPR)
		return eval_expr(ev, &g->cfa, false, 0, cfa);
	if (g->cfa_how != CFI_REGISTER)
		return STEP_NO_ROWS;
	if (!uregs_get(ev->regs, g->cfa.reg, ev->at->in->stack, cfa))
		return STEP_UNKNOWN_REG;
	*cfa += g->cfa.off;
	return STEP_CALLER;
}

/* Sets the caller's register @reg in @to by @rule; @ev->regs are the callee's. */
static enum step_end eval_rule(struct eval *ev, const struct cfi_rule *rule, uint64_t cfa,
			       unsigned int reg, struct uregs *to)
{
	uint32_t bit = 1u << reg;
	enum step_end res;
	uint64_t val;

	switch (rule->how) {
	case CFI_OFFSET: val = cfa + rule->off; break;
	case CFI_EXPR:
		res = eval_expr(ev, rule, true, cfa, &val);
		if (res != STEP_CALLER)
			return res;
		break;
	case CFI_VAL_OFFSET: uregs_set(to, reg, cfa + rule->off); return STEP_CALLER;
	case CFI_VAL_EXPR:
		res = eval_expr(ev, rule, true, cfa, &val);
		if (res == STEP_CALLER)
			uregs_set(to, reg, val);
		return res;
	case CFI_REGISTER:
		if (!uregs_get(ev->regs, rule->reg, ev->at->in->stack, &val))
			return STEP_UNKNOWN_REG;
		uregs_set(to, reg, val);
		return STEP_CALLER;
	case CFI_UNDEF: to->known &= ~bit; return STEP_CALLER;
	default: return STEP_CALLER;
	}
	if (reg != CFI_REG_RA && !ev->own_sp && save_is_stale(ev->regs->v[CFI_REG_SP], cfa, val))
		return STEP_CALLER;
	to->v[reg] = val;
	to->known |= bit;
	to->in_mem |= bit;
	return STEP_CALLER;
}

/* Reads the stack pointer and the pc now, since they are needed at once. */
static enum step_end settle(struct walk_at *at, struct uregs *regs, unsigned int reg)
{
	uint64_t addr = regs->v[reg], val;

	if (!(regs->in_mem >> reg & 1))
		return STEP_CALLER;
	if (stack_view_read(at->in->stack, addr, &val)) {
		at->fault = addr;
		return STEP_FAULT;
	}
	uregs_set(regs, reg, val);
	return STEP_CALLER;
}

static enum step_end step_general(struct walk_at *at, struct uregs *regs,
				  const struct general_rule *g)
{
	struct eval ev = { .at = at, .regs = regs, .own_sp = g->own_sp };
	struct uregs to = *regs;
	enum step_end res;
	uint64_t cfa;

	res = eval_cfa(&ev, g, &cfa);
	if (res != STEP_CALLER)
		return res;
	uregs_set(&to, CFI_REG_SP, cfa);
	for (unsigned int i = 0; i < g->n; i++) {
		unsigned int reg = g->regs[i].reg;

		res = eval_rule(&ev, &g->regs[i].rule, cfa, reg, &to);
		if (res == STEP_CALLER)
			continue;
		/* A later rule that needs this register finds it unknown. */
		to.known &= ~(1u << reg);
	}
	if (!(to.known >> CFI_REG_SP & 1))
		return STEP_UNKNOWN_REG;
	res = eval_rule(&ev, &g->ra, cfa, CFI_REG_RA, &to);
	if (res == STEP_CALLER)
		res = settle(at, &to, CFI_REG_SP);
	if (res == STEP_CALLER)
		res = settle(at, &to, CFI_REG_RA);
	if (res != STEP_CALLER)
		return res;
	*regs = to;
	at->signal = g->signal_frame;
	at->resumes = g->n > 1 && g->regs[0].reg == 0 && g->regs[1].reg == 1;
	return STEP_CALLER;
}

enum step_end rules_step(struct rules *rs, struct walk_at *at, struct uregs *regs)
{
	rule_t rule = rules_find(rs, at->mod, at->svma);

	switch (rule_kind(rule)) {
	case RULE_COMMON: return step_common(at, regs, rule);
	case RULE_GENERAL: return step_general(at, regs, rules_general(rs, rule));
	case RULE_OUTERMOST: return STEP_OUTERMOST;
	case RULE_NO_ROWS: break;
	}
	return STEP_NO_ROWS;
}
