/*
 * The fast walk (walk_fast.h). A frame costs what has to be waited for: its rule, which the return
 * address leads to, and the next return address, which the rule leads to. So all else is kept out of the
 * loop: the stack is read page by page, %rbp is followed alone, and where the other saved registers lie is
 * worked out when the loop is left, backwards from the last frame.
 */
#include "walk_fast.h"

#include "reuse.h"
#include "rules.h"
#include "util.h"

#define PAGE_BYTES (8 * STACK_PAGE_WORDS)
#define CHUNK	64	/* frames between two looks at the saved registers */

/* A frame that was stepped out of. */
struct passed {
	uint64_t sp, cfa;	/* runtime addresses */
	uint32_t saved;		/* rule_saved() */
};

/* One page of the stack; words are read from where the last one was, as a rule. */
struct page {
	const struct stack_view *sv;
	uint64_t no;		/* runtime address / PAGE_BYTES */
	const uint64_t *words;
};

static inline bool page_read(struct page *p, uint64_t addr, uint64_t *val)
{
	if (addr < p->sv->lo || addr > p->sv->hi - 8 || addr % 8)
		return false;
	if (addr / PAGE_BYTES != p->no) {
		p->no = addr / PAGE_BYTES;
		p->words = stack_view_page(p->sv, addr);
	}
	*val = p->words ? p->words[addr % PAGE_BYTES / 8] : 0;
	return true;
}

static inline const struct walk_map *recent_map(const struct walker *w, uint64_t addr,
						const struct walk_map *last)
{
	if (addr - last->start < last->end - last->start)
		return last;
	for (uint32_t i = 0; i < w->nrecent; i++)
		if (addr - w->recent[i].start < w->recent[i].end - w->recent[i].start)
			return &w->recent[i];
	return NULL;
}

/* The registers of a rule but for %rbp: for each the last frame that saved it has it. */
static void find_saved(const struct passed *passed, uint32_t n, struct uregs *regs)
{
	static const uint8_t reg_of[RULE_NSAVED] = { 3, CFI_REG_BP, 12, 13, 14, 15 };
	uint32_t todo = ((1u << 5 * RULE_NSAVED) - 1) & ~(RULE_SAVED_MAX << 5);

	while (n--) {
		const struct passed *p = &passed[n];

		for (int f = 0; (p->saved & todo) && f < RULE_NSAVED; f++) {
			uint32_t field = (uint32_t)RULE_SAVED_MAX << 5 * f;
			uint64_t slot = p->cfa - 8 * (p->saved >> 5 * f & RULE_SAVED_MAX);

			/* Below the stack pointer: popped again (walk.h). */
			if (!(p->saved & todo & field) || slot < p->sp)
				continue;
			todo &= ~field;
			regs->v[reg_of[f]] = slot;
			regs->known |= 1u << reg_of[f];
			regs->in_mem |= 1u << reg_of[f];
		}
	}
}

/* Is the frame at @ra and @sp one of the thread's last stack, and would be walked on from as then? */
static inline bool is_same(struct reuse *ru, struct page *page, uint64_t ra, uint64_t sp,
			   bool bp_known, bool bp_in_mem, uint64_t bp)
{
	const struct reuse_mark *m = reuse_find(ru, ra, sp);

	if (!m || m->need == NEED_ALL)
		return false;
	if (m->need == NEED_NOTHING)
		return true;
	return bp_known && (!bp_in_mem || page_read(page, bp, &bp)) && bp == m->bp;
}

const struct walk_map *walk_fast(struct walker *w, const struct unwind_input *in,
				 struct unwind_result *out, const struct walk_map *wm,
				 struct uregs *regs, uint32_t *taken)
{
	struct reuse *ru = w->reuse && w->reuse->cur ? w->reuse : NULL;
	/* Frames of the last stack count from here on. */
	uint64_t same_from = ru && ru->valid ? in->changed_end : UINT64_MAX;
	struct page page = { .sv = in->stack, .no = UINT64_MAX };
	uint64_t sp = regs->v[CFI_REG_SP], bp = regs->v[CFI_REG_BP];
	bool bp_known = regs->known >> CFI_REG_BP & 1, bp_in_mem = regs->in_mem >> CFI_REG_BP & 1;
	struct frame *f = &out->frames[out->n - 1], *end = &out->frames[in->max_frames];
	uint64_t addr = frame_lookup_addr(f).v, ra = f->addr.v;
	struct passed passed[CHUNK];
	uint32_t n = 0;

	if (!w->rules || in->stack->hi - in->stack->lo < 8)
		return wm;
	while (wm->rows && f + 1 < end) {
		uint64_t svma = addr - wm->bias, key = rule_key(wm->mod, svma), cfa = sp, caller;
		const struct rule_slot *slot = &w->rules->l1[rule_slot_of(key)];
		const struct walk_map *next;
		rule_t rule = slot->rule;
		uint32_t saved, k;

		if (slot->key != key || svma >> RULE_SVMA_BITS || rule_kind(rule) != RULE_COMMON ||
		    addr - wm->entry < WALK_ENTRY_LEN)
			break;
		if (rule_base_is_bp(rule)) {
			if (!bp_known || (bp_in_mem && !page_read(&page, bp, &bp)))
				break;
			bp_in_mem = false;
			cfa = bp;
		}
		cfa += rule_cfa_off(rule);
		if (cfa <= sp || !page_read(&page, cfa - 8, &caller) || !caller)
			break;
		next = recent_map(w, caller - 1, wm);
		if (!next)
			break;
		if (ru) {
			uint32_t i = (uint32_t)(f - out->frames);

			reuse_grow(ru, i);
			ru->marks[i] = (struct reuse_mark){
				.sp = sp, .bp = bp,
				.need = rule_base_is_bp(rule) ? NEED_BP : NEED_NOTHING,
			};
		}
		saved = rule_saved(rule);
		k = saved >> 5 & RULE_SAVED_MAX;
		if (k && cfa - 8 * k >= sp) {
			bp = cfa - 8 * k;
			bp_known = bp_in_mem = true;
			if (ru)
				ru->marks[f - out->frames].restores_bp = true;
		}
		if (n == CHUNK) {
			find_saved(passed, n, regs);
			n = 0;
		}
		passed[n++] = (struct passed){ sp, cfa, saved };
		sp = cfa;
		ra = caller;
		addr = caller - 1;
		wm = next;
		*++f = (struct frame){ .addr = { caller }, .kind = FRAME_RETURN };
		if (sp >= same_from && is_same(ru, &page, ra, sp, bp_known, bp_in_mem, bp)) {
			out->n = (uint32_t)(f - out->frames) + 1;
			if (reuse_take(ru, in, out)) {
				*taken = (uint32_t)(f - out->frames);
				return NULL;
			}
			same_from = UINT64_MAX;
		}
	}
	find_saved(passed, n, regs);
	out->n = (uint32_t)(f - out->frames) + 1;
	regs->v[CFI_REG_SP] = sp;
	regs->v[CFI_REG_RA] = ra;
	regs->v[CFI_REG_BP] = bp;
	regs->known = (regs->known & ~(1u << CFI_REG_BP)) | (uint32_t)bp_known << CFI_REG_BP;
	regs->in_mem = (regs->in_mem & ~(1u << CFI_REG_BP)) | (uint32_t)bp_in_mem << CFI_REG_BP;
	return wm;
}
