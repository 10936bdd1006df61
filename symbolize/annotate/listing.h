/* The instructions of a function with their samples, source lines and where they lead. */
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
	uint64_t samples;	/* at this very address; of missing code at all of it */
	uint64_t weight;	/* of these */
	uint32_t size;		/* bytes */
	uint32_t name, operands;	/* offsets in listing.texts */
	uint32_t to;		/* index of the instruction a jump leads to, within the function; LISTING_NONE: none */
	uint32_t label;		/* number of one that jumps of the function lead to, 1 and up; 0: none do */
	uint32_t file, line;	/* id in listing.files, and its line; 0: not known */
	uint8_t flow;		/* enum disasm_flow */
	bool has_target;
	bool missing;		/* not an instruction: code that is not there */
};

struct listing {
	struct listing_insn *insns;	/* owned; by address */
	size_t n, cap;
	struct strbuf texts;
	struct intern *files;		/* paths as the debug info has them */
	uint32_t labels;
	uint64_t inside;		/* samples within instructions: at none's address */
	uint64_t inside_at;		/* svma of the first of them */
	uint64_t beyond;		/* samples behind the last byte that was looked at (CODE_MAX) */
};

/* @lines: with source lines. @intel: syntax for x86. 0, or -ENOTSUP when nobody can disassemble this; then no listing_fini(). */
int listing_init(struct listing *l, const struct annotate_func *f, const struct code *code, bool lines, bool intel);
void listing_fini(struct listing *l);
/* In listing.texts. */
const char *listing_text(const struct listing *l, uint32_t at);

#endif
