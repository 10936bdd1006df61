/* Bytes of code as instructions, in words: the only includer of capstone. Knows bytes, no files. */
#ifndef NSPROF_DISASM_H
#define NSPROF_DISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disasm;

enum disasm_flow {
	DISASM_NEXT,
	DISASM_JUMP,	/* may lead elsewhere, also if a condition holds */
	DISASM_CALL,
};

struct disasm_insn {
	uint64_t addr;		/* svma */
	uint64_t target;	/* svma a jump or call leads to, with @has_target */
	uint32_t size;		/* bytes, 1 and up */
	uint8_t flow;		/* enum disasm_flow */
	bool has_target;	/* else through a register or memory, or no jump at all */
	bool bad;		/* not one that is known: the bytes are shown */
	const char *name, *operands;	/* "jne", "0x1139"; borrowed until the next call */
};

/*
 * For code of @machine (EM_X86_64, EM_AARCH64). @intel: Intel's syntax for x86 instead of AT&T's. NULL: no disassembler
 * for such code.
 */
struct disasm *disasm_new(uint16_t machine, bool intel);
void disasm_free(struct disasm *d);	/* accepts NULL */
/* The instruction at @svma, whose bytes are data[0..size). Never fails while @size is not 0. */
void disasm_next(struct disasm *d, const uint8_t *data, size_t size, uint64_t svma, struct disasm_insn *out);

#endif
