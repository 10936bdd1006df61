/*
 * How stacks end: cut copies, missing rows and binaries, depth, frame pointer chains, and stacks
 * that make no sense at all.
 */
#include <elf.h>
#include <stdint.h>
#include <time.h>

#include "cfi/cfi.h"
#include "code/made_rows.h"
#include "elf/elf_write.h"
#include "pointer_code.h"
#include "random.h"
#include "unwind_capture.h"

/* ---- how stacks end ---- */

/*
 * With less and less of the stack, the frames are the first ones of the complete stack, and the
 * reason is known.
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
		/*
		 * In an earlier copy the thread's stack extended further: a copy that ends at a
		 * page boundary ended at a page that was not in memory.
		 */
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
	/* Nor a frame from a frame pointer. */
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
	struct mapping m = *own, stack = { .start = 0x10000, .end = 0x11000, .path = "[stack]" };
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
		/* Among other words, the only return address into the entry's code. */
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
		/* An address of the stack is not one either, even if the stack is executable. */
		self.as = addrspace_clone(as);
		addrspace_add(self.as, &stack);
		run(u, &st, regs, false, FRAMES_MAX);
		assert_int_equal(st.res.end, UNWIND_COMPLETE);
		assert_int_equal(st.res.n, 2);
		assert_false(st.frames[1].scanned);
		addrspace_free(self.as);
		self.as = as;
		/* Other code below it: it would be a caller that is left out. */
		words[5] = here.v + 3;
		target_set_stack(&self, base, words, ARRAY_SIZE(words));
		run(u, &st, regs, false, FRAMES_MAX);
		assert_int_equal(st.res.end, UNWIND_NO_ROWS);
		assert_int_equal(st.res.n, 1);
		assert_ptr_equal(st.res.at, &bare);

		/* A PLT entry: nothing was pushed but the return address. */
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

/* The slice of @ef that a recorder makes for @words on a stack, as a module. */
static struct module *slice_for(struct elf_file *ef, const uint64_t *words, size_t n, struct strbuf *out)
{
	struct cfi_sections secs, first = { .is64 = true };
	struct strbuf rows = STRBUF_INIT, eh_frame = STRBUF_INIT;
	struct made_rows *made = made_rows_new(ef);
	struct elf_slice slice = { .type = elf_file_type(ef), .machine = elf_file_machine(ef) };
	struct cfi *cfi, *extra = NULL;
	/* Unwinders store their knowledge by this number. */
	static uint32_t id = 2000;
	uint64_t pcs[64];
	size_t npcs = 0;

	for (size_t i = 0; i < n; i++) {
		if (!words[i])
			continue;
		pcs[npcs++] = words[i] - 1;
		pcs[npcs++] = words[i];
	}
	/* Sorted, as a recorder has them; none are adjacent. */
	for (size_t i = 1; i < npcs; i++)
		for (size_t k = i; k && pcs[k - 1] > pcs[k]; k--) {
			uint64_t v = pcs[k];

			pcs[k] = pcs[k - 1];
			pcs[k - 1] = v;
		}
	elf_file_cfi_sections(ef, &secs);
	cfi = cfi_new(&secs);
	if (made_rows_emit(made, cfi, pcs, npcs, &rows)) {
		first.eh_frame.data = (const uint8_t *)rows.s;
		first.eh_frame.size = rows.len;
		extra = cfi_new(&first);
	}
	slice.entry = elf_file_entry(ef);
	slice.nloads = elf_file_loads(ef, &slice.loads);
	cfi_emit_rows(cfi, extra, pcs, npcs, slice.entry, &eh_frame);
	slice.eh_frame = eh_frame.s;
	slice.eh_frame_size = eh_frame.len;
	elf_write(&slice, out);
	cfi_free(cfi);
	cfi_free(extra);
	made_rows_free(made);
	strbuf_fini(&rows);
	strbuf_fini(&eh_frame);
	return module_of_rows(id++, "/slice", out->s, out->len);
}

/* Code in no binary. */
#define JIT_START 0x200000

/*
 * Unwinds @words, which end at a page boundary, with the program of pointer_code.h and with its
 * slice, @bp in %rbp: the same @n frames, and the same @end.
 */
static void pointer_bp(struct elf_file *ef, uint64_t ip, uint64_t bp, const uint64_t *words, size_t nwords, uint32_t n,
		       enum unwind_end end, struct stack *st)
{
	struct module whole = { .id = 997, .source = MODULE_PROCESS, .dso = { .path = "/whole" }, .elf = ef };
	struct addrspace *own = self.as;
	uint64_t base = 0x11000 - 8 * nwords, seen[32];
	uint64_t regs[UREG_MAX] = { [UREG_IP] = ip, [UREG_SP] = base, [UREG_BP] = bp };
	struct strbuf out = STRBUF_INIT;
	struct mapping m = { .path = "/whole", .mod = &whole };
	const struct mapping jit = { .start = JIT_START, .end = JIT_START + 0x1000, .path = "//anon" };
	const struct elf_load *loads;
	size_t nloads = elf_file_loads(ef, &loads);
	struct stack other;
	struct module *sliced;

