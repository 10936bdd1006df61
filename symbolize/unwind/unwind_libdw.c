/*
 * libdw as an oracle. Its own reader of .eh_frame and .debug_frame gives each frame's rules as
 * lists of DWARF operations, which this file evaluates. Our CFI reader is not involved. libdwfl's
 * own walk is not used: it needs whole binaries at their addresses, but this unwinder must also
 * work on slices without code.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "cfi/cfi.h"
#include "elf/elf_file.h"
#include "modules/module.h"
#include "stackcopy.h"
#include "unwind/unwind.h"
#include "unwind/walk.h"

#define MAX_TABLES 3
#define EVAL_STACK 64
#define EVAL_STEPS 1000

/* The tables of one binary, in lookup order. */
struct tables {
	Dwarf_CFI *cfi[MAX_TABLES];
	int n;
	Dwarf_CFI *owned[MAX_TABLES]; /* from dwarf_getcfi_elf() */
	int nowned;
	Dwarf *dwarf[MAX_TABLES]; /* owned */
	int ndwarf;
	struct u64map frames; /* svma -> Dwarf_Frame *, owned; 0 = no rows */
};

struct libdw {
	struct walker walker;	/* must be first: walk_join_holds() */
	struct u64map modules; /* module id -> struct tables * */
};

/* ---- the tables of a binary ---- */

static void add_eh_frame(struct tables *t, struct elf_file *ef)
{
	Dwarf_CFI *cfi = ef ? dwarf_getcfi_elf(elf_file_handle(ef)) : NULL;

	if (!cfi)
		return;
	t->owned[t->nowned++] = cfi;
	t->cfi[t->n++] = cfi;
}

static bool add_debug_frame(struct tables *t, struct elf_file *ef)
{
	Dwarf *dw = ef ? dwarf_begin_elf(elf_file_handle(ef), DWARF_C_READ, NULL) : NULL;
	Dwarf_CFI *cfi;

	if (!dw)
		return false;
	t->dwarf[t->ndwarf++] = dw;
	cfi = dwarf_getcfi(dw);
	if (!cfi)
		return false;
	t->cfi[t->n++] = cfi;
	return true;
}

/* Tables are in the order of module_cfi(). */
static struct tables *tables_new(struct module *mod)
{
	struct tables *t = xcalloc(1, sizeof(*t));

	add_eh_frame(t, mod->elf);
	if (!add_debug_frame(t, mod->elf))
		add_debug_frame(t, mod->files.debug);
	if (!t->n) {
		add_eh_frame(t, module_captured(mod));
		add_debug_frame(t, mod->captured);
	}
	return t;
}

static void tables_free(struct tables *t)
{
	uint64_t svma, frame;
	size_t it = 0;

	while (u64map_next(&t->frames, &it, &svma, &frame))
		free((Dwarf_Frame *)(uintptr_t)frame);
	u64map_fini(&t->frames);
	for (int i = 0; i < t->nowned; i++)
		dwarf_cfi_end(t->owned[i]);
	for (int i = 0; i < t->ndwarf; i++)
		dwarf_end(t->dwarf[i]);
	free(t);
}

/* The rules at @svma, or NULL. Borrowed. */
static Dwarf_Frame *frame_at(struct libdw *d, struct module *mod, uint64_t svma)
{
	uint64_t *p = u64map_put(&d->modules, mod->id, NULL);
	Dwarf_Frame *frame = NULL;
	struct tables *t;
	bool is_new;

	if (!*p)
		*p = (uintptr_t)tables_new(mod);
	t = (struct tables *)(uintptr_t)*p;
	p = u64map_put(&t->frames, svma, &is_new);
	if (is_new) {
		for (int i = 0; i < t->n && !frame; i++)
			if (dwarf_cfi_addrframe(t->cfi[i], svma, &frame))
				frame = NULL;
		*p = (uintptr_t)frame;
	}
	return (Dwarf_Frame *)(uintptr_t)*p;
}

/* ---- evaluation of operations (DWARF 5, 2.5 and 2.6) ---- */

struct eval {
	struct walk_at *at;
	struct uregs *regs; /* the callee's */
	uint64_t cfa;
	uint64_t st[EVAL_STACK];
	int n;
	bool is_value; /* the result is the value, not its location */
	bool is_reg; /* the result is a register number */
	bool own_sp; /* the row has a rule for the caller's stack pointer */
};

