/* Writing made rows as call frame information (made_rows.h). */
#include <stdlib.h>
#include <string.h>

#include "base/sort_u64.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "code/made_rows_priv.h"

/* Functions to try: the nearest targets below an address may be assembly labels. */
#define CALLED_TRIED 4

/* DWARF 5, 7.24, and pointer encoding absptr; the full list is in cfi_priv.h. */
enum {
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_EXPR = 0x0f,
	OP_EXPR = 0x10,
	OP_OFFSET_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_VAL_EXPR = 0x16,
};

static void add_record(struct strbuf *out, uint32_t id, struct strbuf *body)
{
	while ((body->len + 8) % 8)
		strbuf_addc(body, 0);
	strbuf_add_u32(out, (uint32_t)body->len + 4);
	strbuf_add_u32(out, id);
	strbuf_add(out, body->s, body->len);
}

/* Offset of the CIE of @row. Like gcc's CIE: CFA = rsp + 8, return address at CFA - 8. */
static size_t add_cie(struct strbuf *out, const struct cfi_row *row)
{
	static const uint8_t rest[] = { 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1 };
	struct strbuf body = STRBUF_INIT;
	size_t at = out->len;

	strbuf_addc(&body, 1);
	strbuf_add(&body, row->signal_frame ? "zRS" : "zR", row->signal_frame ? 4 : 3);
	strbuf_addc(&body, row->made ? CFI_MADE_ALIGN : 1);
	strbuf_add(&body, rest, sizeof(rest));
	add_record(out, 0, &body);
	strbuf_fini(&body);
	return at;
}

static void add_fde(struct strbuf *out, size_t cie, const struct cfi_row *row)
{
	struct strbuf body = STRBUF_INIT;

	strbuf_add_u64(&body, row->start);
	strbuf_add_u64(&body, row->end - row->start);
	strbuf_addc(&body, 0);
	if (row->cfa_how == CFI_VAL_EXPR) {
		strbuf_addc(&body, OP_DEF_CFA_EXPR);
		strbuf_add_varint(&body, row->cfa.expr_len);
		strbuf_add(&body, row->cfa.expr, row->cfa.expr_len);
	} else if (row->cfa.reg != CFI_REG_SP || row->cfa.off != 8) {
		/* Offsets are in units of -8. */
		if (row->cfa.off >= 0) {
			strbuf_addc(&body, OP_DEF_CFA);
			strbuf_add_varint(&body, row->cfa.reg);
			strbuf_add_varint(&body, (uint64_t)row->cfa.off);
		} else {
			strbuf_addc(&body, OP_DEF_CFA_SF);
			strbuf_add_varint(&body, row->cfa.reg);
			strbuf_add_sleb(&body, row->cfa.off / -8);
		}
	}
	for (uint8_t reg = 0; reg < CFI_NREGS; reg++) {
		const struct cfi_rule *r = &row->regs[reg];

		if (r->how == CFI_UNDEF) {
			strbuf_addc(&body, OP_UNDEFINED);
			strbuf_add_varint(&body, reg);
		} else if (r->how == CFI_SAME) {
			strbuf_addc(&body, OP_SAME_VALUE);
			strbuf_add_varint(&body, reg);
		} else if (r->how == CFI_EXPR || r->how == CFI_VAL_EXPR) {
			strbuf_addc(&body, r->how == CFI_EXPR ? OP_EXPR : OP_VAL_EXPR);
			strbuf_add_varint(&body, reg);
			strbuf_add_varint(&body, r->expr_len);
			strbuf_add(&body, r->expr, r->expr_len);
		} else if (r->how == CFI_OFFSET && (reg != CFI_REG_RA || r->off != -8)) {
			strbuf_addc(&body, OP_OFFSET_SF);
			strbuf_add_varint(&body, reg);
			strbuf_add_sleb(&body, r->off / -8);
		}
	}
	add_record(out, (uint32_t)(out->len + 4 - cie), &body);
	strbuf_fini(&body);
}

