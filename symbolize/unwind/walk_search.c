/*
 * Searches for a caller: words up the stack that are return addresses, and where they lead
 * (walk_priv.h).
 */
#include "base/util.h"
#include "code/made_rows.h"
#include "modules/module.h"
#include "stackcopy.h"
#include "unwind/walk_priv.h"

/*
 * How far up to search for the return address of jitted code: past the frame of an interpreter's
 * loop, since some JITs jump out of the loop and run in its frame (152 bytes in Debian's PHP 8.2).
 */
#define JIT_SCAN_BYTES 256

/*
 * How far up to search for any caller. Assembly seldom uses more stack than the registers to save
 * need.
 */
#define SCAN_BYTES 512

/*
 * Finds the first of the words at *@a, *@a + @step and so on below @end that is a return address.
 * Returns the mapping it points into, with its place in *@a and the word in *@ra. NULL: there is
 * none, or the copy ends before.
 */
static const struct walk_map *next_code(struct walker *w, const struct unwind_input *in, uint64_t *a,
					uint64_t end, uint64_t step, uint64_t *ra)
{
	for (; *a < end; *a += step) {
		const struct walk_map *wm;

		if (stack_view_read(in->stack, *a, ra))
			return NULL;
		wm = walk_called_from(w, in, *ra);
		if (wm)
			return wm;
	}
	return NULL;
}

bool walk_scan_base(struct walker *w, const struct unwind_input *in, uint64_t sp, uint64_t *ra)
{
	uint64_t a = align_up(sp, 8), end = a + WALK_BASE_BYTES, v;
	const struct walk_map *wm;

	for (; (wm = next_code(w, in, &a, end, 8, &v)); a += 8) {
		if (wm->rows && v != wm->entry && walk_at_entry(wm, v - 1)) {
			*ra = v;
			return true;
		}
		/* ld.so leaves the entry point's own address in a register. */
		if (v != wm->entry)
			return false;
	}
	return false;
}

/*
 * Do rows lead from @regs, a frame in @wm, to another frame, and further? Remains of earlier calls
 * in a large frame may lead on for some frames, until they reach words written since then. So the
 * check goes as far as rows do.
 */
static bool rows_lead_on(struct walker *w, const struct unwind_input *in,
			 const struct walk_map *wm, struct uregs regs)
{
	for (uint32_t i = 0; i < in->max_frames && wm->rows; i++) {
		struct walk_at at = { .in = in, .svma = regs.v[CFI_REG_RA] - 1 - wm->bias };
		uint64_t sp = regs.v[CFI_REG_SP];
		enum step_end res;

		if (walk_at_entry(wm, regs.v[CFI_REG_RA] - 1))
			return true;
		res = walk_step_by_rows(w, wm, &at, true, &regs);
		if (res == STEP_OUTERMOST)
			return true;
		/* After two steps, steps without rows may be needed, or the copy may end. */
		if (res != STEP_CALLER || at.signal)
			return i >= 2;
		if (regs.v[CFI_REG_SP] <= sp)
			return false;
		/* 0 would be a root, but any data in a masked stack is 0. */
		wm = regs.v[CFI_REG_RA] ? walk_map(w, in->as, regs.v[CFI_REG_RA] - 1, NULL) : NULL;
		if (!wm)
			return i >= 2 && walk_is_base(w, in, regs.v[CFI_REG_SP]);
	}
	return true;
}

/*
 * Does @to, a frame in @wm with its return address at @a, lead on? If so, @to gets the %rbp with
 * which it does.
 */
static bool jit_caller(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, uint64_t a,
		       struct uregs *to)
{
	const struct walk_map own = *wm;
	uint64_t bp;

	if (rows_lead_on(w, in, &own, *to))
		return true;
	if (stack_view_read(in->stack, a - 8, &bp) || bp <= a || bp >= in->stack->hi)
		return false;
	uregs_set(to, CFI_REG_BP, bp);
	return rows_lead_on(w, in, &own, *to);
}

bool walk_scan_jit(struct walker *w, const struct unwind_input *in, struct uregs *regs)
{
	uint64_t sp = regs->v[CFI_REG_SP], end = sp + JIT_SCAN_BYTES, a = sp + ((8 - sp) & 15), v;
	const struct walk_map *wm;

	for (; (wm = next_code(w, in, &a, end, 16, &v)); a += 16) {
		struct uregs to = *regs;

		if (!wm->rows)
			return false;
		uregs_set(&to, CFI_REG_SP, a + 8);
		uregs_set(&to, CFI_REG_RA, v);
		if (jit_caller(w, in, wm, a, &to)) {
			*regs = to;
			return true;
		}
	}
	return false;
}

void walk_restore_saved(const struct cfi_row *row, uint64_t cfa, struct uregs *regs)
{
	for (unsigned int r = 0; r < CFI_REG_RA; r++) {
		if (r == CFI_REG_SP || row->regs[r].how != CFI_OFFSET)
			continue;
		regs->v[r] = cfa + (uint64_t)row->regs[r].off;
		regs->known |= 1u << r;
		regs->in_mem |= 1u << r;
	}
	uregs_set(regs, CFI_REG_SP, cfa);
}

