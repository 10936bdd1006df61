/* Runs call frame instructions (DWARF 5, 6.4.2) up to an address. */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "cfi/cfi.h"
#include "cfi/cfi_priv.h"

/* Compilers nest remember_state once or twice (shrink-wrapped epilogues). */
#define STATE_DEPTH 8

struct machine {
	const struct cfi *cfi;
	const struct cfi_cie *cie;
	struct cfi_row *row;
	bool initial;			/* running the CIE's instructions */
	/* called at the end of every row; NULL: stop at one address */
	cfi_row_fn each;
	void *each_ctx;
	unsigned int depth;
	/* not cleared, because most programs never use it */
	struct cfi_row saved[STATE_DEPTH];
};

static int set_rule(struct machine *m, const struct cfi_insn *insn, enum cfi_how how)
{
	struct cfi_rule *r;

	/* Vector and flag registers have columns too, but nothing asks for them. */
	if (insn->reg >= CFI_NREGS)
		return 0;
	r = &m->row->regs[insn->reg];
	*r = (struct cfi_rule){ .how = (uint8_t)how };
	switch (how) {
	case CFI_OFFSET:
	case CFI_VAL_OFFSET:
		r->off = insn->off;
		break;
	case CFI_REGISTER:
		if (insn->val >= CFI_NREGS)
			return -EINVAL;
		r->reg = (uint8_t)insn->val;
		break;
	case CFI_EXPR:
	case CFI_VAL_EXPR:
		r->expr = insn->expr;
		r->expr_len = (uint32_t)insn->expr_len;
		break;
	default:
		break;
	}
	return 0;
}

static int set_cfa(struct machine *m, uint64_t reg, int64_t off)
{
	if (reg >= CFI_NREGS)
		return -EINVAL;
	m->row->cfa_how = CFI_REGISTER;
	m->row->cfa = (struct cfi_rule){ .how = CFI_REGISTER, .reg = (uint8_t)reg, .off = off };
	return 0;
}

static int restore_rule(struct machine *m, uint64_t reg)
{
	if (m->initial)		/* there is no initial rule yet to restore */
		return -EINVAL;
	if (reg < CFI_NREGS)
		m->row->regs[reg] = m->cie->init.regs[reg];
	return 0;
}

/*
 * The CFA is part of the state: gcc and clang rely on it, although DWARF only mentions register
 * rules.
 */
static int restore_state(struct machine *m)
{
	uint64_t start = m->row->start, end = m->row->end;

	if (!m->depth)
		return -EINVAL;
	*m->row = m->saved[--m->depth];
	m->row->start = start;
	m->row->end = end;
	return 0;
}

static int run_one(struct machine *m, const struct cfi_insn *insn)
{
	struct cfi_row *row = m->row;

	switch (insn->op) {
	case DW_CFA_nop:
	case DW_CFA_GNU_args_size:	/* for landing pads, not for unwinding */
		return 0;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		return set_cfa(m, insn->reg, insn->off);
	case DW_CFA_def_cfa_register:
		return row->cfa_how == CFI_REGISTER ? set_cfa(m, insn->reg, row->cfa.off) : -EINVAL;
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
		return row->cfa_how == CFI_REGISTER ? set_cfa(m, row->cfa.reg, insn->off) : -EINVAL;
	case DW_CFA_def_cfa_expression:
		row->cfa_how = CFI_VAL_EXPR;
		row->cfa = (struct cfi_rule){ .how = CFI_VAL_EXPR, .expr = insn->expr,
					      .expr_len = (uint32_t)insn->expr_len };
		return 0;
	case DW_CFA_undefined:
		return set_rule(m, insn, CFI_UNDEF);
	case DW_CFA_same_value:
		return set_rule(m, insn, CFI_SAME);
	case DW_CFA_offset:
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_GNU_negative_offset_extended:
		return set_rule(m, insn, CFI_OFFSET);
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		return set_rule(m, insn, CFI_VAL_OFFSET);
	case DW_CFA_register:
		return set_rule(m, insn, CFI_REGISTER);
	case DW_CFA_expression:
		return set_rule(m, insn, CFI_EXPR);
	case DW_CFA_val_expression:
		return set_rule(m, insn, CFI_VAL_EXPR);
	case DW_CFA_restore:
	case DW_CFA_restore_extended:
		return restore_rule(m, insn->reg);
	case DW_CFA_remember_state:
		if (m->depth == STATE_DEPTH)
			return -EINVAL;
		m->saved[m->depth++] = *row;
		return 0;
	case DW_CFA_restore_state:
		return restore_state(m);
	default:
		return -EINVAL;
	}
}

