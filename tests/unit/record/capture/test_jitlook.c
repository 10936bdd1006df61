/*
 * Finding the return address from the instructions that run next, and the thread that reads the
 * code of processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "capture/jitlook.h"

#define ADDR 0x7f0000001000ull

#define OFF(bytes) jit_return_off((const uint8_t *)(bytes), sizeof(bytes) - 1, ADDR)

#define PUSH_BP "\x55"
#define PUSH_R15 "\x41\x57"
#define PUSH_RBX "\x53"
#define POP_BP "\x5d"
#define POP_RCX "\x59"
#define MOV_BP_SP "\x48\x89\xe5"	/* mov %rsp,%rbp */
#define MOV_SP_BP "\x48\x89\xec"	/* mov %rbp,%rsp */
#define LEA_BP_16 "\x48\x8d\x6c\x24\x10" /* lea 16(%rsp),%rbp */
#define SUB_SP_32 "\x48\x83\xec\x20"
#define ADD_SP_32 "\x48\x83\xc4\x20"
#define LEAVE "\xc9"
#define RET "\xc3"
#define RET_16 "\xc2\x10\0"
#define NOP "\x90"
#define CMP_RCX_1 "\x48\x83\xf9\x01"
#define JG "\x7f\x10"
#define JE_FAR "\x0f\x84\x00\x01\0\0"
#define CALL "\xe8\x00\x01\0\0"
#define TEST_DEOPT "\x8b\x59\xd0\xf6\x43\x1c\x01" /* mov -0x30(%rcx),%ebx; testb $1,0x1c(%rbx) */

static void test_before_the_frame(void **state)
{
	(void)state;
	assert_int_equal(OFF(PUSH_BP MOV_BP_SP SUB_SP_32), 0);
	assert_int_equal(OFF(NOP NOP PUSH_BP MOV_BP_SP), 0);
	/* V8's prologue: is this code deoptimized? */
	assert_int_equal(OFF(TEST_DEOPT JE_FAR PUSH_BP MOV_BP_SP), 0);
	assert_int_equal(OFF(JE_FAR PUSH_BP MOV_BP_SP), 0);
	/* %rbp is pushed, but the frame is not set up yet. */
	assert_int_equal(OFF(MOV_BP_SP SUB_SP_32), 8);
	assert_int_equal(OFF(PUSH_R15 PUSH_RBX LEA_BP_16), 8);
	assert_int_equal(OFF(PUSH_RBX LEA_BP_16), 16);
	assert_int_equal(OFF(LEA_BP_16), 24);
	assert_int_equal(OFF(PUSH_BP PUSH_R15 PUSH_RBX LEA_BP_16), 0);
	assert_int_equal(OFF(PUSH_BP SUB_SP_32 "\x48\x8d\x6c\x24\x20"), 0);
}

static void test_behind_the_frame(void **state)
{
	(void)state;
	assert_int_equal(OFF(RET), 0);
	assert_int_equal(OFF(RET_16), 0);
	assert_int_equal(OFF(POP_RCX RET), 8);
	assert_int_equal(OFF(ADD_SP_32 RET), 32);
	/* V8's epilogue: were more arguments passed than the function takes? */
	assert_int_equal(OFF(CMP_RCX_1 JG RET_16), 0);
	/* jmp to a return */
	assert_int_equal(OFF("\xeb\x02" NOP NOP RET), 0);
}

static void test_within_the_frame(void **state)
{
	(void)state;
	assert_int_equal(OFF(POP_BP RET), -1);
	assert_int_equal(OFF(LEAVE RET), -1);
	assert_int_equal(OFF(MOV_SP_BP POP_BP RET), -1);
	assert_int_equal(OFF(ADD_SP_32 POP_BP RET), -1);
	assert_int_equal(OFF(NOP CALL POP_BP RET), -1);
	/* Nobody can tell whether the frame is the caller's or its own. */
	assert_int_equal(OFF(CALL RET), -1);
	/* jmp *%rcx; hlt; the end of the readable bytes; no code */
	assert_int_equal(OFF("\xff\xe1"), -1);
	assert_int_equal(OFF("\xf4"), -1);
	assert_int_equal(OFF(NOP NOP), -1);
	assert_int_equal(OFF("\x0f"), -1);
	assert_int_equal(OFF(""), -1);
	/* An endless loop. */
	assert_int_equal(OFF("\xeb\xfe"), -1);
	/* jmp to before the bytes that were read, and far past their end */
	assert_int_equal(OFF("\xeb\x80"), -1);
	assert_int_equal(OFF("\xe9\xff\xff\xff\x7f"), -1);
	/* mov (%rax),%rbp; mov %rax,%rsp; and $-16,%rsp; lea (%rsp,%rcx,8),%rsp */
	assert_int_equal(OFF("\x48\x8b\x28" RET), -1);
	assert_int_equal(OFF("\x48\x89\xc4" RET), -1);
	assert_int_equal(OFF("\x48\x83\xe4\xf0" RET), -1);
	assert_int_equal(OFF("\x48\x8d\x24\xcc" RET), -1);
	/* A frame below the return address; off by 4; too large */
	assert_int_equal(OFF(PUSH_BP PUSH_RBX MOV_BP_SP), -1);
	assert_int_equal(OFF("\x48\x83\xc4\x04" RET), -1);
	assert_int_equal(OFF("\x48\x81\xc4\0\0\x01\0" RET), -1);
}

/* The first answer, or none within two seconds. */
static bool answered(struct jitlook *jl, struct jit_place *place)
{
	for (int i = 0; i < 200; i++) {
		if (jitlook_take(jl, place, 1))
			return true;
		usleep(10000);
	}
	return false;
}

static void test_thread(void **state)
{
	static const char code[] = NOP POP_RCX RET, frame[] = POP_BP RET;
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct jit_place place = { .pid = (uint32_t)getpid(), .serial = 7 }, out;
	struct jitlook *jl = jitlook_new();

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	/* No memory follows the page that holds the code. */
	assert_int_equal(mprotect(page + 4096, 4096, PROT_NONE), 0);
	memcpy(page, frame, sizeof(frame));
	memcpy(page + 4096 - 3, code, 3);
	assert_int_equal(jitlook_take(jl, &out, 1), 0);
	place.addr = (uint64_t)(uintptr_t)page;
	assert_true(jitlook_ask(jl, &place));
	place.addr = (uint64_t)(uintptr_t)(page + 5000);
	assert_true(jitlook_ask(jl, &place));
	place.addr = (uint64_t)(uintptr_t)(page + 4096 - 3);
	assert_true(jitlook_ask(jl, &place));
	/* The first two get no answer: one has a frame, the other no memory. */
	assert_true(answered(jl, &out));
	assert_true(out.addr == place.addr && out.serial == 7 && out.pid == (uint32_t)getpid());
	assert_int_equal(out.off, 8);
	assert_int_equal(jitlook_take(jl, &out, 1), 0);
	jitlook_free(jl);
	jitlook_free(NULL);
	munmap(page, 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_the_frame),
		cmocka_unit_test(test_behind_the_frame),
		cmocka_unit_test(test_within_the_frame),
		cmocka_unit_test(test_thread),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
