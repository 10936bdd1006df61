/*
 * x86-64 instructions as far as the stack is concerned: how long one is, where it leads, and what
 * it does to the stack pointer and to registers that can stand for it. Input is hostile: nothing
 * outside the given bytes is read, and an unknown encoding is said to be one.
 *
 * Encodings: Intel SDM volume 2, appendix A.
 */
#ifndef NSPROF_X86_INSN_H
#define NSPROF_X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_flow {
	X86_NEXT,
	X86_BRANCH,	/* to @target or on */
	X86_JUMP,	/* to @target */
	X86_JUMP_FAR,	/* through a register or memory: nobody knows */
	X86_CALL,	/* of @target */
	X86_CALL_FAR,	/* through a register or memory */
	X86_RET,
	X86_STOP,	/* hlt, ud2, int3: no way on */
	X86_SYSCALL,
};

/* What it does, in operands of 64 bits. Memory operands are @base + @disp, without an index. */
enum x86_effect {
	X86_NOTHING,	/* to registers, apart from @clobbers */
	X86_PUSH,	/* register @src */
	X86_PUSH_VALUE,	/* something else, 8 bytes */
	X86_POP,	/* into register @dst */
	X86_POP_VALUE,	/* to somewhere else, 8 bytes */
	X86_MOVE,	/* @dst = @src */
	X86_ADD,	/* @dst = @src + @disp: add, sub, inc, dec, lea */
	X86_LOAD,	/* @dst = 8 bytes at @src + @disp */
	X86_STORE,	/* 8 bytes at @dst + @disp = @src */
	X86_LEAVE,
	X86_CONST,	/* @dst = @disp */
	X86_CONST_LOW,	/* the low 8 bits of @dst = @disp */
};

struct x86_insn {
	uint8_t len;		/* bytes, 1 to 15 */
	uint8_t flow;		/* enum x86_flow */
	uint8_t effect;		/* enum x86_effect */
	uint8_t dst, src;	/* register numbers as encoded: 4 = rsp, 5 = rbp */
	uint16_t clobbers;	/* registers with another value afterwards, @dst of an effect aside */
	uint16_t pops;		/* X86_RET: bytes that it takes off behind the return address */
	int64_t disp;
	uint64_t target;	/* svma */
};

/* Numbers of registers that are none. */
#define X86_NO_REG 16
#define X86_RIP 17

/* What an instruction that does not work with vectors works with. */
struct x86_operands {
	uint16_t op;		/* its opcode: one byte, or 0x0f00 and the second; 0: it is another one */
	bool wide;		/* operands of 64 bits */
	bool in_reg;		/* ModRM.rm is register @rm; else memory at @base + @index * @scale + @disp */
	uint8_t reg, rm;	/* as encoded, of ah to bh the whole one; @reg may be a part of the opcode */
	uint8_t base, index;	/* as encoded, or X86_NO_REG; @base also X86_RIP: the end of the instruction */
	uint8_t scale;		/* 1, 2, 4, 8 */
	int64_t disp, imm;
};

/* The instruction at @svma, whose bytes are data[0..size). False when it is none that is known. */
bool x86_decode(const uint8_t *data, size_t size, uint64_t svma, struct x86_insn *out);

/* The same, and what it works with. */
bool x86_decode_operands(const uint8_t *data, size_t size, uint64_t svma, struct x86_insn *out,
			 struct x86_operands *ops);

#endif
