/*
 * The CFI reader on hand-made sections, where the right answer follows from the text of the
 * standard, and on damaged sections; also its expression evaluator. Real binaries are in
 * test_unwind_cfi.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "cfi/cfi.h"
#include "cfi_equal.h"
#include "elf/elf_file.h"
#include "random.h"
#include "toolrun.h"

/* ---- building sections ---- */

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/*
 * CIE of .eh_frame at the section's start: "zR", code 1, data -8, ra 16, sdata4 pcrel; def_cfa 7,8;
 * offset 16,-8.
 */
static void add_cie(struct strbuf *sb)
{
	strbuf_add(sb, BYTES(0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b,
			     0x0c, 7, 8, 0x90, 1, 0, 0));
}

/*
 * FDE for [@start, @start + @len) of that CIE, in a section at address @svma. Returns its offset.
 */
static size_t add_fde(struct strbuf *sb, uint64_t svma, uint64_t start, uint32_t len,
		      const uint8_t *prog, size_t size)
{
	size_t at = sb->len;

	strbuf_add_u32(sb, (uint32_t)(4 + 4 + 4 + 1 + size));
	strbuf_add_u32(sb, (uint32_t)(at + 4));
	strbuf_add_u32(sb, (uint32_t)(start - (svma + at + 8)));
	strbuf_add_u32(sb, len);
	strbuf_addc(sb, 0);
	strbuf_add(sb, prog, size);
	return at;
}

static struct cfi *open_eh(const struct strbuf *sb, uint64_t svma)
{
	struct cfi_sections secs = { .is64 = true };

	secs.eh_frame = (struct cfi_section){ (const uint8_t *)sb->s, sb->len, svma };
	return cfi_new(&secs);
}

static int row_at(struct cfi *cfi, uint64_t pc, struct cfi_row *row)
{
	struct cfi_fde fde;
	int err = cfi_find(cfi, pc, &fde);

	return err ? err : cfi_row(cfi, &fde, pc, row);
}

/* ---- rows ---- */

static void test_push_rbp(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct cfi_row row;
	struct cfi *cfi;

	(void)state;
	add_cie(&sb);
	/* push %rbp at 0x1000; mov %rsp,%rbp at 0x1001; leave at 0x1010. */
	add_fde(&sb, 0x5000, 0x1000, 0x20,
		BYTES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x4c, 0x0c, 7, 8));
	strbuf_add_u32(&sb, 0);
	cfi = open_eh(&sb, 0x5000);
	assert_false(cfi_empty(cfi));

	assert_int_equal(row_at(cfi, 0x1000, &row), 0);
	assert_int_equal(row.start, 0x1000);
	assert_int_equal(row.end, 0x1001);
	assert_int_equal(row.cfa_how, CFI_REGISTER);
	assert_int_equal(row.cfa.reg, CFI_REG_SP);
	assert_int_equal(row.cfa.off, 8);
	assert_int_equal(row.regs[CFI_REG_BP].how, CFI_UNSPEC);
	assert_int_equal(row.regs[CFI_REG_RA].how, CFI_OFFSET);
	assert_int_equal(row.regs[CFI_REG_RA].off, -8);

	assert_int_equal(row_at(cfi, 0x1002, &row), 0);
	assert_int_equal(row.cfa.off, 16);
	assert_int_equal(row.regs[CFI_REG_BP].how, CFI_OFFSET);
	assert_int_equal(row.regs[CFI_REG_BP].off, -16);

	assert_int_equal(row_at(cfi, 0x100f, &row), 0);
	assert_int_equal(row.cfa.reg, CFI_REG_BP);
	assert_int_equal(row.cfa.off, 16);
	assert_int_equal(row.start, 0x1004);
	assert_int_equal(row.end, 0x1010);

	assert_int_equal(row_at(cfi, 0x101f, &row), 0);
	assert_int_equal(row.cfa.reg, CFI_REG_SP);
	assert_int_equal(row.end, 0x1020);
	assert_int_equal(row_at(cfi, 0x1020, &row), -ENOENT);
	assert_int_equal(row_at(cfi, 0xfff, &row), -ENOENT);
	cfi_free(cfi);
	strbuf_fini(&sb);
}

