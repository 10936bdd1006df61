/*
 * The registers of one frame during a walk: values, or the places on the stack where they were
 * saved.
 */
#ifndef NSPROF_UREGS_H
#define NSPROF_UREGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/cfi.h"
#include "stackcopy.h"

/*
 * The registers of one frame by DWARF number. Most callee-saved registers are never read again, so
 * a step only notes where each was saved. The value is read when a rule needs it.
 */
struct uregs {
	uint64_t v[CFI_NREGS]; /* the value; with in_mem, the runtime address of the saved copy */
	uint32_t known; /* bit r: register r is available; after a step by frame pointer few are */
	uint32_t in_mem; /* bit r: v[r] is an address; never for the stack pointer and pc */
};

/* Value of register @reg (any number); false if it is unknown or its saved copy cannot be read. */
bool uregs_get(struct uregs *regs, unsigned int reg, const struct stack_view *sv, uint64_t *val);

/* Sets all registers from a sample's, @from[PERF_REG_X86_*]; all become known. */
void uregs_init(struct uregs *regs, const uint64_t *from);

static inline void uregs_set(struct uregs *regs, unsigned int reg, uint64_t val)
{
	regs->v[reg] = val;
	regs->known |= 1u << reg;
	regs->in_mem &= ~(1u << reg);
}

/*
 * Epilogues restore registers, but rows mostly still say "saved at". That holds for a reader of
 * memory below the stack pointer, which a stack copy lacks. A frame keeps its saved registers
 * between its stack pointer @sp and its @cfa. So a register that rows place elsewhere was popped
 * and already has the caller's value. If only the return address is left (@cfa = @sp + 8), that
 * holds for all registers. Do not use for rows with a rule for the stack pointer: signal frames and
 * longjmp() load registers from anywhere.
 */
static inline bool save_is_stale(uint64_t sp, uint64_t cfa, uint64_t slot)
{
	return cfa >= sp && (slot < sp || slot >= cfa || cfa - sp == 8);
}

#endif
