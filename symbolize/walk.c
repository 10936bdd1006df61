/* The walk from the leaf to the root that all unwinders share (walk.h). */
#include "walk.h"

#include <stdlib.h>
#include <string.h>

#include "addrspace.h"
#include "event.h"
#include "join.h"
#include "made_rows.h"
#include "module.h"
#include "reuse.h"
#include "rules.h"
#include "rules_step.h"
#include "util.h"
#include "walk_fast.h"
#include "walk_priv.h"
#include "xalloc.h"

/*
 * How far above the copy an address may lie and still count as the same stack, further up. Thread
 * stacks are 8 MiB by default, and few programs ask for more than this.
 */
#define STACK_REACH (256ull << 20)

/* DWARF register number to PERF_REG_X86_* (psABI 1.0, figure 3.36). */
static const uint8_t perf_reg[CFI_NREGS] = {
	UREG_AX,	 UREG_DX,   UREG_CX,   UREG_BX,   UREG_SI,	 UREG_DI,   UREG_BP,   UREG_SP, UREG_R8,
	UREG_R9, UREG_R10, UREG_R11, UREG_R12, UREG_R13, UREG_R14, UREG_R15, UREG_IP,
};

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

void walker_init(struct walker *w, walk_step_fn step, void *priv)
{
	memset(w, 0, sizeof(*w));
	w->step = step;
	w->priv = priv;
	w->reuse = reuse_new();
}

void walker_fini(struct walker *w)
{
	free(w->steps);
	reuse_free(w->reuse);
	rules_free(w->made);
	rules_free(w->made_return);
}

enum unwind_end walk_fault_end(const struct unwind_input *in, uint64_t addr, uint64_t sp)
{
	const struct stack_view *sv = in->stack;
	struct avma a = { addr };

	/* A word may lie across the upper edge. */
	if (sv->lo == sv->hi || addr + 8 <= sv->hi || addr + 8 < addr ||
	    addr > sv->hi + STACK_REACH)
		return UNWIND_BAD_READ;
	if (addrspace_find(in->as, a))
		return UNWIND_BAD_READ;
	if (in->cut)
		return UNWIND_CUT;
	if (in->copy_full)
		return UNWIND_COPY_END;
	/* No stack ends within a frame. */
	if (sp < sv->hi && sv->hi % MAP_PAGE == 0)
		return UNWIND_HOLE;
	return stack_view_hole(sv, addr) ? UNWIND_HOLE : UNWIND_STACK_END;
}

bool walk_push(const struct unwind_input *in, struct unwind_result *out, uint64_t addr,
	       enum frame_kind kind)
{
	if (out->n >= in->max_frames)
		return false;
	out->frames[out->n++] = (struct frame){ .addr = { addr }, .kind = kind };
	return true;
}

/*
 * Whether the program has just made a system call, or been made by one. A slice has no code to look at; the instruction
 * leaves the address behind it in rcx, and a thread begins with what its parent had there.
 */
static bool after_syscall(const struct walk_at *at)
{
	struct made_rows *made = module_made(at->mod);

	return made ? made_rows_after_syscall(made, at->svma) : at->in->regs[UREG_CX] == at->in->regs[UREG_IP];
}

/*
 * A thread that has just begun stands behind the system call that made it, with the stack it was given: in that
 * function its parent has a return address at the stack pointer, and it has none, there or above. The kernel is
 * where such samples are taken, so there are some wherever threads are short-lived.
 */
static bool just_begun(struct walker *w, const struct walk_at *at, uint64_t sp, const struct uregs *caller)
{
	const struct unwind_input *in = at->in;

	return sp == in->regs[UREG_SP] && caller->v[CFI_REG_SP] == sp + 8 && after_syscall(at) &&
	       !walk_map(w, in->as, caller->v[CFI_REG_RA] - 1, NULL) && walk_is_base(w, in, sp);
}

/*
 * The same where nothing could be copied: neither who made the thread nor itself has touched the page its stack begins in.
 * Its parent would have read its own return address there.
 */
static bool just_begun_untouched(const struct walk_at *at, uint64_t sp)
{
	return sp == at->in->regs[UREG_SP] && at->fault == sp && at->in->stack->lo == at->in->stack->hi &&
	       after_syscall(at);
}

/*
 * The step by a row that was made. What it leads to has to be a caller: a function that calls one which
 * never comes back may look as if it ran on into the next. Go's table needs no such care, and goexit() was
 * never called. Not part of the loop: most programs never come here.
 */
