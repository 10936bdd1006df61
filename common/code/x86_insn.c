/* Decoding x86-64 instructions (x86_insn.h). */
#include "code/x86_insn.h"

#include <string.h>

#include "base/cursor.h"

#define LEN_MAX 15

/* What follows an opcode, and which operand it writes. */
enum {
	BAD = 1 << 0,
	MRM = 1 << 1,	/* a ModRM byte */
	I8 = 1 << 2,	/* immediate of 1 byte */
	I16 = 1 << 3,
	IZ = 1 << 4,	/* of 2 or 4 bytes, by operand size */
	WREG = 1 << 5,	/* writes ModRM.reg */
	WRM = 1 << 6,	/* writes ModRM.rm if that is a register */
	WOP = 1 << 7,	/* writes the register in the opcode's low bits */
};

#define R4(x) x, x, x, x
#define R8(x) R4(x), R4(x)
/* Eight opcodes of an arithmetic operation; those at 6 and 7 are invalid or prefixes. */
#define ALU MRM | WRM, MRM | WRM, MRM | WREG, MRM | WREG, I8, IZ, BAD, BAD

static const uint8_t one_byte[256] = {
	[0x00] = ALU, ALU, ALU, ALU, ALU, ALU, ALU,
	[0x38] = MRM, MRM, MRM, MRM, I8, IZ, BAD, BAD,
	/* REX, push and pop are handled before; pop writes */
	[0x58] = R8(WOP),
	[0x60] = BAD, BAD, BAD, MRM | WREG,
	[0x68] = IZ, MRM | IZ | WREG, I8, MRM | I8 | WREG,
	[0x70] = R8(I8), R8(I8),
	[0x80] = MRM | I8 | WRM, MRM | IZ | WRM, BAD, MRM | I8 | WRM, MRM, MRM,
	[0x86] = MRM | WREG | WRM, MRM | WREG | WRM,
	[0x88] = MRM | WRM, MRM | WRM, MRM | WREG, MRM | WREG, MRM | WRM, MRM | WREG, MRM, MRM | WRM,
	[0x90] = R8(WOP),
	[0x9a] = BAD,
	[0xa8] = I8, IZ,
	[0xb0] = R8(I8 | WOP), R8(IZ | WOP),
	[0xc0] = MRM | I8 | WRM, MRM | I8 | WRM, I16, 0, BAD, BAD, MRM | I8 | WRM, MRM | IZ | WRM,
	[0xc8] = I16 | I8, 0, I16, 0, 0, I8, BAD, 0,
	[0xd0] = R4(MRM | WRM), BAD, BAD, BAD, 0,
	[0xd8] = R8(MRM),
	[0xe0] = R8(I8),
	[0xe8] = IZ, IZ, BAD, I8,
	[0xf6] = MRM, MRM,
	[0xfe] = MRM | WRM, MRM | WRM,
};

static const uint8_t two_byte[256] = {
	[0x00] = R4(MRM), BAD, 0, 0, 0,
	[0x08] = 0, 0, BAD, 0, BAD, MRM, 0, MRM | I8,
	[0x10] = R8(MRM), R8(MRM),
	[0x20] = R4(MRM | WRM), R4(BAD), R4(MRM), MRM | WREG, MRM | WREG, MRM, MRM,
	[0x38] = BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD,
	[0x40] = R8(MRM | WREG), R8(MRM | WREG),
	[0x50] = MRM | WREG, MRM, MRM, MRM, R4(MRM), R8(MRM),
	[0x60] = R8(MRM), R8(MRM),
	[0x70] = R4(MRM | I8), MRM, MRM, MRM, 0,
	[0x78] = R4(MRM), MRM, MRM, MRM | WRM, MRM,
	[0x80] = R8(IZ), R8(IZ),
	[0x90] = R8(MRM | WRM), R8(MRM | WRM),
	[0xa0] = 0, 0, 0, MRM, MRM | I8 | WRM, MRM | WRM, BAD, BAD,
	[0xa8] = 0, 0, 0, MRM | WRM, MRM | I8 | WRM, MRM | WRM, MRM, MRM | WREG,
	[0xb0] = MRM | WRM, MRM | WRM, MRM | WREG, MRM | WRM, MRM | WREG, MRM | WREG, MRM | WREG,
	MRM | WREG,
	[0xb8] = MRM | WREG, MRM, MRM | I8 | WRM, MRM | WRM, R4(MRM | WREG),
	[0xc0] = MRM | WREG | WRM, MRM | WREG | WRM, MRM | I8, MRM, MRM | I8, MRM | I8 | WREG, MRM | I8,
	MRM | WRM, R8(WOP),
	[0xd0] = R4(MRM), MRM, MRM, MRM, MRM | WREG, R8(MRM),
	[0xe0] = R8(MRM), R8(MRM), R8(MRM), R8(MRM),
};