static bool pop(struct eval *ev, uint64_t *v)
{
	if (ev->n == 0)
		return false;
	*v = ev->st[--ev->n];
	return true;
}

static bool put(struct eval *ev, uint64_t v)
{
	if (ev->n == EVAL_STACK)
		return false;
	ev->st[ev->n++] = v;
	return true;
}

static enum step_end put_reg(struct eval *ev, uint64_t reg, uint64_t off)
{
	uint64_t v;

	if (reg >= CFI_NREGS || !uregs_get(ev->regs, reg, ev->at->in->stack, &v))
		return STEP_UNKNOWN_REG;
	return put(ev, v + off) ? STEP_CALLER : STEP_NO_ROWS;
}

static enum step_end deref(struct eval *ev, unsigned int size)
{
	uint64_t addr, v;

	if (!pop(ev, &addr) || size == 0 || size > 8)
		return STEP_NO_ROWS;
	if (stack_view_read(ev->at->in->stack, addr, &v)) {
		ev->at->fault = addr;
		return STEP_FAULT;
	}
	if (size < 8)
		v &= (1ull << 8 * size) - 1;
	return put(ev, v) ? STEP_CALLER : STEP_NO_ROWS;
}

/* False: not a binary operator, or an invalid operation. */
static bool binary(uint8_t atom, uint64_t a, uint64_t b, uint64_t *v)
{
	switch (atom) {
	case DW_OP_plus: *v = a + b; return true;
	case DW_OP_minus: *v = a - b; return true;
	case DW_OP_mul: *v = a * b; return true;
	case DW_OP_and: *v = a & b; return true;
	case DW_OP_or: *v = a | b; return true;
	case DW_OP_xor: *v = a ^ b; return true;
	case DW_OP_shl: *v = b < 64 ? a << b : 0; return true;
	case DW_OP_shr: *v = b < 64 ? a >> b : 0; return true;
	case DW_OP_shra: *v = (int64_t)a >> (b < 64 ? b : 63); return true;
	case DW_OP_eq: *v = a == b; return true;
	case DW_OP_ne: *v = a != b; return true;
	case DW_OP_lt: *v = (int64_t)a < (int64_t)b; return true;
	case DW_OP_le: *v = (int64_t)a <= (int64_t)b; return true;
	case DW_OP_gt: *v = (int64_t)a > (int64_t)b; return true;
	case DW_OP_ge: *v = (int64_t)a >= (int64_t)b; return true;
	default: return false;
	}
}

static enum step_end arithmetic(struct eval *ev, uint8_t atom)
{
	uint64_t a, b, v;

	if (!pop(ev, &b))
		return STEP_NO_ROWS;
	switch (atom) {
	case DW_OP_abs: v = (int64_t)b < 0 ? -b : b; break;
	case DW_OP_neg: v = -b; break;
	case DW_OP_not: v = ~b; break;
	default:
		if (!pop(ev, &a) || !binary(atom, a, b, &v))
			return STEP_NO_ROWS;
		break;
	}
	return put(ev, v) ? STEP_CALLER : STEP_NO_ROWS;
}

static enum step_end shuffle(struct eval *ev, uint8_t atom, uint64_t arg)
{
	uint64_t *top = &ev->st[ev->n];
	uint64_t v;

	switch (atom) {
	case DW_OP_dup: return ev->n >= 1 && put(ev, top[-1]) ? STEP_CALLER : STEP_NO_ROWS;
	case DW_OP_over: return ev->n >= 2 && put(ev, top[-2]) ? STEP_CALLER : STEP_NO_ROWS;
	case DW_OP_pick:
		return arg < (uint64_t)ev->n && put(ev, ev->st[ev->n - 1 - arg]) ? STEP_CALLER
										 : STEP_NO_ROWS;
	case DW_OP_drop: return pop(ev, &v) ? STEP_CALLER : STEP_NO_ROWS;
	default:
		if (ev->n < 2)
			return STEP_NO_ROWS;
		v = top[-1];
		top[-1] = top[-2];
		top[-2] = v;
		return STEP_CALLER;
	}
}

