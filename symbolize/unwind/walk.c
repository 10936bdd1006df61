/* The walk from the leaf to the root that all unwinders share (walk.h). */
#include "unwind/walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "event.h"
#include "unwind/rules.h"
#include "unwind/stack_join.h"
#include "unwind/stack_reuse.h"
#include "unwind/walk_fast.h"
#include "unwind/walk_priv.h"

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

/* A root that was never called is at its first instruction, not after a call. */
static void name_planted(struct walker *w, const struct unwind_input *in, struct frame *f)
{
	if (f->kind == FRAME_RETURN && !walk_is_return(w, in, f->addr.v))
		f->kind = FRAME_IP;
}

/*
 * A caller's frame is higher on the stack than its callee's, with two exceptions. An instruction
 * may run before its own return address was pushed, or after it was popped into a register. And a
 * signal handler's stack may be anywhere except within this copy again.
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
 * The step led to the kernel's page for return probes. Pushes that as a frame, followed by the
 * caller of the probed function if it can be determined; otherwise a frame pointer leads to the
 * caller after it. False: @out->end is set.
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

/*
 * walk_stack() without the memory of past stacks. *@taken as in walk_fast(); *@stepped: number of
 * entries of w->steps that are filled. True if the last frame was recognized as a root without a
 * look at its stack.
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
	uregs_init(&regs, in->regs);
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
			uregs_init(&regs, in->regs);
			scanned = walk_red_zone(w, &at, old_sp, &regs);
			if (!scanned) {
				out->end = UNWIND_RED_ZONE;
				return false;
			}
		} else if (res == STEP_FAULT) {
			w->fault = at.fault;
			out->end = walk_fault_end(in, at.fault, walk_frame_sp(w, &at, f->kind == FRAME_RETURN, old_sp));
			if (walk_from_other_stack(&at, f->kind == FRAME_RETURN, old_sp, &regs) ||
			    (out->n == 1 && walk_just_begun_untouched(&at, old_sp)))
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

		/*
		 * The kernel built this frame: its code begins at exactly this address, which was
		 * never called.
		 */
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
		 * 0 at a base, or argc as at a program's first instructions; in a masked stack any
		 * data is 0. A signal does not interrupt a base: the program called the code there.
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
		 * Addresses outside all mappings are not pushed. In a masked stack they are 0, and
		 * both kinds of recording must give the same frames.
		 */
		kind = at.signal ? FRAME_IP : FRAME_RETURN;
		next = walk_map(w, in->as, ip - (kind == FRAME_RETURN), wm);
		if (!next) {
			out->end = out->n == 1 && res == STEP_CALLER && at.mod &&
				   walk_just_begun(w, &at, old_sp, &regs) ? UNWIND_COMPLETE : UNWIND_NO_MAPPING;
			return false;
		}
		if (!walk_push(in, out, ip, kind)) {
			out->end = UNWIND_DEPTH;
			return false;
		}
		out->frames[out->n - 1].scanned = scanned;
		/*
		 * The handler had its own stack, and that of the interrupted code was not copied.
		 */
		if (at.signal && walk_on_other_stack(in, regs.v[CFI_REG_SP])) {
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
