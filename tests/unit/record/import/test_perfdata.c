/*
 * The order of perf.data's records and the memory that sorting takes. The test writes a stream in
 * the pipe format, so every time is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/perfdata.h"

#define RECORD 8192u		/* bytes: a sample with a small stack copy */
#define HOLD ((size_t)8 << 20)	/* 1 MiB chunks are freed whole: 4 to 8 MiB of records */

struct sample {
	struct perf_event_header h;
	uint64_t time;		/* the reader does not look at what follows */
	uint8_t rest[RECORD - 16];
};

struct writer {
	int fd;
	uint32_t n, round;	/* samples; a FINISHED_ROUND after every @round of them, 0: none */
	uint64_t (*time_of)(uint32_t i);
};

static void put(int fd, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, (const char *)data + done, len - done);

		if (n <= 0)
			return;
		done += (size_t)n;
	}
}

static void *write_all(void *arg)
{
	const struct writer *w = arg;
	const struct perf_event_header finished = { .type = PERFDATA_FINISHED_ROUND, .size = sizeof(finished) };
	struct {
		struct perf_event_header h;
		struct perf_event_attr attr;
		uint64_t id;
	} attr = {
		.h = { .type = PERFDATA_HEADER_ATTR, .size = sizeof(attr) },
		.attr = { .size = sizeof(attr.attr), .sample_type = PERF_SAMPLE_TIME }, .id = 1,
	};
	const uint64_t head[2] = { 0, 16 };
	struct sample sample = { .h = { .type = PERF_RECORD_SAMPLE, .size = sizeof(sample) } };

	put(w->fd, "PERFILE2", 8);
	put(w->fd, &head[1], 8);
	put(w->fd, &attr, sizeof(attr));
	for (uint32_t i = 0; i < w->n; i++) {
		sample.time = w->time_of(i);
		put(w->fd, &sample, sizeof(sample));
		if (w->round && i % w->round == w->round - 1)
			put(w->fd, &finished, sizeof(finished));
	}
	close(w->fd);
	return NULL;
}

struct seen_addrs {
	uint64_t n, last, back;	/* records; newest time; records older than an earlier one */
	size_t most;		/* bytes allocated */
};

static int see(void *ctx, const struct perfdata_record *r)
{
	const struct mallinfo2 mi = mallinfo2();
	struct seen_addrs *s = ctx;

	s->n++;
	s->back += r->time < s->last;
	s->last = r->time > s->last ? r->time : s->last;
	if (mi.uordblks + mi.hblkhd > s->most)
		s->most = mi.uordblks + mi.hblkhd;
	return 0;
}

/* *@more: the peak of allocated bytes beyond what was allocated before. */
static struct seen_addrs read_all(struct writer *w, size_t hold, uint64_t *late, size_t *more)
{
	const struct mallinfo2 mi = mallinfo2();
	struct seen_addrs seen = { 0 };
	struct perfdata *pd;
	pthread_t tid;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	w->fd = fds[1];
	assert_int_equal(pthread_create(&tid, NULL, write_all, w), 0);
	pd = perfdata_open(fds[0], "it");
	assert_non_null(pd);
	if (hold)
		pd->hold = hold;
	assert_int_equal(perfdata_each(pd, true, see, &seen), 0);
	assert_false(pd->cut);
	*late = pd->late;
	perfdata_free(pd);
	pthread_join(tid, NULL);
	close(fds[0]);
	*more = seen.most - (mi.uordblks + mi.hblkhd);
	return seen;
}

/*
 * Runs of 100 in reverse, as two rings read one after the other give them: 800 KiB are out of
 * order.
 */
static uint64_t backwards_by_runs(uint32_t i)
{
	return 1000 + i / 100 * 100 + (99 - i % 100);
}

static uint64_t one_comes_last(uint32_t i)
{
	return i == 3999 ? 5 : 1000 + i;
}

static void no_rounds_keep_their_order_and_memory(void **state)
{
	struct writer w = { .n = 4000, .time_of = backwards_by_runs };
	uint64_t late;
	size_t more;
	struct seen_addrs s = read_all(&w, HOLD, &late, &more);

	(void)state;
	assert_int_equal(s.n, 4000);
	assert_int_equal(s.back, 0);
	assert_int_equal(late, 0);
	/*
	 * The chunk being filled, the queue at twice its full size, and the memory that sorting
	 * takes.
	 */
	assert_true(more < HOLD + ((size_t)3 << 20));
}

static void too_late_is_counted(void **state)
{
	struct writer w = { .n = 4000, .time_of = one_comes_last };
	uint64_t late;
	size_t more;
	struct seen_addrs s = read_all(&w, HOLD, &late, &more);

	(void)state;
	assert_int_equal(s.n, 4000);
	assert_int_equal(s.back, 1);
	assert_int_equal(late, 1);
	/* With room for all records, the late one is delivered first. */
	s = read_all(&w, 0, &late, &more);
	assert_int_equal(s.n, 4000);
	assert_int_equal(s.back, 0);
	assert_int_equal(late, 0);
}