	memcpy(seen, words, nwords * sizeof(*words));
	seen[nwords] = ip;
	sliced = slice_for(ef, seen, nwords + 1, &out);
	assert_non_null(sliced);
	for (size_t i = 0; i < nloads; i++)
		if (loads[i].flags & PF_X) {
			m.start = loads[i].vaddr & ~0xfffull;
			m.pgoff = loads[i].offset & ~0xfffull;
			m.end = align_up(loads[i].vaddr + loads[i].filesz, 0x1000);
		}
	target_set_stack(&self, base, words, nwords);
	/* Not with libdw, which reads the file itself. */
	for (size_t u = 0; u < 2; u++) {
		m.mod = &whole;
		self.as = addrspace_new();
		addrspace_add(self.as, &jit);
		addrspace_add(self.as, &m);
		run(u, st, regs, false, FRAMES_MAX);
		if (st->res.end != end || st->res.n != n)
			print_stack("whole", st);
		assert_string_equal(unwind_end_text(st->res.end), unwind_end_text(end));
		assert_int_equal(st->res.n, n);
		addrspace_free(self.as);
		m.mod = sliced;
		self.as = addrspace_new();
		addrspace_add(self.as, &jit);
		addrspace_add(self.as, &m);
		run(u, &other, regs, false, FRAMES_MAX);
		if (!same_frames(st, &other)) {
			print_stack("whole", st);
			print_stack("slice", &other);
			fail();
		}
		addrspace_free(self.as);
	}
	self.as = own;
	cfi_free(whole.cfi);
	made_rows_free(whole.made);
	module_drop(sliced);
	strbuf_fini(&out);
}

static void pointer_end(struct elf_file *ef, uint64_t ip, const uint64_t *words, size_t nwords, uint32_t n,
			enum unwind_end end, struct stack *st)
{
	pointer_bp(ef, ip, 0, words, nwords, n, end, st);
}

static void pointer_stack(struct elf_file *ef, uint64_t ip, const uint64_t *words, size_t nwords, uint32_t n,
			  struct stack *st)
{
	pointer_end(ef, ip, words, nwords, n, UNWIND_COMPLETE, st);
}

/*
 * Where the caller must be searched for, a pointer to code is no return address, whether the code
 * is available or not. Neither the first match may be one, nor the word it leads to.
 */
static void test_pointer_for_caller(void **state)
{
	struct elf_file *ef = pointer_build();
	uint64_t words[24] = { 0 }, lost, in_taker, in_start;
	struct stack st;

	(void)state;
	if (!ef)
		skip();
	lost = pointer_at(ef, "lost");
	in_taker = pointer_at(ef, "in_taker");
	in_start = pointer_at(ef, "in_start");
	/* The frame of taker(), whose caller is _start. */
	words[12] = in_taker;
	words[16] = in_start;
	pointer_stack(ef, lost, words, 24, 3, &st);
	/*
	 * %rbp may hold something that is no frame of this stack, also beyond the end of the stack,
	 * such as a pointer to the program's arguments.
	 */
	pointer_bp(ef, lost, 0x11a68, words, 24, 3, UNWIND_COMPLETE, &st);
	assert_true(st.frames[1].addr.v == in_taker && st.frames[2].addr.v == in_start);
	/*
	 * Below it is a leftover frame of other(), whose return address was overwritten by a
	 * pointer.
	 */
	words[3] = pointer_at(ef, "in_other");
	words[7] = pointer_at(ef, "stated");
	pointer_stack(ef, lost, words, 24, 3, &st);
	assert_true(st.frames[1].addr.v == in_taker && st.frames[2].addr.v == in_start);
	words[7] = pointer_at(ef, "bare");
	pointer_stack(ef, lost, words, 24, 3, &st);
	words[7] = pointer_at(ef, "lost");
	pointer_stack(ef, lost, words, 24, 3, &st);
	words[7] = pointer_at(ef, "finish");
	pointer_stack(ef, lost, words, 24, 3, &st);
	/* But an address at which a call ends is one, even if its frame layout is unknown. */
	words[7] = pointer_at(ef, "in_endless");
	memset(words + 8, 0, 8 * sizeof(*words));
	pointer_stack(ef, lost, words, 24, 4, &st);
	assert_true(st.frames[2].addr.v == words[7] && st.frames[3].addr.v == in_start);
	words[12] = in_taker;
	/* A root that may have been planted, or not. */
	words[3] = pointer_at(ef, "finish");
	pointer_stack(ef, lost, words, 24, 3, &st);
	assert_true(st.frames[1].addr.v == in_taker && st.frames[1].kind == FRAME_RETURN);

	/* It was planted if rows lead there: it was never called. */
	memset(words, 0, sizeof(words));
	words[3] = pointer_at(ef, "finish");
	pointer_stack(ef, in_taker, words, 24, 2, &st);
	assert_true(st.frames[1].addr.v == words[3] && st.frames[1].kind == FRAME_IP);
	/* Also where the return is derived from the code. */
	words[3] = 0;
	words[1] = in_taker;
	words[5] = in_start;
	pointer_stack(ef, pointer_at(ef, "in_bare"), words, 24, 3, &st);
	/* From a PLT entry it is the first word, even if its frame layout is unknown. */
	memset(words, 0, sizeof(words));
	words[0] = pointer_at(ef, "in_endless");
	words[1] = in_start;
	pointer_stack(ef, pointer_at(ef, "entry"), words, 24, 3, &st);
	assert_true(st.frames[1].addr.v == words[0]);
	/* The same from a trampoline, and from other code without rows and frame pointer. */
	memset(words, 0, sizeof(words));
	words[1] = pointer_at(ef, "in_bare");
	words[3] = in_taker;
	words[7] = in_start;
	pointer_stack(ef, JIT_START + 16, words, 24, 4, &st);
	assert_true(st.frames[1].addr.v == words[1]);
	/*
	 * A frame that continues above the copy: a page of it is missing, and that is not the end
	 * of the stack.
	 */
	pointer_end(ef, pointer_at(ef, "in_roomy"), words, 24, 1, UNWIND_HOLE, &st);
	elf_file_close(ef);
}