bool walk_called_step(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, uint64_t addr, bool after_call,
			struct uregs *regs)
{
	struct made_rows *made = module_made(wm->mod);
	uint64_t start = align_up(regs->v[CFI_REG_SP], 8), base;
	const struct walk_map at = *wm;
	struct cfi_row row;

	for (uint64_t a = start; made && a - start < SCAN_BYTES; a += 8) {
		const struct walk_map *from;
		uint64_t v;

		if (stack_view_read(in->stack, a, &v))
			return false;
		from = v ? walk_map(w, in->as, v - 1, NULL) : NULL;
		if (!from || from->mod != at.mod || !from->rows ||
		    made_row_called(made, v - from->bias, addr - at.bias, after_call, &row) ||
		    !uregs_get(regs, row.cfa.reg, in->stack, &base) || base + (uint64_t)row.cfa.off != a + 8)
			continue;
		walk_restore_saved(&row, a + 8, regs);
		uregs_set(regs, CFI_REG_RA, v);
		return true;
	}
	return false;
}

bool walk_leads_on(struct walker *w, const struct unwind_input *in, const struct uregs *regs,
		     uint64_t ra, uint64_t sp)
{
	const struct walk_map *wm = walk_map(w, in->as, ra - 1, NULL);
	struct walk_at at = { .in = in };
	struct uregs next = *regs;
	struct walk_map own;
	enum step_end res;

	if (!wm || !wm->rows)
		return false;
	if (ra != wm->entry && walk_at_entry(wm, ra - 1))
		return true;
	own = *wm;
	at.svma = ra - 1 - wm->bias;
	uregs_set(&next, CFI_REG_SP, sp);
	uregs_set(&next, CFI_REG_RA, ra);
	res = walk_step_by_rows(w, &own, &at, true, &next);
	if (res == STEP_NO_ROWS)
		return walk_called_step(w, in, &own, ra - 1, true, &next);
	if (res == STEP_OUTERMOST)
		return true;
	return res == STEP_CALLER && !at.signal && next.v[CFI_REG_SP] > sp &&
	       walk_is_return(w, in, next.v[CFI_REG_RA]);
}

bool walk_scan(struct walker *w, const struct unwind_input *in, struct uregs *regs)
{
	uint64_t start = align_up(regs->v[CFI_REG_SP], 8);

	for (uint64_t a = start; a - start < SCAN_BYTES; a += 8) {
		uint64_t v;

		if (stack_view_read(in->stack, a, &v))
			return false;
		if (!v || !walk_is_return(w, in, v) || !walk_leads_on(w, in, regs, v, a + 8))
			continue;
		uregs_set(regs, CFI_REG_SP, a + 8);
		uregs_set(regs, CFI_REG_RA, v);
		return true;
	}
	return false;
}

/*
 * Does the call before @ra, an address of the process, call the function in @wm that contains
 * @addr?
 */
static enum made_call calls(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, uint64_t ra,
			    uint64_t addr)
{
	const struct walk_map *from = walk_map(w, in->as, ra - 1, NULL);
	struct made_rows *made = from && from->rows && from->mod == wm->mod ? module_made(wm->mod) : NULL;

	return made ? made_rows_calls(made, ra - wm->bias, addr - wm->bias) : MADE_CALL_UNKNOWN;
}

bool walk_caller_below_bp(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, uint64_t addr,
			    struct uregs *regs)
{
	uint64_t start = align_up(regs->v[CFI_REG_SP], 8), bp, ra;
	const struct walk_map at = *wm;
	enum made_call by_bp;

	/*
	 * Without code, any word left behind by an earlier call would match. A slice has the
	 * evidence of calls as rows.
	 */
	if (!module_made(at.mod) || !uregs_get(regs, CFI_REG_BP, in->stack, &bp) || bp % 8 || stack_view_read(in->stack, bp + 8, &ra) ||
	    !walk_is_return(w, in, ra))
		return false;
	by_bp = calls(w, in, &at, ra, addr);
	if (by_bp == MADE_CALL_THIS)
		return false;
	for (uint64_t a = start; a < bp && a - start < SCAN_BYTES; a += 8) {
		enum made_call by;
		uint64_t v;

		if (stack_view_read(in->stack, a, &v))
			return false;
		if (!v || v == ra || !walk_is_return(w, in, v))
			continue;
		by = calls(w, in, &at, v, addr);
		if (by == MADE_CALL_OTHER ||
		    (by == MADE_CALL_UNKNOWN && by_bp == MADE_CALL_UNKNOWN) ||
		    !walk_leads_on(w, in, regs, v, a + 8))
			continue;
		uregs_set(regs, CFI_REG_SP, a + 8);
		uregs_set(regs, CFI_REG_RA, v);
		return true;
	}
	return false;
}
