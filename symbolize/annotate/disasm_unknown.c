/* Instructions that capstone does not know (disasm_priv.h). */
#include "annotate/disasm_priv.h"

#include "code/x86_insn.h"

uint32_t disasm_unknown_size(const uint8_t *data, size_t size, uint64_t svma)
{
	struct x86_insn x;

	return x86_decode(data, size, svma, &x) ? x.len : 1;
}
