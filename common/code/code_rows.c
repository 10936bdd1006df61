/* Unwind rows read off the code (code_rows.h). */
#include "code/code_rows.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "code/code_walk.h"
#include "code/x86_insn.h"

/*
 * What the stack pointer points to when rt_sigreturn(2) is called: struct ucontext, whose
 * uc_mcontext begins at 40 and has r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp and rip
 * (arch/x86/include/uapi/asm/sigcontext.h).
 */
static void signal_row(const struct found *f, struct cfi_row *row)
{
	static const uint8_t order[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16 };

	row->cfa = (struct cfi_rule){ .how = CFI_REGISTER, .reg = CFI_REG_SP, .off = f->ra.off };
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		row->regs[order[i]] = (struct cfi_rule){ .how = CFI_OFFSET,
							 .off = 40 + 8 * (int64_t)i };
	row->signal_frame = true;
}

/* From register numbers in instructions to DWARF numbers (psABI 1.0, figure 3.36). */
static const uint8_t dwarf_of[NREG] = { 0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };

/* DWARF 5, 7.7.1 */
enum { OP_DEREF = 0x06, OP_CONSTS = 0x11, OP_PLUS = 0x22, OP_BREG0 = 0x70 };

/*
 * Sets rule @r to the address that @v's register points to or, with @deref, to the value there plus
 * @plus.
 */
static void set_expr(struct code_rows *cr, struct cfi_rule *r, enum cfi_how how, const struct val *v,
		     bool deref, int64_t plus)
{
	struct strbuf *sb;

	XGROW(cr->exprs, cr->nexprs, cr->cap_exprs);
	sb = &cr->exprs[cr->nexprs++];
	*sb = (struct strbuf)STRBUF_INIT;
	strbuf_addc(sb, (char)(OP_BREG0 + dwarf_of[v->base]));
	strbuf_add_sleb(sb, v->off);
	if (deref) {
		strbuf_addc(sb, OP_DEREF);
		strbuf_addc(sb, OP_CONSTS);
		strbuf_add_sleb(sb, v->add + plus);
		strbuf_addc(sb, OP_PLUS);
	}
	*r = (struct cfi_rule){ .how = (uint8_t)how, .expr = (const uint8_t *)sb->s,
				.expr_len = (uint32_t)sb->len };
}

static int frame_row(struct code_rows *cr, const struct found *f, bool after_call,
		     struct cfi_row *row)
{
	/* Caller-saved registers are known in the innermost frame, but not in its callers. */
	if (after_call && (CALLER_SAVED >> f->ra.base & 1))
		return -ENOENT;
	if (f->ra.kind == VAL_MEM) { /* a realigned frame, which saves the old stack pointer */
		row->cfa_how = CFI_VAL_EXPR;
		set_expr(cr, &row->cfa, CFI_VAL_EXPR, &f->ra, true, 8);
	} else {
		row->cfa = (struct cfi_rule){ .how = CFI_REGISTER,
					      .reg = dwarf_of[f->ra.base],
					      .off = f->ra.off + 8 };
	}
	row->regs[CFI_REG_RA] = (struct cfi_rule){ .how = CFI_OFFSET, .off = -8 };
	for (size_t i = 0; i < NKEPT; i++) {
		struct cfi_rule *r = &row->regs[code_kept[i].dwarf];
		const struct val *v = &f->saved[i];
		bool in_frame = v->kind == VAL_MEM && !v->add;

		if (v->kind == VAL_REG && v->base == code_kept[i].reg && !v->off)
			continue;
		/*
		 * Only within its own frame: assembly subroutines also load from their caller's
		 * frame.
		 */
		if (in_frame && v->base == f->ra.base && f->ra.kind == VAL_REG && v->off < f->ra.off)
			*r = (struct cfi_rule){ .how = CFI_OFFSET, .off = v->off - f->ra.off - 8 };
		else if (in_frame && (v->base != f->ra.base || f->ra.kind == VAL_MEM) &&
			 (!after_call || !(CALLER_SAVED >> v->base & 1)))
			set_expr(cr, r, CFI_EXPR, v, false, 0);
		else
			r->how = CFI_UNDEF;
	}
	return 0;
}

/*
 * The row before a jump that switches stacks, as in longjmp() and in fiber libraries. The caller is
 * the jump's target, with the registers saved in the context. The stack pointer has its own rule,
 * because the registers may be saved anywhere.
 */