struct decoder {
	struct cursor c;
	struct x86_insn *in;
	uint8_t rex;
	bool opsize, addrsize, segment;
	bool byte; /* operands of 8 bits */
	/* ModRM */
	uint8_t mod, reg, rm; /* including the bits from REX */
	uint8_t base, index, scale; /* as in struct x86_operands */
	bool plain; /* a memory operand with only a base register and @disp */
	int64_t disp;
	int64_t imm;
};

static int64_t sized(struct decoder *d, unsigned int bytes)
{
	switch (bytes) {
	case 1: return (int8_t)cursor_u8(&d->c);
	case 2: return (int16_t)cursor_u16(&d->c);
	case 4: return (int32_t)cursor_u32(&d->c);
	case 8: return (int64_t)cursor_u64(&d->c);
	default: return 0;
	}
}

static void modrm(struct decoder *d)
{
	uint8_t m = cursor_u8(&d->c), rm = m & 7, sib, base;
	unsigned int bytes;

	d->mod = m >> 6;
	d->reg = (m >> 3 & 7) | (d->rex & 4) << 1;
	d->rm = rm | (d->rex & 1) << 3;
	d->base = d->rm;
	d->index = X86_NO_REG;
	d->scale = 1;
	if (d->mod == 3)
		return;
	bytes = d->mod == 1 ? 1 : d->mod == 2 ? 4 : 0;
	d->plain = !d->segment && !d->addrsize;
	if (rm == 4) {
		sib = cursor_u8(&d->c);
		base = sib & 7;
		d->rm = d->base = base | (d->rex & 1) << 3;
		if ((sib >> 3 & 7) != 4 || (d->rex & 2)) {
			d->plain = false;
			d->index = (sib >> 3 & 7) | (d->rex & 2) << 2;
			d->scale = 1 << (sib >> 6);
		}
		if (base == 5 && d->mod == 0) {
			d->plain = false;
			d->base = X86_NO_REG;
			bytes = 4;
		}
	} else if (rm == 5 && d->mod == 0) { /* relative to the pc */
		d->plain = false;
		d->base = X86_RIP;
		bytes = 4;
	}
	d->disp = sized(d, bytes);
}

static void operands(struct decoder *d, uint8_t flags)
{
	if (flags & MRM)
		modrm(d);
	if (flags & I16)
		d->imm = sized(d, 2);
	if (flags & IZ)
		d->imm = sized(d, d->opsize ? 2 : 4);
	if (flags & I8)
		d->imm = sized(d, 1);
}

/* Without REX, the numbers 4 to 7 mean the byte registers ah, ch, dh and bh. */
static uint16_t written(const struct decoder *d, uint8_t reg)
{
	return 1u << (d->byte && !d->rex && reg >= 4 ? reg - 4 : reg);
}

static void clobber(struct decoder *d, uint8_t op, uint8_t flags)
{
	if (flags & WREG)
		d->in->clobbers |= written(d, d->reg);
	if (flags & WRM && d->mod == 3)
		d->in->clobbers |= written(d, d->rm);
	if (flags & WOP)
		d->in->clobbers |= 1u << ((op & 7) | (d->rex & 1) << 3);
}

/* @dst now gets a known value, so it is not clobbered. */
static void effect(struct decoder *d, enum x86_effect e, uint8_t dst, uint8_t src, int64_t disp)
{
	d->in->effect = e;
	d->in->dst = dst;
	d->in->src = src;
	d->in->disp = disp;
	if (e == X86_POP || (e >= X86_MOVE && e != X86_STORE))
		d->in->clobbers &= ~(1u << dst);
}