static bool same_rule(const struct cfi_rule *a, const struct cfi_rule *b)
{
	return a->how == b->how && a->reg == b->reg && a->off == b->off &&
	       a->expr_len == b->expr_len &&
	       (!a->expr_len || !memcmp(a->expr, b->expr, a->expr_len));
}

static bool same_row(const struct cfi_row *a, const struct cfi_row *b)
{
	if (a->signal_frame != b->signal_frame || a->made != b->made || a->cfa_how != b->cfa_how ||
	    !same_rule(&a->cfa, &b->cfa))
		return false;
	for (int i = 0; i < CFI_NREGS; i++)
		if (!same_rule(&a->regs[i], &b->regs[i]))
			return false;
	return true;
}

/* Can the row be expressed with a data alignment factor of -8? */
static bool can_say(const struct cfi_row *row)
{
	if (row->cfa.off % 8)
		return false;
	for (int i = 0; i < CFI_NREGS; i++)
		if (row->regs[i].how == CFI_OFFSET && row->regs[i].off % 8)
			return false;
	return true;
}

/* Only the return address has been pushed. */
static void plt_row(struct cfi_row *row, uint64_t svma)
{
	*row = (struct cfi_row){ .start = svma, .end = svma + 1, .ra_reg = CFI_REG_RA, .cfa_how = CFI_REGISTER };
	row->cfa = (struct cfi_rule){ .how = CFI_REGISTER, .reg = CFI_REG_SP, .off = 8 };
	row->regs[CFI_REG_RA] = (struct cfi_rule){ .how = CFI_OFFSET, .off = -8 };
}

/*
 * A call ends behind @svma, but the code does not show how its frame is built. For unwinders, the
 * rule "same value" for the return address means the same as no row. It still marks a return
 * address, as opposed to a mere pointer.
 */
static void only_return(struct cfi_row *row, uint64_t svma)
{
	*row = (struct cfi_row){ .start = svma, .end = svma + 1, .ra_reg = CFI_REG_RA, .cfa_how = CFI_REGISTER };
	row->cfa = (struct cfi_rule){ .how = CFI_REGISTER, .reg = CFI_REG_SP };
	row->regs[CFI_REG_RA].how = CFI_SAME;
}

/* State of made_rows_emit(). */
struct emission {
	struct made_rows *mr;
	struct cfi *cfi;
	const uint64_t *pcs;
	size_t n;
	/* callees of the return addresses in pcs, as far as the code shows them; sorted */
	struct addrs called;
	bool called_known;
};

static void find_called(struct emission *e)
{
	uint64_t target;

	e->called_known = true;
	for (size_t i = 0; i + 1 < e->n; i++)
		if (e->pcs[i + 1] == e->pcs[i] + 1 && code_call_target(e->mr->code, e->pcs[i + 1], &target) && target)
			addrs_add(&e->called, target);
	sort_u64(e->called.v, e->called.n);
}

/*
 * Like made_row_called(), for the functions that stacks have shown to be called. One of them should
 * contain @svma, but labels within it may be called too. True if all that lead to @svma give the
 * same row.
 */
static bool row_of_called(struct emission *e, uint64_t svma, bool after_call, struct cfi_row *row)
{
	uint64_t last = UINT64_MAX;
	unsigned int tried = 0;
	struct cfi_row other;
	bool have = false;
	int err;

	if (!e->called_known)
		find_called(e);
	for (size_t i = addrs_up_to(&e->called, svma); i-- && tried < CALLED_TRIED && svma - e->called.v[i] < CALLED_MAX;) {
		if (e->called.v[i] == last)
			continue;
		last = e->called.v[i];
		tried++;
		/* A path that runs into the next function went past a call that never returns. */
		e->mr->called_here = &e->called;
		err = code_row_from(e->mr->code, last, svma, after_call, &other);
		e->mr->called_here = NULL;
		if (err)
			continue;
		if (have && !same_row(row, &other))
			return false;
		*row = other;
		have = true;
	}
	return have;
}

/*
 * Rows read off the code continue behind a call that never returns, which a slice cannot detect. If
 * the paths from a called function give another frame, their row wins.
 */
