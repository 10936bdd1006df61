/*
 * Return probes on functions (uretprobes). When the probed function is called, the kernel saves its
 * return address and replaces it with an address in its own page, which is mapped as [uprobes]
 * (prepare_uretprobe() in kernel/events/uprobes.c). The caller's frame is found as usual. The
 * caller's code tells where in it the call was: a call of the probed function after which the frame
 * ends at the next return address up the stack, which follows a call of the caller.
 */
#include <string.h>

#include "base/util.h"
#include "code/made_rows.h"
#include "modules/addrspace.h"
#include "modules/module.h"
#include "stackcopy.h"
#include "unwind/walk_priv.h"

/* How far up to search for the caller's own return address. */
#define FRAME_MAX (16u << 10)

/* Maximum number of call sites in one function. */
#define SITES_MAX 512u

bool walk_is_uretprobe(const struct unwind_input *in, uint64_t addr)
{
	return addrspace_uretprobe(in->as, (struct avma){ addr });
}

/* Maximum number of functions examined per frame, and of nested saved return addresses. */
#define LOOKS_MAX 512u
#define DEPTH_MAX 16u

/* A function: svma @begin in @wm. */
struct suspect {
	struct walk_map wm;
	uint64_t begin;
};

struct hunt {
	struct walker *w;
	const struct unwind_input *in;
	const struct uregs *regs;	/* their stack pointer is that after the return from the
					 * probed function */
	uint64_t slot;			/* address of its return address */
	uint64_t probed;		/* runtime address of its beginning; 0: unknown */
	unsigned int looks;
	/* The caller found: */
	uint64_t begin, ret;		/* runtime addresses of the function and of the instruction
					 * after the call */
	struct uregs next;		/* registers of the caller's own caller */
	unsigned int n;			/* number of calls that it could be; 0: none was found */
};

/*
 * Starting after the call that ends at @ret (svma in @wm), do rows lead to the frame with its
 * return address at @a?
 */
static bool leads_to(struct hunt *h, const struct walk_map *wm, uint64_t ret, uint64_t a, struct uregs *next)
{
	struct walk_at at = { .in = h->in, .svma = ret - 1 };

	*next = *h->regs;
	uregs_set(next, CFI_REG_RA, ret + wm->bias);
	return walk_step_by_rows(h->w, wm, &at, true, next) == STEP_CALLER && !at.signal && next->v[CFI_REG_SP] == a + 8;
}

/*
 * Takes those calls of @s from which rows lead to the return address at @a. They must call
 * @h->probed or, with @tables, not show what they call.
 */
static void take_calls(struct hunt *h, const struct suspect *s, const struct call_site *sites, size_t n, uint64_t a, bool tables)
{
	for (size_t i = 0; i < n; i++) {
		struct uregs next;

		if (tables ? sites[i].target : !sites[i].target || sites[i].target + s->wm.bias != h->probed)
			continue;
		if (!leads_to(h, &s->wm, sites[i].ret, a, &next) || h->n++)
			continue;
		h->begin = s->begin + s->wm.bias;
		h->ret = sites[i].ret + s->wm.bias;
		h->next = next;
	}
}

/*
 * Returns the place of the return address of a function that is called before @ret (svma) by a
 * function with its own return address at @a; 0: the rows do not tell.
 */
static uint64_t callee_slot(const struct suspect *s, const struct unwind_input *in, uint64_t ret, uint64_t a)
{
	const struct walk_at at = { .in = in, .mod = s->wm.mod, .bias = s->wm.bias, .svma = ret - 1 };
	struct cfi_row row;

	if (!walk_row_at(&at, true, &row) || row.cfa_how != CFI_REGISTER || row.cfa.reg != CFI_REG_SP)
		return 0;
	return a - (uint64_t)row.cfa.off;
}

static bool is_put_by(const struct unwind_input *in, uint64_t slot)
{
	uint64_t v;

	return !stack_view_read(in->stack, slot, &v) && walk_is_uretprobe(in, v);
}

