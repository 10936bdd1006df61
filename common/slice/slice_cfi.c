/*
 * The .eh_frame of a sliced ELF file, as cfi_emit.c writes it: FDEs sorted by address, with
 * absolute pointers, without augmentation data, and with DW_CFA_nop only at the end. Addresses are
 * coded relative to the symbol they lie in, instructions by the ones before them: the first usually
 * determines which registers are saved, and where.
 */
#include <string.h>

#include "base/util.h"
#include "cfi/cfi_priv.h"
#include "slice/slice_priv.h"

#define CIES_MAX 14u		/* what one digit can tell, minus terminator and new CIE */

enum kind { KIND_END, KIND_CIE, KIND_FDE };	/* KIND_FDE + number of the CIE */

struct frames {
	struct slice_coder *c;
	const struct elf_slice *slice;
	struct cursor in;		/* when writing */
	struct strbuf *out;		/* when reading */
	size_t base;			/* where the section begins in @out */
	size_t cie[CIES_MAX];		/* offsets in the section */
	uint32_t ncies;
	size_t sym;			/* of the last FDE */
	uint64_t end;			/* svma after the last FDE */
};

/* ---- instructions ---- */

enum operands {
	OPS_NONE, OPS_U8, OPS_U16, OPS_U32, OPS_U64, OPS_U, OPS_S, OPS_UU, OPS_US, OPS_EXPR,
	OPS_U_EXPR, OPS_BAD,
};

struct insn {
	uint8_t op;			/* the whole byte */
	uint64_t a;			/* operands in order */
	uint64_t b;
	int64_t s;			/* the signed operand */
	const void *expr;		/* borrowed */
	uint64_t expr_len;
};

static enum operands operands_of(uint8_t op)
{
	static const uint8_t extended[0x40] = {
		[DW_CFA_nop] = OPS_NONE, [DW_CFA_set_loc] = OPS_U64,
		[DW_CFA_advance_loc1] = OPS_U8, [DW_CFA_advance_loc2] = OPS_U16,
		[DW_CFA_advance_loc4] = OPS_U32, [DW_CFA_offset_extended] = OPS_UU,
		[DW_CFA_restore_extended] = OPS_U, [DW_CFA_undefined] = OPS_U,
		[DW_CFA_same_value] = OPS_U, [DW_CFA_register] = OPS_UU,
		[DW_CFA_remember_state] = OPS_NONE, [DW_CFA_restore_state] = OPS_NONE,
		[DW_CFA_def_cfa] = OPS_UU, [DW_CFA_def_cfa_register] = OPS_U,
		[DW_CFA_def_cfa_offset] = OPS_U, [DW_CFA_def_cfa_expression] = OPS_EXPR,
		[DW_CFA_expression] = OPS_U_EXPR, [DW_CFA_offset_extended_sf] = OPS_US,
		[DW_CFA_def_cfa_sf] = OPS_US, [DW_CFA_def_cfa_offset_sf] = OPS_S,
		[DW_CFA_val_offset] = OPS_UU, [DW_CFA_val_offset_sf] = OPS_US,
		[DW_CFA_val_expression] = OPS_U_EXPR, [DW_CFA_GNU_args_size] = OPS_U,
		[DW_CFA_GNU_negative_offset_extended] = OPS_UU,
	};

	if (op & 0xc0)
		return (op & 0xc0) == DW_CFA_offset ? OPS_U : OPS_NONE;
	return op && !extended[op] && op != DW_CFA_remember_state && op != DW_CFA_restore_state ?
	       OPS_BAD : (enum operands)extended[op];
}

static void parse_insn(struct cursor *in, struct insn *i)
{
	const enum operands ops = operands_of(i->op);

	switch (ops) {
	case OPS_U8:
		i->a = cursor_u8(in);
		break;
	case OPS_U16:
		i->a = cursor_u16(in);
		break;
	case OPS_U32:
		i->a = cursor_u32(in);
		break;
	case OPS_U64:
		i->a = cursor_u64(in);
		break;
	case OPS_U:
	case OPS_UU:
	case OPS_US:
	case OPS_U_EXPR:
		i->a = cfi_uleb(in);
		break;
	default:
		break;
	}
	if (ops == OPS_UU)
		i->b = cfi_uleb(in);
	if (ops == OPS_S || ops == OPS_US)
		i->s = cfi_sleb(in);
	if (ops == OPS_EXPR || ops == OPS_U_EXPR) {
		i->expr_len = cfi_uleb(in);
		i->expr = cursor_bytes(in, i->expr_len);
	}
}