static enum step_end eval_op(struct eval *ev, const Dwarf_Op *op)
{
	uint8_t a = op->atom;
	bool ok;

	if (a >= DW_OP_lit0 && a <= DW_OP_lit31) {
		ok = put(ev, a - DW_OP_lit0);
	} else if (a >= DW_OP_breg0 && a <= DW_OP_breg31) {
		return put_reg(ev, a - DW_OP_breg0, op->number);
	} else if (a >= DW_OP_reg0 && a <= DW_OP_reg31) {
		ev->is_reg = true;
		ok = put(ev, a - DW_OP_reg0);
	} else {
		switch (a) {
		case DW_OP_bregx: return put_reg(ev, op->number, op->number2);
		case DW_OP_regx:
			ev->is_reg = true;
			ok = put(ev, op->number);
			break;
		case DW_OP_addr: ok = put(ev, op->number + ev->at->bias); break;
		case DW_OP_const1u:
		case DW_OP_const1s:
		case DW_OP_const2u:
		case DW_OP_const2s:
		case DW_OP_const4u:
		case DW_OP_const4s:
		case DW_OP_const8u:
		case DW_OP_const8s:
		case DW_OP_constu:
		case DW_OP_consts: ok = put(ev, op->number); break;
		case DW_OP_call_frame_cfa: ok = put(ev, ev->cfa); break;
		case DW_OP_plus_uconst:
			ok = ev->n > 0;
			if (ok)
				ev->st[ev->n - 1] += op->number;
			break;
		case DW_OP_deref: return deref(ev, 8);
		case DW_OP_deref_size: return deref(ev, op->number);
		case DW_OP_dup:
		case DW_OP_over:
		case DW_OP_pick:
		case DW_OP_drop:
		case DW_OP_swap: return shuffle(ev, a, op->number);
		case DW_OP_stack_value:
			ev->is_value = true;
			ok = true;
			break;
		case DW_OP_nop: ok = true; break;
		default: return arithmetic(ev, a);
		}
	}
	return ok ? STEP_CALLER : STEP_NO_ROWS;
}

/* Index of the operation that the branch @op jumps to; @n: the end of the expression; -1: none. */
static int branch_target(const Dwarf_Op *ops, size_t n, const Dwarf_Op *op)
{
	Dwarf_Word to = op->offset + 3 + (int16_t)op->number;

	for (size_t i = 0; i < n; i++)
		if (ops[i].offset == to)
			return i;
	return to > ops[n - 1].offset ? (int)n : -1;
}

/* Returns STEP_CALLER with the result in *@v and its type in @ev. */
static enum step_end eval_ops(struct eval *ev, const Dwarf_Op *ops, size_t n, uint64_t *v)
{
	int steps = 0;

	ev->n = 0;
	ev->is_value = ev->is_reg = false;
	for (size_t i = 0; i < n;) {
		enum step_end res = STEP_CALLER;
		uint64_t cond = 1;
		int next = i + 1;

		if (++steps > EVAL_STEPS)
			return STEP_NO_ROWS;
		if (ops[i].atom == DW_OP_skip || ops[i].atom == DW_OP_bra) {
			if (ops[i].atom == DW_OP_bra && !pop(ev, &cond))
				return STEP_NO_ROWS;
			if (cond)
				next = branch_target(ops, n, &ops[i]);
			if (next < 0)
				return STEP_NO_ROWS;
		} else {
			res = eval_op(ev, &ops[i]);
		}
		if (res != STEP_CALLER)
			return res;
		i = next;
	}
	return pop(ev, v) ? STEP_CALLER : STEP_NO_ROWS;
}

/* ---- a step ---- */

enum reg_state {
	REG_KEEPS, /* the callee did not touch it */
	REG_LOST,
	REG_HAVE,
};

/*
 * Stores the caller's register @reg in *@v. libdw says "undefined" also for a register without a
 * rule, and does not distinguish the two. Such a register keeps its value, as in the other
 * unwinders. The return address has no value to keep.
 */
