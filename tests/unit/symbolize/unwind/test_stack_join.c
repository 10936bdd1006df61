/*
 * Made-up stacks deeper than their copy: what proves the outer frames, and what does not
 * (contrib/doc/joining.md).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "modules/addrspace.h"
#include "unwind/stack_join.h"

/* Names of return addresses; the numbers are arbitrary. */
enum { LEAF = 0x1000, DEEP = 0x2000, F = 0x3000, G = 0x4000, H = 0x5000, MAIN = 0x6000, OTHER = 0x7000, ROOT = 0x8000 };

struct level {
	uint64_t addr, sp;
};

/* A complete stack: four frames that deeper ones share. */
static const struct level known[] = {
	{ LEAF, 0x100 }, { F, 0x200 }, { G, 0x300 }, { H, 0x400 }, { MAIN, 0x500 }, { ROOT, 0x600 },
};
#define KNOWN known, ARRAY_SIZE(known)

/*
 * The same thread, deeper. The copy ends in the frame of F, whose return address would be at 0x2f8.
 */
static const struct level deeper[] = { { LEAF, 0x20 }, { DEEP, 0x60 }, { F, 0x200 } };
#define DEEPER deeper, ARRAY_SIZE(deeper)
#define COPY_HI 0x250
#define F_RETURN 0x2f8

static struct reuse *ru;
static struct addrspace as;
static uint32_t pid, tid;
static uint64_t shift;	/* added to all stack addresses: another thread's stack */
static uint64_t known_end;
static struct frame frames[64];
static struct unwind_result res;

static int setup(void **state)
{
	(void)state;
	ru = reuse_new();
	as = (struct addrspace){ .generation = 1 };
	pid = 10;
	tid = 11;
	shift = known_end = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	reuse_free(ru);
	return 0;
}

/*
 * What walk_stack() does after it has walked the @n levels @l and reached @end, for the word at
 * @fault.
 */
static void stack(const struct level *l, uint32_t n, uint64_t hi, enum unwind_end end, uint64_t fault)
{
	struct stack_view sv = { .lo = l->sp + shift, .hi = hi + shift };
	struct unwind_input in = {
		.stack = &sv, .as = &as, .max_frames = 10, .tid = tid, .pid = pid,
		.changed_end = hi + shift,
		.known_end = known_end == UINT64_MAX ? UINT64_MAX : known_end + shift,
	};
	struct walk_step steps[ARRAY_SIZE(frames)] = { 0 };
	uint32_t taken = UINT32_MAX;

	res = (struct unwind_result){ .frames = frames, .n = n, .end = end };
	for (uint32_t i = 0; i < n; i++) {
		frames[i] = (struct frame){ .addr = { l[i].addr }, .kind = i ? FRAME_RETURN : FRAME_IP };
		steps[i].sp = l[i].sp + shift;
	}
	reuse_begin(ru, &in);
	if (end == UNWIND_COPY_END) {
		join_outer(ru, &in, &res, steps, fault + shift);
		if (res.joined)
			taken = n - 1;
	}
	reuse_end(ru, &in, &res, steps, taken, true, n);
}

static void whole(const struct level *l, uint32_t n)
{
	stack(l, n, 0x700, UNWIND_COMPLETE, 0);
	assert_int_equal(res.joined, 0);
}

static bool deep_is_joined(void)
{
	stack(DEEPER, COPY_HI, UNWIND_COPY_END, F_RETURN);
	return res.joined;
}

static void test_joined(void **state)
{
	(void)state;
	whole(KNOWN);
	assert_true(deep_is_joined());
	assert_int_equal(res.n, 3);
	assert_int_equal(res.joined, 4);
	for (int i = 0; i < 7; i++) {
		static const uint64_t all[] = { LEAF, DEEP, F, G, H, MAIN, ROOT };

		assert_int_equal(frames[i].addr.v, all[i]);
		assert_int_equal(frames[i].joined, i >= 3);
	}
	assert_true(join_holds((const struct reuse *[]){ ru }, 1, res.border));
	/* It is now known itself: a still deeper one, whose copy ends in the frame of DEEP. */
	{
		static const struct level l[] = { { LEAF, 0x10 }, { OTHER, 0x40 }, { DEEP, 0x60 } };

		stack(l, 3, 0x80, UNWIND_COPY_END, 0x1f8);
		assert_int_equal(res.joined, 5);
		assert_int_equal(frames[3].addr.v, F);
		assert_int_equal(frames[7].addr.v, ROOT);
		assert_true(join_holds((const struct reuse *[]){ ru }, 1, res.border));
	}
	/* And a shallower one. */
	assert_true(deep_is_joined());
}

static void test_first(void **state)
{
	(void)state;
	assert_false(deep_is_joined());
	whole(KNOWN);
	tid++;	/* another thread has a stack of its own */
	assert_false(deep_is_joined());
}

/* The frame at the border must be the known one: address, position, its caller's position. */
static void test_other_frame(void **state)
{
	static const struct level addr[] = { { LEAF, 0x20 }, { DEEP, 0x60 }, { OTHER, 0x200 } };
	static const struct level place[] = { { LEAF, 0x20 }, { DEEP, 0x60 }, { F, 0x208 } };
	static const struct level ip[] = { { F, 0x200 } };

	(void)state;
	whole(KNOWN);
	stack(addr, 3, COPY_HI, UNWIND_COPY_END, F_RETURN);
	assert_int_equal(res.joined, 0);
	stack(place, 3, COPY_HI, UNWIND_COPY_END, F_RETURN);
	assert_int_equal(res.joined, 0);
	stack(DEEPER, COPY_HI, UNWIND_COPY_END, F_RETURN + 8);
	assert_int_equal(res.joined, 0);
	/* An instruction is not a return address. */
	stack(ip, 1, COPY_HI, UNWIND_COPY_END, F_RETURN);
	assert_int_equal(res.joined, 0);
}