/*
 * Is the probed function called by @s, with its return address at @a, or by one of its callees, and
 * so on? All return addresses between were replaced, too, but each call in each function tells
 * where the next one is.
 */
static bool hunt_down(struct hunt *h, const struct suspect *s, uint64_t a, unsigned int depth)
{
	struct call_site sites[SITES_MAX];
	size_t n;

	if (h->looks++ >= LOOKS_MAX)
		return false;
	n = made_rows_sites(module_made(s->wm.mod), module_cfi(s->wm.mod), s->begin, sites, SITES_MAX);
	take_calls(h, s, sites, n, a, false);
	for (size_t i = 0; i < n && !h->n && depth; i++) {
		struct suspect callee = { .wm = s->wm, .begin = sites[i].target };
		uint64_t slot = callee_slot(s, h->in, sites[i].ret, a);

		if (!sites[i].target)
			continue;
		if (slot) {
			if (slot > h->slot && slot < a && is_put_by(h->in, slot))
				hunt_down(h, &callee, slot, depth - 1);
			continue;
		}
		/*
		 * Based on a frame pointer, which is unknown from above: try every place with a
		 * replaced return address.
		 */
		for (uint64_t b = a - 8; b > h->slot && !h->n; b -= 8)
			if (is_put_by(h->in, b))
				hunt_down(h, &callee, b, depth - 1);
	}
	return h->n;
}

/* Finds the function called before runtime address @ra. */
static bool called_function(struct walker *w, const struct unwind_input *in, uint64_t ra, struct suspect *s)
{
	const struct walk_map *from = walk_map(w, in->as, ra - 1, NULL);
	struct made_rows *made = from && from->rows ? module_made(from->mod) : NULL;

	if (!made || !made_rows_called(made, ra - from->bias, &s->begin))
		return false;
	s->wm = *from;
	return true;
}

/* Runtime address at which the function of @f, in @wm, begins; 0: unknown. */
static uint64_t begin_of(const struct walk_map *wm, const struct frame *f)
{
	struct made_rows *made = wm && wm->rows ? module_made(wm->mod) : NULL;
	uint64_t begin = made ? made_rows_begin(made, module_cfi(wm->mod), frame_lookup_addr(f).v - wm->bias) : 0;

	return begin ? begin + wm->bias : 0;
}

enum uretprobe walk_uretprobe(struct walker *w, const struct unwind_input *in, struct unwind_result *out, const struct frame *probed,
			      struct uregs *regs)
{
	const uint64_t sp = regs->v[CFI_REG_SP];
	struct hunt h = {
		.w = w, .in = in, .regs = regs, .slot = sp - 8,
		.probed = begin_of(walk_map(w, in->as, frame_lookup_addr(probed).v, NULL), probed),
	};
	struct call_site sites[SITES_MAX];
	struct suspect s;
	uint64_t v;

	for (uint64_t a = align_up(sp, 8); a - sp < FRAME_MAX && !h.n && h.probed && !stack_view_read(in->stack, a, &v); a += 8)
		if (v && called_function(w, in, v, &s))
			hunt_down(&h, &s, a, DEPTH_MAX);
	/* Called through a table: by a pointer, or from another binary. */
	for (uint64_t a = align_up(sp, 8); a - sp < FRAME_MAX && !h.n && !stack_view_read(in->stack, a, &v); a += 8)
		if (v && called_function(w, in, v, &s))
			take_calls(&h, &s, sites, made_rows_sites(module_made(s.wm.mod), module_cfi(s.wm.mod), s.begin, sites, SITES_MAX),
				   a, true);
	if (!h.n)
		return URETPROBE_LOST;
	if (h.n == 1) {
		uregs_set(regs, CFI_REG_RA, h.ret);
		return URETPROBE_CALLER;
	}
	/* Which of several calls is unknown, so no line can be given, but the function is known. */
	if (!walk_push(in, out, h.begin, FRAME_IP))
		return URETPROBE_DEPTH;
	w->steps[out->n - 1] = (struct walk_step){ .sp = sp };
	*regs = h.next;
	return URETPROBE_CALLER;
}
