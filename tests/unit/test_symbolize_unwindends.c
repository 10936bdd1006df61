/*
 * How stacks end: cut copies, missing rows and binaries, depth, chains of frame pointers, and
 * stacks that make no sense at all.
 */
#include <stdint.h>
#include <time.h>

#include "random.h"
#include "unwind_capture.h"

/* ---- how stacks end ---- */

/*
 * With less and less of the stack, the frames are the first ones of the whole, and the reason is
 * known.
 */
static void test_small_copy(void **state)
{
	struct stack whole, st;
	size_t nwords;
	uint32_t last;

	(void)state;
	recurse(20);
	unwind_all(&whole, UNWIND_COMPLETE);
	nwords = cap_nwords;
	last = whole.res.n;
	for (cap_nwords = nwords; cap_nwords > 0; cap_nwords--) {
		/* The thread's stack went on in a copy before: what ends between pages was not in memory. */
		uint64_t hi = align_up(cap_regs[UREG_SP], 8) + 8 * cap_nwords;
		enum unwind_end end = hi % 4096 ? UNWIND_STACK_END : UNWIND_HOLE;

		load_full();
		for (size_t u = 0; u < ARRAY_SIZE(cfi_unwinders); u++) {
			run(u, &st, cap_regs, true, FRAMES_MAX);
			assert_true(st.res.n <= last);
			assert_memory_equal(st.frames, whole.frames,
					    st.res.n * sizeof(st.frames[0]));
			assert_int_equal(st.res.end, st.res.n == whole.res.n ? UNWIND_COMPLETE
									     : UNWIND_COPY_END);
			run(u, &st, cap_regs, false, FRAMES_MAX);
			assert_int_equal(st.res.end, st.res.n == whole.res.n ? UNWIND_COMPLETE
									     : end);
		}
		last = st.res.n;
	}
	assert_int_equal(last, 1);
}

static void test_depth(void **state)
{
	struct stack whole, st;

	(void)state;
	recurse(20);
	unwind_all(&whole, UNWIND_COMPLETE);
	for (uint32_t max = 1; max <= whole.res.n + 1; max++)
		for (size_t u = 0; u < ARRAY_SIZE(cfi_unwinders); u++) {
			run(u, &st, cap_regs, false, max);
			assert_int_equal(st.res.n, MIN(max, whole.res.n));
			assert_int_equal(st.res.end,
					 max < whole.res.n ? UNWIND_DEPTH : UNWIND_COMPLETE);
			assert_memory_equal(st.frames, whole.frames,
					    st.res.n * sizeof(st.frames[0]));
		}
}

static void test_missing(void **state)
{
	static const struct module gone = { .id = 1000,
					    .source = MODULE_NONE,
					    .dso = { .path = "/gone" } };
	struct addrspace *whole = self.as, *as = addrspace_new();
	struct mapping m = { .path = "/gone", .mod = (struct module *)&gone };
	uint64_t none[UREG_MAX] = { 0 };
	struct stack st;

	(void)state;
	outer(1);
	load_full();
	m.start = cap_regs[UREG_IP] & ~0xfffull;
	m.end = m.start + 0x1000;
	/* No frame either that a frame pointer would give. */
	cap_regs[UREG_BP] = 0;
	for (size_t u = 0; u < ARRAY_SIZE(cfi_unwinders); u++) {
		self.as = as;
		run(u, &st, cap_regs, false, FRAMES_MAX);
		assert_int_equal(st.res.end, UNWIND_NO_MAPPING);
		assert_int_equal(st.res.n, 1);
		assert_null(st.res.at);
	}
	addrspace_add(as, &m);
	for (size_t u = 0; u < ARRAY_SIZE(cfi_unwinders); u++) {
		run(u, &st, cap_regs, false, FRAMES_MAX);
		assert_int_equal(st.res.end, UNWIND_NO_MODULE);
		assert_int_equal(st.res.n, 1);
		assert_ptr_equal(st.res.at, &gone);
		run(u, &st, none, false, FRAMES_MAX);
		assert_int_equal(st.res.end, UNWIND_NO_USER);
		assert_int_equal(st.res.n, 0);
	}
	self.as = whole;
	addrspace_free(as);
}

/*
 * This program as if it had no rows at all, like musl and static PLTs. Not for libdw, which reads
 * the file itself.
 */