/*
 * The word at 0x1f8 is F's return address: everything from there on must be known to be unchanged.
 */
static void test_words(void **state)
{
	(void)state;
	whole(KNOWN);
	known_end = 0x1f9;
	assert_false(deep_is_joined());
	whole(KNOWN);
	known_end = 0x1f8;
	assert_true(deep_is_joined());
	whole(KNOWN);
	known_end = UINT64_MAX;	/* forgotten: nothing can be compared for now */
	assert_false(deep_is_joined());
	known_end = 0;
	assert_false(deep_is_joined());
	whole(KNOWN);
	assert_true(deep_is_joined());
}

/* Stacks in between that had other words there, or had left the frame. */
static void test_contradiction(void **state)
{
	static const struct level broken[] = { { OTHER, 0x80 } };
	static const struct level above[] = { { OTHER, 0x280 } };
	static const struct level below[] = { { OTHER, 0x8 } };

	(void)state;
	whole(KNOWN);
	known_end = 0x240;
	stack(broken, 1, 0x400, UNWIND_NO_ROWS, 0);
	known_end = 0;
	assert_false(deep_is_joined());
	whole(KNOWN);
	stack(above, 1, 0x700, UNWIND_NO_ROWS, 0);
	assert_false(deep_is_joined());
	/* A stack that says nothing about it. */
	whole(KNOWN);
	known_end = 0x100;
	stack(below, 1, 0x150, UNWIND_NO_ROWS, 0);
	known_end = 0;
	assert_true(deep_is_joined());
	/* Other mappings, a stack that was not seen. */
	whole(KNOWN);
	as.generation++;
	assert_false(deep_is_joined());
	whole(KNOWN);
	reuse_forget(ru, tid);
	assert_false(deep_is_joined());
}

/* One of the joined frames is seen with another caller: that may have been the caller all along. */
static void test_other_caller(void **state)
{
	static const struct level other[] = {
		{ LEAF, 0x280 }, { G, 0x300 }, { OTHER, 0x400 }, { MAIN, 0x500 }, { ROOT, 0x600 },
	};
	static const struct level elsewhere[] = {
		{ LEAF, 0x280 }, { G, 0x308 }, { OTHER, 0x400 }, { MAIN, 0x500 }, { ROOT, 0x600 },
	};
	static const struct level inner[] = {
		{ LEAF, 0x80 }, { OTHER, 0x180 }, { G, 0x300 }, { H, 0x400 }, { MAIN, 0x500 }, { ROOT, 0x600 },
	};
	uint64_t border;

	(void)state;
	whole(KNOWN);
	assert_true(deep_is_joined());
	border = res.border;
	whole(elsewhere, ARRAY_SIZE(elsewhere));
	whole(inner, ARRAY_SIZE(inner));
	assert_true(join_holds((const struct reuse *[]){ ru }, 1, border));
	/* The same positions in another process's stack mean nothing. */
	pid++, tid++;
	whole(KNOWN);
	deep_is_joined();
	whole(other, ARRAY_SIZE(other));
	assert_false(join_holds((const struct reuse *[]){ ru }, 1, res.border));
	pid--, tid--;
	assert_true(join_holds((const struct reuse *[]){ ru }, 1, border));
	whole(other, ARRAY_SIZE(other));
	assert_false(join_holds((const struct reuse *[]){ ru }, 1, border));
}

/* Another thread of the process, whose stack is elsewhere, does not matter. */
static void test_other_thread(void **state)
{
	static const struct level other[] = {
		{ LEAF, 0x280 }, { G, 0x300 }, { OTHER, 0x400 }, { MAIN, 0x500 }, { ROOT, 0x600 },
	};
	uint64_t border;

	(void)state;
	whole(KNOWN);
	assert_true(deep_is_joined());
	border = res.border;
	tid++;
	shift = 0x100000;
	whole(other, ARRAY_SIZE(other));
	assert_true(join_holds((const struct reuse *[]){ ru }, 1, border));	/* not noted: no
										 * stack of that
										 * thread is deep */
	assert_false(deep_is_joined());
	assert_false(join_holds((const struct reuse *[]){ ru }, 1, border));
}

static void test_room(void **state)
{
	static const struct level l[] = {
		{ LEAF, 0x8 }, { DEEP, 0x10 }, { DEEP, 0x18 }, { DEEP, 0x20 }, { DEEP, 0x28 }, { DEEP, 0x30 }, { F, 0x200 },
	};

	(void)state;
	whole(KNOWN);
	/* 11 frames; the limit is 10. */
	stack(l, ARRAY_SIZE(l), COPY_HI, UNWIND_COPY_END, F_RETURN);
	assert_int_equal(res.joined, 0);
	stack(l + 1, ARRAY_SIZE(l) - 1, COPY_HI, UNWIND_COPY_END, F_RETURN);
	assert_int_equal(res.joined, 4);
	assert_false(join_holds((const struct reuse *[]){ ru }, 1, res.border ^ 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_joined, setup, teardown),
		cmocka_unit_test_setup_teardown(test_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_frame, setup, teardown),
		cmocka_unit_test_setup_teardown(test_words, setup, teardown),
		cmocka_unit_test_setup_teardown(test_contradiction, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_caller, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize join", tests, NULL, NULL);
}