static int jump_row(struct code_rows *cr, const struct found *f, struct cfi_row *row)
{
	const struct val *sp = &f->jump.sp, *to = &f->jump.to;

	if (f->jump.n != 1 || (to->kind != VAL_REG && to->kind != VAL_MEM) || to->add || sp->kind != VAL_REG || sp->base != RSP)
		return -ENOENT;
	row->cfa = (struct cfi_rule){ .how = CFI_REGISTER, .reg = CFI_REG_SP, .off = sp->off };
	set_expr(cr, &row->regs[CFI_REG_SP], CFI_VAL_EXPR, sp, false, 0);
	set_expr(cr, &row->regs[CFI_REG_RA], to->kind == VAL_MEM ? CFI_EXPR : CFI_VAL_EXPR, to, false, 0);
	for (size_t i = 0; i < NKEPT; i++) {
		struct cfi_rule *r = &row->regs[code_kept[i].dwarf];
		const struct val *v = &f->jump.saved[i];

		if (v->kind == VAL_REG && v->base == code_kept[i].reg && !v->off)
			continue;
		if (v->kind == VAL_MEM && !v->add)
			set_expr(cr, r, CFI_EXPR, v, false, 0);
		else
			r->how = CFI_UNDEF;
	}
	return 0;
}

/* Finds the direct or indirect call that ends at @svma, as far as the bytes show it. */
static bool call_before(struct code_rows *cr, uint64_t svma, struct x86_insn *call)
{
	const uint8_t *data;

	for (uint64_t len = 2; len <= 8; len++) {
		size_t n = svma >= len ? cr->src.read(cr->src.ctx, svma - len, &data) : 0;

		if (n && x86_decode(data, n, svma - len, call) && call->len == len &&
		    (call->flow == X86_CALL || call->flow == X86_CALL_FAR))
			return true;
	}
	return false;
}

bool code_call_target(struct code_rows *cr, uint64_t svma, uint64_t *target)
{
	struct x86_insn in, at;
	const uint8_t *data;
	size_t n;

	*target = 0;
	if (!call_before(cr, svma, &in))
		return false;
	if (in.flow != X86_CALL)
		return true;
	*target = in.target;
	/* A PLT entry jumps through a table; newer ones begin with endbr64. */
	n = cr->src.read(cr->src.ctx, in.target, &data);
	if (code_is_endbr(data, n)) {
		data += 4;
		n -= 4;
	}
	if (n && x86_decode(data, n, in.target, &at) && at.flow == X86_JUMP_FAR)
		*target = 0;
	return true;
}

/* "mov $SYS_rt_sigreturn, %rax; syscall" at @svma. */
bool code_is_restorer(struct code_rows *cr, uint64_t svma)
{
	struct x86_insn in;
	const uint8_t *data;
	size_t n = cr->src.read(cr->src.ctx, svma, &data);

	if (!n || !x86_decode(data, n, svma, &in) || in.effect != X86_CONST || in.dst != RAX ||
	    in.disp != SYS_rt_sigreturn)
		return false;
	return n >= in.len + 2u && data[in.len] == 0x0f && data[in.len + 1] == 0x05;
}

bool code_after_syscall(struct code_rows *cr, uint64_t svma)
{
	const uint8_t *data;

	return svma >= 2 && cr->src.read(cr->src.ctx, svma - 2, &data) >= 2 && data[0] == 0x0f &&
	       data[1] == 0x05;
}

bool code_in_restorer(struct code_rows *cr, uint64_t svma)
{
	/* The system call has 2 bytes, setting its number 5 or 7. */
	return code_is_restorer(cr, svma) || code_is_restorer(cr, svma - 5) ||
	       code_is_restorer(cr, svma - 7) || code_is_restorer(cr, svma - 9);
}

static uint64_t seen_at(const struct code_rows *cr, uint64_t svma)
{
	const uint64_t *seen = u64map_get(&cr->seen[0], svma);

	return seen ? *seen : 0;
}

/*
 * Code behind padding belongs to the function if a branch leads there; a jump may lead to another
 * function. A hlt often guards the place behind a call that never returns. A system call that does
 * not return ends its path before it is marked as seen.
 */
