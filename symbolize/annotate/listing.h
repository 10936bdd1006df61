/* The instructions of a function with their samples, source lines and jump targets. */
#ifndef NSPROF_LISTING_H
#define NSPROF_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct annotate_func;
struct code;
struct intern;

#define LISTING_NONE UINT32_MAX

struct listing_insn {
	uint64_t addr, target;	/* svma; @target with @has_target */
	/* At this very address or, if calls count, through it; for missing code, at all its addresses. */
	uint64_t samples;
	uint64_t weight;	/* of these samples */
	uint32_t size;		/* bytes */
	uint32_t name, operands;	/* offsets in listing.texts */
	uint32_t to;		/* index of the jump's target in the function, or LISTING_NONE */
	uint32_t label;		/* label number from 1, if jumps of the function lead here, or 0 */
	uint32_t file, line;	/* id in listing.files, and the line in that file; 0: unknown */
	uint8_t flow;		/* enum disasm_flow */
	bool has_target;
	bool missing;		/* not an instruction, but code that is not available */
};

struct listing {
	struct listing_insn *insns;	/* owned; by address */
	size_t n, cap;
	struct strbuf texts;
	struct intern *files;		/* paths as in the debug info */
	uint32_t labels;
	uint64_t inside;		/* samples within instructions, not at their addresses */
	uint64_t inside_at;		/* svma of the first of them */
	uint64_t beyond;		/* samples after the last byte that was read (CODE_MAX) */
};

/*
 * @lines: with source lines. @intel: Intel's x86 syntax. 0, or -ENOTSUP if the code cannot be
 * disassembled; then do not call listing_fini().
 */
int listing_init(struct listing *l, const struct annotate_func *f, const struct code *code, bool lines, bool intel);
void listing_fini(struct listing *l);
/* The text at offset @at of listing.texts. */
const char *listing_text(const struct listing *l, uint32_t at);

#endif