static void rounds_are_delivered(void **state)
{
	struct writer w = { .n = 4000, .round = 100, .time_of = backwards_by_runs };
	uint64_t late;
	size_t more;
	struct seen_addrs s = read_all(&w, 0, &late, &more);

	(void)state;
	assert_int_equal(s.n, 4000);
	assert_int_equal(s.back, 0);
	/* Of 32 MiB, two rounds are held. */
	assert_true(more < (size_t)5 << 20);
}

/* "data" has the header and no records. */
static void write_header(int dirfd)
{
	struct {
		char magic[8];
		uint64_t size, entry, attrs, attrs_len, data, data_len, types[2], bits[4];
		struct perf_event_attr attr;
		uint64_t ids[2];
	} h = {
		.size = 104, .entry = sizeof(h.attr) + 16, .attrs = 104, .attrs_len = sizeof(h.attr) + 16,
		.data = sizeof(h), .data_len = 8,
		.attr = { .size = sizeof(h.attr), .sample_type = PERF_SAMPLE_TIME },
	};
	const struct perf_event_header nothing = { .type = PERFDATA_FINISHED_ROUND, .size = sizeof(nothing) };
	int fd = openat(dirfd, "data", O_WRONLY | O_CREAT, 0600);

	memcpy(h.magic, "PERFILE2", 8);
	put(fd, &h, sizeof(h));
	put(fd, &nothing, sizeof(nothing));
	close(fd);
}

/* Times @first, @first + @step ... */
static void write_part(int dirfd, const char *name, uint64_t first, uint64_t step, uint32_t n)
{
	struct sample sample = { .h = { .type = PERF_RECORD_SAMPLE, .size = sizeof(sample) } };
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT, 0600);

	while (n--) {
		sample.time = first;
		put(fd, &sample, sizeof(sample));
		first += step;
	}
	close(fd);
}

static void files_of_threads_are_merged(void **state)
{
	char dir[] = "/tmp/nsprof-test.XXXXXX";
	struct seen_addrs seen = { 0 };
	struct perfdata *pd;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	write_header(fd);
	write_part(fd, "data.0", 1000, 2, 500);
	write_part(fd, "data.1", 0, 0, 0);	/* a CPU on which nothing ran */
	write_part(fd, "data.2", 1001, 2, 500);
	write_part(fd, "data.3", 1500, 1, 20);
	pd = perfdata_open(fd, "it");
	assert_non_null(pd);
	/* The queue has room for some 170 records: the read-ahead of each file must be less. */
	pd->hold = 4096;
	assert_int_equal(perfdata_each(pd, true, see, &seen), 0);
	assert_false(pd->cut);
	assert_int_equal(seen.n, 1020);
	assert_int_equal(seen.back, 0);
	assert_int_equal(pd->late, 0);
	perfdata_free(pd);
	unlinkat(fd, "data", 0);
	unlinkat(fd, "data.0", 0);
	unlinkat(fd, "data.1", 0);
	unlinkat(fd, "data.2", 0);
	unlinkat(fd, "data.3", 0);
	close(fd);
	rmdir(dir);
}

struct shrinking {
	int fd;
	uint64_t n, at, to;	/* records seen; before record @at, the file is cut to @to bytes */
	bool zeros;		/* a record from behind the new end was delivered */
};

static int see_and_cut(void *ctx, const struct perfdata_record *r)
{
	struct shrinking *s = ctx;

	s->zeros |= r->type != PERF_RECORD_SAMPLE || r->len != RECORD - 8 || !r->time;
	return s->n++ == s->at ? ftruncate(s->fd, (off_t)s->to) : 0;
}

/*
 * A whole page and more of the file is gone when it is read: mmap(2) says that the access raises
 * SIGBUS.
 */
static void shrink(bool ordered, uint64_t at, uint64_t to)
{
	struct shrinking s = { .at = at, .to = to };
	char path[] = "/tmp/nsprof-test.XXXXXX";
	struct writer w = { .n = 1000, .time_of = backwards_by_runs };
	struct perfdata *pd;

	s.fd = mkstemp(path);
	assert_true(s.fd >= 0);
	w.fd = dup(s.fd);
	write_all(&w);
	pd = perfdata_open(s.fd, "it");
	assert_non_null(pd);
	assert_true(perfdata_each(pd, ordered, see_and_cut, &s) < 0);
	assert_true(s.n > at);
	assert_true(s.n < 1000);
	assert_false(s.zeros);
	perfdata_free(pd);
	close(s.fd);
	unlink(path);
}

static void a_file_that_shrinks_is_an_error(void **state)
{
	(void)state;
	shrink(false, 10, 100 * RECORD);
	shrink(false, 500, 0);
	/* Ordered: all headers were read, and the bodies are needed now. */
	shrink(true, 10, 100 * RECORD);
	shrink(true, 500, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_rounds_keep_their_order_and_memory),
		cmocka_unit_test(too_late_is_counted),
		cmocka_unit_test(rounds_are_delivered),
		cmocka_unit_test(files_of_threads_are_merged),
		cmocka_unit_test(a_file_that_shrinks_is_an_error),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
