/* Masking compared with a brute-force oracle, over random mappings and stacks. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "event.h"
#include "mask/maskset.h"
#include "random.h"

static struct stack_words out, out2;	/* 90 KiB: not for the stack */
static struct mask_ctx *fast, *plain;

static uint64_t rnd_state = 42;

static uint64_t rnd(void)
{
	return random_next(&rnd_state);
}

static uint8_t oracle(const struct maskset *ms, uint64_t sp, size_t size, uint64_t v)
{
	size_t i;

	if (v % 8 == 0 && v >= sp && (v <= sp + size || v <= ms->top))
		return WORD_STACK;
	for (i = 0; i < ms->nexec; i++) {
		if (v >= ms->exec[i].start && v <= ms->exec[i].end)
			return WORD_CODE;
	}
	for (i = 0; i < ms->nstacks && v % 8 == 0; i++) {
		if (v >= ms->stacks[i].start && v <= ms->stacks[i].end)
			return WORD_STACK;
	}
	return 0;
}

#define SP 0x7ffc00001000ull

static void fill(const struct maskset *ms, uint64_t *words, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct range *r = ms->nexec ? &ms->exec[rnd() % ms->nexec] : NULL;
		const uint64_t cut = rnd() % 4 ? ~7ull : ~0ull;	/* most stack addresses are multiples of 8 */

		switch (rnd() % 9) {
		case 0:
			words[i] = rnd() % 4096;
			break;
		case 1:
			words[i] = (SP + rnd() % (MAX(n * 8, ms->top > SP ? ms->top - SP : 0) + 64) - 32) & cut;
			break;
		case 2:
			words[i] = r ? r->start + rnd() % (r->end - r->start) : 7;
			break;
		case 3:	/* the edges, on both sides */
			words[i] = r ? (rnd() & 1 ? r->start : r->end) + rnd() % 3 - 1 : 8;
			break;
		case 4:
			words[i] = rnd();
			break;
		case 5:
			words[i] = ms->nstacks ? (ms->stacks[0].start + rnd() % 0x3000 - 8) & cut : 9;
			break;
		case 6:
			words[i] = UINT64_MAX - rnd() % 2;
			break;
		default:
			words[i] = 0;
		}
	}
}

static void compare(const struct maskset *ms, const uint64_t *words, size_t n)
{
	uint32_t k = 0;
	size_t i;

	assert_int_equal(out.base, SP);
	assert_int_equal(out.nwords, n);
	for (i = 0; i < n; i++) {
		uint8_t cls = words[i] ? oracle(ms, SP, n * 8, words[i]) : 0;

		if (!cls)
			continue;
		assert_true(k < out.nkept);
		assert_int_equal(out.idx[k], i);
		assert_int_equal(out.val[k], words[i]);
		assert_int_equal(out.cls[k], cls);
		k++;
	}
	assert_int_equal(k, out.nkept);
}

static void test_oracle(void **state)
{
	static uint64_t words[STACK_WORDS_MAX];
	struct range exec[80],
		stacks[2] = { { 0x7f0000000000, 0x7f0000002000 }, { 0x1000, 0x2000 } };
	int round;

	(void)state;
	for (round = 0; round < 400; round++) {
		struct maskset ms = { exec, 0, stacks, rnd() % 3, 0, 0 };
		/* Ranges of an import need not consist of whole pages. */
		uint64_t at = 0x400000 + (rnd() % 4 ? 0 : rnd() % 4096);
		size_t n = rnd() % 700, nexec = rnd() % ARRAY_SIZE(exec), i;

		for (i = 0; i < nexec; i++) {
			at += rnd() % 4 ? (rnd() % 16) * 4096 : rnd() % 0x20000000000ull;
			exec[i].start = at;
			at += (1 + rnd() % 600) * 4096;
			exec[i].end = at;
		}
		if (nexec && rnd() % 2) {
			exec[nexec - 1].start = 0xffffffffff600000ull;
			exec[nexec - 1].end = 0xffffffffff601000ull;
		}
		ms.nexec = nexec;
		fill(&ms, words, n);
		/*
		 * Two sets of mappings never share a version; without a version nothing is
		 * remembered.
		 */
		ms.version = rnd() % 2 ? (uint64_t)round + 1 : 0;
		ms.top = rnd() % 2 ? SP + rnd() % (n * 16 + 1) : 0;
		mask_stack(fast, &ms, SP, words, n * 8, &out);
		compare(&ms, words, n);
		mask_stack(plain, &ms, SP, words, n * 8, &out);
		compare(&ms, words, n);
	}
}