static void emit_insn(struct strbuf *out, const struct insn *i)
{
	const enum operands ops = operands_of(i->op);

	strbuf_addc(out, (char)i->op);
	switch (ops) {
	case OPS_U8:
		strbuf_addc(out, (char)i->a);
		break;
	case OPS_U16:
		strbuf_add_u16(out, (uint16_t)i->a);
		break;
	case OPS_U32:
		strbuf_add_u32(out, (uint32_t)i->a);
		break;
	case OPS_U64:
		strbuf_add_u64(out, i->a);
		break;
	case OPS_U:
	case OPS_UU:
	case OPS_US:
	case OPS_U_EXPR:
		strbuf_add_varint(out, i->a);
		break;
	default:
		break;
	}
	if (ops == OPS_UU)
		strbuf_add_varint(out, i->b);
	if (ops == OPS_S || ops == OPS_US)
		strbuf_add_sleb(out, i->s);
	if (ops == OPS_EXPR || ops == OPS_U_EXPR) {
		strbuf_add_varint(out, i->expr_len);
		if (i->expr)
			strbuf_add(out, i->expr, i->expr_len);
	}
}

/* Mostly divisible by 8. The low bits rotate to the top, where zeros cost nothing. */
static uint64_t code_cfa(struct slice_coder *c, uint64_t v)
{
	v = slice_num(c, CTX_CFA, v >> 3 | v << 61);
	return v << 3 | v >> 61;
}

/* State that a program's instructions leave for the following ones. */
struct state {
	uint32_t op;			/* context of the next, 12 bits */
	uint32_t saved;			/* words from the CFA down to the last register, up to 15 */
	uint64_t cfa;			/* the last offset of the CFA */
	uint32_t step;			/* how it got there, as in code_step() */
};

/*
 * The CFA's offset is coded as its change in words, since pushes change it so. Other changes, and
 * the first offset, are coded as the offset itself.
 */
static uint64_t code_step(struct slice_coder *c, struct state *st, uint64_t v)
{
	int64_t by = (int64_t)(v - st->cfa) / 8;
	uint32_t step = by >= -7 && by <= 7 && v - st->cfa == (uint64_t)by * 8 ? (uint32_t)(by + 7) :
										15;

	st->step = slice_digit(c, CTX_STEP + st->step, step);
	if (st->step == 15)
		v = code_cfa(c, v);
	else
		v = st->cfa + ((uint64_t)st->step - 7) * 8;
	st->cfa = v;
	return v;
}

static uint8_t code_op(struct slice_coder *c, uint32_t state, uint8_t op)
{
	uint32_t high = slice_digit(c, CTX_OP_HIGH + state, op >> 4);
	uint32_t mix = (state << 4 | high) * 0x9e3779b1u >> 19;

	return (uint8_t)(high << 4 | slice_digit(c, CTX_OP_LOW + mix, op & 15));
}

/* Where a register is saved, in words below the CFA. */
static uint64_t code_saved(struct slice_coder *c, uint32_t reg, uint32_t last, uint64_t at)
{
	uint32_t near = slice_digit(c, CTX_SAVED + (reg & 15) * 16 + last, (uint32_t)MIN(at, 15u));

	return near < 15 ? near : slice_num(c, CTX_SAVED_FAR, at);
}

static void code_expr(struct slice_coder *c, struct insn *i)
{
	i->expr_len = slice_num(c, CTX_OPERAND, i->expr_len);
	slice_bytes(c, &i->expr, i->expr_len);
}