/*
 * Like cfi_insn_next(), but runs the most frequent instructions directly: those with a single
 * operand of one byte. Everything else is left to the general code.
 */
static int run_to_next(struct machine *m, struct cfi_program *p, struct cfi_insn *insn)
{
	struct cursor *c = &p->c;

	while (c->size - c->pos >= 2) {
		const uint8_t *b = c->base + c->pos;
		unsigned int low = b[0] & 0x3f;

		if ((b[0] & 0xc0) == DW_CFA_advance_loc) {
			insn->op = DW_CFA_advance_loc;
			insn->val = low * m->cie->code_align;
			c->pos++;
			return 1;
		}
		if (b[1] & 0x80)
			break;
		if ((b[0] & 0xc0) == DW_CFA_offset && low < CFI_NREGS)
			m->row->regs[low] = (struct cfi_rule){
				.how = CFI_OFFSET, .off = (int64_t)(b[1] * (uint64_t)m->cie->data_align)
			};
		else if (b[0] == DW_CFA_def_cfa_offset && m->row->cfa_how == CFI_REGISTER)
			m->row->cfa.off = b[1];
		else
			break;
		c->pos += 2;
	}
	return cfi_insn_next(m->cfi, m->cie, p, insn);
}

/* Runs @p until the row holds for @svma. 0, -EINVAL, or what m->each returned. */
static int run(struct machine *m, struct cfi_program p, uint64_t svma)
{
	struct cfi_insn insn;
	int ret;

	while ((ret = run_to_next(m, &p, &insn)) > 0) {
		uint64_t loc;

		if (insn.op != DW_CFA_advance_loc && insn.op != DW_CFA_set_loc) {
			ret = run_one(m, &insn);
			if (ret)
				return ret;
			continue;
		}
		loc = insn.op == DW_CFA_set_loc ? insn.val : m->row->start + insn.val;
		if (m->initial || loc < m->row->start)
			return -EINVAL;
		if (loc > svma) {
			if (loc < m->row->end)
				m->row->end = loc;
			return 0;
		}
		if (m->each && loc > m->row->start) {
			const uint64_t end = m->row->end;

			m->row->end = MIN(loc, end);
			ret = m->each(m->each_ctx, m->row);
			m->row->end = end;
			if (ret)
				return ret;
		}
		m->row->start = loc;
	}
	return ret;
}

int cfi_initial(struct cfi *cfi, struct cfi_cie *cie)
{
	struct machine m;
	int err;

	if (cie->init_state)
		return MIN(cie->init_state, 0);
	memset(&cie->init, 0, sizeof(cie->init));
	cie->init.ra_reg = cie->ra_reg;
	cie->init.signal_frame = cie->signal_frame;
	cie->init.made = cie->code_align == CFI_MADE_ALIGN;
	m.cfi = cfi;
	m.cie = cie;
	m.row = &cie->init;
	m.initial = true;
	m.each = NULL;
	m.depth = 0;
	err = run(&m, cie->prog, UINT64_MAX);
	cie->init_state = err ? err : 1;
	return err;
}

/* Sets up the machine before the first instruction of @fde, which is @e. */
static int begin(struct machine *m, struct cfi *cfi, const struct cfi_fde *fde,
		 struct cfi_entry *e, struct cfi_row *row)
{
	if (cfi_fde_at(cfi, fde->debug_frame, fde->off, e))
		return -EINVAL;
	if (cfi_initial(cfi, e->cie))
		return -EINVAL;
	*row = e->cie->init;
	row->start = fde->start;
	row->end = fde->end;
	m->cfi = cfi;
	m->cie = e->cie;
	m->row = row;
	m->initial = false;
	m->each = NULL;
	m->depth = 0;
	return 0;
}

int cfi_rows(struct cfi *cfi, const struct cfi_fde *fde, cfi_row_fn fn, void *ctx)
{
	struct cfi_entry e;
	struct cfi_row row;
	struct machine m;
	int err = begin(&m, cfi, fde, &e, &row);

	if (err)
		return err;
	m.each = fn;
	m.each_ctx = ctx;
	err = run(&m, e.prog, fde->end - 1);
	return err ? err : fn(ctx, &row);
}

int cfi_row(struct cfi *cfi, const struct cfi_fde *fde, uint64_t svma, struct cfi_row *row)
{
	struct cfi_entry e;
	struct machine m;
	int err;

	if (svma < fde->start || svma >= fde->end)
		return -EINVAL;
	err = begin(&m, cfi, fde, &e, row);
	if (err)
		return err;
	err = run(&m, e.prog, svma);
	if (err)
		return err;
	return row->cfa_how == CFI_UNSPEC ? -EINVAL : 0;
}