/* Forms that assemblers do not emit: set_loc, negative offsets, signed and factored forms. */
static void test_rare_instructions(void **state)
{
	struct strbuf sb = STRBUF_INIT, prog = STRBUF_INIT;
	struct cfi_row row;
	struct cfi *cfi;
	uint64_t at;

	(void)state;
	add_cie(&sb);
	/*
	 * GNU_negative_offset_extended r12, 3: CFA + 24, the data alignment being -8 (libgcc
	 * unwind-dw2.c).
	 */
	strbuf_add(&prog, BYTES(0x2f, 12, 3));
	/* set_loc to 0x2010: a 4-byte distance from the field itself, by the CIE's 'R'. */
	strbuf_addc(&prog, 0x01);
	at = 0x5000 + sb.len + 4 + 4 + 4 + 4 + 1 + prog.len;
	strbuf_add_u32(&prog, (uint32_t)(0x2010 - at));
	/*
	 * val_offset r13, 2; register r14 in r3; GNU_args_size 5; MIPS_advance_loc8 4; same_value
	 * r15
	 */
	strbuf_add(&prog, BYTES(0x14, 13, 2, 0x09, 14, 3, 0x2e, 5, 0x1d, 4, 0, 0, 0, 0, 0, 0, 0,
				0x08, 15));
	/* a register without a column (xmm0, 17) is skipped with its operand */
	strbuf_add(&prog, BYTES(0x05, 17, 1, 0x07, 3));
	add_fde(&sb, 0x5000, 0x2000, 0x100, (const uint8_t *)prog.s, prog.len);
	cfi = open_eh(&sb, 0x5000);

	assert_int_equal(row_at(cfi, 0x2005, &row), 0);
	assert_int_equal(row.end, 0x2010);
	assert_int_equal(row.regs[12].how, CFI_OFFSET);
	assert_int_equal(row.regs[12].off, 24);
	assert_int_equal(row.regs[13].how, CFI_UNSPEC);

	assert_int_equal(row_at(cfi, 0x2010, &row), 0);
	assert_int_equal(row.start, 0x2010);
	assert_int_equal(row.end, 0x2014);
	assert_int_equal(row.regs[13].how, CFI_VAL_OFFSET);
	assert_int_equal(row.regs[13].off, -16);
	assert_int_equal(row.regs[14].how, CFI_REGISTER);
	assert_int_equal(row.regs[14].reg, 3);

	assert_int_equal(row_at(cfi, 0x2014, &row), 0);
	assert_int_equal(row.regs[15].how, CFI_SAME);
	assert_int_equal(row.regs[3].how, CFI_UNDEF);

	/* The slice gives the same rows at another address, set_loc included. */
	{
		struct strbuf out = STRBUF_INIT;
		uint64_t pc = 0x2003;
		struct cfi *slice;
		struct cfi_row again;

		assert_int_equal(cfi_emit(cfi, &pc, 1, &out), 1);
		slice = open_eh(&out, 0x900000);
		for (pc = 0x2000; pc < 0x2100; pc += 0xf) {
			assert_int_equal(row_at(cfi, pc, &row), 0);
			assert_int_equal(row_at(slice, pc, &again), 0);
			assert_int_equal(row.start, again.start);
			assert_int_equal(row.end, again.end);
			for (int r = 0; r < CFI_NREGS; r++) {
				assert_int_equal(row.regs[r].how, again.regs[r].how);
				assert_int_equal(row.regs[r].off, again.regs[r].off);
				assert_int_equal(row.regs[r].reg, again.regs[r].reg);
			}
		}
		cfi_free(slice);
		strbuf_fini(&out);
	}
	cfi_free(cfi);
	strbuf_fini(&sb);
	strbuf_fini(&prog);
}

