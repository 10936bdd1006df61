/* The recording format over a long run: memory use stays flat for writer and reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "event.h"
#include "recgen.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"

#if defined(__SANITIZE_ADDRESS__)
/* ASan keeps freed memory for a while, by default 256 MiB of it. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "quarantine_size_mb=1:thread_local_quarantine_size_kb=64";
}
#endif

#define LONG_RUN 1000000u
#define LONG_THREADS 8u
#define LONG_WORDS 16u

/*
 * How a steady program appears to the recorder: a few threads, stacks of a few frames, and always
 * some new code. Sample @i has @i in its time and in a word.
 */
static void steady_sample(struct gen *g, uint64_t i)
{
	struct stack_words *sw = &g->sw;
	uint32_t thr = gen_below(g, LONG_THREADS);

	memset(&g->s, 0, sizeof(g->s));
	g->s.time = i * 1000000;
	g->s.pid = 100;
	g->s.tid = 100 + thr;
	g->s.cpu = thr % 2;
	g->s.period = 1010101;
	g->s.has_regs = true;
	g->s.chain = g->chain;
	g->s.nchain = 2;
	g->chain[0] = (uint64_t)-512;
	sw->base = 0x7f0000000000ull + 0x100000ull * thr + 8 * (LONG_WORDS - 8 + gen_below(g, 4));
	sw->nwords = (uint32_t)((0x7f0000000000ull + 0x100000ull * thr + 0x100 - sw->base) / 8);
	sw->nkept = 0;
	for (uint32_t k = 0; k < 3; k++) {
		sw->idx[sw->nkept] = (uint16_t)(k * 4 + gen_below(g, 2));
		sw->cls[sw->nkept] = k % 2 ? WORD_STACK : WORD_CODE;
		sw->val[sw->nkept++] = k % 2 ? sw->base + 8 * gen_below(g, 16) : gen_code(g);
	}
	sw->val[0] = 0x560000000000ull + i;	/* new code */
	g->s.stack = sw;
	g->s.regs[UREG_SP] = sw->base;
	g->chain[1] = g->s.regs[UREG_IP] = gen_code(g);
}

/* The peak memory use of this process, in KiB. */
static long peak_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	fclose(f);
	assert_true(kib > 0);
	return kib;
}

struct long_run {
	uint64_t n;
	long peak;			/* after a tenth of the samples */
};

static int long_sample(void *ctx, const struct ev_sample *ev)
{
	struct long_run *l = ctx;
	uint64_t val = 0;

	if (ev->time != l->n * 1000000)
		return -1;
	for (uint64_t a = ev->stack.lo; a < ev->stack.hi && val >> 40 != 0x56; a += 8)
		stack_view_read(&ev->stack, a, &val);
	if (val != 0x560000000000ull + l->n)
		return -2;
	if (++l->n == LONG_RUN / 10)
		l->peak = peak_kib();
	return 0;
}

/* Writer and reader: memory use after a million samples equals that after the first tenth. */
static void test_memory_is_flat(void **state)
{
	static const struct event_ops ops = { .sample = long_sample };
	struct gen *g = calloc(1, sizeof(*g));
	struct long_run l = { 0 };
	struct rec_reader *r;
	struct rec_writer *w;
	char path[32];
	int fd = gen_memfd(path), err;
	long peak = 0;

	(void)state;
	g->rnd = 5;
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	for (uint64_t i = 0; i < LONG_RUN; i++) {
		steady_sample(g, i);
		/*
		 * At full speed the writer would need ever more of the pool, and drop what does not
		 * fit.
		 */
		while (rec_writer_fill(w) > 20)
			usleep(100);
		assert_int_equal(rec_writer_sample(w, &g->s), 0);
		rec_writer_tick(w, g->s.time);
		if (i == LONG_RUN / 10)
			peak = peak_kib();
	}
	assert_true(peak_kib() - peak < 1024);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_events(r, &ops, &l), 0);
	assert_int_equal(l.n, LONG_RUN);
	assert_true(peak_kib() - l.peak < 1024);
	rec_reader_close(r);
	close(fd);
	free(g);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_is_flat),
	};

	(void)argc;
	(void)argv;
#if defined(__SANITIZE_ADDRESS__)
	/*
	 * With tests/run's settings ASan also keeps the frames of functions that have returned:
	 * more with each call.
	 */
	if (getenv("ASAN_OPTIONS")) {
		unsetenv("ASAN_OPTIONS");
		execv(argv[0], argv);
	}
#endif
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