static void jump(struct decoder *d, enum x86_flow flow, uint64_t svma)
{
	d->in->flow = flow;
	d->in->target = svma + d->c.pos + d->imm;
}

/* mov and lea between 64-bit registers and memory. */
static void moves(struct decoder *d, uint8_t op)
{
	bool wide = d->rex & 8;

	if (!wide)
		return;
	if (op == 0x89 && d->mod == 3)
		effect(d, X86_MOVE, d->rm, d->reg, 0);
	else if (op == 0x8b && d->mod == 3)
		effect(d, X86_MOVE, d->reg, d->rm, 0);
	else if (op == 0x89 && d->plain)
		effect(d, X86_STORE, d->rm, d->reg, d->disp);
	else if (op == 0x8b && d->plain)
		effect(d, X86_LOAD, d->reg, d->rm, d->disp);
	else if (op == 0x8d && d->plain)
		effect(d, X86_ADD, d->reg, d->rm, d->disp);
}

/* 80-83: the operation is in ModRM.reg. */
static void immediate_group(struct decoder *d, uint8_t op)
{
	uint8_t which = d->reg & 7;

	if (which == 7) /* cmp */
		d->in->clobbers = 0;
	if (op == 0x80 || d->mod != 3 || !(d->rex & 8))
		return;
	if (which == 0)
		effect(d, X86_ADD, d->rm, d->rm, d->imm);
	else if (which == 5)
		effect(d, X86_ADD, d->rm, d->rm, -d->imm);
}

/* F6, F7: test has an immediate, not and neg write their operand, mul and div write rax and rdx. */
static void unary_group(struct decoder *d, uint8_t op)
{
	uint8_t which = d->reg & 7;

	if (which < 2)
		sized(d, op == 0xf6 ? 1 : d->opsize ? 2 : 4);
	else if (which < 4)
		d->in->clobbers = d->mod == 3 ? written(d, d->rm) : 0;
	else
		d->in->clobbers = 1u << 0 | 1u << 2;
}

static bool last_group(struct decoder *d, uint8_t op)
{
	switch (d->reg & 7) {
	case 0:
	case 1:
		if (op == 0xff && d->mod == 3 && (d->rex & 8))
			effect(d, X86_ADD, d->rm, d->rm, (d->reg & 7) ? -1 : 1);
		return true;
	case 2: d->in->flow = X86_CALL_FAR; break;
	case 4: d->in->flow = X86_JUMP_FAR; break;
	case 6: effect(d, X86_PUSH_VALUE, 0, 0, 0); break;
	default: return false;
	}
	d->in->clobbers = 0;
	return op == 0xff;
}

