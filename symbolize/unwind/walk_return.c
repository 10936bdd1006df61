/* Whether a word of the stack is a return address, and whether a stack begins where none are left (walk_priv.h). */
#include <elf.h>

#include "base/util.h"
#include "cfi/cfi.h"
#include "code/made_rows.h"
#include "elf/elf_file.h"
#include "modules/module.h"
#include "stackcopy.h"
#include "unwind/walk_priv.h"

/*
 * Whether @wm is the mapping that the stack lies in, executable for the trampolines that gcc makes for nested functions.
 * These jump: nothing returns to them, and pointers into the stack are in every frame.
 */
static bool is_stack(const struct walk_map *wm, const struct unwind_input *in)
{
	return !wm->mod && in->stack->lo - wm->start < wm->end - wm->start;
}

const struct walk_map *walk_called_from(struct walker *w, const struct unwind_input *in, uint64_t ra)
{
	const struct walk_map *wm = ra ? walk_map(w, in->as, ra - 1, NULL) : NULL;

	return wm && !is_stack(wm, in) ? wm : NULL;
}

/*
 * The auxiliary vector, above the first frame, has two addresses in the program (AT_ENTRY, AT_PHDR) that nothing returns
 * to: where it begins, and its program headers, which some linkers map with the code.
 */
static bool from_auxv(const struct walk_map *wm, uint64_t addr)
{
	const struct elf_load *loads;
	uint64_t svma = addr - wm->bias;
	size_t n = wm->rows && wm->mod->captured ? elf_file_loads(wm->mod->captured, &loads) : 0;

	for (size_t i = 0; i < n; i++)
		if (svma - loads[i].vaddr < loads[i].filesz)
			return svma - loads[i].vaddr + loads[i].offset == sizeof(Elf64_Ehdr) || addr == wm->entry;
	return addr == wm->entry;
}

/*
 * The same of runtime address @addr in a slice, which has no code to look at: the recorder wrote no row for the byte before
 * a pointer to code that nothing returns to, unless the binary states one, and says so in those of roots that somebody
 * planted. Of the start-up code it keeps nothing but what the binary states.
 */
static bool slice_return(const struct walk_map *wm, uint64_t addr)
{
	struct cfi *cfi = module_cfi(wm->mod);
	uint64_t svma = addr - 1 - wm->bias;
	struct cfi_fde fde;
	struct cfi_row row;

	if (addr != wm->entry && walk_at_entry(wm, addr - 1))
		return true;
	if (cfi_find(cfi, svma, &fde) || cfi_row(cfi, &fde, svma, &row))
		return false;
	return !row.signal_frame || row.regs[row.ra_reg].how != CFI_UNDEF;
}

bool walk_is_return(struct walker *w, const struct unwind_input *in, uint64_t addr)
{
	const struct walk_map *wm = walk_called_from(w, in, addr);
	struct made_rows *made = wm && wm->rows ? module_made(wm->mod) : NULL;

	if (!wm || made)
		return wm && made_rows_return(made, addr - wm->bias);
	return !from_auxv(wm, addr) && (!wm->rows || slice_return(wm, addr));
}

bool walk_is_base(struct walker *w, const struct unwind_input *in, uint64_t sp)
{
	uint64_t start = align_up(sp, 8), v;

	for (uint64_t a = start; a - start < WALK_BASE_BYTES; a += 8) {
		if (stack_view_read(in->stack, a, &v))
			return true;
		if (walk_is_return(w, in, v))
			return false;
	}
	return true;
}