uint64_t code_extent(struct code_rows *cr, uint64_t svma, uint64_t limit)
{
	struct found f = { 0 };
	uint64_t end = svma;

	code_explore(cr, svma, 0, &f);
	while (svma < limit) {
		const uint8_t *data;
		struct x86_insn in;
		size_t n = cr->src.read(cr->src.ctx, svma, &data);

		if (!n || !x86_decode(data, n, svma, &in) || in.len > limit - svma)
			break;
		if ((seen_at(cr, svma) & (svma == end ? SEEN_INSN : SEEN_BRANCH)) ||
		    (svma == end && in.flow == X86_SYSCALL && f.exits) ||
		    (svma == end && in.flow == X86_STOP && (seen_at(cr, svma + in.len) & SEEN_INSN)))
			end = svma + in.len;
		else if (!code_is_nop(data, n))
			break;
		svma += in.len;
	}
	return end;
}

bool code_leads_into(struct code_rows *cr, uint64_t start, uint64_t lo, uint64_t hi)
{
	struct found f = { 0 };
	uint64_t svma, seen;
	size_t it = 0;

	code_explore(cr, start, 0, &f);
	while (u64map_next(&cr->seen[0], &it, &svma, &seen))
		if (seen & SEEN_INSN && svma >= lo && svma <= hi)
			return true;
	return false;
}

bool code_is_return(struct code_rows *cr, uint64_t svma)
{
	struct x86_insn call;

	return call_before(cr, svma, &call) || code_is_restorer(cr, svma);
}

/*
 * The place where the path stored the caller's value of @k. Slots below the stack pointer no longer
 * count.
 */
static void saved_at(const struct state *st, const struct kept_reg *k, struct cfi_rule *r)
{
	const struct val own = { .kind = VAL_REG, .base = k->reg }, *sp = &st->r[RSP];

	for (unsigned int i = 0; i < st->nslots; i++) {
		const struct slot *s = &st->slots[i];

		if (s->at.base != RSP || !val_same(&s->val, &own) ||
		    (sp->kind == VAL_REG && sp->base == RSP && s->at.off < sp->off))
			continue;
		*r = (struct cfi_rule){ .how = CFI_OFFSET, .off = s->at.off - 8 };
		return;
	}
	if (!val_same(&st->r[k->reg], &own))
		r->how = CFI_UNDEF;
}

/* Is @v an address on the stack that the function was called on? */
static bool of_own_stack(const struct val *v)
{
	return v->kind == VAL_REG && v->base == RSP;
}

/*
 * The row at @svma, from the paths that begin at @start. Saved registers are where they were
 * stored, relative to the base of the frame: the stack pointer, or %rbp if that stands for it.
 * *@switched: all paths have loaded the stack pointer from an argument or from memory, and no
 * register stands for the old one.
 */
static int arrival_row(struct code_rows *cr, uint64_t start, uint64_t svma, struct cfi_row *row, bool *switched)
{
	struct found f = { .target = svma };
	const struct val *base;

	code_explore(cr, start, 0, &f);
	base = &f.at.r[RSP];
	*switched = f.reached && !of_own_stack(&f.at.r[RBP]) &&
		    (base->kind == VAL_MEM || (base->kind == VAL_REG && CALLER_SAVED >> base->base & 1));
	if (f.reached && (base->kind != VAL_REG || base->base != RSP))
		base = &f.at.r[RBP];
	if (!f.reached || base->kind != VAL_REG || base->base != RSP)
		return -ENOENT;
	row->cfa = (struct cfi_rule){
		.how = CFI_REGISTER,
		.reg = base == &f.at.r[RSP] ? CFI_REG_SP : CFI_REG_BP,
		.off = 8 - base->off,
	};
	row->regs[CFI_REG_RA] = (struct cfi_rule){ .how = CFI_OFFSET, .off = -8 };
	for (size_t i = 0; i < NKEPT; i++)
		saved_at(&f.at, &code_kept[i], &row->regs[code_kept[i].dwarf]);
	return 0;
}

/*
 * Merges two rows for one place. False if they find the return address at different places; rows
 * with different bases cannot be compared. If the rows agree on the frame, a register unknown in
 * @row takes its rule from @other.
 */