/*
 * If a derived row leads to no return address, the row is ignored: with the code available, and
 * from a slice.
 */
static void test_made_row_leads_nowhere(void **state)
{
	struct elf_file *ef = pointer_build();
	uint64_t words[24] = { 0 }, frame = 0x11000 - sizeof(words) + 4 * sizeof(*words);
	struct stack st;

	(void)state;
	if (!ef)
		skip();
	/* Not the base of a stack: nothing is known about it. */
	pointer_end(ef, pointer_at(ef, "in_foreign"), words, 24, 1, UNWIND_NO_ROWS, &st);
	/* The frame pointer gives the position. */
	words[0] = frame;
	words[1] = pointer_at(ef, "in_drops");
	words[5] = pointer_at(ef, "in_taker");
	words[9] = pointer_at(ef, "in_start");
	pointer_stack(ef, pointer_at(ef, "in_saver"), words, 24, 4, &st);
	assert_true(st.frames[2].addr.v == words[5]);
	elf_file_close(ef);
}

/*
 * The last page of a mapping holds bytes after the segment. An address there, as garbage may
 * contain one, has no position in the binary, and must not decide how the rest of the mapping is
 * treated.
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
		/* No frame pointer and no words to search. */
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

/* Frame pointers only: a hand-written chain, each link pointing into some code. */
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
	/* Both words of the last frame are 0: the ABI marks the outermost frame that way. */
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
	/*
	 * The recorder cut the copy: that is a reason of its own, whatever size it had requested
	 * from the kernel.
	 */
	in.copy_full = false;
	in.cut = true;
	unwind_fp.unwind(priv, &in, &res);
	assert_int_equal(res.n, 3);
	assert_int_equal(res.end, UNWIND_CUT);
	unwind_fp.destroy(priv);
}

/* ---- arbitrary stacks ---- */

static uint64_t next_random(void)
{
	static uint64_t state;

	return random_next(&state);
}

/*
 * The rows of a PLT use the pc. A return address into a PLT, which makes no calls, is looked up one
 * byte lower, and only the libunwind backend then computes with that address: such cases are not
 * compared.
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
 * of call frame information must agree on one, and must end.
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
	/* Otherwise the stacks were too trivial to learn anything from them. */
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

static int setup_all(void **state)
{
	return setup(state) || tool_setup(state);
}

static int teardown_all(void **state)
{
	return teardown(state) || tool_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_copy),    cmocka_unit_test(test_depth),
		cmocka_unit_test(test_missing),	      cmocka_unit_test(test_without_rows),
		cmocka_unit_test(test_pointer_for_caller), cmocka_unit_test(test_beside_segment),
		cmocka_unit_test(test_made_row_leads_nowhere),
		cmocka_unit_test(test_names),	      cmocka_unit_test(test_fp),
		cmocka_unit_test(test_random_stacks), cmocka_unit_test(test_speed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
