/*
 * Rows derived from code, compared with the compiler's rows for the same code: every instruction of
 * libraries that have call frame information, and of the forms of code that gcc compiles for this
 * test.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "cfi/cfi.h"
#include "code/code_rows.h"
#include "code/x86_insn.h"
#include "elf/elf_file.h"
#include "random.h"
#include "toolrun.h"

#define SHOW_MAX 20

struct tally {
	uint32_t insns, made, wrong, other_base, lost_saved, wrong_saved, silent, switched;
};

/*
 * Plain rows: CFA and saved %rbp relative to one of the two registers, return address directly
 * below the CFA.
 */
static bool comparable(const struct cfi_row *r)
{
	return r->cfa_how == CFI_REGISTER && !r->signal_frame && r->ra_reg == CFI_REG_RA &&
	       (r->cfa.reg == CFI_REG_SP || r->cfa.reg == CFI_REG_BP) &&
	       r->regs[CFI_REG_RA].how == CFI_OFFSET && r->regs[CFI_REG_RA].off == -8;
}

/* What a function executed before an instruction, if its code runs in address order. */
struct before {
	uint16_t pushed, loaded; /* registers, as encoded */
	int64_t moved; /* bytes by which the previous instruction lowered the stack pointer */
	bool silent; /* the row did not change over such a move */
};

static void note_insn(struct before *b, const struct x86_insn *in)
{
	/* gcc 16 saves registers with moves, and may state that as late as the next call. */
	if (in->effect == X86_PUSH || (in->effect == X86_STORE && (in->dst == 4 || in->dst == 5)))
		b->pushed |= 1u << in->src;
	if (in->effect == X86_POP || in->effect == X86_LOAD)
		b->loaded |= 1u << in->dst;
	if (in->effect == X86_LEAVE)
		b->loaded |= 1u << 5;
	b->moved = 0;
	if (in->effect == X86_PUSH || in->effect == X86_PUSH_VALUE)
		b->moved = 8;
	else if (in->effect == X86_POP || in->effect == X86_POP_VALUE)
		b->moved = -8;
	else if (in->effect == X86_ADD && in->dst == 4 && in->src == 4)
		b->moved = -in->disp;
}

static const struct {
	uint8_t dwarf, reg;
} kept[] = { { 3, 3 }, { 6, 5 }, { 12, 12 }, { 13, 13 }, { 14, 14 }, { 15, 15 } };

/*
 * The compiler may state a saved register late, as long as the register still has its value, and
 * need not state that it was restored. Both locations are right then.
 */
static bool same_place(const struct cfi_rule *want, const struct cfi_rule *got, uint8_t reg,
		       const struct before *b)
{
	bool in_reg = want->how != CFI_OFFSET;

	if (got->how == CFI_OFFSET && !in_reg)
		return got->off == want->off;
	if (got->how == CFI_OFFSET)
		return b->pushed >> reg & 1;
	return in_reg || b->loaded >> reg & 1;
}

static void compare(const struct cfi_row *want, const struct cfi_row *got, uint64_t svma,
		    const struct before *b, struct tally *t)
{
	t->made++;
	/*
	 * glibc's swapcontext() loads the other context's stack pointer before it jumps, and its
	 * rows do not say so.
	 */
	if (got->regs[CFI_REG_SP].how == CFI_VAL_EXPR) {
		t->switched++;
		return;
	}
	if (want->cfa.reg != got->cfa.reg) {
		t->other_base++;
		return;
	}
	if (got->regs[CFI_REG_RA].how != CFI_OFFSET || got->cfa.off != want->cfa.off) {
		if (t->wrong++ < SHOW_MAX)
			print_message("# %#" PRIx64 ": CFA is reg %u + %" PRId64
				      ", read as reg %u + %" PRId64 "%s\n",
				      svma, want->cfa.reg, want->cfa.off, got->cfa.reg, got->cfa.off,
				      got->regs[CFI_REG_RA].how == CFI_OFFSET ? "" : ", outermost");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		const struct cfi_rule *w = &want->regs[kept[i].dwarf], *g = &got->regs[kept[i].dwarf];

		if (g->how == CFI_UNDEF)
			t->lost_saved++;
		else if (!same_place(w, g, kept[i].reg, b) && t->wrong_saved++ < SHOW_MAX)
			print_message("# %#" PRIx64 ": register %u: how %u off %" PRId64
				      ", read as how %u off %" PRId64 "\n",
				      svma, kept[i].dwarf, w->how, w->off, g->how, g->off);
	}
}

