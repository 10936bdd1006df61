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

/* The part of one page that lies in the stack copy; words are where the last one was, as a rule. */
struct page {
	const struct stack_view *sv;
	uint64_t lo, len;	/* runtime address of the first word, bytes up to the last one's start */
	uintptr_t words;	/* the word of runtime address A is at @words + A in our own memory */
};

static bool page_turn(struct page *p, uint64_t addr)
{
	const struct stack_view *sv = p->sv;
	uint64_t start = align_down(addr, PAGE_BYTES);
	const uint64_t *words;

	if (sv->hi - sv->lo < 8 || addr < sv->lo || addr > sv->hi - 8 || addr % 8)
		return false;
	words = stack_view_page(sv, addr);
	if (!words)
		return false;
	p->lo = MAX(start, align_up(sv->lo, 8));
	p->len = MIN(start + PAGE_BYTES - 8, align_down(sv->hi, 8) - 8) - p->lo;
	p->words = (uintptr_t)words - start;
	return true;
}

/* False outside of the copy, and where all is 0: neither leads to a caller. */
static inline bool page_read(struct page *p, uint64_t addr, uint64_t *val)
{
	if ((addr - p->lo > p->len || addr % 8) && !page_turn(p, addr))
		return false;
	*val = *(const uint64_t *)(p->words + addr);
	return true;
}

static const struct walk_map *recent_map(const struct walker *w, uint64_t addr)
{
	for (uint32_t i = 0; i < w->nrecent; i++)
		if (addr - w->recent[i].start < w->recent[i].end - w->recent[i].start)
			return &w->recent[i];
	return NULL;
}

/*
 * The registers of a rule but for %rbp, from steps @first up to @end, the last of which led to @sp: for
 * each the last frame that saved it has it.
 */
static void find_saved(const struct walk_step *steps, uint32_t first, uint32_t end, uint64_t sp,
		       struct uregs *regs)
{
	static const uint8_t reg_of[RULE_NSAVED] = { 3, CFI_REG_BP, 12, 13, 14, 15 };
	uint32_t todo = ((1u << 5 * RULE_NSAVED) - 1) & ~(RULE_SAVED_MAX << 5);
	uint64_t cfa = sp;

	while (end-- > first && todo) {
		const struct walk_step *s = &steps[end];
		uint32_t saved = rule_saved(s->rule) & todo;

		for (int f = 0; saved && f < RULE_NSAVED; f++) {
			uint32_t field = (uint32_t)RULE_SAVED_MAX << 5 * f;
			uint64_t slot = cfa - 8 * (saved >> 5 * f & RULE_SAVED_MAX);

			/* Below the stack pointer: popped again (walk.h). */
			if (!(saved & field) || slot < s->sp)
				continue;
			todo &= ~field;
			regs->v[reg_of[f]] = slot;
			regs->known |= 1u << reg_of[f];
			regs->in_mem |= 1u << reg_of[f];
		}
		cfa = s->sp;
	}
}

/* Is the frame at @ra and @sp one of the thread's last stack, and would be walked on from as then? */
static bool is_same(struct reuse *ru, struct page *page, uint64_t ra, uint64_t sp, bool bp_known,
		    bool bp_in_mem, uint64_t bp)
{
	const union reuse_mark *m;

	if (!reuse_find(ru, ra, sp))
		return false;
	m = reuse_ask(ru);
	if (m->need == NEED_ALL)
		return false;
	if (m->need == NEED_NOTHING)
		return true;
	return bp_known && (!bp_in_mem || page_read(page, bp, &bp)) && bp == m->bp;
}

const struct walk_map *walk_fast(struct walker *w, const struct unwind_input *in,
				 struct unwind_result *out, const struct walk_map *wm,
				 struct uregs *regs, uint32_t *taken)
{
	/* Frames of the last stack count from here on. */
	uint64_t same_from = w->reuse->valid ? in->changed_end : UINT64_MAX;
	struct page page = { .sv = in->stack, .lo = UINT64_MAX };
	uint64_t sp = regs->v[CFI_REG_SP], bp = regs->v[CFI_REG_BP];
	bool bp_known = regs->known >> CFI_REG_BP & 1, bp_in_mem = regs->in_mem >> CFI_REG_BP & 1;
	/* Copies: whatever is stored might lie over what they are read from. */
	struct frame *f = &out->frames[out->n - 1], *last = &out->frames[in->max_frames - 1];
	struct walk_step *step = &w->steps[out->n - 1];
	const struct rule_slot *l1;
	uint64_t ra = f->addr.v, addr = frame_lookup_addr(f).v;
	uint32_t first = out->n - 1;
	struct walk_map map = *wm;

	if (!w->rules)
		return wm;
	l1 = w->rules->l1;
	while (map.fast && f < last) {
		uint64_t key = addr + map.key_off, cfa = sp, caller, slot_bp;
		const struct rule_slot *slot = &l1[rule_slot_of(key)];
		rule_t rule = slot->rule;

		if (slot->key != key || rule_kind(rule) != RULE_COMMON ||
		    addr - map.entry < map.entry_len)
			break;
		if (rule_base_is_bp(rule)) {
			if (!bp_known || (bp_in_mem && !page_read(&page, bp, &bp)))
				break;
			bp_in_mem = false;
			cfa = bp;
		}
		cfa += rule_cfa_off(rule);
		if (cfa <= sp || !page_read(&page, cfa - 8, &caller))
			break;
		addr = caller - 1;
		if (addr - map.start >= map.end - map.start) {
			const struct walk_map *next = recent_map(w, addr);

			if (!next)
				break;
			wm = next;
			map = *next;
		}
		*step++ = (struct walk_step){ sp, bp, rule };
		/* Within the frame: with 0 it is the CFA itself, and what lies below was popped. */
		slot_bp = cfa - 8 * (rule_saved(rule) >> 5 & RULE_SAVED_MAX);
		if (slot_bp - sp < cfa - sp) {
			bp = slot_bp;
			bp_known = bp_in_mem = true;
		}
		sp = cfa;
		ra = caller;
		*++f = (struct frame){ .addr = { ra }, .kind = FRAME_RETURN };
		if (sp >= same_from && is_same(w->reuse, &page, ra, sp, bp_known, bp_in_mem, bp)) {
			out->n = (uint32_t)(f - out->frames) + 1;
			if (reuse_take(w->reuse, in, out)) {
				*step = (struct walk_step){ .sp = sp };
				*taken = (uint32_t)(f - out->frames);
				return NULL;
			}
			same_from = UINT64_MAX;
		}
	}
	out->n = (uint32_t)(f - out->frames) + 1;
	/* Nobody steps out of start-up code. */
	if (addr - map.entry >= map.entry_len)
		find_saved(w->steps, first, out->n - 1, sp, regs);
	regs->v[CFI_REG_SP] = sp;
	regs->v[CFI_REG_RA] = ra;
	regs->v[CFI_REG_BP] = bp;
	regs->known = (regs->known & ~(1u << CFI_REG_BP)) | (uint32_t)bp_known << CFI_REG_BP;
	regs->in_mem = (regs->in_mem & ~(1u << CFI_REG_BP)) | (uint32_t)bp_in_mem << CFI_REG_BP;
	return wm;
}