static bool best_row(struct emission *e, uint64_t svma, bool after_call, struct cfi_row *row)
{
	bool made = made_row(e->mr, svma, after_call, row) == 0;
	struct cfi_row called = { 0 };

	if ((made && made_rows_first(e->mr, svma, after_call)) || !row_of_called(e, svma, after_call, &called))
		return made;
	if (!made || row->cfa_how != called.cfa_how || !same_rule(&row->cfa, &called.cfa))
		*row = called;
	return true;
}

/* The row of pcs[i], which is an address from a stack or the byte before one. */
static bool row_of(struct emission *e, size_t i, struct cfi_row *row)
{
	struct made_rows *mr = e->mr;
	const uint64_t *pcs = e->pcs;
	bool before = i + 1 < e->n && pcs[i + 1] == pcs[i] + 1;
	bool after = i && pcs[i - 1] == pcs[i] - 1, ends;
	struct cfi_fde fde;

	/*
	 * Start-up code has no caller. The distance from the entry tells whether an address is in
	 * it.
	 */
	if (pcs[i] >= elf_file_entry(mr->ef) && pcs[i] < made_rows_entry_end(mr, e->cfi))
		return false;
	if (!made_rows_first(mr, pcs[i], false) && !(before && made_rows_first(mr, pcs[i], true)) &&
	    cfi_find(e->cfi, pcs[i], &fde) == 0)
		return false;
	if (made_rows_in_plt(mr, pcs[i])) {
		plt_row(row, pcs[i]);
		return after || !before;
	}
	ends = before && made_rows_return(mr, pcs[i] + 1);
	/*
	 * Two consecutive instructions of code that does not return: the second address was not
	 * planted.
	 */
	if (before && after && !ends && !made_rows_first(mr, pcs[i], true) && made_row(mr, pcs[i], false, row) == 0)
		return can_say(row);
	if (ends ? best_row(e, pcs[i], true, row) : before && made_row(mr, pcs[i], true, row) == 0)
		return can_say(row);
	if (ends) {
		only_return(row, pcs[i]);
		return true;
	}
	/*
	 * An address that only occurs as the byte before another one is looked up for a frame that
	 * called something there. The row of an instruction, or of the padding before a function,
	 * would turn any pointer into a return address.
	 */
	return (after || !before) && best_row(e, pcs[i], false, row) && can_say(row);
}

/* Rows from Go's table and of PLT entries are as reliable as those that a binary states. */
static bool is_doubtful(struct made_rows *mr, uint64_t svma)
{
	return !made_rows_first(mr, svma, false) && !made_rows_first(mr, svma, true) && !made_rows_in_plt(mr, svma);
}

size_t made_rows_emit(struct made_rows *mr, struct cfi *cfi, const uint64_t *pcs, size_t n,
		      struct strbuf *out)
{
	size_t cie[4] = { SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX }, done = 0;
	struct cfi_row run = { 0 }, row;
	/* end of the range where run's row holds, with or without pcs in it */
	uint64_t holds = 0;
	struct emission e = { .mr = mr, .cfi = cfi, .pcs = pcs, .n = n };
	bool have = false;

	for (size_t i = 0; i <= n; i++) {
		bool ok = i < n && row_of(&e, i, &row);

		if (ok)
			row.made = is_doubtful(mr, pcs[i]);
		if (ok && have && (pcs[i] == run.end || pcs[i] < holds) && same_row(&run, &row)) {
			run.end = pcs[i] + 1;
			holds = MAX(holds, row.end);
			continue;
		}
		if (have) {
			size_t *c = &cie[2 * run.made + run.signal_frame];

			if (*c == SIZE_MAX)
				*c = add_cie(out, &run);
			add_fde(out, *c, &run);
			done++;
		}
		have = ok;
		if (!ok)
			continue;
		run = row;
		run.end = run.start + 1;
		holds = row.end;
	}
	if (done)
		strbuf_add_u32(out, 0);
	free(e.called.v);
	return done;
}