static void test_range_at_zero(void **state)
{
	/* vm.mmap_min_addr may be 0: there may be no gap below the first range. */
	struct range exec[] = { { 0, 0x1000 } };
	struct maskset ms = { exec, 1, NULL, 0, 0, 0 };
	uint64_t words[] = { 0, 1, 0x1000, 0x1001 };

	(void)state;
	mask_stack(fast, &ms, SP, words, sizeof(words), &out);
	assert_int_equal(out.nkept, 2);
	assert_int_equal(out.idx[0], 1);
	assert_int_equal(out.idx[1], 2);
}

/* Few mappings, so that spans are narrow, or many. */
static void random_maps(struct range *exec, struct maskset *ms)
{
	uint64_t at = 0x400000 + rnd() % 0x100000000ull * 4096 * (rnd() % 2);

	ms->nexec = rnd() % 40 ? rnd() % (rnd() % 2 ? 12 : 80) : 0;
	for (size_t i = 0; i < ms->nexec; i++) {
		/*
		 * Adjacent ranges, gaps within a unit of the scan, and gaps as between heap and
		 * libraries.
		 */
		at += rnd() % 5 * 4096 * (rnd() % 3 ? 1 : 0x1000000);
		exec[i].start = at;
		at += (1 + rnd() % 40) * 4096;
		exec[i].end = at;
	}
	if (ms->nexec && rnd() % 2)
		exec[ms->nexec - 1] = (struct range){ 0xffffffffff600000ull, 0xffffffffff601000ull };
}

static void assert_same_words(const struct stack_words *a, const struct stack_words *b)
{
	assert_int_equal(a->base, b->base);
	assert_int_equal(a->nwords, b->nwords);
	assert_int_equal(a->nkept, b->nkept);
	assert_memory_equal(a->idx, b->idx, a->nkept * sizeof(a->idx[0]));
	assert_memory_equal(a->cls, b->cls, a->nkept * sizeof(a->cls[0]));
	assert_memory_equal(a->val, b->val, a->nkept * sizeof(a->val[0]));
}

/* Vector and scalar code agree, whatever the size, the alignment and the stack pointer. */
static void test_fast_is_plain(void **state)
{
	unsigned char *room = malloc(65536 + 64);
	static uint64_t words[STACK_WORDS_MAX];
	struct range exec[80], stacks[9];
	int round;

	(void)state;
	assert_non_null(room);
	for (round = 0; round < 3000; round++) {
		struct maskset ms = { exec, 0, stacks, rnd() % 4 ? 0 : rnd() % ARRAY_SIZE(stacks),
				      rnd() % 4 ? 1000 + (uint64_t)round : 0, 0 };
		size_t shift = rnd() % 3 ? 0 : rnd() % 64, size = rnd() % 20 ? rnd() % 1200 : rnd() % 65529;
		uint64_t sp = SP + (rnd() % 4 ? 0 : rnd() % 16);

		if (rnd() % 50 == 0)	/* the copy ends above the last address */
			sp = UINT64_MAX - size / 2 - 7;
		random_maps(exec, &ms);
		for (size_t i = 0; i < ms.nstacks; i++) {
			stacks[i].start = 0x7f0000000000 + i * 0x100000 + rnd() % 0x10000;
			stacks[i].end = stacks[i].start + rnd() % 0x20000;
		}
		fill(&ms, words, size / 8 + 1 < STACK_WORDS_MAX ? size / 8 + 1 : STACK_WORDS_MAX);
		memcpy(room + shift, words, size);
		mask_stack(fast, &ms, sp, room + shift, size, &out);
		mask_stack(plain, &ms, sp, room + shift, size, &out2);
		assert_same_words(&out, &out2);
		if (sp == SP && size % 8 == 0)
			compare(&ms, words, size / 8);
	}
	free(room);
}