/*
 * Some assembly moves the stack pointer without stating it, so that all its later rows are wrong.
 * glibc's __mpn_mul_1() has one row for all of its code; OpenSSL's RSA for AVX-IFMA takes 328 bytes
 * for which there is no row. Returns true from such an instruction on. @row: the one at @svma,
 * which the previous instruction leads to.
 */
static bool is_silent(struct before *b, const struct cfi_row *row, uint64_t svma, struct tally *t)
{
	if (b->moved && row->cfa.reg == CFI_REG_SP && row->start < svma && !b->silent) {
		b->silent = true;
		t->silent++;
	}
	return b->silent && row->cfa.reg == CFI_REG_SP;
}

/* The code of a library, and the function starts in its call frame information. */
struct lib {
	struct elf_file *ef;
	struct cfi *cfi;
	bool starts; /* function starts are given */
};

static size_t read_code(void *ctx, uint64_t svma, const uint8_t **data)
{
	struct lib *lib = ctx;

	return elf_file_code(lib->ef, svma, data);
}

static size_t read_data(void *ctx, uint64_t svma, void *buf, size_t size)
{
	struct lib *lib = ctx;

	return elf_file_bytes(lib->ef, svma, buf, size);
}

static uint64_t start_of(void *ctx, uint64_t svma, bool *entry)
{
	struct lib *lib = ctx;
	struct cfi_fde fde;
	struct cfi_row row;

	if (!lib->starts || cfi_find(lib->cfi, svma, &fde))
		return 0;
	/*
	 * The cold part of a function has an FDE of its own, and a frame from its first
	 * instruction.
	 */
	*entry = cfi_row(lib->cfi, &fde, fde.start, &row) == 0 && row.cfa.reg == CFI_REG_SP &&
		 row.cfa.off == 8;
	return fde.start;
}

static bool noreturn(void *ctx, uint64_t svma)
{
	(void)ctx;
	(void)svma;
	return false;
}

static void sweep_function(struct lib *lib, const struct cfi_fde *fde, struct code_rows *cr,
			   struct tally *t)
{
	struct before before = { .pushed = 0 };
	bool ended = false; /* the next instruction runs only if something jumps to it */

	for (uint64_t at = fde->start; at < fde->end;) {
		struct cfi_row want, got;
		struct x86_insn in;
		const uint8_t *data;
		size_t n = elf_file_code(lib->ef, at, &data);

		if (!n || !x86_decode(data, n, at, &in))
			break;
		/* Padding: the compiler's row for it was never meant to be used. */
		ended &= in.flow == X86_NEXT && !in.effect && !in.clobbers;
		if (!ended && cfi_row(lib->cfi, fde, at, &want) == 0 && comparable(&want) &&
		    !is_silent(&before, &want, at, t)) {
			uint64_t last = at + in.len - 1;

			t->insns++;
			if (code_row(cr, at, false, &got) == 0)
				compare(&want, &got, at, &before, t);
			if ((in.flow == X86_CALL || in.flow == X86_CALL_FAR) &&
			    code_row(cr, last, true, &got) == 0)
				compare(&want, &got, last, &before, t);
		}
		note_insn(&before, &in);
		ended |= in.flow != X86_NEXT && in.flow != X86_BRANCH && in.flow != X86_SYSCALL;
		at += in.len;
	}
}

/* The PLT's other entries jump to its first one after they have pushed something. */
static bool in_plt(struct elf_file *ef, uint64_t svma)
{
	const uint8_t *data;
	uint64_t start;
	size_t size;

	return elf_file_section(ef, ".plt", &data, &size, &start) == 0 && svma - start < size;
}

