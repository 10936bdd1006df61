/*
 * The fast walk (walk_fast.h). The cost of a frame is the time to wait for its rule, which the
 * return address leads to, and for the next return address, which the rule leads to. Everything
 * else stays out of the loop. The stack is read page by page. %rbp is found only when a frame needs
 * it. The places of the other saved registers are computed after the loop, backwards from the last
 * frame.
 */
#include "unwind/walk_fast.h"

#include <assert.h>
#include <string.h>

#include "base/util.h"
#include "unwind/rules.h"
#include "unwind/stack_reuse.h"
#include "unwind/walk_priv.h"

#define PAGE_BYTES (8 * STACK_PAGE_WORDS)

/* The part of one page that lies in the stack copy; the next word is mostly in the same page. */
struct page {
	const struct stack_view *sv;
	uint64_t lo;		/* runtime address of the first word */
	uint64_t n;		/* words from there on */
	uintptr_t words;	/* the word at runtime address A is at @words + A in our own memory */
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
	p->n = (MIN(start + PAGE_BYTES, align_down(sv->hi, 8)) - p->lo) / 8;
	p->words = (uintptr_t)words - start;
	return true;
}

/* False outside of the copy and where everything is 0: neither leads to a caller. */
static inline bool page_read(struct page *p, uint64_t addr, uint64_t *val)
{
	uint64_t off = addr - p->lo;

	/*
	 * The index of the word; if the offset is not a multiple of 8, the highest bits make it too
	 * large.
	 */
	if ((off >> 3 | off << 61) >= p->n && !page_turn(p, addr))
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
 * Finds the registers of a rule, except %rbp, saved in steps @first to @end, the last of which led
 * to @sp. For each register, the last frame that saved it has its value.
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

			/* Below the stack pointer: already popped (uregs.h). */
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

/*
 * %rbp as the walk knows it. Where it was saved is only searched when a frame needs it. By then
 * most frames that saved it are gone, and the last one of the rest counts.
 */
struct bp {
	uint64_t v;		/* the value; with @in_mem, the runtime address of the saved copy */
	bool known, in_mem;
	const struct walk_step *from;	/* steps from here on are not examined yet */
};

/* @end: end of the steps; the last one led to @sp. */
static void bp_follow(struct bp *bp, const struct walk_step *end, uint64_t sp)
{
	const struct walk_step *s = end;
	uint64_t cfa = sp;

	while (s > bp->from) {
		uint64_t slot = cfa - 8 * (rule_saved((--s)->rule) >> 5 & RULE_SAVED_MAX);

		/*
		 * Within the frame: for 0 the slot is the CFA itself, and anything below was
		 * popped.
		 */
		if (slot - s->sp < cfa - s->sp) {
			bp->v = slot;
			bp->known = bp->in_mem = true;
			break;
		}
		cfa = s->sp;
	}
	bp->from = end;
}

/* The value of %rbp. */
static bool bp_get(struct bp *bp, const struct walk_step *end, uint64_t sp, struct page *page, uint64_t *val)
{
	bp_follow(bp, end, sp);
	if (!bp->known || (bp->in_mem && !page_read(page, bp->v, &bp->v)))
		return false;
	bp->in_mem = false;
	*val = bp->v;
	return true;
}

/*
 * Is the frame at @ra and @sp, to which the step before @end led, in the thread's last stack, and
 * would the walk continue from it as then?
 */
static bool is_same(struct reuse *ru, struct page *page, uint64_t ra, uint64_t sp, struct bp *bp,
		    const struct walk_step *end)
{
	const union reuse_mark *m;
	uint64_t val;

	if (!reuse_find(ru, ra, sp))
		return false;
	m = reuse_ask(ru);
	if (m->need == NEED_ALL)
		return false;
	if (m->need == NEED_NOTHING)
		return true;
	return bp_get(bp, end, sp, page, &val) && val == m->bp;
}

/*
 * Writes a frame for return address @ra; everything but the address is one store of a prepared
 * value.
 */
static inline void set_return(struct frame *f, uint64_t ra)
{
	static const uint32_t what = FRAME_RETURN;	/* the lowest byte is the kind */

	static_assert(sizeof(*f) - offsetof(struct frame, kind) >= sizeof(what) &&
		      offsetof(struct frame, scanned) == offsetof(struct frame, kind) + 3, "nothing else lies there");
	f->addr.v = ra;
	memcpy((char *)f + offsetof(struct frame, kind), &what, sizeof(what));
}

const struct walk_map *walk_fast(struct walker *w, const struct unwind_input *in,
				 struct unwind_result *out, const struct walk_map *wm,
				 struct uregs *regs, uint32_t *taken)
{
	/* Frames of the last stack count from here on. */
	uint64_t same_from = w->reuse->valid ? in->changed_end : UINT64_MAX;
	struct page page = { .sv = in->stack };
	/* Local copies: otherwise the compiler must assume that stores change them. */
	struct frame *f = &out->frames[out->n - 1], *last = &out->frames[in->max_frames - 1];
	struct walk_step *step = &w->steps[out->n - 1];
	struct bp bp = {
		.v = regs->v[CFI_REG_BP], .known = regs->known >> CFI_REG_BP & 1,
		.in_mem = regs->in_mem >> CFI_REG_BP & 1, .from = step,
	};
	uint64_t sp = regs->v[CFI_REG_SP];
	/* Shifted by one, because return addresses are looked up one byte before. */
	uint64_t start = wm->start + 1, len = wm->end - wm->start, key_off = wm->key_off - 1;
	uint64_t key = frame_lookup_addr(f).v + wm->key_off;
	const struct rule_slot *l1;
	uint64_t l1_mask;
	uint32_t first = out->n - 1;

	if (!w->rules || !wm->fast)
		return wm;
	l1 = w->rules->l1;
	l1_mask = w->rules->l1_mask;
	/* The walk does not step out of start-up code, so there is no rule there. */
	while (f < last) {
		const struct rule_slot *slot = &l1[rule_slot_of(key, l1_mask)];
		uint64_t cfa = sp, caller, bp_val;
		rule_t rule = slot->rule;

		if (slot->key != key)
			break;
		if (__builtin_expect(!rule_is_common_sp(rule), 0)) {
			if (rule_kind(rule) != RULE_COMMON || !bp_get(&bp, step, sp, &page, &bp_val))
				break;
			step->bp = cfa = bp_val;
		}
		cfa += rule_cfa_off(rule);
		if (cfa <= sp || !page_read(&page, cfa - 8, &caller))
			break;
		if (__builtin_expect(caller - start >= len, 0)) {
			const struct walk_map *next = recent_map(w, caller - 1);

			if (!next || !next->fast)
				break;
			wm = next;
			start = wm->start + 1;
			len = wm->end - wm->start;
			key_off = wm->key_off - 1;
		}
		key = caller + key_off;
		step->sp = sp;
		step->rule = rule;
		step++;
		sp = cfa;
		f++;
		set_return(f, caller);
		if (__builtin_expect(sp >= same_from, 0) && is_same(w->reuse, &page, caller, sp, &bp, step)) {
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
	/* Start-up code needs no registers. */
	if (!walk_at_entry(wm, frame_lookup_addr(f).v))
		find_saved(w->steps, first, out->n - 1, sp, regs);
	bp_follow(&bp, step, sp);
	regs->v[CFI_REG_SP] = sp;
	regs->v[CFI_REG_RA] = f->addr.v;
	regs->v[CFI_REG_BP] = bp.v;
	regs->known = (regs->known & ~(1u << CFI_REG_BP)) | (uint32_t)bp.known << CFI_REG_BP;
	regs->in_mem = (regs->in_mem & ~(1u << CFI_REG_BP)) | (uint32_t)bp.in_mem << CFI_REG_BP;
	return wm;
}