static __attribute__((noinline)) enum step_end made_step(struct walker *w,
							 const struct walk_map *wm,
							 struct walk_at *at, bool after_call,
							 struct uregs *regs)
{
	struct rules **rs = after_call ? &w->made_return : &w->made;
	struct uregs old = *regs;
	enum step_end res;

	if (!*rs)
		*rs = rules_new(after_call ? RULES_MADE_RETURN : RULES_MADE);
	res = rules_step(*rs, at, regs);
	if (res == STEP_FAULT && !after_call && just_begun_untouched(at, old.v[CFI_REG_SP]))
		return STEP_OUTERMOST;
	if (res == STEP_UNKNOWN_REG ||
	    (res == STEP_CALLER && !at->signal && !wm->go &&
	     !walk_is_return(w, at->in, regs->v[CFI_REG_RA]))) {
		if (res == STEP_CALLER && !after_call &&
		    just_begun(w, at, old.v[CFI_REG_SP], regs))
			return STEP_OUTERMOST;
		*regs = old;
		at->signal = false;
		return STEP_NO_ROWS;
	}
	return res;
}

/*
 * @sp, if the rows here go by the stack pointer, which says where this frame ends; else UINT64_MAX: a frame pointer to above
 * the copy is masked, and one that is there may be no frame pointer at all.
 */
static uint64_t frame_sp(struct walker *w, const struct walk_at *at, bool after_call, uint64_t sp)
{
	struct rules *made = after_call ? w->made_return : w->made;
	const struct general_rule *g;
	struct cfi_fde fde;
	struct cfi_row row;
	rule_t rule;

	if (!at->mod)
		return UINT64_MAX;
	if (!cfi_find(module_cfi(at->mod), at->svma, &fde))
		return !cfi_row(module_cfi(at->mod), &fde, at->svma, &row) && row.cfa_how == CFI_REGISTER &&
		       row.cfa.reg == CFI_REG_SP ? sp : UINT64_MAX;
	/* Made, and so compiled: a slice would have it as a row. */
	rule = made ? rules_find(made, at->mod, at->svma) : RULE_NO_ROWS;
	g = rule_kind(rule) == RULE_GENERAL ? rules_general(made, rule) : NULL;
	if (g)
		return g->cfa_how == CFI_REGISTER && g->cfa.reg == CFI_REG_SP ? sp : UINT64_MAX;
	return rule_is_common_sp(rule) ? sp : UINT64_MAX;
}

/* Whether the row is one of a slice that was made. */
static bool is_made(const struct walk_at *at)
{
	struct cfi *cfi = module_cfi(at->mod);
	struct cfi_fde fde;
	struct cfi_row row;

	return at->mod->cfi_cut && !cfi_find(cfi, at->svma, &fde) && !cfi_row(cfi, &fde, at->svma, &row) && row.made;
}

enum step_end walk_step_by_rows(struct walker *w, const struct walk_map *wm, struct walk_at *at,
				bool after_call, struct uregs *regs)
{
	const bool go = wm->go;
	enum step_end res = STEP_NO_ROWS;
	struct walk_map own;

	at->mod = wm->mod;
	at->bias = wm->bias;
	at->signal = false;
	at->resumes = false;
	/* A look at where it leads may take @wm's place among the recent ones. */
	if (go) {
		own = *wm;
		res = made_step(w, &own, at, after_call, regs);
	}
	/* Our own rules know it, the libraries cannot. */
	if (res == STEP_NO_ROWS && (w->rules || !is_made(at)))
		res = w->step(w->priv, at, regs);
	if (res == STEP_NO_ROWS && !go) {
		own = *wm;
		res = made_step(w, &own, at, after_call, regs);
	}
	return res;
}

/* A root that was never called stands at its first instruction, not behind a call. */
static void name_planted(struct walker *w, const struct unwind_input *in, struct frame *f)
{
	if (f->kind == FRAME_RETURN && !walk_is_return(w, in, f->addr.v))
		f->kind = FRAME_IP;
}

/*
 * Whether @sp, from before a signal, lies on another stack than the copied one: below it, or further above
 * than the copy's own stack can reach.
 */
static bool on_other_stack(const struct unwind_input *in, uint64_t sp)
{
	enum unwind_end end;

	if (sp >= in->stack->lo && sp < in->stack->hi)
		return false;
	end = sp < in->stack->lo ? UNWIND_BAD_READ : walk_fault_end(in, sp, UINT64_MAX);
	return end == UNWIND_BAD_READ || end == UNWIND_STACK_END;
}

