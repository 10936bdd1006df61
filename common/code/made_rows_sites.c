/* The calls in a function, and where it begins (made_rows.h). */
#include "base/util.h"
#include "code/made_rows_priv.h"
#include "code/x86_insn.h"

uint64_t made_rows_begin(struct made_rows *mr, struct cfi *cfi, uint64_t svma)
{
	struct cfi_fde fde;
	bool entry;

	return !cfi_find(cfi, svma, &fde) ? fde.start : made_start_of(mr, svma, &entry);
}

size_t made_rows_sites(struct made_rows *mr, struct cfi *cfi, uint64_t start, struct call_site *sites, size_t max)
{
	struct cfi_fde fde;
	uint64_t end = !cfi_find(cfi, start, &fde) && fde.start == start ?
		fde.end : made_rows_reach(mr, cfi, start, start + CALLED_MAX);
	size_t n = 0;

	end = MIN(end, start + CALLED_MAX);
	for (uint64_t at = start; at < end && n < max;) {
		const uint8_t *data;
		size_t size = elf_file_code(mr->ef, at, &data);
		struct x86_insn in;
		uint64_t target;

		if (!size || !x86_decode(data, size, at, &in))
			break;
		at += in.len;
		if (in.flow != X86_CALL && in.flow != X86_CALL_FAR)
			continue;
		if (code_call_target(mr->code, at, &target))
			sites[n++] = (struct call_site){ .ret = at, .target = target };
	}
	return n;
}
