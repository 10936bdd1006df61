/* Turns samples into frames (callchain.h). */
#include "unwind/callchain.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#include "base/util.h"
#include "base/xalloc.h"

/*
 * Values of a chain at or above this are markers, not addresses: include/uapi/linux/perf_event.h.
 */
#define CONTEXT_MIN ((uint64_t)PERF_CONTEXT_MAX)

enum part { PART_NONE, PART_KERNEL, PART_USER };

struct callchain {
	const struct unwinder_ops *ops;
	void *priv;
	struct frame *frames;	/* owned; room for max */
	uint32_t max;
	const struct ev_event *events;	/* borrowed */
	uint32_t nevents;
};

struct callchain *callchain_new(const struct unwinder_ops *ops, uint32_t max_stack)
{
	struct callchain *cc = xcalloc(1, sizeof(*cc));

	cc->ops = ops;
	cc->priv = ops->create();
	cc->max = max_stack;
	cc->frames = xcalloc(max_stack, sizeof(*cc->frames));
	return cc;
}

void callchain_free(struct callchain *cc)
{
	if (!cc)
		return;
	cc->ops->destroy(cc->priv);
	free(cc->frames);
	free(cc);
}

void callchain_events(struct callchain *cc, const struct ev_event *events, uint32_t n)
{
	cc->events = events;
	cc->nevents = n;
}

static uint32_t callgraph_of(const struct callchain *cc, const struct ev_sample *s)
{
	return s->event < cc->nevents ? cc->events[s->event].callgraph : CALLGRAPH_UNSET;
}

/* Was @s taken with registers and a stack copy? Then only a sample of 32-bit code lacks them. */
static bool has_copies(const struct callchain *cc, const struct ev_sample *s)
{
	return callgraph_of(cc, s) == CALLGRAPH_DWARF;
}

/* A sample of an event without copies says nothing about those that the thread has with one. */
static bool is_beside_copies(const struct callchain *cc, const struct ev_sample *s)
{
	return callgraph_of(cc, s) == CALLGRAPH_NONE || callgraph_of(cc, s) == CALLGRAPH_FP;
}

/*
 * Cuts a stack to the frames that its event was asked for: with stack copies, the kernel did not.
 * Nothing is missing from a stack that has them.
 */
static void keep_asked(const struct callchain *cc, const struct ev_sample *s, struct stack *out)
{
	const uint32_t limit = s->event < cc->nevents ? cc->events[s->event].max_stack : 0;
	const uint32_t max = callgraph_of(cc, s) == CALLGRAPH_NONE ? 1 : limit;

	if (!max)
		return;
	if (out->n < max) {
		out->joined = MIN(out->joined, max - out->n);
		return;
	}
	out->n = max;
	out->joined = 0;
	out->end = UNWIND_COMPLETE;
	out->at = NULL;
}

static enum part part_of_marker(uint64_t marker)
{
	switch (marker) {
	case (uint64_t)PERF_CONTEXT_KERNEL:
	case (uint64_t)PERF_CONTEXT_HV:
		return PART_KERNEL;
	case (uint64_t)PERF_CONTEXT_USER:
		return PART_USER;
	default:	/* a guest's addresses have no meaning here */
		return PART_NONE;
	}
}

/*
 * Appends the addresses of @want. The first address after a marker is where execution left that
 * part: the interrupted instruction or, for user frames below kernel ones, the instruction behind
 * the system call, which the kernel also takes from the saved registers. The others are return
 * addresses.
 */
static uint32_t chain_part(struct callchain *cc, const struct ev_sample *s, enum part want,
			   uint32_t n)
{
	enum part part = PART_NONE;
	bool first = true;
	uint32_t i;

	for (i = 0; i < s->nchain && n < cc->max; i++) {
		uint64_t v = s->chain[i];

		if (v >= CONTEXT_MIN) {
			part = part_of_marker(v);
			first = true;
			continue;
		}
		if (part != want)
			continue;
		/* A frame pointer walk ends with a 0 behind the last frame. */
		if (v) {
			cc->frames[n++] = (struct frame){
				.addr = { v },
				.kind = first ? FRAME_IP : FRAME_RETURN,
				.kernel = want == PART_KERNEL,
			};
		}
		first = false;
	}
	return n;
}