static bool one(struct decoder *d, uint8_t op, uint64_t svma)
{
	uint8_t flags = one_byte[op], low = (op & 7) | (d->rex & 1) << 3;

	if (flags & BAD)
		return false;
	if ((op & 0xf8) == 0xb8 && (d->rex & 8)) {
		cursor_skip(&d->c, 8);
		d->in->clobbers = 1u << low;
		return true;
	}
	if ((op & 0xfc) == 0xa0)
		cursor_skip(&d->c, d->addrsize ? 4 : 8);
	/* The 16-bit operand size does not apply to near branches in 64-bit mode. */
	if (op == 0xe8 || op == 0xe9)
		d->opsize = false;
	operands(d, flags);
	d->byte = !(op & 1) && (op < 0x40 || (op >= 0x80 && op < 0x8c) || op == 0xc0 || op == 0xc6 ||
				op == 0xd0 || op == 0xd2 || op >= 0xf6);
	clobber(d, op, flags);
	/* xor of a register with itself */
	if ((op == 0x31 || op == 0x33) && d->mod == 3 && d->reg == d->rm)
		effect(d, X86_CONST, d->rm, 0, 0);
	if (op < 0x40 || op == 0xa8 || op == 0xa9) {
		/* The accumulator forms; cmp and test write no register. */
		if ((op & 7) > 3 && op < 0x38)
			d->in->clobbers |= 1u << 0;
		return true;
	}
	if (op >= 0x50 && op < 0x60) {
		if (d->opsize)
			return false;
		effect(d, op < 0x58 ? X86_PUSH : X86_POP, low, low, 0);
		return true;
	}
	if (op >= 0x70 && op < 0x80) {
		jump(d, X86_BRANCH, svma);
		return true;
	}
	if (op >= 0xb0 && op < 0xc0 && (op >= 0xb8 || low < 4 || d->rex)) {
		effect(d, op < 0xb8 ? X86_CONST_LOW : X86_CONST, low, 0, d->imm);
		return true;
	}
	switch (op) {
	case 0x68:
	case 0x6a: effect(d, X86_PUSH_VALUE, 0, 0, 0); break;
	case 0x80:
	case 0x81:
	case 0x83: immediate_group(d, op); break;
	case 0x89:
	case 0x8b:
	case 0x8d: moves(d, op); break;
	case 0x8f:
		if (d->reg & 7) /* XOP */
			return false;
		if (d->mod == 3)
			effect(d, X86_POP, d->rm, 0, 0);
		else
			effect(d, X86_POP_VALUE, 0, 0, 0);
		break;
	case 0x90: /* nop; with REX.B xchg, whose other operand is rax */
		d->in->clobbers = d->rex & 1 ? 1u << 0 | 1u << 8 : 0;
		break;
	case 0x91:
	case 0x92:
	case 0x93:
	case 0x94:
	case 0x95:
	case 0x96:
	case 0x97: d->in->clobbers |= 1u << 0; break;
	case 0x9c: effect(d, X86_PUSH_VALUE, 0, 0, 0); break;
	case 0x9d: effect(d, X86_POP_VALUE, 0, 0, 0); break;
	case 0xc2: d->in->pops = (uint16_t)d->imm; /* fallthrough */
	case 0xc3: d->in->flow = X86_RET; break;
	case 0xc7:
		if (d->mod == 3 && !(d->reg & 7))
			effect(d, X86_CONST, d->rm, 0, d->imm);
		break;
	case 0xc8: return false; /* enter: no compiler uses it */
	case 0xc9: d->in->effect = X86_LEAVE; break;
	case 0xca:
	case 0xcb:
	case 0xcf: return false; /* far returns */
	case 0xcc:
	case 0xf4: d->in->flow = X86_STOP; break;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3: jump(d, X86_BRANCH, svma); break;
	case 0xe8: jump(d, X86_CALL, svma); break;
	case 0xe9:
	case 0xeb: jump(d, X86_JUMP, svma); break;
	case 0xf6:
	case 0xf7: unary_group(d, op); break;
	case 0xfe:
	case 0xff: return last_group(d, op);
	default: break;
	}
	/* String instructions step rsi and rdi, and count in rcx. */
	if ((op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf))
		d->in->clobbers |= 1u << 0 | 1u << 1 | 1u << 6 | 1u << 7;
	return true;
}

static bool two(struct decoder *d, uint8_t op, uint64_t svma)
{
	uint8_t flags = two_byte[op];

	if (op == 0x38 || op == 0x3a) {
		cursor_skip(&d->c, 1);
		operands(d, op == 0x38 ? MRM : MRM | I8);
		/* movbe, crc32, adcx; pextr. All others write vectors. */
		clobber(d, 0, MRM | WREG | WRM);
		return true;
	}
	if (flags & BAD)
		return false;
	if (op >= 0x80 && op < 0x90)
		d->opsize = false;
	operands(d, flags);
	d->byte = (op >= 0x90 && op < 0xa0) || op == 0xb0 || op == 0xc0;
	clobber(d, op, flags);
	if (op >= 0x80 && op < 0x90)
		jump(d, X86_BRANCH, svma);
	else if (op == 0x05)
		d->in->flow = X86_SYSCALL;
	else if (op == 0x0b || op == 0xff || op == 0xb9)
		d->in->flow = X86_STOP;
	else if (op == 0xa0 || op == 0xa8)
		effect(d, X86_PUSH_VALUE, 0, 0, 0);
	else if (op == 0xa1 || op == 0xa9)
		effect(d, X86_POP_VALUE, 0, 0, 0);
	else if (op == 0xa2)
		d->in->clobbers = 0xf; /* cpuid: rax, rcx, rdx, rbx */
	if (op == 0x05 || op == 0x31 || op == 0xb0 || op == 0xb1 || op == 0xc7 || op == 0x01)
		d->in->clobbers |= 1u << 0 | 1u << 1 | 1u << 2 | (op == 0x05 ? 1u << 11 : 0);
	return true;
}

