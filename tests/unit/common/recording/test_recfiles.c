/*
 * Several files from one writer: rotated, and kept in memory to be dumped. Each file must hold what
 * a writer that started with it would have written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "host/clock.h"
#include "recgen.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"

/* ---- a recording's content as text ---- */

static int say_sample(void *ctx, const struct ev_sample *ev)
{
	uint64_t h = 0, val;

	for (uint64_t a = ev->stack.lo; a < ev->stack.hi; a += 8) {
		assert_int_equal(stack_view_read(&ev->stack, a, &val), 0);
		h = hash_combine(h, val);
	}
	for (int i = 0; i < UREG_MAX; i++)
		h = hash_combine(h, ev->regs[i]);
	for (uint32_t i = 0; i < ev->nchain; i++)
		h = hash_combine(h, ev->chain[i]);
	strbuf_addf(ctx, "%llu %u %u %u %llu %llx-%llx %llx\n", (unsigned long long)ev->time, ev->pid,
		    ev->tid, ev->cpu, (unsigned long long)ev->period, (unsigned long long)ev->stack.lo,
		    (unsigned long long)ev->stack.hi, (unsigned long long)h);
	return 0;
}

static int say_dso(void *ctx, const struct ev_dso *ev)
{
	strbuf_addf(ctx, "dso %u %s\n", ev->id, ev->path);
	return 0;
}

static int say_capture(void *ctx, const struct capture *cap)
{
	strbuf_addf(ctx, "capture %u %u %.*s\n", cap->kind, cap->id, (int)cap->size,
		    (const char *)cap->data);
	return 0;
}

/*
 * The whole content of the file, which must be complete, with @kept in its ledger and the setting
 * "k".
 */
static char *say(const char *path, uint64_t kept)
{
	static const struct event_ops ops = { .dso = say_dso, .sample = say_sample };
	struct rec_reader *r = rec_reader_open(path);
	struct strbuf sb = STRBUF_INIT;
	struct ev_ledger l;

	assert_non_null(r);
	assert_int_equal(rec_reader_events(r, &ops, &sb), 0);
	assert_int_equal(rec_reader_captures(r, say_capture, &sb), 0);
	assert_int_equal(rec_reader_damage(r)->bad_blocks, 0);
	assert_int_equal(rec_reader_damage(r)->lost_samples, 0);
	assert_false(rec_reader_damage(r)->cut);
	assert_true(rec_reader_ledger(r, &l));
	assert_int_equal(l.kept, kept);
	assert_non_null(rec_reader_info(r, "k"));
	assert_string_equal(rec_reader_info(r, "k"), "v");
	rec_reader_close(r);
	strbuf_addc(&sb, '\n');
	return sb.s;
}

/* ---- writing ---- */

static void put(struct rec_writer *w, struct gen *g, unsigned int n)
{
	while (n--) {
		gen_next(g);
		assert_int_equal(rec_writer_sample(w, &g->s), 0);
	}
}

static void skip_samples(struct gen *g, unsigned int n)
{
	while (n--)
		gen_next(g);
}

static void put_dso(struct rec_writer *w, uint32_t id)
{
	const struct ev_dso ev = { .id = id, .path = "/bin/x" };

	assert_int_equal(rec_writer_dso(w, &ev), 0);
}

static void put_capture(struct rec_writer *w, struct rec_out *out, uint32_t id, const char *text)
{
	const struct capture cap = { CAPTURE_PERF_MAP, id, text, strlen(text), 0 };

	assert_int_equal(out ? rec_out_capture(w, out, &cap) : rec_writer_capture(w, &cap), 0);
}

static void end_out(struct rec_writer *w, struct rec_out *out, int fd, uint64_t kept)
{
	const struct ev_ledger l = { .kept = kept };
	uint64_t bytes;

	assert_int_equal(rec_out_ledger(w, out, &l), 0);
	rec_out_finish(w, out);
	assert_int_equal(rec_out_close(out, &bytes), 0);
	assert_int_equal(bytes, lseek(fd, 0, SEEK_END));
}

