/*
 * What the rest of a walk depends on (stack_reuse.h), queried early, late and over several stacks
 * of a thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/util.h"
#include "modules/addrspace.h"
#include "unwind/rules.h"
#include "unwind/stack_reuse.h"

#define CODE 0x10000u	/* the return address of the frame at stack pointer P is CODE + P */
#define HI 0x1000u

/* %rbp is saved this many words below the CFA; 0: it is still in the register. */
#define COMMON(saved_bp) (RULE_COMMON | (rule_t)(saved_bp) << (RULE_SAVED_SHIFT + 5))
#define BY_BP (COMMON(0) | 1 << 3)

static struct reuse *ru;
static struct addrspace as;
static struct frame frames[64];
static struct unwind_result res;
static struct stack_view sv;
static struct unwind_input in;

/*
 * Leaf first. Frame 0x500 depends on %rbp, 0x300 has its caller's %rbp, the last one is the root.
 */
static const struct walk_step outer[] = {
	{ 0x100, 0, COMMON(0) }, { 0x200, 0, COMMON(0) }, { 0x300, 0, COMMON(2) }, { 0x400, 0, COMMON(0) },
	{ 0x500, 0x5f0, BY_BP }, { 0x600, 0, 0 },
};

static int setup(void **state)
{
	(void)state;
	ru = reuse_new();
	as = (struct addrspace){ .generation = 1 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	reuse_free(ru);
	return 0;
}

static void begin(uint64_t lo)
{
	sv = (struct stack_view){ .lo = lo, .hi = HI };
	in = (struct unwind_input){ .stack = &sv, .as = &as, .max_frames = ARRAY_SIZE(frames), .tid = 11, .pid = 10 };
	res = (struct unwind_result){ .frames = frames, .end = UNWIND_COMPLETE };
	reuse_begin(ru, &in);
}

/*
 * A walk of @n steps; the last one is the root, or with @met a frame of the last stack from which
 * the walk is reused.
 */
static void walk(const struct walk_step *s, uint32_t n, bool met)
{
	begin(s[0].sp);
	for (uint32_t i = 0; i < n; i++)
		frames[i] = (struct frame){ .addr = { CODE + s[i].sp }, .kind = i ? FRAME_RETURN : FRAME_IP };
	res.n = n;
	if (met) {
		assert_true(ru->valid);
		assert_true(reuse_find(ru, CODE + s[n - 1].sp, s[n - 1].sp));
		assert_true(reuse_take(ru, &in, &res));
	}
	reuse_end(ru, &in, &res, s, met ? n - 1 : UINT32_MAX, !met, n);
}

/* What the frame at @sp of the last stack depends on; for NEED_BP also *@bp. */
static uint64_t need(uint64_t sp, uint64_t *bp)
{
	const union reuse_mark *m;

	begin(0x8);
	assert_true(reuse_find(ru, CODE + sp, sp));
	m = reuse_ask(ru);
	assert_int_equal(m->sp, sp);
	*bp = m->need == NEED_BP ? m->bp : 0;
	return m->need;
}

static void check(uint64_t sp, enum reuse_need want, uint64_t want_bp)
{
	uint64_t bp;

	assert_int_equal(need(sp, &bp), want);
	assert_int_equal(bp, want_bp);
}

static void check_outer(void)
{
	check(0x200, NEED_NOTHING, 0);
	check(0x300, NEED_NOTHING, 0);
	check(0x400, NEED_BP, 0x5f0);
	check(0x500, NEED_BP, 0x5f0);
	check(0x600, NEED_NOTHING, 0);
}

static void test_asked(void **state)
{
	(void)state;
	walk(outer, ARRAY_SIZE(outer), false);
	check_outer();
}

static void test_asked_from_the_root_on(void **state)
{
	(void)state;
	walk(outer, ARRAY_SIZE(outer), false);
	check(0x600, NEED_NOTHING, 0);
	check(0x500, NEED_BP, 0x5f0);
	check(0x300, NEED_NOTHING, 0);
	check(0x400, NEED_BP, 0x5f0);
	check_outer();
}

/*
 * A step without a rule: its dependencies are unknown, and so are those of the steps that lead to
 * it.
 */
static void test_without_rule(void **state)
{
	struct walk_step s[ARRAY_SIZE(outer)];

	(void)state;
	memcpy(s, outer, sizeof(s));
	s[2].rule = 0;
	walk(s, ARRAY_SIZE(s), false);
	check(0x400, NEED_BP, 0x5f0);
	check(0x300, NEED_ALL, 0);
	check(0x200, NEED_ALL, 0);
}

/* Other callees of 0x400, a few and more than fit; queried before, or only then. */
static void test_over_stacks(void **state)
{
	static const struct walk_step few[] = {
		{ 0x180, 0, COMMON(0) }, { 0x280, 0, COMMON(0) }, { 0x380, 0, COMMON(0) }, { 0x400, 0, 0 },
	};
	struct walk_step many[40];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct walk_step){ 0x400 - 8 * (ARRAY_SIZE(many) - 1 - i), 0, COMMON(0) };
	for (int early = 0; early < 2; early++) {
		walk(outer, ARRAY_SIZE(outer), false);
		if (early)
			check_outer();
		walk(few, ARRAY_SIZE(few), true);
		if (early)
			check(0x380, NEED_BP, 0x5f0);
		walk(many, ARRAY_SIZE(many), true);
		for (uint32_t i = 1; i < ARRAY_SIZE(many); i++)
			check(many[i].sp, NEED_BP, 0x5f0);
		check(0x500, NEED_BP, 0x5f0);
		check(0x600, NEED_NOTHING, 0);
	}
}

/*
 * What is known is discarded when the mappings have changed, or the thread may have done anything.
 */
static void test_not_valid(void **state)
{
	(void)state;
	walk(outer, ARRAY_SIZE(outer), false);
	begin(0x8);
	assert_true(ru->valid);
	as.generation = 2;
	begin(0x8);
	assert_false(ru->valid);
	walk(outer, ARRAY_SIZE(outer), false);
	check_outer();
	reuse_forget(ru, 11);
	begin(0x8);
	assert_false(ru->valid);
	walk(outer, ARRAY_SIZE(outer), false);
	check_outer();
	in.known_end = UINT64_MAX;	/* a KEY block */
	reuse_begin(ru, &in);
	assert_false(ru->valid);
	walk(outer, ARRAY_SIZE(outer), false);
	check_outer();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_asked_from_the_root_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_rule, setup, teardown),
		cmocka_unit_test_setup_teardown(test_over_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_valid, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize reuse", tests, NULL, NULL);
}