/*
 * A caller's frame lies higher on the stack than its callee's. Two exceptions: an instruction that
 * runs before its own return address was pushed, or after it was popped into a register; and a
 * signal handler's stack, which may be anywhere as long as it is not within this copy again.
 */
static bool advances(const struct stack_view *sv, const struct frame *f, const struct walk_at *at,
		     uint64_t old_sp, const struct uregs *regs)
{
	uint64_t sp = regs->v[CFI_REG_SP];

	if (sp > old_sp)
		return true;
	if (at->signal)
		return sp < sv->lo;
	return sp == old_sp && f->kind == FRAME_IP && regs->v[CFI_REG_RA] != f->addr.v;
}

/*
 * The step led to the kernel's page for return probes: that is a frame, and behind it is who called the probed function, as far as that
 * can be told. Where it cannot, a frame pointer leads to the one after. False: @out->end is set.
 */
static bool past_uretprobe(struct walker *w, const struct unwind_input *in, struct unwind_result *out, struct uregs *regs, bool *scanned)
{
	const struct frame probed = out->frames[out->n - 1];

	out->end = UNWIND_DEPTH;
	if (!walk_push(in, out, regs->v[CFI_REG_RA], FRAME_IP))
		return false;
	w->steps[out->n - 1] = (struct walk_step){ .sp = regs->v[CFI_REG_SP] };
	switch (w->step ? walk_uretprobe(w, in, out, &probed, regs) : URETPROBE_LOST) {
	case URETPROBE_CALLER: return true;
	case URETPROBE_DEPTH: return false;
	case URETPROBE_LOST: break;
	}
	out->end = UNWIND_URETPROBE;
	*scanned = walk_fp_step(w, in, regs);
	return *scanned;
}

void walk_leaf_regs(const struct unwind_input *in, struct uregs *regs)
{
	*regs = (struct uregs){ .known = (1u << CFI_NREGS) - 1 };
	for (int i = 0; i < CFI_NREGS; i++)
		regs->v[i] = in->regs[perf_reg[i]];
}

/*
 * All of walk_stack() but for what is remembered. *@taken as of walk_fast(); *@stepped: so many of
 * w->steps are filled. True when the last frame was known for a root without a look at its stack.
 */
