/* The registers of one frame (uregs.h). */
#include "unwind/uregs.h"

#include "event.h"

/* DWARF register number to PERF_REG_X86_* (psABI 1.0, figure 3.36). */
static const uint8_t perf_reg[CFI_NREGS] = {
	UREG_AX,	 UREG_DX,   UREG_CX,   UREG_BX,   UREG_SI,	 UREG_DI,   UREG_BP,   UREG_SP, UREG_R8,
	UREG_R9, UREG_R10, UREG_R11, UREG_R12, UREG_R13, UREG_R14, UREG_R15, UREG_IP,
};

void uregs_init(struct uregs *regs, const uint64_t *from)
{
	*regs = (struct uregs){ .known = (1u << CFI_NREGS) - 1 };
	for (int i = 0; i < CFI_NREGS; i++)
		regs->v[i] = from[perf_reg[i]];
}

bool uregs_get(struct uregs *regs, unsigned int reg, const struct stack_view *sv, uint64_t *val)
{
	uint32_t bit;

	if (reg >= CFI_NREGS)
		return false;
	bit = 1u << reg;
	if (!(regs->known & bit))
		return false;
	if (regs->in_mem & bit) {
		uint64_t v;

		if (stack_view_read(sv, regs->v[reg], &v))
			return false;
		uregs_set(regs, reg, v);
	}
	*val = regs->v[reg];
	return true;
}
