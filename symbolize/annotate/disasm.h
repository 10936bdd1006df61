/*
 * Turns bytes of code into readable instructions. The only includer of capstone. Works on bytes,
 * not on files.
 */
#ifndef NSPROF_DISASM_H
#define NSPROF_DISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disasm;

enum disasm_flow {
	DISASM_NEXT,
	DISASM_JUMP,	/* conditional or not */
	DISASM_CALL,
	DISASM_SYSCALL,	/* and other ways into the kernel on purpose */
};

struct disasm_insn {
	uint64_t addr;		/* svma */
	uint64_t target;	/* svma of the target of a jump or call, with @has_target */
	uint32_t size;		/* bytes, 1 and up */
	uint8_t flow;		/* enum disasm_flow */
	bool has_target;	/* false: through a register or memory, or neither jump nor call */
	bool bad;		/* unknown instruction: @operands are its bytes */
	const char *name, *operands;	/* "jne", "0x1139"; borrowed until the next call */
};

/*
 * For code of @machine (EM_X86_64, EM_AARCH64). @intel: Intel's x86 syntax instead of AT&T's. NULL:
 * such code is not supported.
 */
struct disasm *disasm_new(uint16_t machine, bool intel);
void disasm_free(struct disasm *d);	/* accepts NULL */
/*
 * Disassembles the instruction at @svma, whose bytes are data[0..size). Never fails if @size is not
 * 0.
 */
void disasm_next(struct disasm *d, const uint8_t *data, size_t size, uint64_t svma, struct disasm_insn *out);

#endif