/* The text of a file that a separate writer wrote: @n samples from number @from on. */
static char *alone(uint64_t seed, unsigned int from, unsigned int n, uint32_t id, const char *rows)
{
	const struct ev_ledger l = { .kept = n };
	struct gen *g = calloc(1, sizeof(*g));
	struct rec_writer *w;
	char path[32], *text;
	int fd = gen_memfd(path), err;

	gen_init(g, seed, 9, 3000);
	skip_samples(g, from);
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	rec_writer_info(w, "k", "v");
	put_dso(w, id);
	put(w, g, n);
	put_capture(w, NULL, id, rows);
	assert_int_equal(rec_writer_ledger(w, &l), 0);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	text = say(path, n);
	close(fd);
	gen_fini(g);
	free(g);
	return text;
}

static void expect(const char *path, uint64_t seed, unsigned int from, unsigned int n, uint32_t id,
		   const char *rows)
{
	char *want = alone(seed, from, n, id, rows), *got = say(path, n);

	assert_string_equal(got, want);
	free(want);
	free(got);
}

/* ---- from file to file ---- */

/* The rows of a file arrive while the next one is being written. */
static void test_turn(void **state)
{
	struct gen *g = calloc(1, sizeof(*g));
	char path[3][32];
	int fd[3], err;
	struct rec_out *old;
	struct rec_writer *w;
	const struct ev_ledger l = { .kept = 1500 };

	(void)state;
	for (int i = 0; i < 3; i++)
		fd[i] = gen_memfd(path[i]);
	gen_init(g, 3, 9, 3000);
	w = rec_writer_new(fd[0], &err);
	assert_non_null(w);
	rec_writer_info(w, "k", "v");
	put_dso(w, 7);
	put(w, g, 1000);
	old = rec_writer_turn(w, fd[1], &err);
	assert_non_null(old);
	put_dso(w, 9000000);
	put(w, g, 300);
	put_capture(w, old, 7, "first rows");
	assert_false(rec_out_done(old));
	put(w, g, 400);
	end_out(w, old, fd[0], 1000);
	old = rec_writer_turn(w, fd[2], &err);
	assert_non_null(old);
	put_capture(w, old, 9000000, "second rows");
	put_dso(w, 7);
	put(w, g, 1500);
	end_out(w, old, fd[1], 700);
	put_capture(w, NULL, 7, "third rows");
	assert_int_equal(rec_writer_ledger(w, &l), 0);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	expect(path[0], 3, 0, 1000, 7, "first rows");
	expect(path[1], 3, 1000, 700, 9000000, "second rows");
	expect(path[2], 3, 1700, 1500, 7, "third rows");
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	gen_fini(g);
	free(g);
}

/*
 * A file that cannot be started changes nothing; one that cannot be completed reports its error
 * alone.
 */
static void test_turn_fails(void **state)
{
	struct gen *g = calloc(1, sizeof(*g));
	const struct ev_ledger l = { .kept = 200 };
	FILE *full = fopen("/dev/full", "w");
	struct rec_out *old;
	struct rec_writer *w;
	char path[2][32];
	int fd[2], err = 0, pipes[2];
	uint64_t bytes;

	(void)state;
	assert_non_null(full);
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 2; i++)
		fd[i] = gen_memfd(path[i]);
	gen_init(g, 4, 9, 3000);
	w = rec_writer_new(fd[0], &err);
	rec_writer_info(w, "k", "v");
	put_dso(w, 1);
	put(w, g, 100);
	assert_null(rec_writer_turn(w, fileno(full), &err));
	assert_int_equal(err, -ENOSPC);
	put(w, g, 100);
	put_capture(w, NULL, 1, "rows");
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(rec_writer_ledger(w, &l), 0);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	expect(path[0], 4, 0, 200, 1, "rows");

	gen_fini(g);
	gen_init(g, 4, 9, 3000);
	w = rec_writer_new(pipes[1], &err);
	rec_writer_info(w, "k", "v");
	put(w, g, 10);
	old = rec_writer_turn(w, fd[1], &err);
	assert_non_null(old);
	close(pipes[0]);	/* its reader has closed when the rows come */
	put_dso(w, 1);
	put(w, g, 200);
	rec_out_capture(w, old, &(struct capture){ CAPTURE_PERF_MAP, 1, "x", 1, 0 });
	rec_out_finish(w, old);
	assert_int_equal(rec_out_close(old, &bytes), -EPIPE);
	put_capture(w, NULL, 1, "rows");
	assert_int_equal(rec_writer_ledger(w, &l), 0);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	expect(path[1], 4, 10, 200, 1, "rows");
	fclose(full);
	close(pipes[1]);
	for (int i = 0; i < 2; i++)
		close(fd[i]);
	gen_fini(g);
	free(g);
}