static bool last_is(const struct ev_sample *s, uint64_t marker)
{
	return s->nchain && s->chain[s->nchain - 1] == marker;
}

static void build(struct callchain *cc, const struct ev_sample *s, const struct addrspace *as, struct stack *out)
{
	uint32_t n = chain_part(cc, s, PART_KERNEL, 0);
	uint32_t user;

	out->at = NULL;
	out->frames = cc->frames;
	out->joined = 0;
	if (!as || (!s->has_regs && !is_beside_copies(cc, s)) || n >= cc->max)
		cc->ops->forget(cc->priv, s->tid);
	if (!as) {
		out->n = n;
		out->end = UNWIND_NO_USER;
		return;
	}
	if (s->has_regs && n < cc->max) {
		struct unwind_input in = {
			.regs = s->regs,
			.stack = &s->stack,
			.copy_full = s->copy_full,
			.cut = s->cut,
			.as = as,
			.max_frames = cc->max - n,
			.tid = s->tid,
			.pid = s->pid,
			.changed_end = s->changed_end,
			.known_end = s->known_end,
		};
		struct unwind_result res = { .frames = cc->frames + n };

		cc->ops->unwind(cc->priv, &in, &res);
		/*
		 * SYSCALL stores the address behind it in rcx (SDM 2B), and the kernel returns
		 * there, if at all. For __restore_rt() and for code that ends with exit_group(2),
		 * that address is outside the function. In user mode rcx may still have the same
		 * value.
		 */
		if (n && res.n && s->regs[UREG_CX] == s->regs[UREG_IP])
			res.frames->kind = FRAME_RETURN;
		out->n = n + res.n;
		out->end = res.end;
		out->at = res.at;
		out->joined = res.joined;
		out->border = res.border;
		if (s->stack.lo == s->stack.hi && res.end == UNWIND_BAD_READ)
			out->end = UNWIND_NO_COPY;
		return;
	}
	user = chain_part(cc, s, PART_USER, n) - n;
	/*
	 * Before Linux 6.11, the kernel leaves the address of its own page in the chain where a
	 * return probe has saved the real one.
	 */
	for (uint32_t i = n; i < n + user; i++)
		if (addrspace_uretprobe(as, cc->frames[i].addr))
			cc->frames[i].kind = FRAME_IP;
	out->n = n + user;
	/*
	 * A chain walked by the kernel does not tell whether it is complete; it is shown as it is.
	 */
	if (out->n >= cc->max)
		out->end = UNWIND_DEPTH;
	else if (last_is(s, CHAIN_DEFERRED))
		out->end = UNWIND_DEFERRED;
	else if (last_is(s, CHAIN_WITHHELD))
		out->end = UNWIND_WITHHELD;
	else if (user == 1 && has_copies(cc, s) && cc->frames[n].addr.v == CHAIN_UNMAPPED)
		out->end = UNWIND_NO_MAPPING;
	else if (user && has_copies(cc, s))
		out->end = UNWIND_NARROW;
	else
		out->end = user ? UNWIND_COMPLETE : UNWIND_NO_USER;
}

void callchain_build(struct callchain *cc, const struct ev_sample *s, const struct addrspace *as, struct stack *out)
{
	build(cc, s, as, out);
	keep_asked(cc, s, out);
}

bool callchain_join_holds(const struct callchain *const *ccs, size_t n, uint64_t border)
{
	const void **privs = xcalloc(n, sizeof(*privs));
	bool holds;

	for (size_t i = 0; i < n; i++)
		privs[i] = ccs[i]->priv;
	holds = ccs[0]->ops->join_holds(privs, n, border);
	free(privs);
	return holds;
}
