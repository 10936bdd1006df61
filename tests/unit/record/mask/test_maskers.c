/* Stacks masked by several threads: the same words as with one thread, whatever the batch size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "mask/maskers.h"
#include "random.h"

#define NJOBS 96
#define BATCHES 400

static const struct range exec_ranges[] = {
	{ 0x400000, 0x480000 },
	{ 0x7f0000000000, 0x7f0000200000 },
};

static const struct maskset ms = { .exec = exec_ranges, .nexec = 2, .version = 1 };

static uint64_t rng(void)
{
	static uint64_t state;

	return random_next(&state);
}

static uint64_t word(uint64_t sp)
{
	switch (rng() % 8) {
	case 0:
		return 0x400000 + rng() % 0x90000;
	case 1:
		return 0x7f0000000000 + rng() % 0x200000;
	case 2:
		return sp + rng() % 0x10000;
	case 3:
		return rng();
	default:
		return 0;
	}
}

static void fill(struct mask_job *j, uint64_t *copy)
{
	j->sp = 0x7ffc00000000 + rng() % 0x10000 * 8;
	j->size = rng() % (STACK_WORDS_MAX * 8 / 8) * 8;
	if (rng() % 4)
		j->size %= 4096;
	for (size_t i = 0; i < j->size / 8; i++)
		copy[i] = word(j->sp);
	j->copy = (const uint8_t *)copy;
	j->ms = rng() % 16 ? &ms : NULL;
}

static void equals(const struct stack_words *a, const struct stack_words *b)
{
	assert_int_equal(a->base, b->base);
	assert_int_equal(a->nwords, b->nwords);
	assert_int_equal(a->nkept, b->nkept);
	assert_memory_equal(a->idx, b->idx, a->nkept * sizeof(*a->idx));
	assert_memory_equal(a->cls, b->cls, a->nkept * sizeof(*a->cls));
	assert_memory_equal(a->val, b->val, a->nkept * sizeof(*a->val));
}

static void same_as_alone(unsigned int helpers)
{
	struct maskers *m = maskers_new(helpers);
	struct mask_job *jobs = calloc(NJOBS, sizeof(*jobs)), *order[NJOBS];
	uint64_t *copies = calloc(NJOBS, STACK_WORDS_MAX * 8);
	struct stack_words *words = calloc(NJOBS, sizeof(*words));
	struct stack_words *want = malloc(sizeof(*want));
	struct mask_ctx *plain = mask_ctx_new(true);

	assert_true(jobs && copies && words && want);
	for (size_t i = 0; i < NJOBS; i++) {
		fill(&jobs[i], copies + i * STACK_WORDS_MAX);
		jobs[i].words = &words[i];
		order[i] = &jobs[i];
	}
	/* Batches follow each other closely: a late thread must not disturb the next batch. */
	for (int b = 0; b < BATCHES; b++) {
		size_t first = rng() % NJOBS, n = rng() % (NJOBS - first + 1);

		for (size_t i = first; i < first + n; i++)
			words[i].nkept = UINT32_MAX;
		maskers_run(m, order + first, n);
		for (size_t i = first; i < first + n; i++)
			assert_int_not_equal(words[i].nkept, UINT32_MAX);
	}
	maskers_run(m, order, NJOBS);
	for (size_t i = 0; i < NJOBS; i++) {
		mask_stack(plain, jobs[i].ms, jobs[i].sp, jobs[i].copy, jobs[i].size, want);
		equals(&words[i], want);
	}
	maskers_free(m);
	mask_ctx_free(plain);
	free(jobs);
	free(copies);
	free(words);
	free(want);
}

static void alone(void **state)
{
	(void)state;
	same_as_alone(0);
}

static void with_helpers(void **state)
{
	(void)state;
	same_as_alone(1);
	same_as_alone(7);
	same_as_alone(1000);
}

static void as_many_as_it_takes(void **state)
{
	(void)state;
	assert_int_equal(maskers_for_cpus(0), 0);
	assert_int_equal(maskers_for_cpus(2), 0);
	assert_int_equal(maskers_for_cpus(16), 0);
	assert_int_equal(maskers_for_cpus(17), 1);
	assert_int_equal(maskers_for_cpus(128), 7);
	assert_int_equal(maskers_for_cpus(8192), 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone),
		cmocka_unit_test(with_helpers),
		cmocka_unit_test(as_many_as_it_takes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
