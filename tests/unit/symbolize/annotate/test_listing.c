/*
 * Annotating a function: every sample is counted at some line, labels are where jumps lead, and
 * disassembly of split code restarts with each piece; also pieces from a recording. The code is
 * hand-assembled (SDM volume 2).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>

#include "annotate/annotate.h"
#include "annotate/codesource.h"
#include "annotate/disasm.h"
#include "annotate/listing.h"
#include "base/util.h"
#include "code/code_pack.h"
#include "modules/module.h"
#include "recgen.h"
#include "recording/rec_reader.h"
#include "toolrun.h"

#define START UINT64_C(0x1000)

static const uint8_t bytes[] = {
	0x55,					/* 1000: push %rbp */
	0x48, 0x89, 0xe5,			/* 1001: mov %rsp,%rbp */
	0x75, 0xfa,				/* 1004: jne 1000 */
	0xe8, 0x02,				/* 1006: a call whose operand is missing */
	0, 0, 0, 0, 0, 0, 0, 0,			/* 1008: missing */
	0xc3,					/* 1010: ret, a piece begins */
	0x90,					/* 1011: nop */
	0x0f, 0x84, 0xf9, 0xff, 0xff, 0xff,	/* 1012: je 1011 */
	0xe8,					/* 1018: a call, cut: the piece ends */
	0xc3,					/* 1019: ret, the next piece begins */
	0xe8, 0xe1, 0x0f, 0x00, 0x00,		/* 101a: call 2000 */
	0xe9, 0xe1, 0xff, 0xff, 0xff,		/* 101f: jmp 1005, into the jne */
};

static void pieces(uint8_t what[sizeof(bytes)])
{
	memset(what, CODE_THERE, sizeof(bytes));
	memset(what + 8, CODE_MISSING, 8);
	what[0] = what[0x10] = what[0x19] = CODE_BEGIN;
}

/* This program's own file tells which machine the code is for. */
static bool here(struct module *m)
{
	*m = (struct module){ .id = 7, .elf = tool_open_elf("/proc/self/exe") };
	assert_non_null(m->elf);
	if (elf_file_machine(m->elf) == EM_X86_64)
		return true;
	elf_file_close(m->elf);
	return false;
}

static void test_listing(void **state)
{
	static const struct {
		uint32_t at, size, samples;
		uint8_t flow;
		uint32_t label, to;	/* @to: index */
	} wants[] = {
		{ 0x1000, 1, 3, DISASM_NEXT, 1, LISTING_NONE },
		{ 0x1001, 3, 0, DISASM_NEXT, 0, LISTING_NONE },
		{ 0x1004, 2, 0, DISASM_JUMP, 0, 0 },
		{ 0x1006, 10, 5, DISASM_NEXT, 0, LISTING_NONE },
		{ 0x1010, 1, 0, DISASM_NEXT, 0, LISTING_NONE },
		{ 0x1011, 1, 7, DISASM_NEXT, 2, LISTING_NONE },
		{ 0x1012, 6, 0, DISASM_JUMP, 0, 5 },
		{ 0x1018, 1, 0, DISASM_NEXT, 0, LISTING_NONE },
		{ 0x1019, 1, 1, DISASM_NEXT, 0, LISTING_NONE },
		{ 0x101a, 5, 0, DISASM_CALL, 0, LISTING_NONE },
		{ 0x101f, 5, 0, DISASM_JUMP, 0, LISTING_NONE },
	};
	static const uint64_t samples[][2] = {
		{ 0x1000, 3 }, { 0x1003, 4 }, { 0x1002, 2 }, { 0x100b, 5 }, { 0x1011, 7 }, { 0x1019, 1 }, { 0x3000, 6 },
	};
	uint8_t what[sizeof(bytes)];
	struct annotate_func f = { .start = START, .end = START + 0x3000 };
	struct code code = { .start = START, .size = sizeof(bytes), .bytes = (uint8_t *)bytes, .what = what };
	struct module m;
	struct listing l;

	(void)state;
	if (!here(&m))
		skip();
	f.mod = &m;
	pieces(what);
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
		*u64map_put(&f.at, samples[i][0], NULL) = samples[i][1];
	assert_int_equal(listing_init(&l, &f, &code, false, false), 0);
	assert_int_equal(l.n, ARRAY_SIZE(wants));
	for (size_t i = 0; i < l.n; i++) {
		const struct listing_insn *li = &l.insns[i];

		assert_int_equal(li->addr, wants[i].at);
		assert_int_equal(li->size, wants[i].size);
		assert_int_equal(li->samples, wants[i].samples);
		assert_int_equal(li->flow, wants[i].flow);
		assert_int_equal(li->label, wants[i].label);
		assert_int_equal(li->to, wants[i].to);
		assert_int_equal(li->missing, wants[i].at == 0x1006);
	}
	assert_int_equal(l.insns[9].target, 0x2000);
	assert_int_equal(l.insns[10].target, 0x1005);
	assert_string_equal(listing_text(&l, l.insns[0].name), "pushq");
	assert_int_equal(l.labels, 2);
	assert_int_equal(l.inside, 6);
	assert_int_equal(l.inside_at, 0x1002);
	assert_int_equal(l.beyond, 6);
	listing_fini(&l);
	u64map_fini(&f.at);
	elf_file_close(m.elf);
}

