/* Is a word of the stack a return address? Is this the base of a stack? (walk_priv.h) */
#include <elf.h>

#include "base/util.h"
#include "cfi/cfi.h"
#include "code/made_rows.h"
#include "elf/elf_file.h"
#include "modules/module.h"
#include "stackcopy.h"
#include "unwind/walk_priv.h"

/*
 * Is @wm the mapping of the stack itself, executable because of the trampolines that gcc makes for
 * nested functions? Trampolines jump, so nothing returns to them, and pointers into the stack are
 * in every frame.
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
 * The auxiliary vector, above the first frame, has two addresses in the program to which nothing
 * returns: its entry point (AT_ENTRY) and its program headers (AT_PHDR), which some linkers map
 * with the code.
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
 * The same for runtime address @addr in a slice, which has no code. For a pointer to code that
 * nothing returns to, the recorder writes no row for the byte before it, unless the binary's CFI
 * has one; rows of planted roots are marked. For start-up code, a slice keeps only the binary's own
 * CFI.
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