/* Checks each @every-th function of @path; false when there is no such file. */
static bool sweep(const char *path, unsigned int every, bool starts, struct tally *t)
{
	struct lib lib = { .ef = tool_open_elf(path), .starts = starts };
	const struct code_source src = {
		.ctx = &lib, .read = read_code, .start_of = start_of, .noreturn = noreturn,
		.data = read_data,
	};
	struct cfi_sections secs;
	struct code_rows *cr;
	struct cfi_fde fde;

	memset(t, 0, sizeof(*t));
	if (!lib.ef)
		return false;
	elf_file_cfi_sections(lib.ef, &secs);
	lib.cfi = cfi_new(&secs);
	cr = code_rows_new(&src);
	for (size_t i = 0; cfi_nth(lib.cfi, i, &fde) == 0; i++)
		if (i % every == 0 && !in_plt(lib.ef, fde.start))
			sweep_function(&lib, &fde, cr, t);
	code_rows_free(cr);
	cfi_free(lib.cfi);
	elf_file_close(lib.ef);
	print_message("# %s: %u instructions, %u rows, %u with another base; not as the compiler says: "
		      "%u frames, %u registers (%u not known); %u functions do not say what they push, %u rows what stack they are on\n",
		      path, t->insns, t->made, t->other_base, t->wrong, t->wrong_saved, t->lost_saved, t->silent,
		      t->switched);
	return true;
}

static const struct {
	const char *path;
	unsigned int every;
} libs[] = {
	{ "/proc/self/exe", 1 },
	{ "/lib/x86_64-linux-gnu/libc.so.6", 5 },
	{ "/lib/x86_64-linux-gnu/libcrypto.so.3", 17 },
	{ "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 17 },
};

/* As for a program with its symbols: no row may be wrong, and most must exist. */
static void test_with_starts(void **state)
{
	struct tally t;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(libs); i++) {
		if (!sweep(libs[i].path, libs[i].every, true, &t))
			continue;
		assert_true(t.insns > 1000);
		assert_true(t.made > t.insns * 9 / 10);
		assert_int_equal(t.wrong, 0);
		assert_int_equal(t.wrong_saved, 0);
		assert_true(t.switched < 40);
	}
}

/*
 * As for a stripped program. A call of a function that never returns may be the last instruction of
 * another, and what follows looks like more of it: an unwinder must check where such a row leads.
 */
static void test_without_starts(void **state)
{
	struct tally t;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(libs); i++) {
		if (!sweep(libs[i].path, libs[i].every, false, &t))
			continue;
		assert_true(t.made > t.insns * 8 / 10);
		assert_true(t.wrong < t.made / 100);
		assert_int_equal(t.wrong_saved, 0);
	}
}

/* Meaningless bytes, at any address: an answer, in bounded time. */
static uint8_t noise[4096];

static size_t read_noise(void *ctx, uint64_t svma, const uint8_t **data)
{
	(void)ctx;
	if (svma < 0x1000 || svma >= 0x1000 + sizeof(noise))
		return 0;
	*data = noise + (svma - 0x1000);
	return 0x1000 + sizeof(noise) - svma;
}

static uint64_t noise_start(void *ctx, uint64_t svma, bool *entry)
{
	(void)ctx;
	*entry = svma % 3;
	return svma & ~63ull;
}

static void test_noise(void **state)
{
	const struct code_source src = {
		.read = read_noise, .start_of = noise_start, .noreturn = noreturn,
	};
	/* Half of the bytes are instructions that lead somewhere, so that paths are long. */
	static const uint8_t likely[] = { 0x50, 0x58, 0x74, 0xeb, 0x75, 0xe8, 0x48, 0x89, 0x90, 0x5d, 0x55 };
	uint64_t s, seed = 1;
	uint32_t rows = 0;

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct code_rows *cr;
		struct cfi_row row;

		for (size_t i = 0; i < sizeof(noise); i++) {
			s = random_next(&seed);
			noise[i] = s & 0x100 ? likely[s % sizeof(likely)] : (uint8_t)s;
		}
		cr = code_rows_new(&src);
		for (uint64_t at = 0xff0; at < 0x2010; at += 37)
			rows += code_row(cr, at, at & 1, &row) == 0;
		code_rows_free(cr);
	}
	print_message("# %u rows\n", rows);
}

static uint64_t no_start(void *ctx, uint64_t svma, bool *entry)
{
	(void)ctx;
	(void)svma;
	*entry = false;
	return 0;
}

/*
 * The function endings of gcc -O0 are not padding, and padding before another function is not the
 * end.
 */