/* Waits count at the instruction that called, or that entered the kernel. */
static void test_calls(void **state)
{
	static const uint8_t text[] = {
		0xe8, 0xfb, 0x0f, 0x00, 0x00,		/* 1000: call 2000 */
		0x0f, 0x05,				/* 1005: syscall */
		0x90,					/* 1007: nop */
		0x8b, 0x07,				/* 1008: mov (%rdi),%eax */
		0x0f, 0x05,				/* 100a: syscall, the last instruction */
	};
	static const uint64_t at[][2] = { { 0x1004, 3 } };
	/* As DWARF unwinding has it: in the system call. As frame pointers do: after it. A page fault. At the end. */
	static const uint64_t entered[][2] = { { 0x1006, 5 }, { 0x1007, 7 }, { 0x1008, 11 }, { 0x100c, 13 } };
	static const uint32_t wants[] = { 3, 12, 0, 11, 13 };
	uint8_t what[sizeof(text)];
	struct annotate_func f = { .start = START, .end = START + sizeof(text), .calls = true };
	struct code code = { .start = START, .size = sizeof(text), .bytes = (uint8_t *)text, .what = what };
	struct module m;
	struct listing l;

	(void)state;
	if (!here(&m))
		skip();
	f.mod = &m;
	memset(what, CODE_THERE, sizeof(what));
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		*u64map_put(&f.at, at[i][0], NULL) = at[i][1];
	for (size_t i = 0; i < ARRAY_SIZE(entered); i++)
		*u64map_put(&f.entered, entered[i][0], NULL) = entered[i][1];
	assert_int_equal(listing_init(&l, &f, &code, false, false), 0);
	assert_int_equal(l.n, ARRAY_SIZE(wants));
	for (size_t i = 0; i < l.n; i++)
		assert_int_equal(l.insns[i].samples, wants[i]);
	assert_int_equal(l.inside + l.beyond, 0);
	listing_fini(&l);
	u64map_fini(&f.at);
	u64map_fini(&f.entered);
	elf_file_close(m.elf);
}

static void capture(struct rec_writer *w, uint32_t id, const struct code_range *ranges, size_t n, const void *data)
{
	const struct code_counts counts = { 10, 0, 0 };
	struct strbuf sb = STRBUF_INIT;
	struct capture cap;

	code_pack_write(ranges, n, data, &counts, &sb);
	cap = (struct capture){ .kind = CAPTURE_CODE, .id = id, .data = sb.s, .size = sb.len };
	assert_int_equal(rec_writer_capture(w, &cap), 0);
	strbuf_fini(&sb);
}

/* Two captures of one binary, as from two segments, and one of another binary. */
static void test_recording(void **state)
{
	const struct code_range first[] = { { START - 16, 4 }, { START, 8 }, { START + 0x10, 9 } };
	const struct code_range second[] = { { START + 0x19, sizeof(bytes) - 0x19 } };
	const struct code_range other[] = { { START, 8 } };
	uint8_t text[4 + 8 + 9] = { 0x90, 0x90, 0x90, 0x90 }, what[sizeof(bytes)], zeros[8] = { 0 };
	struct module m = { .id = 7 };
	struct codesource *cs;
	struct rec_reader *r;
	struct rec_writer *w;
	struct code code;
	char path[32];
	int fd, err;

	(void)state;
	memcpy(text + 4, bytes, 8);
	memcpy(text + 12, bytes + 0x10, 9);
	fd = gen_memfd(path);
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	capture(w, 7, first, ARRAY_SIZE(first), text);
	capture(w, 8, other, ARRAY_SIZE(other), zeros);
	capture(w, 7, second, ARRAY_SIZE(second), bytes + 0x19);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	r = rec_reader_open(path);
	assert_non_null(r);
	cs = codesource_new(r);
	assert_int_equal(codesource_read(cs, &m, START, START + sizeof(bytes), &code), 0);
	assert_true(code.captured);
	assert_int_equal(code.size, sizeof(bytes));
	assert_memory_equal(code.bytes, bytes, sizeof(bytes));
	pieces(what);
	assert_memory_equal(code.what, what, sizeof(bytes));
	code_fini(&code);
	/* Starting inside a range: no instruction is known to begin there. */
	assert_int_equal(codesource_read(cs, &m, START + 1, START + 4, &code), 0);
	assert_memory_equal(code.bytes, bytes + 1, 3);
	assert_int_equal(code.what[0], CODE_THERE);
	code_fini(&code);
	assert_int_equal(codesource_read(cs, &m, START + 8, START + 16, &code), -ENOENT);
	assert_int_equal(codesource_read(cs, &m, START, START, &code), -ENOENT);
	/* A symbol may declare any size. */
	assert_int_equal(codesource_read(cs, &m, START, UINT64_MAX, &code), 0);
	assert_int_equal(code.size, CODE_MAX);
	code_fini(&code);
	m.id = 9;
	assert_int_equal(codesource_read(cs, &m, START, START + 8, &code), -ENOENT);
	codesource_free(cs);
	rec_reader_close(r);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_listing),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_recording),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize_listing", tests, tool_setup, tool_teardown);
}