static void code_operands(struct slice_coder *c, struct state *st, struct insn *i)
{
	const enum operands ops = operands_of(i->op);

	switch (ops) {
	case OPS_NONE:
		return;
	case OPS_U8:
	case OPS_U16:
	case OPS_U32:
		i->a = slice_num(c, CTX_ADVANCE, i->a);
		return;
	case OPS_BAD:
		c->bad = true;
		return;
	default:
		break;
	}
	if (i->op == DW_CFA_def_cfa_offset)
		i->a = code_step(c, st, i->a);
	else if ((i->op & 0xc0) == DW_CFA_offset)
		i->a = code_saved(c, i->op & 0x3f, st->saved, i->a);
	else if (ops != OPS_S && ops != OPS_EXPR)
		i->a = slice_num(c, CTX_OPERAND, i->a);
	if (i->op == DW_CFA_def_cfa)
		st->cfa = i->b = code_cfa(c, i->b);
	else if (ops == OPS_UU)
		i->b = slice_num(c, CTX_OPERAND, i->b);
	if (ops == OPS_S || ops == OPS_US)
		i->s = slice_snum(c, CTX_OPERAND, i->s);
	if (ops == OPS_EXPR || ops == OPS_U_EXPR)
		code_expr(c, i);
}

/*
 * The instruction after another depends on that one and on where the last register was saved. If
 * that one is a step, it depends on the step; after an advance, on the instruction before.
 */
static void pass_insn(struct state *st, const struct insn *i)
{
	if ((i->op & 0xc0) == DW_CFA_offset)
		st->saved = (uint32_t)MIN(i->a, 15u);
	if ((i->op & 0xc0) == DW_CFA_advance_loc ||
	    (i->op >= DW_CFA_advance_loc1 && i->op <= DW_CFA_advance_loc4))
		st->op = DW_CFA_advance_loc << 4 | (st->op * 0x9e3779b1u >> 22);
	else
		st->op = (uint32_t)i->op << 4 | (i->op == DW_CFA_def_cfa_offset ? st->step : st->saved);
}

/* In this coding a DW_CFA_nop always ends the instructions, even if the record just ends. */
static void code_program(struct frames *f, struct cursor *in, bool whole)
{
	struct state st = { .op = whole, .cfa = 8, .step = 15 };

	while (slice_ok(f->c)) {
		struct insn i = { 0 };

		if (!f->c->dec) {
			i.op = cursor_left(in) ? cursor_u8(in) : DW_CFA_nop;
			parse_insn(in, &i);
			if (!cursor_ok(in)) {
				f->c->bad = true;
				return;
			}
		}
		i.op = code_op(f->c, st.op, i.op);
		if (i.op == DW_CFA_nop)
			return;
		code_operands(f->c, &st, &i);
		if (f->c->dec)
			emit_insn(f->out, &i);
		pass_insn(&st, &i);
		f->c->bad |= f->c->dec && f->out->len - f->base > f->c->max;
	}
}

/* ---- records ---- */

/* Distance in symbols from @f->sym to the last symbol at or below @addr. */
static uint64_t symbols_to(const struct frames *f, uint64_t addr)
{
	size_t at = f->sym;

	while (at + 1 < f->slice->nsyms && f->slice->syms[at + 1].svma <= addr)
		at++;
	return at - f->sym;
}

/* @addr (svma) and @range (bytes) are given when writing. */
static void code_extent(struct frames *f, uint64_t *addr, uint64_t *range, bool *whole)
{
	struct slice_coder *c = f->c;
	uint64_t base = f->end, left = 0, skip;

	if (f->slice->nsyms) {
		skip = slice_num(c, CTX_SKIP, c->dec ? 0 : symbols_to(f, *addr));
		if (skip >= f->slice->nsyms - f->sym) {
			c->bad = true;
			return;
		}
		f->sym += skip;
		base = MAX(f->end, f->slice->syms[f->sym].svma);
		left = f->slice->syms[f->sym].svma + f->slice->syms[f->sym].size - base;
		if (left > f->slice->syms[f->sym].size)
			left = 0;
	}
	*whole = true;
	*addr = base + slice_num(c, CTX_OFF + slice_class(left) * NIBBLE_NUM, *addr - base);
	*whole = *addr == base && f->slice->nsyms && base == f->slice->syms[f->sym].svma;
	left = *addr - base < left ? left - (*addr - base) : 0;
	if (slice_digit(c, CTX_TO_END + *whole * 16 + slice_class(left), *range == left))
		*range = left;
	else
		*range = slice_num(c, CTX_RANGE + slice_class(left) * NIBBLE_NUM, *range);
	f->end = *addr + *range;
}

