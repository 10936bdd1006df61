/* Disassembles with capstone (disasm.h). */
#include "annotate/disasm.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/disasm_priv.h"
#include "base/util.h"
#include "base/xalloc.h"

struct disasm {
	csh handle;
	cs_insn *insn;	/* owned; the latest one */
	bool x86;
	char bytes[64];	/* "0x0f, 0x0b", for bytes that are not a known instruction */
};

struct disasm *disasm_new(uint16_t machine, bool intel)
{
	bool x86 = machine == EM_X86_64;
	struct disasm *d;
	csh handle;

	if (!x86 && machine != EM_AARCH64)
		return NULL;
	if (cs_open(x86 ? CS_ARCH_X86 : CS_ARCH_ARM64, x86 ? CS_MODE_64 : CS_MODE_ARM, &handle) != CS_ERR_OK)
		return NULL;
	cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	if (x86 && !intel)
		cs_option(handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	d = xcalloc(1, sizeof(*d));
	d->handle = handle;
	d->x86 = x86;
	d->insn = cs_malloc(handle);
	if (!d->insn) {
		cs_close(&handle);
		free(d);
		return NULL;
	}
	return d;
}

void disasm_free(struct disasm *d)
{
	if (!d)
		return;
	cs_free(d->insn, 1);
	cs_close(&d->handle);
	free(d);
}

/*
 * For bytes that capstone does not know. Our own decoder knows the size of newer x86-64
 * instructions; otherwise the next instruction may begin at any byte. On aarch64 it begins after
 * four.
 */
static void unknown(struct disasm *d, const uint8_t *data, size_t size, uint64_t svma, struct disasm_insn *out)
{
	size_t n = 0;

	out->bad = true;
	out->size = d->x86 ? disasm_unknown_size(data, size, svma) : 4;
	out->size = (uint32_t)MIN((size_t)out->size, size);
	out->name = ".byte";
	out->operands = d->bytes;
	for (uint32_t i = 0; i < out->size && n < sizeof(d->bytes) - 6; i++)
		n += (size_t)snprintf(d->bytes + n, sizeof(d->bytes) - n, "%s0x%02x", i ? "," : "", data[i]);
}

/* Finds the target of a jump or call: the last operand on both machines, if it is a number. */
static void find_target(const struct disasm *d, struct disasm_insn *out)
{
	const cs_detail *detail = d->insn->detail;
	int64_t to;

	if (d->x86) {
		const cs_x86 *x = &detail->x86;

		if (x->op_count != 1 || x->operands[0].type != X86_OP_IMM)
			return;
		to = x->operands[0].imm;
	} else {
		const cs_arm64 *a = &detail->arm64;

		if (!a->op_count || a->operands[a->op_count - 1].type != ARM64_OP_IMM)
			return;
		to = a->operands[a->op_count - 1].imm;
	}
	out->has_target = true;
	out->target = (uint64_t)to;
}

void disasm_next(struct disasm *d, const uint8_t *data, size_t size, uint64_t svma, struct disasm_insn *out)
{
	const uint8_t *code = data;
	uint64_t addr = svma;
	size_t left = size;

	*out = (struct disasm_insn){ .addr = svma };
	if (!cs_disasm_iter(d->handle, &code, &left, &addr, d->insn)) {
		unknown(d, data, size, svma, out);
		return;
	}
	out->size = d->insn->size;
	out->name = d->insn->mnemonic;
	out->operands = d->insn->op_str;
	/* capstone 4 reports ARM's calls as jumps. */
	if (cs_insn_group(d->handle, d->insn, CS_GRP_CALL) ||
	    (!d->x86 && (d->insn->id == ARM64_INS_BL || d->insn->id == ARM64_INS_BLR)))
		out->flow = DISASM_CALL;
	else if (cs_insn_group(d->handle, d->insn, CS_GRP_JUMP))
		out->flow = DISASM_JUMP;
	else if (cs_insn_group(d->handle, d->insn, CS_GRP_INT) || (!d->x86 && d->insn->id == ARM64_INS_SVC))
		out->flow = DISASM_SYSCALL;
	if (out->flow == DISASM_CALL || out->flow == DISASM_JUMP)
		find_target(d, out);
}