static bool walk(struct walker *w, const struct unwind_input *in, struct unwind_result *out,
		 uint32_t *taken, uint32_t *stepped)
{
	const struct walk_map *wm, *next;
	enum frame_kind kind = FRAME_IP;
	struct walk_at at = { .in = in };
	uint64_t ip = in->regs[UREG_IP];
	struct uregs regs;
	bool scanned;

	out->n = 0;
	out->joined = 0;
	out->at = NULL;
	out->end = UNWIND_NO_USER;
	if (!ip && !in->regs[UREG_SP])
		return false;
	walk_leaf_regs(in, &regs);
	if (w->generation != in->as->generation) {
		w->generation = in->as->generation;
		w->nrecent = 0;
		w->next = 0;
	}

	out->end = UNWIND_DEPTH;
	if (!walk_push(in, out, ip, kind))
		return false;
	out->end = UNWIND_NO_MAPPING;
	wm = walk_map(w, in->as, ip, NULL);
	if (!wm)
		return false;

	for (;;) {
		enum step_end res = STEP_NO_ROWS;
		uint64_t old_sp, addr;
		struct frame *f;

		wm = walk_fast(w, in, out, wm, &regs, taken);
		if (!wm)
			return false;
		f = &out->frames[out->n - 1];
		old_sp = regs.v[CFI_REG_SP];
		addr = frame_lookup_addr(f).v;
		w->steps[out->n - 1] = (struct walk_step){ .sp = old_sp };
		*stepped = out->n;
		out->at = wm->mod;
		if (walk_at_entry(wm, addr)) {
			out->end = UNWIND_COMPLETE;
			return true;
		}
		at.signal = false;
		scanned = false;
		if (w->step && wm->rows) {
			at.svma = addr - wm->bias;
			res = walk_step_by_rows(w, wm, &at, f->kind == FRAME_RETURN, &regs);
		}
		if (res == STEP_NO_ROWS || res == STEP_UNKNOWN_REG) {
			wm = walk_map(w, in->as, addr, NULL);
			res = walk_rowless(w, in, out, wm, res, &regs, &scanned);
			if (res != STEP_CALLER)
				return false;
		} else if (res == STEP_FAULT && out->n == 1 && old_sp - 1 - at.fault < WALK_RED_ZONE) {
			walk_leaf_regs(in, &regs);
			scanned = walk_red_zone(w, &at, old_sp, &regs);
			if (!scanned) {
				out->end = UNWIND_RED_ZONE;
				return false;
			}
		} else if (res == STEP_FAULT) {
			w->fault = at.fault;
			out->end = walk_fault_end(in, at.fault, frame_sp(w, &at, f->kind == FRAME_RETURN, old_sp));
			if (walk_from_other_stack(&at, f->kind == FRAME_RETURN, old_sp, &regs) ||
			    (out->n == 1 && just_begun_untouched(&at, old_sp)))
				out->end = UNWIND_COMPLETE;
			else if (out->end == UNWIND_BAD_READ && walk_led_above(in, at.fault))
				out->end = in->cut ? UNWIND_CUT : UNWIND_COPY_END;
			return false;
		} else if (res == STEP_OUTERMOST) {
			out->end = UNWIND_COMPLETE;
			name_planted(w, in, f);
			return true;
		} else if (!at.signal && walk_resumed(w, &at, &regs)) {
			scanned = true;
		} else if (out->n == 1 && !at.signal && !walk_map(w, in->as, regs.v[CFI_REG_RA] - 1, NULL)) {
			walk_unstated_call(w, &at, old_sp, &regs);
		}

		/* The kernel built it: its code begins at the very address, which was never called. */
		if (at.signal)
			f->kind = FRAME_IP;
		ip = regs.v[CFI_REG_RA];
		while (!at.signal && walk_is_uretprobe(in, ip)) {
			if (!past_uretprobe(w, in, out, &regs, &scanned))
				return false;
			f = &out->frames[out->n - 1];
			old_sp = w->steps[out->n - 1].sp;
			*stepped = out->n;
			ip = regs.v[CFI_REG_RA];
			res = STEP_NO_ROWS;
		}
		/*
		 * At a base, as which a program's first instructions have argc; in a masked stack any data is 0. A signal interrupts
		 * no base: the program called that.
		 */
		if (ip < WALK_NEAR_NULL) {
			out->end = !at.signal && walk_is_base(w, in, regs.v[CFI_REG_SP]) ? UNWIND_COMPLETE :
											   UNWIND_NO_MAPPING;
			return false;
		}
		if (!advances(in->stack, f, &at, old_sp, &regs)) {
			out->end = UNWIND_NO_ADVANCE;
			return false;
		}
		/*
		 * Addresses outside all mappings are not pushed: in a masked stack they are 0, and
		 * both kinds of recording must give the same frames.
		 */
		kind = at.signal ? FRAME_IP : FRAME_RETURN;
		next = walk_map(w, in->as, ip - (kind == FRAME_RETURN), wm);
		if (!next) {
			out->end = out->n == 1 && res == STEP_CALLER && at.mod &&
				   just_begun(w, &at, old_sp, &regs) ? UNWIND_COMPLETE : UNWIND_NO_MAPPING;
			return false;
		}
		if (!walk_push(in, out, ip, kind)) {
			out->end = UNWIND_DEPTH;
			return false;
		}
		out->frames[out->n - 1].scanned = scanned;
		/*
		 * The handler had a stack of its own, and that of the interrupted code was not
		 * copied.
		 */
		if (at.signal && on_other_stack(in, regs.v[CFI_REG_SP])) {
			out->at = next->mod;
			out->end = UNWIND_OTHER_STACK;
			return false;
		}
		wm = next;
	}
}

void walk_stack(struct walker *w, const struct unwind_input *in, struct unwind_result *out)
{
	uint32_t taken = UINT32_MAX, stepped = 0;
	bool rooted;

	if (w->steps_cap < in->max_frames) {
		free(w->steps);
		w->steps_cap = in->max_frames;
		w->steps = xcalloc(w->steps_cap, sizeof(*w->steps));
	}
	reuse_begin(w->reuse, in);
	rooted = walk(w, in, out, &taken, &stepped);
	if (out->end == UNWIND_COPY_END || out->end == UNWIND_CUT) {
		join_outer(w->reuse, in, out, w->steps, w->fault);
		if (out->joined)
			taken = out->n - 1;
	}
	reuse_end(w->reuse, in, out, w->steps, taken, rooted && stepped == out->n, stepped);
}

void walk_forget(struct walker *w, uint32_t tid)
{
	reuse_forget(w->reuse, tid);
}

bool walk_join_holds(const void *const *privs, size_t n, uint64_t border)
{
	const struct reuse **all = xcalloc(n, sizeof(*all));
	bool holds;

	for (size_t i = 0; i < n; i++)
		all[i] = ((const struct walker *)privs[i])->reuse;
	holds = join_holds(all, n, border);
	free(all);
	return holds;
}
