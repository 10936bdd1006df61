/*
 * DWARF expressions in call frame information (DWARF 5, 2.5.1 and 6.4.2): all operations that need
 * only registers, memory and constants. No calls, so no recursion. The operation count bounds
 * jumps.
 */
#include <errno.h>

#include "cfi/cfi.h"
#include "cfi/cfi_priv.h"

#define STACK_MAX 64
#define OPS_MAX 1000

/* DWARF 5, 7.7.1. */
enum {
	DW_OP_addr = 0x03,
	DW_OP_deref = 0x06,
	DW_OP_const1u = 0x08,
	DW_OP_const1s = 0x09,
	DW_OP_const2u = 0x0a,
	DW_OP_const2s = 0x0b,
	DW_OP_const4u = 0x0c,
	DW_OP_const4s = 0x0d,
	DW_OP_const8u = 0x0e,
	DW_OP_const8s = 0x0f,
	DW_OP_constu = 0x10,
	DW_OP_consts = 0x11,
	DW_OP_dup = 0x12,
	DW_OP_drop = 0x13,
	DW_OP_over = 0x14,
	DW_OP_pick = 0x15,
	DW_OP_swap = 0x16,
	DW_OP_rot = 0x17,
	DW_OP_abs = 0x19,
	DW_OP_and = 0x1a,
	DW_OP_div = 0x1b,
	DW_OP_minus = 0x1c,
	DW_OP_mod = 0x1d,
	DW_OP_mul = 0x1e,
	DW_OP_neg = 0x1f,
	DW_OP_not = 0x20,
	DW_OP_or = 0x21,
	DW_OP_plus = 0x22,
	DW_OP_plus_uconst = 0x23,
	DW_OP_shl = 0x24,
	DW_OP_shr = 0x25,
	DW_OP_shra = 0x26,
	DW_OP_xor = 0x27,
	DW_OP_bra = 0x28,
	DW_OP_eq = 0x29,
	DW_OP_ge = 0x2a,
	DW_OP_gt = 0x2b,
	DW_OP_le = 0x2c,
	DW_OP_lt = 0x2d,
	DW_OP_ne = 0x2e,
	DW_OP_skip = 0x2f,
	DW_OP_lit0 = 0x30,
	DW_OP_lit31 = 0x4f,
	DW_OP_reg0 = 0x50,
	DW_OP_reg31 = 0x6f,
	DW_OP_breg0 = 0x70,
	DW_OP_breg31 = 0x8f,
	DW_OP_regx = 0x90,
	DW_OP_bregx = 0x92,
	DW_OP_deref_size = 0x94,
	DW_OP_nop = 0x96,
};

struct eval {
	const struct cfi_expr_env *env;
	struct cursor c;
	uint64_t stack[STACK_MAX];
	unsigned int n;
	int err;	/* first error; pushes and pops have no effect after it */
};

static void fail(struct eval *ev, int err)
{
	if (!ev->err)
		ev->err = err;
}

static void push(struct eval *ev, uint64_t v)
{
	if (ev->n == STACK_MAX)
		fail(ev, -E2BIG);
	else
		ev->stack[ev->n++] = v;
}

static uint64_t pop(struct eval *ev)
{
	if (!ev->n) {
		fail(ev, -EINVAL);
		return 0;
	}
	return ev->stack[--ev->n];
}

/* The entry @depth below the top; 0 is the top. */
static uint64_t peek(struct eval *ev, unsigned int depth)
{
	if (depth >= ev->n) {
		fail(ev, -EINVAL);
		return 0;
	}
	return ev->stack[ev->n - 1 - depth];
}

static void push_reg(struct eval *ev, uint64_t reg, int64_t off)
{
	uint64_t v = 0;
	int err;

	err = reg > UINT16_MAX ? -EINVAL : ev->env->reg(ev->env->ctx, (unsigned int)reg, &v);
	if (err)
		fail(ev, err);
	else
		push(ev, v + (uint64_t)off);
}

static void deref(struct eval *ev, unsigned int size)
{
	uint64_t addr = pop(ev), v = 0;
	int err;

	if (ev->err)
		return;
	if (!size || size > 8) {
		fail(ev, -EINVAL);
		return;
	}
	err = ev->env->mem(ev->env->ctx, addr, &v);
	if (err)
		fail(ev, err);
	else
		push(ev, size == 8 ? v : v & ((1ull << size * 8) - 1));
}

static void jump(struct eval *ev, int16_t delta)
{
	/*
	 * Relative to the end of the operand. A jump to the end of the expression ends the
	 * evaluation.
	 */
	if (delta < 0 ? (size_t)-(int)delta > ev->c.pos : (size_t)delta > ev->c.size - ev->c.pos)
		fail(ev, -EINVAL);
	else
		ev->c.pos += (size_t)(ptrdiff_t)delta;
}

/*
 * @b is the former top of the stack. Arithmetic wraps; comparisons are signed (DWARF 5, 2.5.1.4-5).
 */
static uint64_t binary(struct eval *ev, uint8_t op, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case DW_OP_and:
		return a & b;
	case DW_OP_or:
		return a | b;
	case DW_OP_xor:
		return a ^ b;
	case DW_OP_plus:
		return a + b;
	case DW_OP_minus:
		return a - b;
	case DW_OP_mul:
		return a * b;
	case DW_OP_div:
		if (!b)
			fail(ev, -EINVAL);
		else	/* the only quotient that does not fit wraps and does not trap */
			return sb == -1 ? 0 - a : (uint64_t)(sa / sb);
		return 0;
	case DW_OP_mod:
		if (!b)
			fail(ev, -EINVAL);
		return b ? a % b : 0;
	case DW_OP_shl:
		return b < 64 ? a << b : 0;
	case DW_OP_shr:
		return b < 64 ? a >> b : 0;
	case DW_OP_shra:
		return (uint64_t)(sa >> (b < 64 ? b : 63));
	case DW_OP_eq:
		return a == b;
	case DW_OP_ne:
		return a != b;
	case DW_OP_ge:
		return sa >= sb;
	case DW_OP_gt:
		return sa > sb;
	case DW_OP_le:
		return sa <= sb;
	default:
		return sa < sb;
	}
}