/* Results taken from an earlier copy equal those of looking at the words again. */
static void test_again_is_anew(void **state)
{
	static uint64_t before[STACK_WORDS_MAX], now[STACK_WORDS_MAX];
	static struct stack_words old, again;
	struct range exec[80];
	uint64_t taken = 0;

	(void)state;
	for (int round = 0; round < 4000; round++) {
		struct mask_ctx *mc = rnd() % 2 ? fast : plain;
		struct maskset ms = { exec, 0, NULL, 0, 2000000 + (uint64_t)round, 0 };
		/* Both usually end at one address; they begin anywhere. */
		size_t n = rnd() % 600, grown = rnd() % 3 ? 0 : rnd() % 40, shrunk = rnd() % 3 ? 0 : rnd() % (n / 2 + 1);
		size_t m = n + grown - shrunk, longer = rnd() % 16 ? 0 : rnd() % 3;
		uint64_t sp = SP - 8 * grown + 8 * shrunk;
		struct mask_last last = { before, SP, 8 * n, &old };
		uint32_t same;

		random_maps(exec, &ms);
		ms.top = rnd() % 2 ? SP + rnd() % (n * 16 + 1) : 0;
		fill(&ms, before, n);
		fill(&ms, now, m + longer);
		memcpy(now + m - MIN(n, m), before + n - MIN(n, m), 8 * MIN(n, m));
		for (uint64_t k = rnd() % 4; k && m; k--)
			now[rnd() % (rnd() % 2 ? m : m / 4 + 1)] = rnd() % 2 ? SP + rnd() % 640 - 320 : rnd();
		mask_stack(mc, &ms, SP, before, 8 * n, &old);
		same = mask_stack_again(mc, &ms, &last, sp, now, 8 * (m + longer), &again);
		mask_stack(mc, &ms, sp, now, 8 * (m + longer), &out);
		assert_same_words(&again, &out);
		assert_true(same <= MIN(old.nkept, again.nkept));
		for (uint32_t i = 1; i <= same; i++) {
			assert_int_equal(again.val[again.nkept - i], old.val[old.nkept - i]);
			assert_int_equal(again.base + 8 * again.idx[again.nkept - i], old.base + 8 * old.idx[old.nkept - i]);
		}
		taken += same;
	}
	assert_true(taken > 100000);
}

/*
 * Every size, so every length of the remainder after whole vectors; no byte past the copy is read.
 */
static void test_all_sizes(void **state)
{
	static uint64_t words[STACK_WORDS_MAX];
	struct range exec[] = { { 0x555555554000, 0x555555600000 }, { 0x7ffff7d00000, 0x7ffff7f00000 },
				{ 0xffffffffff600000ull, 0xffffffffff601000ull } };
	struct maskset ms = { exec, ARRAY_SIZE(exec), NULL, 0, 77, 0 };
	size_t size;

	(void)state;
	fill(&ms, words, STACK_WORDS_MAX);
	for (size = 0; size <= 65528; size += size < 2048 || size > 65000 ? 8 : 776) {
		/* A block of its own, so that sanitizers watch its end. */
		unsigned char *copy = malloc(size ? size : 1);

		assert_non_null(copy);
		memcpy(copy, words, size);
		mask_stack(fast, &ms, SP, copy, size, &out);
		compare(&ms, words, size / 8);
		mask_stack(plain, &ms, SP, copy, size, &out);
		compare(&ms, words, size / 8);
		free(copy);
	}
}