/* .debug_frame in the 64-bit form, CIE version 4, code alignment 4. */
static void test_debug_frame64(void **state)
{
	struct cfi_sections secs = { .is64 = true };
	struct strbuf sb = STRBUF_INIT;
	struct cfi_fde fde;
	struct cfi_row row;
	struct cfi *cfi;

	(void)state;
	strbuf_add_u32(&sb, 0xffffffff);
	strbuf_add_u64(&sb, 8 + 12);
	strbuf_add_u64(&sb, UINT64_MAX);
	strbuf_add(&sb, BYTES(4, 0, 8, 0, 4, 0x78, 16, 0x0c, 7, 8, 0x90, 1));
	strbuf_add_u32(&sb, 0xffffffff);
	strbuf_add_u64(&sb, 8 + 16 + 3);
	strbuf_add_u64(&sb, 0);
	strbuf_add_u64(&sb, 0x400000);
	strbuf_add_u64(&sb, 0x40);
	strbuf_add(&sb, BYTES(0x42, 0x0e, 32));	/* advance 2 * 4 */
	secs.debug_frame = (struct cfi_section){ (const uint8_t *)sb.s, sb.len, 0 };
	cfi = cfi_new(&secs);
	assert_int_equal(cfi_find(cfi, 0x400000, &fde), 0);
	assert_true(fde.debug_frame);
	assert_int_equal(fde.end, 0x400040);
	assert_int_equal(row_at(cfi, 0x400007, &row), 0);
	assert_int_equal(row.cfa.off, 8);
	assert_int_equal(row.end, 0x400008);
	assert_int_equal(row_at(cfi, 0x400008, &row), 0);
	assert_int_equal(row.cfa.off, 32);
	cfi_free(cfi);
	strbuf_fini(&sb);
}

/* .eh_frame is consulted first; .debug_frame only for what it lacks. */
static void test_both_sections(void **state)
{
	struct cfi_sections secs = { .is64 = true };
	struct strbuf eh = STRBUF_INIT, df = STRBUF_INIT;
	struct cfi_fde fde;
	struct cfi *cfi;
	uint64_t starts[] = { 0x1000, 0x2000 };

	(void)state;
	add_cie(&eh);
	add_fde(&eh, 0x5000, 0x1000, 0x10, BYTES(0));
	strbuf_add_u32(&df, 12);
	strbuf_add_u32(&df, 0xffffffff);
	strbuf_add(&df, BYTES(3, 0, 1, 0x78, 16, 0x0c, 7, 8));
	for (int i = 0; i < 2; i++) {
		strbuf_add_u32(&df, 20);
		strbuf_add_u32(&df, 0);
		strbuf_add_u64(&df, starts[i]);
		strbuf_add_u64(&df, 0x10);
	}
	secs.eh_frame = (struct cfi_section){ (const uint8_t *)eh.s, eh.len, 0x5000 };
	secs.debug_frame = (struct cfi_section){ (const uint8_t *)df.s, df.len, 0 };
	cfi = cfi_new(&secs);
	assert_int_equal(cfi_find(cfi, 0x1004, &fde), 0);
	assert_false(fde.debug_frame);
	assert_int_equal(cfi_find(cfi, 0x2004, &fde), 0);
	assert_true(fde.debug_frame);
	assert_int_equal(cfi_nth(cfi, 0, &fde), 0);
	assert_int_equal(fde.start, 0x1000);
	assert_false(fde.debug_frame);
	assert_int_equal(cfi_nth(cfi, 1, &fde), 0);
	assert_int_equal(fde.start, 0x2000);
	assert_int_equal(cfi_nth(cfi, 2, &fde), -ENOENT);
	cfi_free(cfi);
	strbuf_fini(&eh);
	strbuf_fini(&df);
}

