/* Mappings for the walk (walk_priv.h). */
#include <elf.h>

#include "base/util.h"
#include "code/made_rows.h"
#include "elf/elf_file.h"
#include "modules/addrspace.h"
#include "modules/jitcode.h"
#include "modules/module.h"
#include "unwind/rules.h"
#include "unwind/walk_priv.h"

/*
 * Files have one executable segment, seldom more than a few, and these are mapped next to each
 * other.
 */
#define ASKED_LOADS 32
#define ASKED_NEAR 16	/* mappings on each side */

/* Runtime address minus svma if @m maps a part of @l. */
static uint64_t load_bias(const struct mapping *m, const struct elf_load *l)
{
	return m->start - m->pgoff + l->offset - l->vaddr;
}

/*
 * Number of mappings of @m's file near @m in @as that are where @bias would put them. A container
 * controls both files and mappings: 4096 segments must not all be compared with 65,530 mappings of
 * one page.
 */
static uint32_t agreeing(const struct addrspace *as, const struct mapping *m, const struct elf_load *loads, size_t n,
			 uint64_t bias)
{
	uint32_t at = (uint32_t)(m - as->maps), agree = 0;

	for (uint32_t k = at - MIN(at, ASKED_NEAR); k < as->n && k <= at + ASKED_NEAR; k++) {
		const struct mapping *o = &as->maps[k];
		bool fits = false;

		for (size_t i = 0; i < n && o->mod == m->mod && !fits; i++) {
			uint64_t start = align_down(loads[i].vaddr, MAP_PAGE) + bias;

			fits = (loads[i].flags & PF_X) && load_bias(o, &loads[i]) == bias && o->start >= start &&
			       o->end - start <= align_up(loads[i].vaddr + loads[i].memsz, MAP_PAGE) + bias - start;
		}
		agree += fits;
	}
	return agree;
}

/*
 * Finds runtime address minus svma for all of @m, which comes from one executable PT_LOAD. It
 * cannot be computed from an address: a mapping consists of whole pages, and bytes next to its
 * segment in the first or last page translate through another segment or through none. If several
 * executable segments have a part of it, other mappings of the file decide, then the size of the
 * part.
 */
static bool mapping_bias(const struct addrspace *as, const struct mapping *m, const struct elf_file *ef, uint64_t *bias)
{
	uint64_t from = m->pgoff, to = m->pgoff + (m->end - m->start), best = 0;
	uint32_t best_agree = 0;
	const struct elf_load *loads;
	size_t n = elf_file_loads(ef, &loads);

	for (size_t i = 0; i < n; i++) {
		const struct elf_load *l = &loads[i];
		uint64_t lo = MAX(from, l->offset), hi = MIN(to, l->offset + l->filesz), own;
		uint32_t agree;

		if (!(l->flags & PF_X) || lo >= hi)
			continue;
		own = load_bias(m, l);
		if (best && own != *bias && n <= ASKED_LOADS) {
			if (!best_agree)
				best_agree = agreeing(as, m, loads, n, *bias);
			agree = agreeing(as, m, loads, n, own);
			if (agree < best_agree || (agree == best_agree && hi - lo <= best))
				continue;
			best_agree = agree;
		} else if (hi - lo <= best) {
			continue;
		}
		best = MAX(best, hi - lo);
		*bias = own;
	}
	return best > 0;
}

/*
 * Number of bytes of start-up code at @entry, an svma. Rows tell where the next function begins;
 * without rows, the code does. A slice has no code, but its first made rows are there.
 */
static uint32_t entry_length(struct module *mod, uint64_t entry)
{
	struct made_rows *made = module_made(mod);
	struct cfi *cfi = module_cfi(mod);
	uint64_t len = 0, most = MADE_ENTRY_MAX;
	struct cfi_fde fde;

	if (made)
		most = made_rows_entry_end(made, mod->cfi_cut ? NULL : cfi) - entry;
	while (len < most) {
		if (cfi_find(cfi, entry + len, &fde)) {
			len++;
			continue;
		}
		if (fde.start > entry)
			break;
		len = fde.end - entry;
		most = MADE_ENTRY_GAP;
	}
	return (uint32_t)MIN(len, MADE_ENTRY_MAX);
}

/*
 * Once per module: if processes take turns, their mappings are prepared again for nearly every
 * sample. Go's own start-up code jumps elsewhere, and the table knows its root.
 */
static void find_entry(struct module *mod, const struct elf_file *ef, bool go)
{
	mod->entry.known = true;
	mod->entry.svma = elf_file_entry(ef);
	if (mod->entry.svma && go && made_rows_first(module_made(mod), mod->entry.svma, false))
		mod->entry.svma = 0;
	if (mod->entry.svma)
		mod->entry.len = entry_length(mod, mod->entry.svma);
}

static void describe(struct walk_map *wm, const struct addrspace *as, const struct mapping *m)
{
	struct elf_file *ef;

	*wm = (struct walk_map){ .start = m->start, .end = m->end, .mod = m->mod };
	if (!m->mod)
		return;
	module_load(m->mod);
	ef = m->mod->elf ? m->mod->elf : m->mod->captured;
	if (!ef || !mapping_bias(as, m, ef, &wm->bias))
		return;
	wm->rows = true;
	/* For a machine whose code nsprof cannot read, the table provides names only. */
	wm->go = module_made(m->mod) && elf_file_gopclntab(m->mod->elf);
	if (!m->mod->entry.known)
		find_entry(m->mod, ef, wm->go);
	wm->entry = m->mod->entry.svma ? m->mod->entry.svma + wm->bias : 0;
	wm->entry_len = m->mod->entry.len;
	/* The vdso of kernels before 5.x is linked at the top of the address space. */
	wm->fast = !wm->go && rule_key_fits(m->mod, m->start - wm->bias, m->end - wm->bias);
	wm->key_off = rule_key(m->mod, 0) - wm->bias;
}

/*
 * Returns the jitted function at @addr. It is not kept among the recent mappings, because there are
 * as many as frames.
 */
static const struct walk_map *jit_map(struct walker *w, const struct addrspace *as, uint64_t addr)
{
	const struct jit_func *func = addrspace_find_jit(as, (struct avma){ addr });
	struct walk_map *wm = &w->jit[w->njit++ % ARRAY_SIZE(w->jit)];

	*wm = (struct walk_map){ .start = addr, .end = addr + 1 };
	if (func) {
		wm->start = func->start;
		wm->end = func->end;
		wm->mod = jitcode_module(func, &wm->bias);
		wm->rows = wm->mod;
	}
	return wm;
}

const struct walk_map *walk_map_slow(struct walker *w, const struct addrspace *as, uint64_t addr)
{
	struct avma a = { addr };
	const struct mapping *m;
	struct walk_map *wm, fresh;

	for (uint32_t i = 0; i < w->nrecent; i++) {
		wm = &w->recent[i];
		if (addr - wm->start < wm->end - wm->start)
			return wm;
	}
	m = addrspace_find(as, a);
	if (!m)
		return NULL;
	describe(&fresh, as, m);
	if (!fresh.rows && as->jit)
		return jit_map(w, as, addr);
	wm = &w->recent[w->next];
	*wm = fresh;
	w->next = (w->next + 1) % WALK_RECENT;
	w->nrecent = MIN(w->nrecent + 1, WALK_RECENT);
	return wm;
}