/* What was learnt from one process must not be applied to another with the same addresses. */
static void test_versions(void **state)
{
	struct range a[] = { { 0x400000, 0x500000 } }, b[] = { { 0x480000, 0x500000 } };
	struct maskset ma = { a, 1, NULL, 0, 500001, 0 }, mb = { b, 1, NULL, 0, 500002, 0 },
		       none = { a, 1, NULL, 0, 0, 0 };
	uint64_t words[] = { 0x410000, 0x490000, 0x500000, 0x500001 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		mask_stack(fast, &ma, SP, words, sizeof(words), &out);
		assert_int_equal(out.nkept, 3);
		mask_stack(fast, &mb, SP, words, sizeof(words), &out);
		assert_int_equal(out.nkept, 2);
		assert_int_equal(out.idx[0], 1);
		none.exec = i % 2 ? a : b;
		mask_stack(fast, &none, SP, words, sizeof(words), &out);
		assert_int_equal(out.nkept, i % 2 ? 3 : 2);
	}
}

/* Copies this process's own stack from here up, with its own mappings: real stack words. */
static void test_own_stack(void **state)
{
	static uint64_t words[STACK_WORDS_MAX];
	static struct range exec[256];
	struct maskset ms = { exec, 0, NULL, 0, 600000, 0 };
	uintptr_t sp = 0, end = 0;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	int fd;

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long start, stop;
		char prot[8];

		assert_int_equal(sscanf(line, "%lx-%lx %7s", &start, &stop, prot), 3);
		if (prot[2] == 'x' && ms.nexec < ARRAY_SIZE(exec))
			exec[ms.nexec++] = (struct range){ start, stop };
		if (strstr(line, "[stack]"))
			end = stop;
	}
	fclose(f);
	sp = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)7;
	assert_true(end > sp);
	end = MIN(end, sp + sizeof(words));
	/* Read through the kernel: sanitizers have their own view of other functions' frames. */
	fd = open("/proc/self/mem", O_RDONLY);
	assert_true(pread(fd, words, end - sp, (off_t)sp) == (ssize_t)(end - sp));
	close(fd);
	mask_stack(fast, &ms, sp, words, end - sp, &out);
	mask_stack(plain, &ms, sp, words, end - sp, &out2);
	assert_same_words(&out, &out2);
	for (uint32_t i = 0, k = 0; i < out.nwords; i++) {
		uint8_t cls = words[i] ? oracle(&ms, sp, end - sp, words[i]) : 0;

		if (!cls)
			continue;
		assert_int_equal(out.idx[k], i);
		assert_int_equal(out.cls[k++], cls);
	}
	/* At least the return addresses to main() and into libc. */
	assert_true(out.nkept > 4);
}

static void test_full_keeps_all(void **state)
{
	uint64_t words[] = { 5, 0, SP + 8, 0xdeadbeef };

	(void)state;
	mask_stack(fast, NULL, SP, words, sizeof(words), &out);
	assert_int_equal(out.nkept, 3);
	assert_int_equal(out.cls[0], WORD_RAW);
	assert_int_equal(out.cls[1], WORD_STACK);
	assert_int_equal(out.cls[2], WORD_RAW);
	assert_int_equal(out.idx[2], 3);
}

/*
 * Code below 4 GiB, 12 MiB of it, as in a Go program: of short texts and small numbers exactly those
 * stay that equal an address of it. SECURITY.md says so.
 */
