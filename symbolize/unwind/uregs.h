/* The registers of one frame while a stack is walked: values, or where on the stack they were saved. */
#ifndef NSPROF_UREGS_H
#define NSPROF_UREGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi/cfi.h"
#include "stackcopy.h"

/*
 * The registers of one frame by DWARF number. A callee-saved register is mostly never asked for
 * again, so a step notes where it was saved, and it is read when a rule needs it.
 */
struct uregs {
	uint64_t v[CFI_NREGS]; /* the value, or with in_mem the runtime address of the saved copy */
	uint32_t known; /* bit r: register r can be had. After a frame pointer step few can */
	uint32_t in_mem; /* bit r: v[r] is an address; never for the stack pointer and pc */
};

/*
 * Value of register @reg (any number); false when it is not known or its saved copy cannot be read.
 */
bool uregs_get(struct uregs *regs, unsigned int reg, const struct stack_view *sv, uint64_t *val);

/* What the registers of a sample were, @from[PERF_REG_X86_*]: all of them known. */
void uregs_init(struct uregs *regs, const uint64_t *from);

static inline void uregs_set(struct uregs *regs, unsigned int reg, uint64_t val)
{
	regs->v[reg] = val;
	regs->known |= 1u << reg;
	regs->in_mem &= ~(1u << reg);
}

/*
 * Epilogues restore registers, but rows mostly go on to say "saved at": true for who can read below
 * the stack pointer, which a stack copy does not hold. A frame keeps its saved registers between
 * its stack pointer @sp and its @cfa, so what rows place elsewhere was popped, and the register has
 * the caller's value already. When only the return address is left (@cfa = @sp + 8), that is true
 * of all. Not for rows that have a rule for the stack pointer: signal frames and longjmp() take
 * registers from anywhere.
 */
static inline bool save_is_stale(uint64_t sp, uint64_t cfa, uint64_t slot)
{
	return cfa >= sp && (slot < sp || slot >= cfa || cfa - sp == 8);
}

#endif