static void rotate(struct eval *ev)
{
	uint64_t a = pop(ev), b = pop(ev), c = pop(ev);

	push(ev, a);
	push(ev, c);
	push(ev, b);
}

static void step_constant(struct eval *ev, uint8_t op)
{
	struct cursor *c = &ev->c;

	switch (op) {
	case DW_OP_addr:
		push(ev, cursor_u64(c) + ev->env->bias);
		return;
	case DW_OP_const1u:
		push(ev, cursor_u8(c));
		return;
	case DW_OP_const1s:
		push(ev, (uint64_t)(int64_t)(int8_t)cursor_u8(c));
		return;
	case DW_OP_const2u:
		push(ev, cursor_u16(c));
		return;
	case DW_OP_const2s:
		push(ev, (uint64_t)(int64_t)(int16_t)cursor_u16(c));
		return;
	case DW_OP_const4u:
		push(ev, cursor_u32(c));
		return;
	case DW_OP_const4s:
		push(ev, (uint64_t)(int64_t)(int32_t)cursor_u32(c));
		return;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(ev, cursor_u64(c));
		return;
	case DW_OP_constu:
		push(ev, cfi_uleb(c));
		return;
	default:
		push(ev, (uint64_t)cfi_sleb(c));
		return;
	}
}

static void step_stack(struct eval *ev, uint8_t op)
{
	uint64_t a, b;

	switch (op) {
	case DW_OP_dup:
		push(ev, peek(ev, 0));
		return;
	case DW_OP_drop:
		pop(ev);
		return;
	case DW_OP_over:
		push(ev, peek(ev, 1));
		return;
	case DW_OP_pick:
		push(ev, peek(ev, cursor_u8(&ev->c)));
		return;
	case DW_OP_swap:
		a = pop(ev);
		b = pop(ev);
		push(ev, a);
		push(ev, b);
		return;
	default:
		rotate(ev);
		return;
	}
}

static void step_other(struct eval *ev, uint8_t op)
{
	struct cursor *c = &ev->c;
	uint64_t a, reg;
	int16_t delta;

	switch (op) {
	case DW_OP_deref:
		deref(ev, 8);
		return;
	case DW_OP_deref_size:
		deref(ev, cursor_u8(c));
		return;
	case DW_OP_abs:
		a = pop(ev);
		push(ev, (int64_t)a < 0 ? 0 - a : a);
		return;
	case DW_OP_neg:
		push(ev, 0 - pop(ev));
		return;
	case DW_OP_not:
		push(ev, ~pop(ev));
		return;
	case DW_OP_plus_uconst:
		a = pop(ev);
		push(ev, a + cfi_uleb(c));
		return;
	case DW_OP_skip:
		jump(ev, (int16_t)cursor_u16(c));
		return;
	case DW_OP_bra:
		delta = (int16_t)cursor_u16(c);
		if (pop(ev))
			jump(ev, delta);
		return;
	case DW_OP_bregx:
		reg = cfi_uleb(c);
		push_reg(ev, reg, cfi_sleb(c));
		return;
	case DW_OP_regx:
		push_reg(ev, cfi_uleb(c), 0);
		return;
	case DW_OP_nop:
		return;
	default:
		fail(ev, -EINVAL);
		return;
	}
}

static void step(struct eval *ev, uint8_t op)
{
	uint64_t a, b;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		push(ev, op - DW_OP_lit0);
	} else if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_reg(ev, op - DW_OP_breg0, cfi_sleb(&ev->c));
	} else if (op >= DW_OP_reg0 && op <= DW_OP_reg31) {
		/*
		 * A register location in the standard. We push the register's value, as libgcc
		 * does.
		 */
		push_reg(ev, op - DW_OP_reg0, 0);
	} else if (op == DW_OP_addr || (op >= DW_OP_const1u && op <= DW_OP_consts)) {
		step_constant(ev, op);
	} else if (op >= DW_OP_dup && op <= DW_OP_rot) {
		step_stack(ev, op);
	} else if (op < DW_OP_and || op > DW_OP_ne || op == DW_OP_neg || op == DW_OP_not ||
		   op == DW_OP_plus_uconst || op == DW_OP_bra) {
		step_other(ev, op);
	} else {
		b = pop(ev);
		a = pop(ev);
		push(ev, binary(ev, op, a, b));
	}
}

int cfi_expr_eval(const uint8_t *expr, size_t len, const struct cfi_expr_env *env, bool has_push,
		  uint64_t first, uint64_t *result)
{
	struct eval ev;

	ev.env = env;
	ev.n = 0;
	ev.err = 0;
	cursor_init(&ev.c, expr, len);
	if (has_push)
		push(&ev, first);
	for (unsigned int ops = 0; !ev.err && cursor_left(&ev.c); ops++) {
		if (ops == OPS_MAX)
			return -E2BIG;
		step(&ev, cursor_u8(&ev.c));
		/* A truncated operand is read as 0, so the result of the operation is invalid. */
		if (!cursor_ok(&ev.c))
			return -EINVAL;
	}
	if (ev.err)
		return ev.err;
	if (!ev.n)
		return -EINVAL;
	*result = ev.stack[ev.n - 1];
	return 0;
}
