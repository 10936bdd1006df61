/*
 * Decodes x86-64 instructions as far as the stack is concerned: their length, where they lead, and
 * what they do to the stack pointer and to registers that can stand for it. Input is hostile:
 * nothing outside the given bytes is read, and unknown encodings are reported as such.
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
	X86_BRANCH,	/* to @target or the next instruction */
	X86_JUMP,	/* to @target */
	X86_JUMP_FAR,	/* through a register or memory: target unknown */
	X86_CALL,	/* of @target */
	X86_CALL_FAR,	/* through a register or memory */
	X86_RET,
	X86_STOP,	/* hlt, ud2, int3: execution does not continue */
	X86_SYSCALL,
};

/* The effect, with 64-bit operands. Memory operands are @base + @disp, without an index. */
enum x86_effect {
	X86_NOTHING,	/* on registers, apart from @clobbers */
	X86_PUSH,	/* register @src */
	X86_PUSH_VALUE,	/* something else, 8 bytes */
	X86_POP,	/* into register @dst */
	X86_POP_VALUE,	/* to another place, 8 bytes */
	X86_MOVE,	/* @dst = @src */
	X86_ADD,	/* @dst = @src + @disp: add, sub, inc, dec, lea */
	X86_LOAD,	/* @dst = 8 bytes at @src + @disp */
	X86_STORE,	/* 8 bytes at @dst + @disp = @src */
	X86_LEAVE,
	X86_CONST,	/* @dst = @disp */
	X86_CONST_LOW,	/* the low 8 bits of @dst = @disp */
};

struct x86_insn {
	uint8_t len;		/* 1 to 15 */
	uint8_t flow;		/* enum x86_flow */
	uint8_t effect;		/* enum x86_effect */
	uint8_t dst, src;	/* register numbers as encoded: 4 = rsp, 5 = rbp */
	uint16_t clobbers;	/* registers that have another value afterwards, apart from @dst */
	uint16_t pops;		/* X86_RET: bytes removed behind the return address */
	int64_t disp;
	uint64_t target;	/* svma */
};

/* Register numbers that are not general registers. */
#define X86_NO_REG 16
#define X86_RIP 17

/* The operands of an instruction other than a vector instruction. */
struct x86_operands {
	/* opcode: one byte, or 0x0f00 and the second byte; 0: another instruction */
	uint16_t op;
	bool wide;		/* 64-bit operands */
	/* ModRM.rm is register @rm; otherwise memory at @base + @index * @scale + @disp */
	bool in_reg;
	/* as encoded; for ah to bh the whole register; @reg may be an opcode extension */
	uint8_t reg, rm;
	/* as encoded, or X86_NO_REG; @base also X86_RIP: the end of the instruction */
	uint8_t base, index;
	uint8_t scale;		/* 1, 2, 4, 8 */
	int64_t disp, imm;
};

/* Decodes the instruction at @svma, whose bytes are data[0..size). False if it is unknown. */
bool x86_decode(const uint8_t *data, size_t size, uint64_t svma, struct x86_insn *out);

/* The same, with its operands. */
bool x86_decode_operands(const uint8_t *data, size_t size, uint64_t svma, struct x86_insn *out,
			 struct x86_operands *ops);

#endif
