/*
 * Samples of events that take stacks in different ways: what each is shown as, and that none of them is
 * taken for one that lacks something. The unwinder finds as many frames as the test says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/perf_event.h>

#include "base/util.h"
#include "modules/addrspace.h"
#include "unwind/callchain.h"

#define KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)
#define USER ((uint64_t)PERF_CONTEXT_USER)
#define FRAMES_MAX 100

enum { COPIES, POINTERS, LEAF, SHORT, EVENTS };
static const struct ev_event events[EVENTS] = {
	[COPIES] = { .callgraph = CALLGRAPH_DWARF },
	[POINTERS] = { .callgraph = CALLGRAPH_FP },
	[LEAF] = { .callgraph = CALLGRAPH_NONE },
	[SHORT] = { .callgraph = CALLGRAPH_DWARF, .max_stack = 3 },
};

static uint32_t forgotten;	/* calls of forget() */
static struct unwind_result found;	/* but the frames */

static void *create(void)
{
	return &found;
}

static void destroy(void *priv)
{
	(void)priv;
}

static void unwind(void *priv, const struct unwind_input *in, struct unwind_result *out)
{
	struct frame *frames = out->frames;

	(void)priv;
	*out = found;
	out->frames = frames;
	for (uint32_t i = 0; i < out->n + out->joined && i < in->max_frames; i++)
		out->frames[i] = (struct frame){ .addr = { 0x1000 + i } };
}

static void forget(void *priv, uint32_t tid)
{
	(void)priv;
	(void)tid;
	forgotten++;
}

static bool join_holds(const void *const *privs, size_t n, uint64_t border)
{
	(void)privs;
	(void)n;
	(void)border;
	return true;
}

static const struct unwinder_ops ops = {
	.name = "made", .create = create, .destroy = destroy, .unwind = unwind, .forget = forget, .join_holds = join_holds,
};

struct rig {
	struct callchain *cc;
	struct addrspace *as;
};

static void build(struct rig *r, uint32_t event, bool regs, const uint64_t *chain, uint32_t n, struct stack *out)
{
	const struct ev_sample s = { .tid = 7, .event = event, .chain = chain, .nchain = n, .has_regs = regs,
				     .stack = { .lo = 0x10, .hi = regs ? 0x20 : 0x10 } };

	forgotten = 0;
	callchain_build(r->cc, &s, r->as, out);
}

static void open_rig(struct rig *r)
{
	*r = (struct rig){ callchain_new(&ops, FRAMES_MAX), addrspace_new() };
	callchain_events(r->cc, events, EVENTS);
}

static void close_rig(struct rig *r)
{
	callchain_free(r->cc);
	addrspace_free(r->as);
}

/* One address is all that an event without stacks has. With copies, it is what is left of 32-bit code. */
static void leaves(void **state)
{
	static const uint64_t user[] = { USER, 0x401000 }, kernel[] = { KERNEL, 0xffffffff81000000 };
	static const uint64_t unmapped[] = { USER, CHAIN_UNMAPPED };
	static const struct {
		uint32_t event;
		enum unwind_end user, kernel, unmapped;
		uint32_t forgotten;
	} want[] = {
		{ COPIES, UNWIND_NARROW, UNWIND_NO_USER, UNWIND_NO_MAPPING, 1 },
		{ POINTERS, UNWIND_COMPLETE, UNWIND_NO_USER, UNWIND_COMPLETE, 0 },
		{ LEAF, UNWIND_COMPLETE, UNWIND_COMPLETE, UNWIND_COMPLETE, 0 },
		/* Nothing is known of it. */
		{ EVENTS, UNWIND_COMPLETE, UNWIND_NO_USER, UNWIND_COMPLETE, 1 },
	};
	struct stack st;
	struct rig r;

	(void)state;
	open_rig(&r);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		build(&r, want[i].event, false, user, 2, &st);
		assert_int_equal(st.n, 1);
		assert_int_equal(st.end, want[i].user);
		/* What is known of the thread's copies stays if only another event has none. */
		assert_int_equal(forgotten, want[i].forgotten);
		build(&r, want[i].event, false, kernel, 2, &st);
		assert_int_equal(st.n, 1);
		assert_int_equal(st.end, want[i].kernel);
		build(&r, want[i].event, false, unmapped, 2, &st);
		assert_int_equal(st.end, want[i].unmapped);
	}
	close_rig(&r);
}

/* max-stack= of an event with copies: that many frames, of the kernel and joined ones included. */
static void cut_as_asked(void **state)
{
	static const uint64_t chain[] = { KERNEL, 0xffffffff81000000, 0xffffffff81000010 };
	static const struct {
		uint32_t event, kernel;		/* entries of the chain */
		uint32_t n, joined;		/* found in user space */
		uint32_t want_n, want_joined;
		enum unwind_end end;
	} want[] = {
		{ COPIES, 3, 5, 4, 7, 4, UNWIND_COPY_END },
		{ SHORT, 0, 2, 0, 2, 0, UNWIND_COPY_END },
		{ SHORT, 0, 2, 4, 2, 1, UNWIND_COPY_END },
		{ SHORT, 0, 3, 4, 3, 0, UNWIND_COMPLETE },
		{ SHORT, 0, 5, 0, 3, 0, UNWIND_COMPLETE },
		{ SHORT, 3, 5, 4, 3, 0, UNWIND_COMPLETE },
	};
	struct stack st;
	struct rig r;

	(void)state;
	open_rig(&r);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const uint32_t kernel = want[i].kernel ? want[i].kernel - 1 : 0;

		found = (struct unwind_result){ .n = want[i].n, .joined = want[i].joined, .end = UNWIND_COPY_END };
		build(&r, want[i].event, true, chain, want[i].kernel, &st);
		assert_int_equal(st.n, want[i].want_n);
		assert_int_equal(st.joined, want[i].want_joined);
		assert_int_equal(st.end, want[i].end);
		for (uint32_t k = 0; k < st.n; k++)
			assert_int_equal(st.frames[k].addr.v, k < kernel ? chain[k + 1] : 0x1000 + k - kernel);
	}
	close_rig(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves),
		cmocka_unit_test(cut_as_asked),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