static void test_low_code(void **state)
{
	static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
	static uint64_t words[STACK_WORDS_MAX];
	const struct range exec[] = { { 0x401000, 0x1001000 } };
	const struct maskset ms = { exec, 1, NULL, 0, 0, 0 };
	const size_t n = sizeof(letters) - 1;
	uint64_t number = 0;
	size_t kept = 0, texts[5] = { 0 };

	(void)state;
	for (size_t len = 1; len <= 4; len++)
		for (size_t round = 0; round < 20; round++) {
			for (size_t i = 0; i < STACK_WORDS_MAX; i++) {
				words[i] = 0;
				for (size_t c = 0; c < len; c++)
					words[i] |= (uint64_t)(uint8_t)letters[rnd() % n] << 8 * c;
			}
			mask_stack(fast, &ms, SP, words, sizeof(words), &out);
			texts[len] += out.nkept;
		}
	assert_int_equal(texts[1], 0);
	assert_int_equal(texts[2], 0);
	/* The third character is the highest byte. A digit there is below the code, the 53 others are in it. */
	assert_in_range(texts[3] * 1000 / (20 * STACK_WORDS_MAX), 831, 851);
	assert_int_equal(texts[4], 0);
	/* Every 1,021st number, a prime, up to 21 million. */
	while (number < 21000000) {
		size_t in = 0;

		for (size_t i = 0; i < STACK_WORDS_MAX; i++, number += 1021) {
			words[i] = number;
			in += number >= exec[0].start && number <= exec[0].end;
		}
		mask_stack(plain, &ms, SP, words, sizeof(words), &out);
		assert_int_equal(out.nkept, in);
		kept += in;
	}
	assert_true(kept > 0);
}

static void test_misaligned_sp(void **state)
{
	struct range exec[] = { { 0x400000, 0x401000 } };
	struct maskset ms = { exec, 1, NULL, 0, 0, 0 };
	unsigned char copy[5 + 3 * 8 + 3];
	uint64_t words[] = { 77, 0x400123, SP + 16 };

	(void)state;
	memset(copy, 0xff, sizeof(copy));
	memcpy(copy + 5, words, sizeof(words));
	mask_stack(fast, &ms, SP + 3, copy, sizeof(copy), &out);
	assert_int_equal(out.base, SP + 8);
	assert_int_equal(out.nwords, 3);
	assert_int_equal(out.nkept, 2);
	assert_int_equal(out.idx[0], 1);
	assert_int_equal(out.val[0], 0x400123);
	assert_int_equal(out.cls[0], WORD_CODE);
	assert_int_equal(out.idx[1], 2);
	assert_int_equal(out.val[1], SP + 16);
	assert_int_equal(out.cls[1], WORD_STACK);

	/* Shorter than the distance to the next word. */
	mask_stack(fast, &ms, SP + 3, copy, 4, &out);
	assert_int_equal(out.nwords, 0);
	assert_int_equal(out.nkept, 0);
	mask_stack(fast, &ms, SP, copy, 0, &out);
	assert_int_equal(out.nwords, 0);
}

static void test_size_is_capped(void **state)
{
	size_t size = (STACK_WORDS_MAX + 10) * 8;
	uint64_t *words = malloc(size);

	(void)state;
	assert_non_null(words);
	memset(words, 1, size);
	mask_stack(fast, NULL, SP, words, size, &out);
	assert_int_equal(out.nwords, STACK_WORDS_MAX);
	assert_int_equal(out.nkept, STACK_WORDS_MAX);
	assert_int_equal(out.idx[STACK_WORDS_MAX - 1], STACK_WORDS_MAX - 1);
	free(words);
}

