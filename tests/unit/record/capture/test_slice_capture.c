/* Slices kept from one recording file to the next: served without the binary, grown, bounded. */
#include "base/util.h"
#include "capture/caplist.h"
#include "capture/capture_job.h"
#include "base/pcset.h"
#include "elf/elf_file.h"
#include "in_range.h"
#include "proctab_fixture.h"
#include "random.h"

/* Three functions of this program, and whether there is a symbol for each. */
__attribute__((noinline, noclone, used)) static void slice_one(void) { __asm__ volatile(""); }
__attribute__((noinline, noclone, used)) static void slice_two(void) { __asm__ volatile("nop"); }
__attribute__((noinline, noclone, used)) static void slice_three(void) { __asm__ volatile("nop; nop"); }

static struct child c;

/* Captures the rows of this program for the functions seen in the segment that ends here. */
static int capture(struct strbuf *rows, bool *served)
{
	struct caplist *cl = proctab_cut(pt);
	struct rec_out *out = NULL;
	int err = -ENODATA;

	for (size_t i = 0; i < cl->n; i++) {
		struct capture_job job;

		if (cl->v[i].kind != CAPTURE_ELF || cl->v[i].dso->vdso ||
		    !capture_prepare(pt, cl, &cl->v[i], &job))
			continue;
		capture_job_run(&job);
		err = job.err;
		*served = job.served;
		strbuf_reset(rows);
		if (job.rows.len)
			strbuf_add(rows, job.rows.s, job.rows.len);
		assert_int_equal(capture_finish(pt, out, &job), 0);
	}
	caplist_free(cl, &pt->files.pins);
	return err;
}

static struct proc *see(void (*const *fn)(void), size_t n)
{
	struct proc *p = proctab_sampled(pt, (uint32_t)c.pid, (uint32_t)c.pid, now());

	for (size_t i = 0; i < n; i++)
		proc_saw_code(p, (uintptr_t)fn[i] + 1);
	return p;
}

/* nm as an independent reader: how many of our symbols the slice has. */
static size_t functions_in(const struct strbuf *rows)
{
	char path[] = "/tmp/slices-XXXXXX", cmd[128];
	int fd = mkstemp(path), n = 0;
	FILE *f;

	assert_int_equal(write(fd, rows->s, rows->len), (ssize_t)rows->len);
	close(fd);
	snprintf(cmd, sizeof(cmd), "nm '%s' | grep -c ' slice_\\(one\\|two\\|three\\)$'", path);
	f = popen(cmd, "r");
	assert_int_equal(fscanf(f, "%d", &n), 1);
	pclose(f);
	unlink(path);
	return (size_t)n;
}

static struct dso *self_dso(const struct proc *p)
{
	return mapset_find(p->maps, (uintptr_t)slice_one)->dso;
}

/* From here on the recorder cannot reach the file any more. */
static void lose_file(struct dso *d)
{
	d->pin_tries = UINT8_MAX;
	pins_drop(&pt->files.pins, &d->pin);
}

static void test_kept(void **state)
{
	void (*const one[])(void) = { slice_one }, (*const two[])(void) = { slice_two };
	void (*const three[])(void) = { slice_three };
	struct strbuf first = STRBUF_INIT, rows = STRBUF_INIT;
	struct proc *p;
	bool served;

	(void)state;
	c = start(plain_child, NULL);
	proctab_keep_slices(pt);
	p = see(one, 1);
	assert_int_equal(capture(&first, &served), 0);
	assert_false(served);
	assert_int_equal(functions_in(&first), 1);
	/* Another function: the slice is made again, for both. */
	see(two, 1);
	assert_int_equal(capture(&rows, &served), 0);
	assert_false(served);
	assert_int_equal(functions_in(&rows), 2);
	/* Either function without the file, and each recording file has the bytes. */
	lose_file(self_dso(p));
	see(one, 1);
	assert_int_equal(capture(&first, &served), 0);
	assert_true(served);
	assert_int_equal(first.len, rows.len);
	assert_memory_equal(first.s, rows.s, rows.len);
	/* Not for functions without rows in the slice. */
	see(three, 1);
	assert_int_equal(capture(&rows, &served), -ENOENT);
	assert_false(served);
	/* A segment that does not use the binary ends the keeping. */
	capture(&rows, &served);
	see(one, 1);
	assert_int_equal(capture(&rows, &served), -ENOENT);
	assert_int_equal(pt->files.dsos.slices.bytes, 0);
	stop_child(&c);
	strbuf_fini(&first);
	strbuf_fini(&rows);
}

/* A single file, or no room: nothing is kept. */
static void test_not_kept(void **state)
{
	void (*const one[])(void) = { slice_one };
	struct strbuf rows = STRBUF_INIT;
	bool served;

	(void)state;
	c = start(plain_child, NULL);
	for (size_t max = 0; max <= 512; max += 512) {
		pt->files.dsos.slices.max = max;
		for (int i = 0; i < 2; i++) {
			see(one, 1);
			assert_int_equal(capture(&rows, &served), 0);
			assert_true(rows.len > 512);
			assert_false(served);
			assert_int_equal(pt->files.dsos.slices.bytes, 0);
		}
	}
	stop_child(&c);
	strbuf_fini(&rows);
}

/* Addresses come and go: the kept slice has at most twice the requested addresses, plus a few. */
static void test_shrinks(void **state)
{
	struct slices all = { .max = 1 << 20 };
	struct slice s = { .addrs = NULL };

	(void)state;
	for (uint64_t round = 0; round < 50; round++) {
		uint64_t *addrs = malloc(100 * sizeof(*addrs));
		struct capture_job job = { .n = 100 };
		size_t made;

		for (size_t i = 0; i < 100; i++)
			addrs[i] = round * 1000 + i;
		assert_false(slice_serve(&s, &addrs, &job.n, &job.rows));
		job.addrs = addrs;
		made = job.n;
		assert_within(made, 100, 264);
		/* The requested ones are always there. */
		for (size_t i = 0; i < 100; i++)
			assert_int_equal(addrs[made - 100 + i], round * 1000 + i);
		strbuf_adds(&job.rows, "rows");
		slice_keep(&all, &s, &job);
		assert_within(all.bytes, made * 8 + 4, made * 8 + 1024);
	}
	slice_drop(&all, &s);
	assert_int_equal(all.bytes, 0);
}

/*
 * Searches in sets of all sizes, some members twice, for members and their neighbours: compared
 * with a linear search.
 */
static void sets_are_searched(void **state)
{
	uint64_t addrs[70], seed = 1;
	struct pcset ps;

	(void)state;
	for (size_t n = 0; n < ARRAY_SIZE(addrs); n++) {
		for (size_t i = 0; i < n; i++)
			addrs[i] = i % 8 == 7 ? addrs[i - 1] : 1 + random_next(&seed) % 200;
		pcset_init(&ps, addrs, n);
		for (uint64_t at = 0; at < 203; at++) {
			size_t want = 0;

			while (want < ps.n && ps.v[want] < at)
				want++;
			assert_int_equal(pcset_from(&ps, at), want);
		}
		assert_int_equal(pcset_from(&ps, UINT64_MAX), ps.n);
		for (size_t i = 1; i < ps.n; i++)
			assert_true(ps.v[i - 1] < ps.v[i]);
		pcset_fini(&ps);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_kept),
		T(test_not_kept),
		cmocka_unit_test(test_shrinks),
		cmocka_unit_test(sets_are_searched),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("record slices", tests, NULL, NULL);
}