/* Programs that must be rejected, each in an FDE of its own. */
static void test_bad_programs(void **state)
{
	static const struct {
		const char *what;
		uint8_t prog[24];
		size_t len;
	} bad[] = {
		{ "restore_state without remember", { 0x0b }, 1 },
		{ "remember nine deep", { 10, 10, 10, 10, 10, 10, 10, 10, 10 }, 9 },
		{ "unknown operation", { 0x3f }, 1 },
		{ "cut operand", { 0x0c, 7 }, 2 },
		{ "expression longer than the FDE", { 0x0f, 100, 0x30 }, 3 },
		{ "CFA in a register without a column", { 0x0c, 40, 8 }, 3 },
		{ "new offset of a CFA that is an expression", { 0x0f, 1, 0x30, 0x0e, 16 }, 5 },
		/* advance to 0x1004, set_loc to 0xf00: its operand is at 0x5000 + 24 + 17 + 2 */
		{ "location goes back", { 0x44, 0x01, 0xd5, 0xbe, 0xff, 0xff }, 6 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct strbuf sb = STRBUF_INIT;
		struct cfi_row row;
		struct cfi *cfi;

		add_cie(&sb);
		add_fde(&sb, 0x5000, 0x1000, 0x100, bad[i].prog, bad[i].len);
		cfi = open_eh(&sb, 0x5000);
		if (row_at(cfi, 0x10ff, &row) != -EINVAL)
			fail_msg("accepted: %s", bad[i].what);
		cfi_free(cfi);
		strbuf_fini(&sb);
	}
}

/* ---- the linker's table ---- */

static void add_hdr(struct strbuf *hdr, uint64_t svma, uint64_t eh_svma, const uint64_t *starts,
		    const size_t *fdes, size_t n)
{
	strbuf_add(hdr, BYTES(1, 0x1b, 3, 0x3b));
	strbuf_add_u32(hdr, (uint32_t)(eh_svma - (svma + 4)));
	strbuf_add_u32(hdr, (uint32_t)n);
	for (size_t i = 0; i < n; i++) {
		strbuf_add_u32(hdr, (uint32_t)(starts[i] - svma));
		strbuf_add_u32(hdr, (uint32_t)(eh_svma + fdes[i] - svma));
	}
}

/* Whether both functions are found with a table of @starts and @fdes. */
static bool both_found(const struct strbuf *eh, const uint64_t *starts, const size_t *fdes,
		       size_t n)
{
	struct cfi_sections secs = { .is64 = true };
	struct strbuf hdr = STRBUF_INIT;
	struct cfi_fde a, b;
	struct cfi *cfi;
	bool ok;

	add_hdr(&hdr, 0x4000, 0x5000, starts, fdes, n);
	secs.eh_frame = (struct cfi_section){ (const uint8_t *)eh->s, eh->len, 0x5000 };
	secs.eh_frame_hdr = (struct cfi_section){ (const uint8_t *)hdr.s, hdr.len, 0x4000 };
	cfi = cfi_new(&secs);
	ok = !cfi_find(cfi, 0x1008, &a) && a.start == 0x1000 && !cfi_find(cfi, 0x200f, &b) &&
	     b.start == 0x2000;
	cfi_free(cfi);
	strbuf_fini(&hdr);
	return ok;
}

static void test_table(void **state)
{
	struct strbuf eh = STRBUF_INIT;
	size_t f[2];

	(void)state;
	add_cie(&eh);
	f[0] = add_fde(&eh, 0x5000, 0x1000, 0x10, BYTES(0));
	f[1] = add_fde(&eh, 0x5000, 0x2000, 0x10, BYTES(0));
	assert_true(both_found(&eh, (uint64_t[]){ 0x1000, 0x2000 }, f, 2));
	/* Unsorted tables, wrong starts, and offsets to nowhere: our own index takes over. */
	assert_true(both_found(&eh, (uint64_t[]){ 0x2000, 0x1000 }, (size_t[]){ f[1], f[0] }, 2));
	assert_true(both_found(&eh, (uint64_t[]){ 0x1001, 0x2001 }, f, 2));
	assert_true(both_found(&eh, (uint64_t[]){ 0x1000, 0x2000 },
			       (size_t[]){ f[0] + 1, f[1] + 3 }, 2));
	assert_true(
		both_found(&eh, (uint64_t[]){ 0x1000, 0x2000 }, (size_t[]){ f[0], 1 << 20 }, 2));
	assert_true(both_found(&eh, (uint64_t[]){ 0x1000, 0x2000 }, (size_t[]){ 0, 0 }, 2));
	strbuf_fini(&eh);
}

static void test_empty(void **state)
{
	struct cfi_sections secs = { .is64 = true };
	struct strbuf out = STRBUF_INIT;
	uint64_t pc = 0x1000;
	struct cfi_fde fde;
	struct cfi *cfi = cfi_new(&secs);

	(void)state;
	assert_true(cfi_empty(cfi));
	assert_int_equal(cfi_find(cfi, pc, &fde), -ENOENT);
	assert_int_equal(cfi_nth(cfi, 0, &fde), -ENOENT);
	assert_int_equal(cfi_emit(cfi, &pc, 1, &out), 0);
	/* Nothing but the terminator. */
	assert_int_equal(out.len, 4);
	assert_memory_equal(out.s, "\0\0\0", 4);
	cfi_free(cfi);
	strbuf_fini(&out);
}

/* ---- damage ---- */

static int no_reg(void *ctx, unsigned int reg, uint64_t *val)
{
	(void)ctx;
	*val = reg * 8;
	return 0;
}

static int no_mem(void *ctx, uint64_t addr, uint64_t *val)
{
	(void)ctx;
	*val = addr ^ 0x55;
	return 0;
}

static void use_all(struct cfi *cfi, const uint64_t *pcs, size_t n)
{
	static const struct cfi_expr_env env = { .reg = no_reg, .mem = no_mem };
	struct strbuf out = STRBUF_INIT;
	struct cfi_plain plain;
	struct cfi_row row;
	struct cfi_fde fde;
	uint64_t v;

	for (size_t i = 0; i < n; i++) {
		bool is_plain = !cfi_find(cfi, pcs[i], &fde) && cfi_plain_row(cfi, &fde, pcs[i], &plain);

		if (row_at(cfi, pcs[i], &row)) {
			assert_false(is_plain);
			continue;
		}
		assert_true(!is_plain || cfi_is_plain(&row, &plain));
		for (int r = 0; r < CFI_NREGS; r++) {
			if (row.regs[r].how == CFI_EXPR || row.regs[r].how == CFI_VAL_EXPR)
				cfi_expr_eval(row.regs[r].expr, row.regs[r].expr_len, &env, true, 1,
					      &v);
		}
	}
	cfi_emit(cfi, pcs, n, &out);
	cfi_emit_rows(cfi, NULL, pcs, n, 0, &out);
	cfi_nth(cfi, 0, &fde);
	strbuf_fini(&out);
}

static int pc_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* A real section, copied exactly, so that ASan sees each byte read past its end. */
static void test_damaged(void **state)
{
	struct cfi_sections secs, bad;
	struct elf_file *ef;
	struct cfi_fde fde;
	struct cfi *cfi;
	uint64_t seed = 7, pcs[64];
	size_t n = 0, rounds = 600;

	(void)state;
	ef = tool_open_elf("/lib64/ld-linux-x86-64.so.2");
	if (!ef)
		skip();
	elf_file_cfi_sections(ef, &secs);
	cfi = cfi_new(&secs);
	while (!cfi_nth(cfi, n, &fde))
		n++;
	for (size_t i = 0; i < 64; i++) {
		cfi_nth(cfi, random_next(&seed) % n, &fde);
		pcs[i] = fde.start + random_next(&seed) % (fde.end - fde.start);
	}
	qsort(pcs, 64, sizeof(*pcs), pc_cmp);
	cfi_free(cfi);
	for (size_t round = 0; round < rounds; round++) {
		uint8_t *eh = malloc(secs.eh_frame.size), *hdr = malloc(secs.eh_frame_hdr.size);

		memcpy(eh, secs.eh_frame.data, secs.eh_frame.size);
		memcpy(hdr, secs.eh_frame_hdr.data, secs.eh_frame_hdr.size);
		bad = secs;
		bad.eh_frame.data = eh;
		bad.eh_frame_hdr.data = hdr;
		if (round % 3 == 1)
			bad.eh_frame_hdr = (struct cfi_section){ 0 };
		/* The same bytes as .debug_frame: IDs differ there, so nearly all is nonsense. */
		if (round % 7 == 3)
			bad.debug_frame = (struct cfi_section){ eh, secs.eh_frame.size, 0 };
		for (uint64_t k = random_next(&seed) % 200; k; k--)
			eh[random_next(&seed) % secs.eh_frame.size] = (uint8_t)random_next(&seed);
		for (uint64_t k = random_next(&seed) % 4; k; k--)
			hdr[random_next(&seed) % secs.eh_frame_hdr.size] = (uint8_t)random_next(&seed);
		cfi = cfi_new(&bad);
		use_all(cfi, pcs, 64);
		cfi_free(cfi);
		free(eh);
		free(hdr);
	}
	elf_file_close(ef);
}

/* ---- expressions ---- */

static int reg8(void *ctx, unsigned int reg, uint64_t *val)
{
	(void)ctx;
	if (reg > 16)
		return -ENOENT;
	*val = 0x1000 * (uint64_t)reg;
	return 0;
}

/* Memory in which each address holds three times its own value; none at or above 0x100000. */
static int mem3(void *ctx, uint64_t addr, uint64_t *val)
{
	(void)ctx;
	if (addr >= 0x100000)
		return -EFAULT;
	*val = addr * 3;
	return 0;
}

static const struct cfi_expr_env env = { .reg = reg8, .mem = mem3, .bias = 0x10000 };

static void expect(uint64_t want, const uint8_t *expr, size_t len)
{
	uint64_t v = 0;

	assert_int_equal(cfi_expr_eval(expr, len, &env, true, 0x77, &v), 0);
	assert_int_equal(v, want);
}

static void expect_err(int err, const uint8_t *expr, size_t len)
{
	uint64_t v;

	assert_int_equal(cfi_expr_eval(expr, len, &env, true, 0x77, &v), err);
}

static void test_expressions(void **state)
{
	uint64_t v;

	(void)state;
	expect(0x77, BYTES(0x96));					/* nop: the CFA */
	expect(0x7f, BYTES(0x23, 8));					/* plus_uconst 8 */
	expect(0x7008, BYTES(0x77, 8));					/* breg7 8 */
	expect(0x6ff8, BYTES(0x77, 0x78));				/* breg7 -8 */
	expect(0xd010, BYTES(0x92, 13, 0x10));				/* bregx 13, 16 */
	expect(0x7008 * 3, BYTES(0x77, 8, 0x06));			/* deref */
	expect((0x7008 * 3) & 0xff, BYTES(0x77, 8, 0x94, 1));		/* deref_size 1 */
	expect(0x12345678 + 0x10000, BYTES(0x03, 0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0));	/* + bias */
	expect(0xfffffffffffffffe, BYTES(0x09, 0xfe));			/* const1s -2 */
	expect(0xfe, BYTES(0x08, 0xfe));				/* const1u */
	expect(0xffffffff80000000, BYTES(0x0d, 0, 0, 0, 0x80));		/* const4s */
	expect(0x80000000, BYTES(0x0c, 0, 0, 0, 0x80));			/* const4u */
	expect(300, BYTES(0x10, 0xac, 2));				/* constu 300 */
	expect((uint64_t)-128, BYTES(0x11, 0x80, 0x7f));		/* consts -128 */
	expect(3, BYTES(0x35, 0x32, 0x1c));				/* 5 - 2 */
	expect((uint64_t)-3, BYTES(0x32, 0x35, 0x1c));			/* 2 - 5 */
	expect(10, BYTES(0x35, 0x32, 0x1e));				/* 5 * 2 */
	expect((uint64_t)-3, BYTES(0x09, 0xfa, 0x32, 0x1b));		/* -6 / 2, signed */
	expect(1, BYTES(0x37, 0x33, 0x1d));				/* 7 mod 3 */
	expect(0x28, BYTES(0x35, 0x33, 0x24));				/* 5 << 3 */
	expect(0, BYTES(0x35, 0x08, 64, 0x24));				/* 5 << 64 */
	expect(0x7fffffffffffffff, BYTES(0x09, 0xff, 0x31, 0x25));	/* -1 >> 1, logical */
	expect(0xffffffffffffffff, BYTES(0x09, 0xfe, 0x31, 0x26));	/* -2 >> 1, arithmetic */
	expect(0xffffffffffffffff, BYTES(0x09, 0xfe, 0x08, 200, 0x26));
	expect(1, BYTES(0x09, 0xfe, 0x31, 0x2d));			/* -2 < 1 */
	expect(0, BYTES(0x09, 0xfe, 0x31, 0x2b));			/* -2 > 1 */
	expect(1, BYTES(0x35, 0x35, 0x29));				/* eq */
	expect(1, BYTES(0x35, 0x34, 0x2e));				/* ne */
	expect(1, BYTES(0x35, 0x35, 0x2a));				/* ge */
	expect(1, BYTES(0x35, 0x35, 0x2c));				/* le */
	expect(4, BYTES(0x36, 0x3c, 0x1a));				/* 6 & 12 */
	expect(14, BYTES(0x36, 0x3c, 0x21));
	expect(10, BYTES(0x36, 0x3c, 0x27));
	expect(5, BYTES(0x09, 0xfb, 0x19));				/* abs -5 */
	expect((uint64_t)-5, BYTES(0x35, 0x1f));			/* neg */
	expect(~5ull, BYTES(0x35, 0x20));				/* not */
	expect(5, BYTES(0x35, 0x12, 0x13));				/* dup, drop */
	expect(1, BYTES(0x31, 0x32, 0x14));				/* over */
	expect(1, BYTES(0x31, 0x32, 0x33, 0x15, 2));			/* pick 2 */
	expect(1, BYTES(0x31, 0x32, 0x16));				/* swap */
	/* rot: 1 2 3 (top 3) becomes 3 1 2: the top is 2, below it 1. */
	expect(2, BYTES(0x31, 0x32, 0x33, 0x17));
	expect(1, BYTES(0x31, 0x32, 0x33, 0x17, 0x13));
	/* skip over lit2; bra taken and not taken */
	expect(1, BYTES(0x31, 0x2f, 1, 0, 0x32));
	expect(1, BYTES(0x31, 0x35, 0x28, 1, 0, 0x32));
	expect(2, BYTES(0x31, 0x30, 0x28, 1, 0, 0x32));
	/* Count down from 5: lit5; L: lit1, minus, dup, bra L. */
	expect(0, BYTES(0x35, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff));
	/*
	 * The PLT's expression: ((rip & 15) >= 11) << 3 + rsp + 8, with rip = 0x10000 and rsp =
	 * 0x7000.
	 */
	expect(0x7008, BYTES(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));
	expect(0x7010, BYTES(0x77, 8, 0x80, 12, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));

	assert_int_equal(cfi_expr_eval(NULL, 0, &env, true, 9, &v), 0);
	assert_int_equal(v, 9);
	assert_int_equal(cfi_expr_eval(NULL, 0, &env, false, 9, &v), -EINVAL);
	/* INT64_MIN / -1 must not trap. */
	expect(0x8000000000000000, BYTES(0x31, 0x08, 63, 0x24, 0x09, 0xff, 0x1b));
}

static void test_bad_expressions(void **state)
{
	uint8_t pushes[80];

	(void)state;
	expect_err(-EINVAL, BYTES(0x22));			/* plus with one entry */
	expect_err(-EINVAL, BYTES(0x13, 0x13));			/* drop twice */
	expect_err(-EINVAL, BYTES(0x13));			/* nothing left */
	expect_err(-EINVAL, BYTES(0x15, 9));			/* pick too deep */
	expect_err(-EINVAL, BYTES(0x30, 0x1b));			/* divide by 0 */
	expect_err(-EINVAL, BYTES(0x30, 0x1d));
	expect_err(-EINVAL, BYTES(0x03, 1, 2, 3));		/* cut operand */
	expect_err(-EINVAL, BYTES(0x10, 0x80));
	expect_err(-EINVAL, BYTES(0xff));			/* no such operation */
	expect_err(-EINVAL, BYTES(0x9c));			/* call_frame_cfa */
	expect_err(-EINVAL, BYTES(0x94, 9));			/* deref_size 9 */
	expect_err(-EINVAL, BYTES(0x2f, 0xf0, 0xff));		/* skip to before the beginning */
	expect_err(-EINVAL, BYTES(0x2f, 2, 0, 0x30));		/* and past the end */
	expect_err(-ENOENT, BYTES(0x92, 40, 0));		/* the register's error */
	expect_err(-EFAULT, BYTES(0x0c, 0, 0, 0x10, 0, 0x06));	/* and the memory's */
	expect_err(-E2BIG, BYTES(0x2f, 0xfd, 0xff));		/* endless loop */
	memset(pushes, 0x31, sizeof(pushes));
	expect_err(-E2BIG, pushes, sizeof(pushes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_push_rbp),
		cmocka_unit_test(test_rare_instructions),
		cmocka_unit_test(test_debug_frame64),
		cmocka_unit_test(test_both_sections),
		cmocka_unit_test(test_bad_programs),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_bad_expressions),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