/* ---- memory ---- */

/*
 * Segments of 500 samples: the first ones are forgotten, the rest is dumped, and dumped again
 * later.
 */
static void test_memory(void **state)
{
	struct gen *g = calloc(1, sizeof(*g));
	char path[2][32], *got, *want;
	struct strbuf all = STRBUF_INIT;
	struct rec_out *out;
	struct rec_writer *w;
	int fd[2], err;

	(void)state;
	for (int i = 0; i < 2; i++)
		fd[i] = gen_memfd(path[i]);
	gen_init(g, 6, 9, 3000);
	w = rec_writer_new_memory(clock_mono_ns(), false, &err);
	assert_non_null(w);
	rec_writer_info(w, "k", "v");
	for (uint32_t seg = 0; seg < 6; seg++) {
		put_dso(w, 3);
		put(w, g, 500);
		put_capture(w, NULL, 3, "rows");
		assert_int_equal(rec_writer_segment(w), seg + 1);
		if (seg >= 2)
			rec_writer_forget(w, seg - 1);	/* the last two stay */
	}
	out = rec_writer_dump(w, fd[0], 5000000000ull, &err);
	assert_non_null(out);
	put_dso(w, 3);
	put(w, g, 500);		/* not in the dump */
	put_capture(w, out, 3, "later rows");
	end_out(w, out, fd[0], 1000);
	/* 2000 to 3000, in two segments, each of which defines the binary. */
	for (unsigned int i = 0; i < 2; i++) {
		char *text = alone(6, 2000 + 500 * i, 500, 3, "rows"), *p;

		p = strstr(text, "capture ");
		assert_non_null(p);
		strbuf_add(&all, text, (size_t)(p - text));
		free(text);
	}
	strbuf_adds(&all, "capture 2 3 rows\ncapture 2 3 rows\ncapture 2 3 later rows\n\n");
	got = say(path[0], 1000);
	assert_string_equal(got, all.s);
	free(got);
	/* The dumped segments are still there. */
	rec_writer_segment(w);
	rec_writer_forget(w, 5);
	out = rec_writer_dump(w, fd[1], 5000000000ull, &err);
	assert_non_null(out);
	end_out(w, out, fd[1], 1000);
	got = say(path[1], 1000);
	want = strstr(all.s, "dso 3");
	want = strstr(want + 1, "dso 3");
	assert_memory_equal(got, want, strstr(want, "capture") - want);
	free(got);
	/* Memory does not grow. */
	for (uint32_t seg = 7; seg < 400; seg++) {
		put(w, g, 20);
		assert_int_equal(rec_writer_segment(w), seg + 1);
		rec_writer_forget(w, seg - 3);
		/* 20 samples are some KiB; all of them would be 4 MiB. */
		assert_true(rec_writer_bytes(w) < 256 << 10);
	}
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	strbuf_fini(&all);
	for (int i = 0; i < 2; i++)
		close(fd[i]);
	gen_fini(g);
	free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turn),
		cmocka_unit_test(test_turn_fails),
		cmocka_unit_test(test_memory),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
