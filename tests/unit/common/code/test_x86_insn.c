/* Instruction lengths over the code of whole libraries, compared with objdump. */
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
#include "code/x86_insn.h"
#include "random.h"

/* One line of objdump -dw: "ADDRESS:\tBYTES\tTEXT". The number of bytes, 0 for any other line. */
static size_t parse_line(char *line, uint64_t *svma, uint8_t bytes[16], char **text)
{
	char *tab = strchr(line, '\t'), *end;
	size_t n = 0;

	if (!tab || !strchr(tab + 1, '\t'))
		return 0;
	*svma = strtoull(line, NULL, 16);
	*text = strchr(tab + 1, '\t') + 1;
	(*text)[-1] = 0;
	for (char *p = tab + 1; n < 16; p = end) {
		unsigned long v = strtoul(p, &end, 16);

		if (end == p)
			break;
		bytes[n++] = (uint8_t)v;
	}
	return n;
}

static void check_library(const char *path, unsigned long *insns)
{
	char cmd[256], line[1024];
	FILE *f;

	snprintf(cmd, sizeof(cmd), "objdump -dw -j .text '%s' 2>/dev/null", path);
	f = popen(cmd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		uint8_t bytes[32] = { 0 };
		struct x86_insn in;
		uint64_t svma;
		char *text;
		size_t n = parse_line(line, &svma, bytes, &text);
		bool ok;

		/*
		 * Data between functions; and fwait, which objdump joins with the next instruction.
		 */
		if (!n || strstr(text, "(bad)") || bytes[0] == 0x9b)
			continue;
		++*insns;
		ok = x86_decode(bytes, sizeof(bytes), svma, &in);
		if (!ok || in.len != n)
			print_message("# %s %#lx: %zu bytes, read as %u: %s", path, (unsigned long)svma,
				      n, ok ? in.len : 0, text);
		assert_true(ok && in.len == n);
		/*
		 * No byte past the instruction's end is read, and without its last byte it is
		 * incomplete.
		 */
		assert_true(x86_decode(bytes, n, svma, &in) && in.len == n);
		assert_false(x86_decode(bytes, n - 1, svma, &in));
	}
	assert_int_equal(pclose(f), 0);
}

static void test_lengths(void **state)
{
	static const char *const libs[] = { "/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6" };
	unsigned long insns = 0;

	(void)state;
	if (system("objdump --version >/dev/null 2>&1")) {
		print_message("# objdump is not installed\n");
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(libs); i++)
		if (access(libs[i], R_OK) == 0)
			check_library(libs[i], &insns);
	print_message("# %lu instructions\n", insns);
	assert_true(insns > 5000);
}

/* The stack effects of instructions, by the manual. */
static void test_effects(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		struct x86_insn want;
	} cases[] = {
		{ "\x55", 1, { .effect = X86_PUSH, .src = 5, .dst = 5 } },
		{ "\x41\x5f", 2, { .effect = X86_POP, .dst = 15, .src = 15 } },
		{ "\x6a\x01", 2, { .effect = X86_PUSH_VALUE } },
		{ "\xff\x75\x08", 3, { .effect = X86_PUSH_VALUE } },
		{ "\x48\x89\xe5", 3, { .effect = X86_MOVE, .dst = 5, .src = 4 } },
		{ "\x4c\x89\xe4", 3, { .effect = X86_MOVE, .dst = 4, .src = 12 } },
		{ "\x48\x83\xec\x18", 4, { .effect = X86_ADD, .dst = 4, .src = 4, .disp = -24 } },
		{ "\x48\x81\xc4\x00\x01\x00\x00", 7, { .effect = X86_ADD, .dst = 4, .src = 4, .disp = 256 } },
		{ "\x48\x8d\x65\xd8", 4, { .effect = X86_ADD, .dst = 4, .src = 5, .disp = -40 } },
		{ "\x48\x83\xe4\xf0", 4, { .clobbers = 1 << 4 } },
		{ "\x48\x8b\x5c\x24\x08", 5, { .effect = X86_LOAD, .dst = 3, .src = 4, .disp = 8 } },
		{ "\x48\x89\x5c\x24\xf0", 5, { .effect = X86_STORE, .dst = 4, .src = 3, .disp = -16 } },
		{ "\x48\x8b\x04\xcc", 4, { .clobbers = 1 << 0 } },
		{ "\xc9", 1, { .effect = X86_LEAVE } },
		{ "\xc3", 1, { .flow = X86_RET } },
		{ "\xc2\x08\x00", 3, { .flow = X86_RET, .pops = 8 } },
		{ "\xe8\x10\x00\x00\x00", 5, { .flow = X86_CALL, .target = 0x1015 } },
		{ "\xeb\xfe", 2, { .flow = X86_JUMP, .target = 0x1000 } },
		{ "\x0f\x84\x00\x01\x00\x00", 6, { .flow = X86_BRANCH, .target = 0x1106 } },
		{ "\xff\xd0", 2, { .flow = X86_CALL_FAR } },
		{ "\xff\x25\x00\x00\x00\x00", 6, { .flow = X86_JUMP_FAR } },
		{ "\x0f\x05", 2, { .flow = X86_SYSCALL, .clobbers = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 11 } },
		{ "\x0f\x0b", 2, { .flow = X86_STOP } },
		{ "\xb8\x0f\x00\x00\x00", 5, { .effect = X86_CONST, .dst = 0, .disp = 15 } },
		{ "\x48\xc7\xc0\x0f\x00\x00\x00", 7, { .effect = X86_CONST, .dst = 0, .disp = 15 } },
		{ "\x31\xc0", 2, { .effect = X86_CONST } },
		{ "\x80\xf4\x20", 3, { .clobbers = 1 << 0 } }, /* ah */
		{ "\x40\x80\xf4\x20", 4, { .clobbers = 1 << 4 } }, /* spl */
		{ "\x0f\x94\xc4", 3, { .clobbers = 1 << 0 } },
		{ "\x48\x39\xc4", 3, { .effect = X86_NOTHING } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct x86_insn want = cases[i].want, got;

		want.len = (uint8_t)cases[i].n;
		assert_true(x86_decode((const uint8_t *)cases[i].bytes, cases[i].n, 0x1000, &got));
		if (memcmp(&got, &want, sizeof(got)) != 0)
			print_message("# case %zu: effect %u dst %u src %u disp %ld clobbers %#x flow %u\n", i,
				      got.effect, got.dst, got.src, (long)got.disp, got.clobbers, got.flow);
		assert_memory_equal(&got, &want, sizeof(got));
	}
}

/* Arbitrary bytes: there is an answer, and no length exceeds the longest possible instruction. */
static void test_noise(void **state)
{
	uint64_t s, seed = 1;

	(void)state;
	for (int i = 0; i < 2000000; i++) {
		uint8_t b[16];
		struct x86_insn in;

		for (int k = 0; k < 2; k++) {
			s = random_next(&seed);
			memcpy(b + 8 * k, &s, 8);
		}
		if (x86_decode(b, sizeof(b), 0, &in))
			assert_true(in.len >= 1 && in.len <= 15 && in.dst < 16 && in.src < 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_effects),
		cmocka_unit_test(test_noise),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