static void test_unoptimized_end(void **state)
{
	const struct code_source src = { .read = read_noise, .start_of = no_start, .noreturn = noreturn };
	static const struct {
		const char *text;
		uint8_t len, code[16];
		bool row;
	} cases[] = {
		{ "nop; leave; ret", 3, { 0x90, 0xc9, 0xc3 }, true },
		{ "nop; pop %rbp; ret", 3, { 0x90, 0x5d, 0xc3 }, true },
		{ "nop; mov -8(%rbp),%rbx; leave; ret", 7, { 0x90, 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0xc3 }, true },
		{ "nop; mov -8(%rbp),%r10; leave; lea -8(%r10),%rsp; ret", 11,
		  { 0x90, 0x4c, 0x8b, 0x55, 0xf8, 0xc9, 0x49, 0x8d, 0x62, 0xf8, 0xc3 }, true },
		{ "nop; add $8,%rsp; ret", 6, { 0x90, 0x48, 0x83, 0xc4, 0x08, 0xc3 }, true },
		{ "nop; push %rbp; pop %rbp; ret", 4, { 0x90, 0x55, 0x5d, 0xc3 }, false },
		{ "nop; sub $8,%rsp; add $8,%rsp; ret", 10, { 0x90, 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3 }, false },
		{ "nop; ret", 2, { 0x90, 0xc3 }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct code_rows *cr = code_rows_new(&src);
		struct cfi_row row;
		bool have;

		memset(noise, 0xf4, sizeof(noise));
		/* The call is through a register, so nothing is known about the callee. */
		memcpy(noise, "\xff\xd0", 2);
		memcpy(noise + 2, cases[i].code, cases[i].len);
		have = code_row(cr, 0x1001, true, &row) == 0;
		if (have != cases[i].row)
			print_message("# call *%%rax; %s: %s row\n", cases[i].text, have ? "a" : "no");
		assert_int_equal(have, cases[i].row);
		code_rows_free(cr);
	}
}

static bool at_1100(void *ctx, uint64_t svma)
{
	(void)ctx;
	return svma == 0x1100;
}

/* After a call of setjmp() stands an endbr64, and no function begins there. */
static void test_returns_twice(void **state)
{
	struct code_source src = { .read = read_noise, .start_of = no_start, .noreturn = noreturn };
	/* call 0x1100; endbr64; add $8,%rsp; ret */
	static const uint8_t code[] = { 0xe8, 0xfb, 0, 0, 0, 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xc4, 0x08, 0xc3 };

	(void)state;
	memset(noise, 0xf4, sizeof(noise));
	memcpy(noise, code, sizeof(code));
	noise[0x100] = 0xc3;
	for (int known = 0; known < 2; known++) {
		struct code_rows *cr = code_rows_new(&src);
		struct cfi_row row;

		assert_int_equal(code_row(cr, 0x1004, true, &row), known ? 0 : -ENOENT);
		if (known)
			assert_int_equal(row.cfa.off, 16);
		code_rows_free(cr);
		src.twice = at_1100;
	}
}

static void put_call(uint32_t at, uint32_t to)
{
	uint32_t rel = to - (at + 5);

	noise[at - 0x1000] = 0xe8;
	memcpy(noise + (at - 0x1000) + 1, &rel, 4);
	/* add $8,%rsp; ret */
	memcpy(noise + (at - 0x1000) + 5, "\x48\x83\xc4\x08\xc3", 5);
}

/*
 * Five functions, each of which calls the next, and the last never returns. That is too many calls
 * away to be found from the first, but it is found from the fourth, whatever was looked up before.
 */
static void test_any_order(void **state)
{
	const struct code_source src = { .read = read_noise, .start_of = no_start, .noreturn = noreturn };

	(void)state;
	memset(noise, 0xf4, sizeof(noise));
	for (uint32_t i = 0; i < 4; i++)
		put_call(0x1100 + 16 * i, 0x1110 + 16 * i);
	put_call(0x1000, 0x1100);
	put_call(0x1020, 0x1130);
	for (int first = 0; first < 2; first++) {
		struct code_rows *cr = code_rows_new(&src);
		struct cfi_row row;

		for (int i = 0; i < 2; i++) {
			bool far = i == first;

			assert_int_equal(code_row(cr, far ? 0x1004 : 0x1024, true, &row), far ? 0 : -ENOENT);
		}
		code_rows_free(cr);
	}
}

static bool at_1006(void *ctx, uint64_t svma)
{
	(void)ctx;
	return svma == 0x1006;
}

/*
 * A function that ends in a call that never returns, directly followed by the next function. The
 * boundary is known once something calls that one.
 */
static void test_next_is_called(void **state)
{
	struct code_source src = { .read = read_noise, .start_of = no_start, .noreturn = noreturn };
	/* push %rbx; call 0x1100; and the next function: push %r12; push %rbp; call *%rax */
	static const uint8_t code[] = { 0x53, 0xe8, 0xfa, 0, 0, 0, 0x41, 0x54, 0x55, 0xff, 0xd0 };

	(void)state;
	memset(noise, 0xf4, sizeof(noise));
	memcpy(noise, code, sizeof(code));
	noise[0x100] = 0xc3;
	for (int known = 0; known < 2; known++) {
		struct code_rows *cr = code_rows_new(&src);
		struct cfi_row row;

		assert_int_equal(code_row_from(cr, 0x1000, 0x100a, true, &row), known ? -ENOENT : 0);
		assert_int_equal(code_row_from(cr, 0x1006, 0x100a, true, &row), 0);
		assert_int_equal(row.cfa.off, 24);
		code_rows_free(cr);
		src.called = at_1006;
	}
}

/* Storing a variable from %rbp through some pointer makes no second copy of the caller's %rbp. */
static void test_store_elsewhere(void **state)
{
	const struct code_source src = { .read = read_noise, .start_of = no_start, .noreturn = noreturn };
	/* mov %rbp,32(%rdi); pop %rbp; ret */
	static const uint8_t code[] = { 0x48, 0x89, 0x6f, 0x20, 0x5d, 0xc3 };
	struct code_rows *cr = code_rows_new(&src);
	struct cfi_row row;

	(void)state;
	memcpy(noise, code, sizeof(code));
	assert_int_equal(code_row(cr, 0x1000, false, &row), 0);
	assert_int_equal(row.cfa.off, 16);
	assert_int_equal(row.regs[CFI_REG_BP].how, CFI_OFFSET);
	assert_int_equal(row.regs[CFI_REG_BP].off, -16);
	code_rows_free(cr);
}

/*
 * A call that never returns, without anything saying so, appears to keep its stack arguments. The
 * path past it must not be the only one that is followed.
 */
static void test_lost_arguments(void **state)
{
	const struct code_source src = { .read = read_noise, .start_of = no_start, .noreturn = noreturn };
	/*
	 * sub $24,%rsp; test %edi,%edi; jne 1f; push %rax; push %rax; call *%rax; 1: mov
	 * (%rsp),%rax; call *%rax; ud2. The fall-through comes first in memory and is followed
	 * last.
	 */
	static const uint8_t code[] = { 0x48, 0x83, 0xec, 0x18, 0x85, 0xff, 0x75, 0x04, 0x50, 0x50, 0xff, 0xd0,
					0x48, 0x8b, 0x04, 0x24, 0xff, 0xd0, 0x0f, 0x0b };
	struct code_rows *cr = code_rows_new(&src);
	struct cfi_row row;

	(void)state;
	memset(noise, 0xf4, sizeof(noise));
	memcpy(noise, code, sizeof(code));
	/*
	 * After the call where the paths meet: 32, or 48 if the arguments are still there. It
	 * cannot be decided.
	 */
	assert_int_equal(code_row_from(cr, 0x1000, 0x1011, true, &row), -ENOENT);
	/* Before the branch it can. */
	assert_int_equal(code_row_from(cr, 0x1000, 0x1006, false, &row), 0);
	assert_int_equal(row.cfa.off, 32);
	code_rows_free(cr);
}

/*
 * Code that switches stacks, as musl's longjmp(), libco, boost.context, libucontext and most
 * coroutines in assembly do it. While the stack pointer is the function's own, its caller is the
 * function that called it. After that it is the code where the context continues, as the compiler
 * states for glibc's longjmp(); never a word that happens to lie on the new stack.
 */
__asm__(".pushsection .text\n"
	".globl switch_longjmp, switch_libco, switch_return, switch_fcontext, switch_ucontext, switch_tail_call, switch_end\n"
	"switch_longjmp: mov (%rdi),%rbx; mov 8(%rdi),%rbp; mov 48(%rdi),%rsp; jmp *56(%rdi)\n"
	"switch_libco: mov %rsp,(%rsi); mov (%rdi),%rsp; pop %rax; mov %rbp,8(%rsi); mov 8(%rdi),%rbp; jmp *%rax\n"
	"switch_return: push %rbp; push %rbx; mov %rsp,(%rdi); mov %rsi,%rsp; pop %rbx; pop %rbp; ret\n"
	"switch_fcontext: lea -16(%rsp),%rsp; mov %rbp,8(%rsp); mov %rsp,%rax; mov %rdi,%rsp; mov 16(%rsp),%r8; mov 8(%rsp),%rbp;"
	" lea 24(%rsp),%rsp; jmp *%r8\n"
	"switch_ucontext: mov 160(%rdi),%rsp; push 168(%rdi); mov 128(%rdi),%rbx; mov 104(%rdi),%rdi; ret\n"
	"switch_tail_call: push %rbx; mov (%rdi),%rax; pop %rbx; jmp *56(%rax)\n"
	"switch_end:\n"
	".popsection");

extern const uint8_t switch_longjmp[], switch_libco[], switch_return[], switch_fcontext[], switch_ucontext[], switch_tail_call[], switch_end[];

/* The addresses are those of this process. */
static size_t read_switch(void *ctx, uint64_t svma, const uint8_t **data)
{
	uint64_t lo = (uintptr_t)switch_longjmp, hi = (uintptr_t)switch_end;

	(void)ctx;
	if (svma < lo || svma >= hi)
		return 0;
	*data = switch_longjmp + (svma - lo);
	return hi - svma;
}

static uint64_t switch_start(void *ctx, uint64_t svma, bool *entry)
{
	const uint8_t *const starts[] = { switch_longjmp, switch_libco, switch_return, switch_fcontext, switch_ucontext, switch_tail_call };
	uint64_t start = 0;

	(void)ctx;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if ((uintptr_t)starts[i] <= svma)
			start = (uintptr_t)starts[i];
	*entry = start;
	return start;
}

/* "[r5+56]": the word stored there; "r5+56": the value; "c-8": at that distance from the CFA. */
static void format_rule(const struct cfi_rule *r, char *buf, size_t size)
{
	int64_t off = 0;

	/* DW_OP_breg0 and up, and a number of one or two bytes (DWARF 5, 7.6). */
	if (r->how == CFI_EXPR || r->how == CFI_VAL_EXPR) {
		off = r->expr_len > 1 ? r->expr[1] & 0x7f : 0;
		if (r->expr_len > 2)
			off |= (int64_t)(r->expr[2] & 0x7f) << 7;
		if (r->expr_len > 1 && r->expr[r->expr_len - 1] & 0x40)
			off -= r->expr_len > 2 ? 1 << 14 : 1 << 7;
	}
	switch (r->how) {
	case CFI_OFFSET: snprintf(buf, size, "c%+" PRId64, r->off); break;
	case CFI_EXPR: snprintf(buf, size, "[r%d%+" PRId64 "]", r->expr[0] - 0x70, off); break;
	case CFI_VAL_EXPR: snprintf(buf, size, "r%d%+" PRId64, r->expr[0] - 0x70, off); break;
	case CFI_UNDEF: snprintf(buf, size, "?"); break;
	default: snprintf(buf, size, "="); break;
	}
}

static void format_row(const struct cfi_row *row, char *buf, size_t size)
{
	char ra[32], bx[32], bp[32];

	format_rule(&row->regs[CFI_REG_RA], ra, sizeof(ra));
	format_rule(&row->regs[3], bx, sizeof(bx));
	format_rule(&row->regs[CFI_REG_BP], bp, sizeof(bp));
	snprintf(buf, size, "cfa r%u%+" PRId64 ", ra %s, rbx %s, rbp %s", row->cfa.reg, row->cfa.off, ra, bx, bp);
}

static void test_other_stack(void **state)
{
	const struct code_source src = { .read = read_switch, .start_of = switch_start, .noreturn = noreturn };
	/* Rows before each instruction, with DWARF's numbers: 0 rax, 5 rdi, 7 rsp, 8 r8. */
	static const struct {
		const uint8_t *code;
		const char *rows[10];
	} cases[] = {
		{ switch_longjmp,
		  { "cfa r7+8, ra c-8, rbx =, rbp =", "cfa r7+8, ra c-8, rbx ?, rbp =", "cfa r7+8, ra c-8, rbx ?, rbp ?",
		    "cfa r7+0, ra [r5+56], rbx =, rbp =" } },
		{ switch_libco,
		  /* %rbp is stored where, as far as the code shows, the other one may lie. */
		  { "cfa r7+8, ra c-8, rbx =, rbp =", "cfa r7+8, ra c-8, rbx =, rbp =", "cfa r7+8, ra [r7+0], rbx =, rbp ?",
		    "cfa r7+0, ra r0+0, rbx =, rbp ?", "cfa r7+0, ra r0+0, rbx =, rbp [r5+8]", "cfa r7+0, ra r0+0, rbx =, rbp =" } },
		{ switch_return,
		  { "cfa r7+8, ra c-8, rbx =, rbp =", "cfa r7+16, ra c-8, rbx =, rbp c-16", "cfa r7+24, ra c-8, rbx c-24, rbp c-16",
		    "cfa r7+24, ra c-8, rbx c-24, rbp c-16", "cfa r7+24, ra c-8, rbx c-24, rbp c-16", "cfa r7+16, ra c-8, rbx =, rbp c-16",
		    "cfa r7+8, ra c-8, rbx =, rbp =" } },
		{ switch_fcontext,
		  { "cfa r7+8, ra c-8, rbx =, rbp =", "cfa r7+24, ra c-8, rbx =, rbp =", "cfa r7+24, ra c-8, rbx =, rbp c-16",
		    "cfa r7+24, ra c-8, rbx =, rbp c-16", "cfa r7+24, ra [r7+16], rbx =, rbp [r7+8]", "cfa r7+24, ra r8+0, rbx =, rbp [r7+8]",
		    "cfa r7+24, ra r8+0, rbx =, rbp =", "cfa r7+0, ra r8+0, rbx =, rbp =" } },
		{ switch_ucontext,
		  { "cfa r7+8, ra c-8, rbx =, rbp =", "cfa r7+0, ra [r5+168], rbx [r5+128], rbp =",
		    /* What was pushed is there, as after any call. */
		    "cfa r7+8, ra c-8, rbx [r5+128], rbp =", "cfa r7+8, ra c-8, rbx =, rbp =", "cfa r7+8, ra c-8, rbx =, rbp =" } },
		{ switch_tail_call,
		  { "cfa r7+8, ra c-8, rbx =, rbp =", "cfa r7+16, ra c-8, rbx c-16, rbp =", "cfa r7+16, ra c-8, rbx c-16, rbp =",
		    "cfa r7+8, ra c-8, rbx =, rbp =" } },
	};
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct code_rows *cr = code_rows_new(&src);
		uint64_t at = (uintptr_t)cases[i].code;

		for (size_t k = 0; cases[i].rows[k]; k++) {
			const uint8_t *data = NULL;
			struct x86_insn in;
			struct cfi_row row;
			char text[128] = "no row";
			size_t n;

			n = read_switch(NULL, at, &data);
			assert_true(n && x86_decode(data, n, at, &in));
			if (code_row(cr, at, false, &row) == 0)
				format_row(&row, text, sizeof(text));
			if (strcmp(text, cases[i].rows[k])) {
				print_message("# case %zu, instruction %zu: %s instead of %s\n", i, k, text, cases[i].rows[k]);
				wrong++;
			}
			at += in.len;
		}
		code_rows_free(cr);
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unoptimized_end),
		cmocka_unit_test(test_returns_twice),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_next_is_called),
		cmocka_unit_test(test_store_elsewhere),
		cmocka_unit_test(test_lost_arguments),
		cmocka_unit_test(test_other_stack),
		cmocka_unit_test(test_with_starts),
		cmocka_unit_test(test_without_starts),
		cmocka_unit_test(test_noise),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
