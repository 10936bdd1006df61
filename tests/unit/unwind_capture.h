/*
 * Stacks of this process, for tests of the unwinders: functions in sections of their own, so that
 * the linker defines where each begins and ends; the registers and the stack at the leaf; and the
 * results of the unwinders that read call frame information.
 */
#ifndef NSPROF_TEST_UNWIND_CAPTURE_H
#define NSPROF_TEST_UNWIND_CAPTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/util.h"
#include "unwind_stack.h"
#include "unwind_target.h"

#define COPY_MAX (64 << 10)

/*
 * Functions of the chains: without a frame pointer although the test is built with them, and
 * without instrumentation.
 */
#define LINK(name)                                                                                 \
	extern const char __start_fn_##name[], __stop_fn_##name[];                                 \
	static const struct link link_##name = { #name, __start_fn_##name, __stop_fn_##name }
#define FN(name)                                                                                   \
	__attribute__((section("fn_" #name), noinline, noclone, noipa,                             \
		       optimize("O2,omit-frame-pointer,no-optimize-sibling-calls"),                \
		       no_sanitize("address"), no_sanitize("undefined")))

struct link {
	const char *name;
	const char *start, *end;
};

/* ---- capturing the calling function's state ---- */

static uint64_t cap_regs[UREG_MAX];
static uint64_t cap_words[COPY_MAX / 8];
static size_t cap_nwords;
static uint64_t cap_end; /* end of the mapping that contains the stack */
static struct target self;
static volatile uint64_t sink;

/* The caller's registers as they are when this returns. */
void take_regs(uint64_t *regs);
__asm__(".text\n"
	".type take_regs, @function\n"
	"take_regs:\n"
	"	mov	%rax, 0(%rdi)\n"
	"	mov	%rbx, 8(%rdi)\n"
	"	mov	%rcx, 16(%rdi)\n"
	"	mov	%rdx, 24(%rdi)\n"
	"	mov	%rsi, 32(%rdi)\n"
	"	mov	%rdi, 40(%rdi)\n"
	"	mov	%rbp, 48(%rdi)\n"
	"	lea	8(%rsp), %rax\n"
	"	mov	%rax, 56(%rdi)\n"
	"	mov	(%rsp), %rax\n"
	"	mov	%rax, 64(%rdi)\n"
	"	mov	%r8, 128(%rdi)\n"
	"	mov	%r9, 136(%rdi)\n"
	"	mov	%r10, 144(%rdi)\n"
	"	mov	%r11, 152(%rdi)\n"
	"	mov	%r12, 160(%rdi)\n"
	"	mov	%r13, 168(%rdi)\n"
	"	mov	%r14, 176(%rdi)\n"
	"	mov	%r15, 184(%rdi)\n"
	"	ret\n"
	".size take_regs, . - take_regs\n");

/* The end of the mapping that contains @addr, from /proc/self/maps. */
static uint64_t mapping_end(uint64_t addr)
{
	char *text = target_read_maps(&self), *save = NULL;
	uint64_t found = 0;

	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		uint64_t start, end;

		if (sscanf(l, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && addr >= start &&
		    addr < end)
			found = end;
	}
	free(text);
	return found;
}

__attribute__((noinline, no_sanitize("address"))) static void copy_stack(void)
{
	uint64_t lo = align_up(cap_regs[UREG_SP], 8);
	uint64_t hi;

	cap_end = mapping_end(lo);
	hi = MIN(cap_end, lo + COPY_MAX);
	cap_nwords = (hi - lo) / 8;
	for (size_t i = 0; i < cap_nwords; i++)
		cap_words[i] = ((const volatile uint64_t *)lo)[i];
}

#define TAKE()                                                                                     \
	do {                                                                                       \
		take_regs(cap_regs);                                                               \
		copy_stack();                                                                      \
	} while (0)

/* ---- unwinding the capture ---- */

static const struct unwinder_ops *const cfi_unwinders[] = {
	&unwind_cached,
	&unwind_libunwind,
	&unwind_libdw,
};
static void *privs[ARRAY_SIZE(cfi_unwinders)];

static void run(size_t u, struct stack *st, const uint64_t *regs, bool copy_full, uint32_t max)
{
	struct unwind_input in = {
		.regs = regs,
		.stack = &self.view,
		.copy_full = copy_full,
		.as = self.as,
		.max_frames = max,
	};

	memset(st, 0, sizeof(*st));
	st->res.frames = st->frames;
	cfi_unwinders[u]->unwind(privs[u], &in, &st->res);
	assert_true(st->res.n <= max);
}

static void print_stack(const char *title, const struct stack *st)
{
	print_frames(self.as, title, st);
}

static bool same(const struct stack *a, const struct stack *b)
{
	return same_frames(a, b) && a->res.at == b->res.at;
}

static void load_full(void)
{
	target_set_stack(&self, align_up(cap_regs[UREG_SP], 8), cap_words, cap_nwords);
}

/*
 * Unwinds the capture with all three unwinders, unmasked and masked, requires the same frames from
 * all, and returns them in @st.
 */
static void unwind_all(struct stack *st, enum unwind_end end)
{
	static uint64_t masked[COPY_MAX / 8];
	uint64_t lo = align_up(cap_regs[UREG_SP], 8), hi = lo + 8 * cap_nwords;
	uint64_t mregs[UREG_MAX];
	struct stack other;

	target_update_maps(&self);
	load_full();
	run(0, st, cap_regs, hi != cap_end, FRAMES_MAX);
	if (st->res.end != end)
		print_stack("cached", st);
	assert_string_equal(unwind_end_text(st->res.end), unwind_end_text(end));
	for (size_t u = 1; u < ARRAY_SIZE(cfi_unwinders); u++) {
		run(u, &other, cap_regs, hi != cap_end, FRAMES_MAX);
		if (!same(st, &other)) {
			print_stack("cached", st);
			print_stack(cfi_unwinders[u]->name, &other);
			fail();
		}
	}

	for (size_t i = 0; i < cap_nwords; i++)
		masked[i] = target_mask(&self, lo, hi, cap_words[i]);
	for (int i = 0; i < UREG_MAX; i++) {
		bool kept = i == UREG_IP || i == UREG_SP || i == UREG_BP;

		mregs[i] = kept ? cap_regs[i] : target_mask(&self, lo, hi, cap_regs[i]);
	}
	target_set_stack(&self, lo, masked, cap_nwords);
	for (size_t u = 0; u < ARRAY_SIZE(cfi_unwinders); u++) {
		run(u, &other, mregs, hi != cap_end, FRAMES_MAX);
		if (!same(st, &other)) {
			print_stack("full", st);
			print_stack("masked", &other);
			fail();
		}
	}
	load_full();
}

/* ---- functions for the stack ---- */

LINK(leaf);
LINK(middle);
LINK(outer);

FN(leaf) static uint64_t leaf(uint64_t a, uint64_t b)
{
	TAKE();
	return a + b + sink;
}

/* So many live values that all callee-saved registers are pushed. */
FN(middle)
static uint64_t middle(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	uint64_t x = sink, y = a * b, r = leaf(a, b);

	return r + a + b + c + d + e + f + x + y;
}

FN(outer) static uint64_t outer(uint64_t n)
{
	volatile char room[300];

	room[n % 300] = 1;
	return middle(n, 2, 3, 4, 5, 6) + room[0];
}

LINK(recurse);

FN(recurse) static uint64_t recurse(unsigned int n)
{
	volatile uint64_t pad[5];

	pad[n % 5] = n;
	return (n ? recurse(n - 1) : leaf(n, n)) + pad[0];
}

/* ---- setting up ---- */

static int setup(void **state)
{
	(void)state;
	target_init(&self, getpid());
	for (size_t u = 0; u < ARRAY_SIZE(cfi_unwinders); u++)
		privs[u] = cfi_unwinders[u]->create();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t u = 0; u < ARRAY_SIZE(cfi_unwinders); u++)
		cfi_unwinders[u]->destroy(privs[u]);
	target_fini(&self);
	return 0;
}

#endif