static enum reg_state caller_reg(struct eval *ev, Dwarf_Frame *frame, int reg, bool is_ra,
				 uint64_t *v, enum step_end *res)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	*res = STEP_CALLER;
	if (dwarf_frame_register(frame, reg, mem, &ops, &n)) {
		*res = STEP_NO_ROWS;
		return REG_LOST;
	}
	if (n == 0 && ops)
		return is_ra ? REG_LOST : REG_KEEPS;
	if (n == 0)
		return REG_KEEPS;
	*res = eval_ops(ev, ops, n, v);
	if (*res != STEP_CALLER)
		return REG_LOST;
	if (ev->is_reg) {
		ev->own_sp |= reg == CFI_REG_SP;
		if (!uregs_get(ev->regs, *v, ev->at->in->stack, v))
			*res = STEP_UNKNOWN_REG;
	} else if (!ev->is_value) {
		uint64_t addr = *v;

		if (reg == CFI_REG_SP)
			ev->own_sp = true;
		if (!is_ra && !ev->own_sp && save_is_stale(ev->regs->v[CFI_REG_SP], ev->cfa, addr))
			return REG_KEEPS;
		if (stack_view_read(ev->at->in->stack, addr, v)) {
			ev->at->fault = addr;
			*res = STEP_FAULT;
		}
	}
	return *res == STEP_CALLER ? REG_HAVE : REG_LOST;
}

static enum step_end libdw_step(void *priv, struct walk_at *at, struct uregs *regs)
{
	Dwarf_Frame *frame = frame_at(priv, at->mod, at->svma);
	struct eval ev = { .at = at, .regs = regs };
	struct uregs to = *regs;
	enum step_end res;
	enum reg_state st;
	uint64_t v, cfa;
	Dwarf_Op *ops;
	bool signal;
	size_t n;
	int ra;

	if (!frame || dwarf_frame_cfa(frame, &ops, &n) || n == 0)
		return STEP_NO_ROWS;
	ra = dwarf_frame_info(frame, NULL, NULL, &signal);
	st = caller_reg(&ev, frame, ra, true, &v, &res);
	/* Evaluated before the CFA is known: only to see whether there is a caller. */
	if (st == REG_LOST && res == STEP_CALLER)
		return STEP_OUTERMOST;
	res = eval_ops(&ev, ops, n, &cfa);
	if (res != STEP_CALLER)
		return res;
	ev.cfa = cfa;
	uregs_set(&to, CFI_REG_SP, cfa);
	/* The stack pointer first, since the others depend on it. */
	for (int i = 0; i < CFI_REG_RA; i++) {
		int reg = (i + CFI_REG_SP) % CFI_REG_RA;

		st = caller_reg(&ev, frame, reg, false, &v, &res);
		if (st == REG_HAVE)
			uregs_set(&to, reg, v);
		else if (st == REG_LOST)
			to.known &= ~(1u << reg);
	}
	st = caller_reg(&ev, frame, ra, true, &v, &res);
	if (st == REG_KEEPS)
		return STEP_NO_ROWS;
	if (st == REG_LOST)
		return res;
	uregs_set(&to, CFI_REG_RA, v);
	if (!(to.known >> CFI_REG_SP & 1))
		return STEP_UNKNOWN_REG;
	*regs = to;
	at->signal = signal;
	return STEP_CALLER;
}

static void *libdw_create(void)
{
	struct libdw *d = xcalloc(1, sizeof(*d));

	walker_init(&d->walker, libdw_step, d);
	return d;
}

static void libdw_destroy(void *priv)
{
	struct libdw *d = priv;
	uint64_t id, tables;
	size_t it = 0;

	while (u64map_next(&d->modules, &it, &id, &tables))
		tables_free((struct tables *)(uintptr_t)tables);
	u64map_fini(&d->modules);
	walker_fini(&d->walker);
	free(d);
}

static void libdw_unwind(void *priv, const struct unwind_input *in, struct unwind_result *out)
{
	struct libdw *d = priv;

	walk_stack(&d->walker, in, out);
}

static void libdw_forget(void *priv, uint32_t tid)
{
	struct libdw *d = priv;

	walk_forget(&d->walker, tid);
}

const struct unwinder_ops unwind_libdw = {
	.name = "libdw",
	.create = libdw_create,
	.destroy = libdw_destroy,
	.unwind = libdw_unwind,
	.forget = libdw_forget,
	.join_holds = walk_join_holds,
};