static void test_without_rows(void **state)
{
	struct avma here = { (uintptr_t)link_leaf.start };
	struct addrspace *whole = self.as, *as = addrspace_new();
	const struct mapping *own = addrspace_find(whole, here);
	const struct cfi_sections none = { .is64 = true };
	struct module bare = { .id = 999, .source = MODULE_PROCESS, .dso = { .path = "/bare" } };
	struct mapping m = *own;
	uint64_t base = 0x10000, words[64] = { 0 }, regs[UREG_MAX] = { [UREG_SP] = base };
	uint64_t bias, start;
	const uint8_t *data;
	struct stack st;
	struct svma s;
	size_t size;

	(void)state;
	assert_true(mapping_to_svma(own, here, &s));
	bias = here.v - s.v;
	bare.elf = own->mod->elf;
	bare.cfi = cfi_new(&none);
	m.mod = &bare;
	addrspace_add(as, &m);
	self.as = as;
	for (size_t u = 0; u < 2; u++) {
		/* Past other words, the one return address into the entry's code. */
		memset(words, 0, sizeof(words));
		words[3] = base + 64;
		words[9] = elf_file_entry(bare.elf) + bias + 20;
		words[10] = 1;
		regs[UREG_IP] = here.v;
		target_set_stack(&self, base, words, ARRAY_SIZE(words));
		run(u, &st, regs, false, FRAMES_MAX);
		assert_int_equal(st.res.end, UNWIND_COMPLETE);
		assert_int_equal(st.res.n, 2);
		assert_true(st.frames[1].addr.v == words[9] && st.frames[1].kind == FRAME_RETURN);
		/* Other code below it: a caller that would be left out. */
		words[5] = here.v + 3;
		target_set_stack(&self, base, words, ARRAY_SIZE(words));
		run(u, &st, regs, false, FRAMES_MAX);
		assert_int_equal(st.res.end, UNWIND_NO_ROWS);
		assert_int_equal(st.res.n, 1);
		assert_ptr_equal(st.res.at, &bare);

		/* An entry of a PLT: nothing was pushed but the return address. */
		assert_int_equal(elf_file_section(bare.elf, ".plt", &data, &size, &start), 0);
		regs[UREG_IP] = start + bias + 16;
		words[0] = here.v + 1;
		target_set_stack(&self, base, words, ARRAY_SIZE(words));
		run(u, &st, regs, false, FRAMES_MAX);
		assert_int_equal(st.res.n, 2);
		assert_true(st.frames[1].addr.v == words[0]);
	}
	self.as = whole;
	addrspace_free(as);
	cfi_free(bare.cfi);
	made_rows_free(bare.made);
}

/*
 * The last page of a mapping holds bytes behind the segment. An address there, as garbage may give
 * one, has no place in the binary, and must not decide what the rest of the mapping is.
 */
static void test_beside_segment(void **state)
{
	struct avma here = { (uintptr_t)link_leaf.start };
	struct addrspace *whole;
	struct stack st, other;
	uint64_t regs[UREG_MAX];

	(void)state;
	outer(3);
	unwind_all(&st, UNWIND_COMPLETE);
	whole = self.as;
	for (size_t u = 0; u < ARRAY_SIZE(cfi_unwinders); u++) {
		memcpy(regs, cap_regs, sizeof(regs));
		/* A new generation, so that this address is the first one seen. */
		self.as = addrspace_clone(whole);
		regs[UREG_IP] = addrspace_find(self.as, here)->end - 1;
		/* Neither a frame pointer nor words to search. */
		regs[UREG_BP] = 0;
		regs[UREG_SP] = self.view.hi;
		run(u, &other, regs, false, FRAMES_MAX);
		assert_int_equal(other.res.n, 1);
		run(u, &other, cap_regs, false, FRAMES_MAX);
		assert_true(same(&st, &other));
		addrspace_free(self.as);
	}
	self.as = whole;
}

static void test_names(void **state)
{
	(void)state;
	assert_ptr_equal(unwinder_find("cached"), &unwind_cached);
	assert_ptr_equal(unwinder_find("libunwind"), &unwind_libunwind);
	assert_ptr_equal(unwinder_find("libdw"), &unwind_libdw);
	assert_ptr_equal(unwinder_find("fp"), &unwind_fp);
	assert_null(unwinder_find("cache"));
	for (int e = 0; e < UNWIND_END_MAX; e++)
		assert_non_null(unwind_end_text(e));
	assert_string_equal(unwind_end_text(UNWIND_COPY_END), "stack copy too small");
	assert_non_null(unwind_end_remedy(UNWIND_COPY_END));
	assert_string_equal(unwind_end_text(UNWIND_CUT), "stack copy cut by the recorder");
	assert_null(unwind_end_remedy(UNWIND_COMPLETE));
}

