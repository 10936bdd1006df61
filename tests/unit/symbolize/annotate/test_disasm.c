/*
 * Where instructions begin, and where they lead: compared with objdump for x86-64, and with
 * hand-assembled words for aarch64.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>

#include "annotate/disasm.h"
#include "base/util.h"
#include "toolrun.h"

struct want {
	uint32_t word;
	const char *name;
	uint8_t flow;
	uint64_t target;	/* 0: none */
};

static void put_le32(uint8_t *to, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(v >> (8 * i));
}

/*
 * Encodings from the Arm Architecture Reference Manual, C4.1 and C6.2; a branch's offset counts
 * words from the branch itself.
 */
static void test_aarch64(void **state)
{
	static const struct want wants[] = {
		{ 0xa9bf7bfd, "stp", DISASM_NEXT, 0 },		/* stp x29, x30, [sp, #-16]! */
		{ 0x910003fd, "mov", DISASM_NEXT, 0 },		/* mov x29, sp */
		{ 0x94000004, "bl", DISASM_CALL, 0x1008 + 16 },	/* imm26 = 4 */
		{ 0x54000041, "b.ne", DISASM_JUMP, 0x100c + 8 },	/* imm19 = 2 */
		{ 0xb4ffffa0, "cbz", DISASM_JUMP, 0x1010 - 12 },	/* cbz x0, imm19 = -3 */
		{ 0x36180040, "tbz", DISASM_JUMP, 0x1014 + 8 },	/* tbz w0, #3, imm14 = 2 */
		{ 0x17ffffff, "b", DISASM_JUMP, 0x1018 - 4 },	/* imm26 = -1 */
		{ 0xd63f0000, "blr", DISASM_CALL, 0 },		/* blr x0 */
		{ 0xd61f0200, "br", DISASM_JUMP, 0 },		/* br x16 */
		{ 0x02000000, ".byte", DISASM_NEXT, 0 },	/* unallocated (DDI 0487, C4.1: op0 is 0b0001) */
		{ 0xd65f03c0, "ret", DISASM_NEXT, 0 },
	};
	uint8_t code[4 * ARRAY_SIZE(wants)];
	struct disasm *d = disasm_new(EM_AARCH64, false);

	(void)state;
	assert_non_null(d);
	for (size_t i = 0; i < ARRAY_SIZE(wants); i++)
		put_le32(code + 4 * i, wants[i].word);
	for (size_t i = 0; i < ARRAY_SIZE(wants); i++) {
		const struct want *w = &wants[i];
		struct disasm_insn in;

		disasm_next(d, code + 4 * i, sizeof(code) - 4 * i, 0x1000 + 4 * i, &in);
		assert_int_equal(in.addr, 0x1000 + 4 * i);
		assert_int_equal(in.size, 4);
		assert_string_equal(in.name, w->name);
		assert_int_equal(in.flow, w->flow);
		assert_int_equal(in.has_target, w->target != 0);
		assert_int_equal(in.target, w->target);
	}
	disasm_free(d);
}

/* Nothing is read past the end of the bytes, whatever they are. */
static void test_cut(void **state)
{
	static const uint8_t bytes[] = { 0xe8, 0x01, 0x02, 0x03, 0x04 };	/* a call, SDM volume 2: E8 cd */
	struct disasm *x86 = disasm_new(EM_X86_64, false), *arm = disasm_new(EM_AARCH64, false);
	struct disasm_insn in;

	(void)state;
	disasm_next(x86, bytes, sizeof(bytes), 0x400000, &in);
	assert_int_equal(in.size, 5);
	assert_int_equal(in.flow, DISASM_CALL);
	assert_true(in.has_target && in.target == 0x400005 + 0x04030201);
	for (size_t n = 1; n < sizeof(bytes); n++) {
		uint8_t *cut = malloc(n);

		assert_non_null(cut);
		memcpy(cut, bytes, n);
		disasm_next(x86, cut, n, 0x400000, &in);
		assert_true(in.bad && in.size == 1);
		if (n < 4) {
			disasm_next(arm, cut, n, 0x400000, &in);
			assert_true(in.bad && in.size == n);
		}
		free(cut);
	}
	assert_null(disasm_new(EM_S390, false));
	disasm_free(x86);
	disasm_free(arm);
}

/*
 * How many bytes one line of objdump -d --wide has: "  401000:    55 48 89        push ...". 0: no
 * such line.
 */
static size_t objdump_bytes(const char *line, uint64_t *addr, uint8_t out[16])
{
	char *at;
	size_t n = 0;

	*addr = strtoull(line, &at, 16);
	if (at == line || at[0] != ':' || at[1] != '\t')
		return 0;
	for (at += 2; n < 16 && at[0] != ' ' && at[0] != '\t' && at[0] != '\n' && at[0]; at += 3)
		out[n++] = (uint8_t)strtoul(at, NULL, 16);
	return n;
}

/*
 * All functions of a library, compared with objdump: each instruction must have the length it has
 * there. Each one is passed together with the bytes after it, so that a length that is too long
 * shows.
 */
static void test_objdump(void **state)
{
	struct disasm *att = disasm_new(EM_X86_64, false), *intel = disasm_new(EM_X86_64, true);
	size_t seen = 0, wrong = 0, before = 0;
	uint8_t window[32];
	char line[1024], last[1024] = "";
	uint64_t addr, start = 0;
	FILE *f;

	(void)state;
	if (!tool_have("objdump gcc"))
		skip();
	if (tool_run("test \"$(uname -m)\" = x86_64"))
		skip();
	assert_int_equal(tool_run("objdump -d --wide \"$(realpath \"$(gcc -print-file-name=libc.so.6)\")\" >dump"), 0);
	f = tool_open_text("dump");
	assert_non_null(f);
	/* An instruction is checked when the next one is known. */
	while (fgets(line, sizeof(line), f)) {
		uint8_t bytes[16];
		size_t n = objdump_bytes(line, &addr, bytes);
		struct disasm_insn in;

		if (!n)
			continue;
		if (before && addr == start + before) {
			memcpy(window + before, bytes, n);
			disasm_next(seen % 2 ? att : intel, window, before + n, start, &in);
			seen++;
			if (in.size != before && wrong++ < 5)
				printf("# %u bytes (%s %s), not %zu: %s", in.size, in.name, in.operands, before, last);
		}
		memcpy(window, bytes, n);
		before = n;
		start = addr;
		strcpy(last, line);
	}
	fclose(f);
	assert_true(seen > 100000);
	assert_int_equal(wrong, 0);
	disasm_free(att);
	disasm_free(intel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_aarch64),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_objdump),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize_disasm", tests, tool_setup, tool_teardown);
}
