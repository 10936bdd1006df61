/*
 * Cuts call frame programs down to the rows that are needed. Most of a program describes how the
 * frame is built and torn down, push by push, and samples hardly ever stand there. The first needed
 * row is written as the difference from the CIE's row, each other one as the difference from the
 * row before it.
 */
#include <string.h>

#include "base/strbuf.h"
#include "cfi/cfi.h"
#include "cfi/cfi_priv.h"

/*
 * More rows mean a switch table in assembly or a hostile file. Leaving that uncut costs no more
 * than before.
 */
#define ROWS_MAX 64

struct cutter {
	const struct cfi_cie *cie;
	const uint64_t *pcs;	/* not covered by a row yet */
	size_t npcs;
	struct strbuf *prog;
	struct cfi_row last;	/* the last row written; the CIE's at first */
	uint64_t start;		/* svma where the first row begins */
	unsigned int rows;
};

/* Compares the meaning of two rules and ignores unused members. */
static bool same_rule(const struct cfi_rule *a, const struct cfi_rule *b)
{
	if (a->how != b->how)
		return false;
	switch (a->how) {
	case CFI_OFFSET:
	case CFI_VAL_OFFSET:
		return a->off == b->off;
	case CFI_REGISTER:
		return a->reg == b->reg && a->off == b->off;
	case CFI_EXPR:
	case CFI_VAL_EXPR:
		return a->expr_len == b->expr_len && !memcmp(a->expr, b->expr, a->expr_len);
	default:
		return true;
	}
}

static void add_op(struct strbuf *sb, uint8_t op, uint64_t operand)
{
	strbuf_addc(sb, (char)op);
	strbuf_add_varint(sb, operand);
}

static void add_expr(struct strbuf *sb, const struct cfi_rule *r)
{
	strbuf_add_varint(sb, r->expr_len);
	strbuf_add(sb, r->expr, r->expr_len);
}

/* CFI_OFFSET and CFI_VAL_OFFSET, factored by the CIE. */
static bool add_factored(struct strbuf *sb, const struct cfi_cie *cie, uint8_t reg,
			 const struct cfi_rule *r)
{
	const int64_t align = cie->data_align;

	if (!align || r->off % align)
		return false;
	if (r->how == CFI_VAL_OFFSET) {
		add_op(sb, DW_CFA_val_offset_sf, reg);
		strbuf_add_sleb(sb, r->off / align);
	} else if (r->off / align >= 0) {
		add_op(sb, DW_CFA_offset | reg, (uint64_t)(r->off / align));
	} else {
		add_op(sb, DW_CFA_offset_extended_sf, reg);
		strbuf_add_sleb(sb, r->off / align);
	}
	return true;
}

static bool add_rule(struct cutter *c, uint8_t reg, const struct cfi_rule *r)
{
	struct strbuf *sb = c->prog;

	if (same_rule(r, &c->cie->init.regs[reg])) {
		strbuf_addc(sb, (char)(DW_CFA_restore | reg));
		return true;
	}
	switch (r->how) {
	case CFI_UNDEF:
		add_op(sb, DW_CFA_undefined, reg);
		return true;
	case CFI_SAME:
		add_op(sb, DW_CFA_same_value, reg);
		return true;
	case CFI_OFFSET:
	case CFI_VAL_OFFSET:
		return add_factored(sb, c->cie, reg, r);
	case CFI_REGISTER:
		add_op(sb, DW_CFA_register, reg);
		strbuf_add_varint(sb, r->reg);
		return true;
	case CFI_EXPR:
	case CFI_VAL_EXPR:
		add_op(sb, r->how == CFI_EXPR ? DW_CFA_expression : DW_CFA_val_expression, reg);
		add_expr(sb, r);
		return true;
	default:	/* no instruction removes a rule */
		return false;
	}
}

static bool add_cfa(struct cutter *c, const struct cfi_row *row)
{
	const struct cfi_rule *r = &row->cfa;

	if (row->cfa_how == c->last.cfa_how && same_rule(r, &c->last.cfa))
		return true;
	if (row->cfa_how == CFI_VAL_EXPR) {
		strbuf_addc(c->prog, DW_CFA_def_cfa_expression);
		add_expr(c->prog, r);
		return true;
	}
	if (row->cfa_how != CFI_REGISTER || r->off < 0)
		return false;
	if (c->last.cfa_how == CFI_REGISTER && c->last.cfa.reg == r->reg) {
		add_op(c->prog, DW_CFA_def_cfa_offset, (uint64_t)r->off);
	} else {
		add_op(c->prog, DW_CFA_def_cfa, r->reg);
		strbuf_add_varint(c->prog, (uint64_t)r->off);
	}
	return true;
}

static bool add_advance(struct cutter *c, uint64_t by)
{
	if (by % c->cie->code_align)
		return false;
	by /= c->cie->code_align;
	if (by < 0x40) {
		strbuf_addc(c->prog, (char)(DW_CFA_advance_loc | by));
	} else if (by <= UINT8_MAX) {
		strbuf_addc(c->prog, DW_CFA_advance_loc1);
		strbuf_addc(c->prog, (char)by);
	} else if (by <= UINT16_MAX) {
		strbuf_addc(c->prog, DW_CFA_advance_loc2);
		strbuf_add_u16(c->prog, (uint16_t)by);
	} else if (by <= UINT32_MAX) {
		strbuf_addc(c->prog, DW_CFA_advance_loc4);
		strbuf_add_u32(c->prog, (uint32_t)by);
	} else {
		return false;
	}
	return true;
}

/* Returns 1 after the last needed row, -1 if a row cannot be expressed. */
static int take_row(void *ctx, const struct cfi_row *row)
{
	struct cutter *c = ctx;

	if (!c->rows && c->pcs[0] >= row->end)
		return 0;
	if (c->rows == ROWS_MAX || row->cfa_how == CFI_UNSPEC)
		return -1;
	if (!c->rows)
		c->start = row->start;
	else if (!add_advance(c, row->start - c->last.start))
		return -1;
	if (!add_cfa(c, row))
		return -1;
	for (uint8_t reg = 0; reg < CFI_NREGS; reg++)
		if (!same_rule(&row->regs[reg], &c->last.regs[reg]) &&
		    !add_rule(c, reg, &row->regs[reg]))
			return -1;
	c->last = *row;
	c->rows++;
	while (c->npcs && c->pcs[0] < row->end) {
		c->pcs++;
		c->npcs--;
	}
	return !c->npcs;
}

bool cfi_cut(struct cfi *cfi, const struct cfi_fde *fde, const uint64_t *pcs, size_t n,
	     struct strbuf *prog, struct cfi_fde *cut)
{
	struct cutter c = { .pcs = pcs, .npcs = n, .prog = prog };
	struct cfi_entry e;

	if (!n || cfi_fde_at(cfi, fde->debug_frame, fde->off, &e) || !e.cie->code_align)
		return false;
	/* Computing any row of one of its FDEs fills the CIE's initial row. */
	if (!e.cie->init_state && cfi_row(cfi, fde, pcs[0], &c.last))
		return false;
	if (cfi_fde_at(cfi, fde->debug_frame, fde->off, &e) || e.cie->init_state <= 0)
		return false;
	c.cie = e.cie;
	c.last = e.cie->init;
	if (cfi_rows(cfi, fde, take_row, &c) != 1)
		return false;
	cut->start = c.start;
	cut->end = c.last.end;
	return true;
}
