/*
 * Profiles with inlined frames removed, and with threads merged whose names differ only by numbers;
 * expectations made by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "input/reshape.h"
#include "profile/profile.h"

static uint32_t frame(struct profile *p, const char *name, const char *dso, uint8_t kind)
{
	const struct profile_frame f = { .name = profile_string(p, name), .dso = profile_string(p, dso), .kind = kind };

	return profile_frame(p, &f);
}

static uint32_t thread(struct profile *p, const char *comm, int32_t pid, int32_t tid)
{
	const struct profile_thread t = { .comm = profile_string(p, comm), .pid = pid, .tid = tid, .nspid = -1 };

	return profile_thread(p, &t);
}

/* All samples of @comm; those of threads without a number go to *@merged. */
static uint64_t samples_of(const struct profile *p, const char *comm, uint64_t *merged)
{
	uint64_t n = 0;

	*merged = 0;
	for (size_t i = 0; i < p->ncounts; i++) {
		const struct profile_thread *t = &p->threads[p->counts[i].thread];

		if (strcmp(profile_text(p, t->comm), comm))
			continue;
		n += p->counts[i].samples;
		*merged += t->tid == PROFILE_TID_MERGED ? p->counts[i].samples : 0;
	}
	return n;
}

static void threads_of_numbers(void **unused)
{
	static const struct { const char *comm; int32_t pid, tid; } threads[] = {
		{ "python3", 7, 7 }, { "python3", 7, 8 }, { "worker-1", 7, 9 }, { "worker-12", 7, 10 }, { "kworker/0:1", 3, 3 },
		{ "kworker/1:1", 4, 4 }, { "python3", 5, 5 },
	};
	struct profile *p = profile_new();
	uint32_t program, library, kernel;
	uint64_t merged;

	(void)unused;
	program = profile_child(p, 0, frame(p, "_start", "/usr/bin/python3.11", PROFILE_USER));
	library = profile_child(p, 0, frame(p, "clone3", "/lib/libc.so.6", PROFILE_USER));
	kernel = profile_child(p, 0, frame(p, "kthread", "[kernel.kallsyms]", PROFILE_KERNEL));
	p->block_ns = 1000;
	for (uint32_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		const struct profile_count c = {
			.thread = thread(p, threads[i].comm, threads[i].pid, threads[i].tid), .block = i,
			.node = !i ? program : threads[i].pid == 7 ? library : kernel, .samples = 1ull << i, .period = 10,
		};

		profile_count(p, &c);
	}
	profile_finish(p);
	p = reshape(p, false, true);
	/* For process 7 it is the program's name; for process 5 nothing shows that. */
	assert_int_equal(samples_of(p, "python3", &merged), 1 + 2);
	assert_int_equal(merged, 0);
	assert_int_equal(samples_of(p, "worker-N", &merged), 4 + 8);
	assert_int_equal(merged, 4 + 8);
	assert_int_equal(samples_of(p, "kworker/N:N", &merged), 16 + 32);
	assert_int_equal(samples_of(p, "pythonN", &merged), 64);
	/*
	 * python3 twice, worker-N, kworker/N:N of two processes, pythonN, and one without a name.
	 */
	assert_int_equal(p->nthreads, 1 + 2 + 1 + 2 + 1);
	assert_int_equal(p->samples, 127);
	assert_int_equal(p->period, 70);
	assert_int_equal(p->nblocks, 7);
	profile_free(p);
}

static void without_inlined(void **unused)
{
	struct profile *p = profile_new();
	uint32_t main, leaf, outer, last;
	struct profile_count c = { 0 };

	(void)unused;
	profile_set_meta(p, "inlines", "1");
	main = profile_child(p, 0, frame(p, "main", "/p", PROFILE_USER));
	outer = profile_child(p, main, frame(p, "small", "/p", PROFILE_INLINED));
	leaf = profile_child(p, outer, frame(p, "smaller", "/p", PROFILE_INLINED));
	last = profile_child(p, outer, frame(p, "memcpy", "/c", PROFILE_USER));
	c.node = main;
	c.samples = 1;
	profile_count(p, &c);
	c.node = leaf;
	c.samples = 2;
	profile_count(p, &c);
	c.node = last;
	c.samples = 4;
	profile_count(p, &c);
	profile_finish(p);
	p = reshape(p, true, false);
	assert_string_equal(profile_meta(p, "inlines"), "0");
	assert_int_equal(p->nnodes, 3);
	assert_int_equal(p->ncounts, 2);
	for (size_t i = 0; i < p->ncounts; i++) {
		const char *name = profile_text(p, p->frames[p->nodes[p->counts[i].node].frame].name);

		assert_int_equal(p->counts[i].samples, strcmp(name, "main") ? 4 : 3);
	}
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_of_numbers),
		cmocka_unit_test(without_inlined),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