static bool merge(struct cfi_row *row, const struct cfi_row *other)
{
	if (row->cfa_how != other->cfa_how || row->cfa.reg != other->cfa.reg)
		return true;
	if (row->cfa.off != other->cfa.off)
		return false;
	for (size_t i = 0; i < NKEPT; i++) {
		struct cfi_rule *r = &row->regs[code_kept[i].dwarf];
		const struct cfi_rule *o = &other->regs[code_kept[i].dwarf];

		if (r->how == CFI_UNDEF)
			*r = *o;
	}
	return true;
}

static void clear_row(struct cfi_row *row, uint64_t svma)
{
	memset(row, 0, sizeof(*row));
	row->start = svma;
	row->end = svma + 1;
	row->ra_reg = CFI_REG_RA;
	row->cfa_how = CFI_REGISTER;
}

/*
 * A return to @from, where no call ends: something put this address on the stack, for code that
 * runs when the first function of a context returns. The kernel does so for signal handlers,
 * makecontext() for code that ends in exit(). Like a signal handler's frame, it was never called. A
 * slice has no code that would show this, so the row says it.
 */
static int planted_row(struct code_rows *cr, uint64_t from, struct cfi_row *row)
{
	/*
	 * Most such addresses are function addresses and not return addresses, and functions
	 * return.
	 */
	struct found f = { .brief = true };

	code_explore(cr, from, 0, &f);
	if (f.returns || (f.open && !f.sigreturn))
		return -ENOENT;
	if (f.sigreturn && code_is_restorer(cr, from)) {
		signal_row(&f, row);
		return 0;
	}
	row->cfa = (struct cfi_rule){ .how = CFI_REGISTER, .reg = CFI_REG_SP };
	row->regs[CFI_REG_RA].how = CFI_UNDEF;
	row->signal_frame = true;
	return 0;
}

int code_row(struct code_rows *cr, uint64_t svma, bool after_call, struct cfi_row *row)
{
	uint64_t from = svma + after_call, start;
	bool entry, arrives, switched = false;
	struct found f = { 0 };
	struct cfi_row arrival;
	struct x86_insn call = { .len = 0 };

	clear_row(row, svma);
	if (after_call && !call_before(cr, from, &call))
		return planted_row(cr, from, row);
	if (!after_call && code_in_restorer(cr, svma)) {
		f.ra = (struct val){ .kind = VAL_REG, .base = RSP };
		signal_row(&f, row);
		return 0;
	}
	if (after_call && code_call_ending(cr, &call, from, 0) != END_RETURNS)
		f.open = true;
	else
		code_explore(cr, from, 0, &f);
	if (f.by_type && (f.conflict || !f.have)) {
		f = (struct found){ .firsts = true };
		code_explore(cr, from, 0, &f);
	}
	if (f.sigreturn && !f.returns) {
		signal_row(&f, row);
		return 0;
	}
	if (f.sigreturn)
		return -ENOENT;
	start = cr->src.start_of(cr->src.ctx, svma, &entry);
	clear_row(&arrival, svma);
	/* The frame is the same before the call, whether the call returns or not. */
	if (after_call)
		from -= call.len;
	arrives = start && entry && arrival_row(cr, start, from, &arrival, &switched) == 0;
	/*
	 * While the function is on its own stack, that stack determines the caller, not the context
	 * that it will jump to.
	 */
	if (arrives && arrival.cfa.reg == CFI_REG_SP && f.have && f.ra.base != RSP && f.ra.base != RBP)
		f.have = false;
	if (f.have && !f.conflict && frame_row(cr, &f, after_call, row) == 0)
		return !arrives || merge(row, &arrival) ? 0 : -ENOENT;
	if (arrives) {
		*row = arrival;
		return 0;
	}
	if (switched && !after_call && !f.have)
		return jump_row(cr, &f, row);
	/* The base of a thread or program: after the call there is nothing but its exit. */
	if (!after_call || f.returns || f.open || f.calls || !f.exits)
		return -ENOENT;
	row->cfa = (struct cfi_rule){ .how = CFI_REGISTER, .reg = CFI_REG_SP };
	row->regs[CFI_REG_RA].how = CFI_UNDEF;
	return 0;
}

int code_row_from(struct code_rows *cr, uint64_t start, uint64_t svma, bool after_call, struct cfi_row *row)
{
	struct x86_insn call = { .len = 0 };
	bool switched;

	clear_row(row, svma);
	if (after_call && !call_before(cr, svma + 1, &call))
		return -ENOENT;
	return arrival_row(cr, start, svma + after_call - call.len, row, &switched);
}