/* VEX and EVEX (SDM 2.3, 2.6): vectors, and a few instructions on general registers (BMI). */
static bool vector(struct decoder *d, uint8_t lead)
{
	uint8_t p0 = cursor_u8(&d->c), p1 = 0, map = 1, op, vvvv, flags = MRM;

	d->rex = p0 & 0x80 ? 0 : 4;
	vvvv = ~(p0 >> 3) & 0xf;
	if (lead != 0xc5) {
		p1 = cursor_u8(&d->c);
		d->rex = ~(p0 >> 5) & 7;
		map = p0 & (lead == 0x62 ? 7 : 0x1f);
		vvvv = ~(p1 >> 3) & 0xf;
		if (lead == 0x62)
			cursor_skip(&d->c, 1);
	}
	op = cursor_u8(&d->c);
	if (map == 0 || map > 6)
		return false;
	if (map == 1 && lead != 0x62 && op == 0x77)
		flags = 0;
	else if (map == 3 || (map == 1 && (two_byte[op] & I8)))
		flags |= I8;
	operands(d, flags);
	if (lead == 0x62)
		return true;
	if ((map == 2 && op >= 0xf0) || (map == 3 && op >= 0xf0)) {
		clobber(d, 0, WREG);
		d->in->clobbers |= 1u << vvvv;
	} else if (map == 1) {
		clobber(d, 0, two_byte[op] & (WREG | WRM));
	} else if (map == 3 && op >= 0x14 && op <= 0x17) {
		clobber(d, 0, WRM);
	}
	return true;
}

static void tell(const struct decoder *d, uint16_t op, struct x86_operands *ops)
{
	bool narrow = !d->rex && (d->byte || op == 0x0fb6 || op == 0x0fbe);

	*ops = (struct x86_operands){ .op = op, .wide = d->rex & 8, .in_reg = d->mod == 3, .base = d->base, .index = d->index,
				      .scale = d->scale, .disp = d->disp, .imm = d->imm };
	ops->reg = d->byte && narrow && d->reg >= 4 ? d->reg - 4 : d->reg;
	ops->rm = narrow && d->rm >= 4 ? d->rm - 4 : d->rm;
}

bool x86_decode(const uint8_t *data, size_t size, uint64_t svma, struct x86_insn *out)
{
	return x86_decode_operands(data, size, svma, out, NULL);
}

bool x86_decode_operands(const uint8_t *data, size_t size, uint64_t svma, struct x86_insn *out,
			 struct x86_operands *ops)
{
	struct decoder d = { .in = out };
	uint16_t which;
	uint8_t op;
	bool ok;

	memset(out, 0, sizeof(*out));
	cursor_init(&d.c, data, size < LEN_MAX ? size : LEN_MAX);
	for (;;) {
		op = cursor_u8(&d.c);
		if (op == 0x66)
			d.opsize = true;
		else if (op == 0x67)
			d.addrsize = true;
		else if (op == 0x64 || op == 0x65)
			d.segment = true;
		else if (op != 0xf0 && op != 0xf2 && op != 0xf3 && op != 0x2e && op != 0x36 &&
			 op != 0x3e && op != 0x26)
			break;
		if (!cursor_ok(&d.c))
			return false;
	}
	if ((op & 0xf0) == 0x40) {
		d.rex = op;
		op = cursor_u8(&d.c);
	}
	which = op;
	if (op == 0x0f) {
		op = cursor_u8(&d.c);
		which = op == 0x38 || op == 0x3a ? 0 : 0x0f00 | op;
		ok = two(&d, op, svma);
	} else if (op == 0xc4 || op == 0xc5 || op == 0x62) {
		which = 0;
		ok = vector(&d, op);
	} else {
		ok = (op & 0xf0) != 0x40 && one(&d, op, svma);
	}
	if (!ok || !cursor_ok(&d.c))
		return false;
	out->len = (uint8_t)d.c.pos;
	if (ops)
		tell(&d, d.segment || d.addrsize ? 0 : which, ops);
	return true;
}