/* Completes a record: pads it so that the next one is aligned, and sets its length. */
static void end_record(struct frames *f, size_t from)
{
	static const char nops[8];
	uint32_t len;

	strbuf_add(f->out, nops, align_up(f->out->len - from, 8) - (f->out->len - from));
	len = (uint32_t)(f->out->len - from - 4);
	memcpy(f->out->s + from, &len, sizeof(len));
}

/* When writing, @rec is the record after its id. */
static void code_cie(struct frames *f, struct cursor *rec, size_t at)
{
	struct slice_coder *c = f->c;
	size_t len = slice_num(c, CTX_HEAD, cursor_left(rec));
	const void *body = c->dec ? NULL : rec->base + rec->pos;

	if (f->ncies == CIES_MAX || (c->dec && len > c->max)) {
		c->bad = true;
		return;
	}
	f->cie[f->ncies++] = at;
	slice_bytes(c, &body, len);
	if (!c->dec || !slice_ok(c))
		return;
	strbuf_add_u64(f->out, 0);	/* length to come, id 0 */
	strbuf_add(f->out, body, len);
	end_record(f, f->base + at);
}

static void code_fde(struct frames *f, struct cursor *rec, size_t at, uint32_t cie)
{
	uint64_t addr = 0, range = 0;
	bool whole = false;

	if (cie >= f->ncies) {
		f->c->bad = true;
		return;
	}
	if (!f->c->dec) {
		addr = cursor_u64(rec);
		range = cursor_u64(rec);
		f->c->bad |= cursor_u8(rec) != 0 || !cursor_ok(rec);
	}
	code_extent(f, &addr, &range, &whole);
	if (f->c->dec) {
		strbuf_add_u32(f->out, 0);
		strbuf_add_u32(f->out, (uint32_t)(at + 4 - f->cie[cie]));
		strbuf_add_u64(f->out, addr);
		strbuf_add_u64(f->out, range);
		strbuf_addc(f->out, 0);
	}
	code_program(f, rec, whole);
	if (f->c->dec)
		end_record(f, f->base + at);
}

/* When writing: the next record, after its id, and its kind. */
static uint32_t next_record(struct frames *f, struct cursor *rec)
{
	size_t at = f->in.pos;
	uint32_t len = cursor_u32(&f->in), id;
	const void *p;

	if (!len || !cursor_ok(&f->in)) {
		f->c->bad |= !cursor_ok(&f->in) || cursor_left(&f->in);
		return KIND_END;
	}
	p = cursor_bytes(&f->in, len);
	cursor_init(rec, p, len);
	id = cursor_u32(rec);
	if (p && !id)
		return KIND_CIE;
	for (uint32_t i = 0; p && i < f->ncies; i++) {
		if (at + 4 - id == f->cie[i])
			return KIND_FDE + i;
	}
	f->c->bad = true;
	return KIND_END;
}

void slice_cfi(struct slice_coder *c, const struct elf_slice *s, struct strbuf *out)
{
	struct frames f = { .c = c, .slice = s, .out = out, .base = out ? out->len : 0 };

	cursor_init(&f.in, s->eh_frame, s->eh_frame_size);
	while (slice_ok(c)) {
		size_t at = c->dec ? out->len - f.base : f.in.pos;
		struct cursor rec = { 0 };
		uint32_t kind = c->dec ? 0 : next_record(&f, &rec);

		kind = slice_digit(c, CTX_KIND, kind);
		if (kind == KIND_END)
			break;
		if (kind == KIND_CIE)
			code_cie(&f, &rec, at);
		else
			code_fde(&f, &rec, at, kind - KIND_FDE);
		c->bad |= c->dec && out->len - f.base > c->max;
	}
	if (c->dec)
		strbuf_add_u32(out, 0);
}