static void test_regs(void **state)
{
	struct range exec[] = { { 0x400000, 0x401000 } };
	struct maskset ms = { exec, 1, NULL, 0, 0, 0 };
	uint64_t regs[UREG_MAX] = { 0 };

	(void)state;
	regs[UREG_IP] = 0x12345;
	regs[UREG_SP] = SP;
	regs[UREG_BP] = 17;
	regs[UREG_R14] = SP + 8;
	regs[UREG_AX] = 0x5555deadull;
	regs[UREG_BX] = 0x400800;
	regs[UREG_R15] = SP + 64;
	regs[UREG_R8] = SP + 129;
	mask_regs(fast, &ms, SP, 128, regs);
	assert_int_equal(regs[UREG_IP], 0x12345);
	assert_int_equal(regs[UREG_SP], SP);
	assert_int_equal(regs[UREG_BP], 0);
	assert_int_equal(regs[UREG_R14], SP + 8);
	assert_int_equal(regs[UREG_AX], 0);
	assert_int_equal(regs[UREG_BX], 0x400800);
	assert_int_equal(regs[UREG_R15], SP + 64);
	assert_int_equal(regs[UREG_R8], 0);

	regs[UREG_AX] = 3;
	regs[UREG_BP] = SP + 16;
	mask_regs(fast, NULL, SP, 128, regs);
	assert_int_equal(regs[UREG_AX], 3);
	mask_regs(fast, &ms, SP + 1, 128, regs);
	assert_int_equal(regs[UREG_AX], 0);
	assert_int_equal(regs[UREG_BP], SP + 16);
}

/*
 * Not a limit, a figure for the reader: a full copy with half of it zeros, 200 mappings in three
 * clusters.
 */
static void test_speed(void **state)
{
	static uint64_t words[STACK_WORDS_MAX];
	static struct range exec[201];
	struct maskset ms = { exec, ARRAY_SIZE(exec), NULL, 0, 900000, 0 };
	struct timespec a, b;
	uint64_t kept = 0, best = UINT64_MAX, ns;
	size_t i;
	int round;

	(void)state;
	for (i = 0; i < 200; i++) {
		exec[i].start = (i < 5 ? 0x555500000000ull : 0x7f1200000000ull) + i * 0x400000;
		exec[i].end = exec[i].start + 0x100000;
	}
	exec[200] = (struct range){ 0xffffffffff600000ull, 0xffffffffff601000ull };
	for (i = 0; i < STACK_WORDS_MAX; i++) {
		switch (rnd() % 10) {
		case 0:
			words[i] = exec[rnd() % 12 * 16].start + rnd() % 0x100000;
			break;
		case 1:
			words[i] = SP + rnd() % 65536;
			break;
		case 2:
			words[i] = 0x555580000000ull + rnd() % 0x1000000;
			break;
		case 3:
			words[i] = 0x7f1300000000ull + rnd() % 0x4000000;
			break;
		case 4:
			words[i] = rnd() % 100000;
			break;
		default:
			words[i] = 0;
		}
	}
	for (round = 0; round < 500; round++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		mask_stack(fast, &ms, SP, words, sizeof(words), &out);
		clock_gettime(CLOCK_MONOTONIC, &b);
		ns = (uint64_t)(b.tv_sec - a.tv_sec) * 1000000000 + (uint64_t)b.tv_nsec -
		     (uint64_t)a.tv_nsec;
		best = MIN(best, ns);
		kept += out.nkept;
	}
	print_message("# mask_stack: %.2f ns/word, %.1f%% kept\n", (double)best / STACK_WORDS_MAX,
		      100.0 * (double)kept / 500 / STACK_WORDS_MAX);
	assert_true(kept > 500ull * STACK_WORDS_MAX / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_oracle),
		cmocka_unit_test(test_range_at_zero),
		cmocka_unit_test(test_fast_is_plain),
		cmocka_unit_test(test_again_is_anew),
		cmocka_unit_test(test_all_sizes),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_own_stack),
		cmocka_unit_test(test_full_keeps_all),
		cmocka_unit_test(test_low_code),
		cmocka_unit_test(test_misaligned_sp),
		cmocka_unit_test(test_size_is_capped),
		cmocka_unit_test(test_regs),
		cmocka_unit_test(test_speed),
	};

	int failed;

	fast = mask_ctx_new(false);
	plain = mask_ctx_new(true);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	mask_ctx_free(fast);
	mask_ctx_free(plain);
	return failed;
}