/* Frame pointers only: a chain written by hand, each link pointing into some code. */
static void test_fp(void **state)
{
	uint64_t base = 0x10000, code = (uintptr_t)link_leaf.start + 1, words[16] = { 0 };
	uint64_t regs[UREG_MAX] = { [UREG_IP] = code, [UREG_SP] = base, [UREG_BP] = base + 16 };
	struct frame frames[8];
	struct unwind_input in = {
		.regs = regs,
		.stack = &self.view,
		.as = self.as,
		.max_frames = 8,
	};
	struct unwind_result res = { .frames = frames };
	void *priv = unwind_fp.create();

	(void)state;
	words[2] = base + 48;
	words[3] = code + 1;
	words[6] = base + 80;
	words[7] = code + 2;
	target_set_stack(&self, base, words, 16);
	unwind_fp.unwind(priv, &in, &res);
	assert_int_equal(res.n, 3);
	assert_true(frames[0].addr.v == code && frames[0].kind == FRAME_IP);
	assert_true(frames[1].addr.v == code + 1 && frames[1].kind == FRAME_RETURN);
	assert_true(frames[2].addr.v == code + 2);
	/* Both words of the last frame are 0: that is how the ABI marks the deepest one. */
	assert_int_equal(res.end, UNWIND_COMPLETE);

	/* A chain that points back. */
	words[6] = base + 16;
	target_set_stack(&self, base, words, 16);
	unwind_fp.unwind(priv, &in, &res);
	assert_int_equal(res.n, 3);
	assert_int_equal(res.end, UNWIND_BAD_READ);

	/* And one that leaves the copy. */
	words[6] = base + 400;
	target_set_stack(&self, base, words, 16);
	in.copy_full = true;
	unwind_fp.unwind(priv, &in, &res);
	assert_int_equal(res.n, 3);
	assert_int_equal(res.end, UNWIND_COPY_END);
	/* The recorder cut the copy: its own reason, whatever it had asked the kernel for. */
	in.copy_full = false;
	in.cut = true;
	unwind_fp.unwind(priv, &in, &res);
	assert_int_equal(res.n, 3);
	assert_int_equal(res.end, UNWIND_CUT);
	unwind_fp.destroy(priv);
}

/* ---- anything at all on the stack ---- */

static uint64_t next_random(void)
{
	static uint64_t state;

	return random_next(&state);
}

/*
 * The rows of a PLT compute with the pc. A return address into a PLT, which makes no calls, is
 * looked up one byte below, and only the libunwind backend computes with that address then: not a
 * case to compare.
 */
static bool in_plt(const struct mapping *m, uint64_t addr)
{
	struct avma a = { addr };
	const uint8_t *data;
	uint64_t start;
	struct svma s;
	size_t size;

	return m->mod && mapping_to_svma(m, a, &s) &&
	       elf_file_section(m->mod->elf, ".plt", &data, &size, &start) == 0 &&
	       s.v - start <= size;
}

/* A word as a stack could hold it: code of any mapping, stack, nothing, or noise. */
static uint64_t random_word(uint64_t lo, uint64_t nwords)
{
	const struct mapping *m = &self.as->maps[next_random() % self.as->n];
	uint64_t code = m->start + next_random() % (m->end - m->start);

	switch (next_random() % 16) {
	case 0: return 0;
	case 1: return next_random();
	case 2:
	case 3:
	case 4:
	case 5: return lo + next_random() % (nwords + 8) * 8;
	default: return in_plt(m, code) ? 0 : code;
	}
}

/*
 * Stacks that lead from any code to any other. There is no right answer here, but the three readers
 * of call frame information have to agree on one, and come to an end.
 */
static void test_random_stacks(void **state)
{
	uint64_t regs[UREG_MAX], words[512], lo = 0x7000000000000000;
	struct stack st, other;
	uint32_t frames = 0;

	(void)state;
	target_update_maps(&self);
	for (int round = 0; round < 4000; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			words[i] = random_word(lo, ARRAY_SIZE(words));
		for (int i = 0; i < UREG_MAX; i++)
			regs[i] = random_word(lo, ARRAY_SIZE(words));
		regs[UREG_SP] = lo;
		target_set_stack(&self, lo, words, ARRAY_SIZE(words));
		run(0, &st, regs, true, 64);
		frames += st.res.n;
		for (size_t u = 1; u < ARRAY_SIZE(cfi_unwinders); u++) {
			run(u, &other, regs, true, 64);
			if (!same(&st, &other)) {
				print_message("# round %d\n", round);
				print_stack("cached", &st);
				print_stack(cfi_unwinders[u]->name, &other);
				fail();
			}
		}
	}
	/* Else the stacks were not such that anything could be learned from them. */
	assert_true(frames > 4000 + 4000 / 4);
}

/* ---- speed ---- */

static void test_speed(void **state)
{
	struct unwind_input in = { .regs = cap_regs,
				   .stack = &self.view,
				   .max_frames = FRAMES_MAX };
	struct timespec a = { 0 }, b;
	struct stack st = { .res = { .n = 0 } };
	uint64_t frames = 0;
	double ns;

	(void)state;
	recurse(40);
	load_full();
	in.as = self.as;
	st.res.frames = st.frames;
	for (int i = 0; i < 20100; i++) {
		if (i == 100) {
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
			frames = 0;
		}
		unwind_cached.unwind(privs[0], &in, &st.res);
		frames += st.res.n;
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	ns = (b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec);
	print_message("# cached, warm: %.1f ns of CPU a frame, %u frames a stack\n", ns / frames,
		      st.res.n);
	assert_int_equal(st.res.end, UNWIND_COMPLETE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_copy),    cmocka_unit_test(test_depth),
		cmocka_unit_test(test_missing),	      cmocka_unit_test(test_without_rows),
		cmocka_unit_test(test_beside_segment),
		cmocka_unit_test(test_names),	      cmocka_unit_test(test_fp),
		cmocka_unit_test(test_random_stacks), cmocka_unit_test(test_speed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
