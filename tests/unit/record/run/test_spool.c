/*
 * Files of a long run (spool.h), segments of the process table and lists of captures: each file
 * stands alone, IDs are those of the whole run, and nothing accumulates.
 */
#include <malloc.h>
#include <sys/types.h>
#include <dirent.h>

#include "proctab_fixture.h"

#include "base/log.h"
#include "base/util.h"
#include "capture/caplist.h"
#include "events/open.h"
#include "host/clock.h"
#include "random.h"
#include "run/output.h"
#include "run/spool.h"
#include "sink/ledger.h"
#include "sink/drain.h"
#include "sink/sink.h"

#define SECOND 1000000000ull

/* ---- lists ---- */

static uint64_t *addrs(size_t n, const uint64_t *v)
{
	return memcpy(malloc(n * sizeof(*v) + 1), v, n * sizeof(*v));
}

#define ADDRS(...)                                                                                 \
	addrs(sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (const uint64_t[]){ __VA_ARGS__ }),         \
		sizeof((uint64_t[]){ __VA_ARGS__ }) / 8

static void expect_addrs(const struct cap_entry *e, size_t n, const uint64_t *want)
{
	assert_non_null(e);
	assert_int_equal(e->n, n);
	assert_memory_equal(e->addrs, want, n * sizeof(*want));
}

#define EXPECT(e, ...)                                                                             \
	expect_addrs(e, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (const uint64_t[]){ __VA_ARGS__ })

static struct leaf_counts leafs(uint64_t addr, uint64_t samples)
{
	struct leaf_counts l = { .v = calloc(1, sizeof(*l.v)), .n = 1, .samples = samples };

	l.v[0] = (struct leaf){ addr, samples };
	return l;
}

static void test_lists(void **state)
{
	struct caplist *l[3] = { caplist_new(), caplist_new(), caplist_new() }, *all;
	struct cap_entry *e;

	(void)state;
	e = caplist_add(l[0], CAPTURE_ELF, 9, ADDRS(5, 7, 9));
	e->leafs = leafs(7, 2);
	e = caplist_add(l[0], CAPTURE_PERF_MAP, 2, ADDRS(1));
	e->done = true;
	e = caplist_add(l[0], CAPTURE_ELF, 3, ADDRS(1, 2));
	e->leafs = leafs(1, 4);
	caplist_add(l[2], CAPTURE_ELF, 8, ADDRS(1));
	e = caplist_add(l[2], CAPTURE_ELF, 9, ADDRS(1, 7, 10, 11));
	e->leafs = leafs(7, 3);
	e = caplist_add(l[2], CAPTURE_PERF_MAP, 4, ADDRS(6));
	e->done = true;
	caplist_add(l[2], CAPTURE_PERF_MAP, 2, ADDRS(3));
	for (int i = 0; i < 3; i++)
		caplist_seal(l[i]);
	assert_null(caplist_find(l[0], CAPTURE_ELF, 4));
	assert_null(caplist_find(l[1], CAPTURE_ELF, 9));
	EXPECT(caplist_find(l[0], CAPTURE_ELF, 9), 5, 7, 9);
	all = caplist_merge(l, 3);
	assert_int_equal(all->n, 5);
	/* 5 samples in total, 4, and none. */
	for (int i = 0; i < 5; i++) {
		static const uint32_t order[] = { 9, 3, 8, 2, 4 };

		e = caplist_next(all);
		assert_non_null(e);
		assert_int_equal(e->id, order[i]);
	}
	assert_null(caplist_next(all));
	assert_int_equal(caplist_find(all, CAPTURE_ELF, 9)->leafs.samples, 5);
	assert_int_equal(all->code.samples, 9);
	EXPECT(caplist_find(all, CAPTURE_ELF, 9), 1, 5, 7, 9, 10, 11);
	EXPECT(caplist_find(all, CAPTURE_ELF, 3), 1, 2);
	/* It was captured when it ended, but had samples in a later segment again. */
	EXPECT(caplist_find(all, CAPTURE_PERF_MAP, 2), 1, 3);
	assert_false(caplist_find(all, CAPTURE_PERF_MAP, 2)->done);
	assert_true(caplist_find(all, CAPTURE_PERF_MAP, 4)->done);
	caplist_free(all, &pt->files.pins);
	all = caplist_merge(l, 0);
	assert_int_equal(all->n, 0);
	caplist_free(all, &pt->files.pins);
	for (int i = 0; i < 3; i++)
		caplist_free(l[i], &pt->files.pins);
}

/* ---- a recorder without a kernel ---- */

struct rig {
	struct record_opts o;
	struct target target;
	struct rec_event event;
	struct events ev;
	struct output out;
	struct ledger ledger;
	struct cgroup_fs fs;
	struct spool sp;
	char dir[32], file[64];
	uint64_t now;
};

/* They replace the fixture's writer and table. */
static void rig_init(struct rig *r)
{
	int err;

	proctab_free(pt);
	rec_writer_free(w);
	r->fs.fd = -1;
	r->ev.target = &r->target;
	r->ev.opts = &r->o;
	r->ev.v = &r->event;
	r->ev.n = 1;
	r->now = 1000 * SECOND;
	strcpy(r->dir, "/tmp/spool-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->file, sizeof(r->file), "%s/f", r->dir);
	assert_int_equal(output_check(&r->out, r->file), 0);
	if (r->o.overwrite) {
		w = rec_writer_new_memory(clock_mono_ns(), false, &err);
	} else {
		assert_int_equal(output_open(&r->out), 0);
		assert_int_equal(output_commit(&r->out), 0);
		w = rec_writer_new(r->out.fd, &err);
	}
	assert_non_null(w);
	pt = proctab_new(w);
	ledger_begin(&r->ledger, w, false, false);
	r->sp = (struct spool){
		.o = &r->o, .ev = &r->ev, .out = &r->out, .w = w, .pt = pt,
		.sink = sink_new(&r->o, &r->fs, pt, w, &r->ledger, 0), .ledger = &r->ledger,
	};
	spool_init(&r->sp, r->now);
}

static void rig_fini(struct rig *r)
{
	spool_fini(&r->sp);
	sink_free(r->sp.sink);
	output_fini(&r->out);
	ledger_fini(&r->ledger);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The stamped files, oldest first. */
static size_t files(const struct rig *r, char **names, size_t max)
{
	DIR *d = opendir(r->dir);
	struct dirent *e;
	size_t n = 0;

	while ((e = readdir(d))) {
		if (strncmp(e->d_name, "f.", 2))
			continue;
		assert_true(n < max);
		names[n] = malloc(400);
		snprintf(names[n++], 400, "%s/%s", r->dir, e->d_name);
	}
	closedir(d);
	qsort(names, n, sizeof(*names), by_name);
	return n;
}

static void sample(struct rig *r, uint32_t pid, uint64_t code)
{
	static const uint64_t chain[] = { (uint64_t)-512, 0x1000 };
	const struct sample_in s = {
		.time = r->now += 1000, .pid = pid, .tid = pid, .chain = chain, .nchain = 2,
	};
	struct proc *p = proctab_sampled(pt, pid, pid, now());

	if (code)
		proc_saw_code(p, code);
	assert_int_equal(rec_writer_sample(w, &s), 0);
	r->ledger.l.kept++;
}

static int count_sample(void *ctx, const struct ev_sample *ev)
{
	(void)ev;
	++*(uint64_t *)ctx;
	return 0;
}

/* Reads into got; @kept samples in stream and ledger; then deletes the file. */
static void read_file(const char *name, uint64_t kept)
{
	static const struct event_ops ops = {
		.dso = on_dso, .proc = on_proc, .mmap = on_mmap, .comm = on_comm,
		.fork = on_fork, .exit = on_exit_ev,
	};
	static const struct event_ops samples = { .sample = count_sample };
	struct rec_reader *r = rec_reader_open(name);
	struct ev_ledger l;
	uint64_t n = 0;

	assert_non_null(r);
	memset(&got, 0, sizeof(got));
	assert_int_equal(rec_reader_events(r, &samples, &n), 0);
	assert_false(rec_reader_damage(r)->cut);
	assert_int_equal(n, kept);
	/* The fixture's on_mmap() requires IDs from 1 on: read without it. */
	assert_int_equal(rec_reader_events(r, &(struct event_ops){
		.dso = ops.dso, .proc = ops.proc, .comm = ops.comm, .exit = ops.exit }, &got), 0);
	assert_int_equal(rec_reader_captures(r, on_capture, &got), 0);
	assert_true(rec_reader_ledger(r, &l));
	assert_int_equal(l.kept, kept);
	rec_reader_close(r);
	unlink(name);
}

/* The ID of the test's own binary in the file, 0 if it is not there. */
static uint32_t self_id(void)
{
	for (uint32_t i = 0; i < got.ndso; i++)
		if (strstr(got.dso[i].path, "test_spool"))
			return got.dso[i].ev.id;
	return 0;
}

static bool has_rows(uint32_t id)
{
	for (uint32_t i = 0; i < got.ncap; i++)
		if (got.cap[i].kind == CAPTURE_ELF && got.cap[i].id == id)
			return true;
	return false;
}

static void step_until_closed(struct rig *r)
{
	const struct timespec ms = { 0, 1000000 };

	while (r->sp.closing.out) {
		assert_int_equal(spool_step(&r->sp, r->now), 0);
		nanosleep(&ms, NULL);
	}
}

/*
 * Three files. The test's own process is in the first and the third, a child that has ended by then
 * only in the first, another child only in the second. Each file has what it needs, with the same
 * IDs.
 */
static void test_files(void **state)
{
	const uint32_t self = (uint32_t)getpid();
	struct rig *r = calloc(1, sizeof(*r));
	struct child a, b;
	char *name[8];
	uint32_t id, serial;
	size_t n;

	(void)state;
	r->o.switch_output = true;
	r->o.switch_ns = 10 * SECOND;
	rig_init(r);
	a = start(plain_child, NULL);
	b = start(plain_child, NULL);
	sample(r, self, (uintptr_t)test_files + 4);
	sample(r, (uint32_t)a.pid, 0);
	sample(r, self, (uintptr_t)test_lists + 4);
	stop_child(&a);
	exit_of((uint32_t)a.pid, (uint32_t)a.pid, r->now);
	assert_int_equal(spool_step(&r->sp, r->now), 0);
	assert_null(r->sp.closing.out);
	r->now += 10 * SECOND;
	assert_int_equal(spool_step(&r->sp, r->now), 0);
	assert_non_null(r->sp.closing.out);
	/* While the first file is being completed. */
	sample(r, (uint32_t)b.pid, (uintptr_t)test_lists + 4);
	step_until_closed(r);
	spool_ask(&r->sp, r->now);
	assert_int_equal(spool_step(&r->sp, r->now), 0);
	sample(r, self, (uintptr_t)test_files + 4);
	sample(r, self, 0);
	/* The second may still be on its way to the thread. */
	assert_int_equal(spool_finish(&r->sp, r->now, 0), 0);
	assert_int_equal(r->sp.files, 3);
	assert_int_equal(r->sp.total.l.kept, 6);
	n = files(r, name, 8);
	assert_int_equal(n, 3);
	assert_string_equal(spool_name(&r->sp), name[2]);

	read_file(name[0], 3);
	id = self_id();
	assert_int_equal(got.nproc, 2);
	serial = got.proc[0].serial;
	assert_int_equal(got.proc[0].pid, self);
	assert_int_equal(got.proc[1].pid, a.pid);
	assert_int_equal(got.nexit, 1);
	assert_true(id && has_rows(id));
	read_file(name[1], 1);
	assert_int_equal(got.nproc, 1);
	assert_int_equal(got.proc[0].pid, b.pid);
	assert_true(got.proc[0].maps_known);
	/* A fork of us: the same binary. */
	assert_int_equal(self_id(), id);
	assert_true(has_rows(id));
	read_file(name[2], 2);
	assert_int_equal(got.nproc, 1);
	assert_int_equal(got.proc[0].pid, self);
	assert_int_equal(got.proc[0].serial, serial);
	assert_int_equal(self_id(), id);
	assert_true(has_rows(id));
	stop_child(&b);
	rig_fini(r);
	for (size_t i = 0; i < n; i++)
		free(name[i]);
	assert_int_equal(rmdir(r->dir), 0);
	free(r);
}

static size_t open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/*
 * 130 files, each with 100 binaries that do not come again: neither memory nor descriptors
 * accumulate.
 */
static void test_files_add_up_to_nothing(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	size_t most[2] = { 0 }, fds = 0, n;
	char *name[8], path[64];

	(void)state;
	r->o.switch_output = true;
	r->o.switch_max_files = 2;
	rig_init(r);
	for (uint32_t i = 0; i < 130; i++) {
		for (uint32_t k = 0; k < 100; k++) {
			const uint32_t pid = GONE + 100 * i + k;
			struct kmmap m;

			snprintf(path, sizeof(path), "/bin/gone-%u-%u", i, k);
			m = kmmap(pid, 0x400000, 0x1000, path);
			m = with_id(m, (uint8_t)k);
			memcpy(m.build_id, &i, sizeof(i));
			proctab_fork(pt, &(struct ev_task){ .time = r->now, .pid = pid, .tid = pid,
							    .ppid = 1, .ptid = 1 });
			exec_comm(pid, "x");
			m.time = r->now;
			proctab_mmap(pt, &m);
			sample(r, pid, 0x400100);
			exit_of(pid, pid, r->now);
		}
		sample(r, (uint32_t)getpid(), (uintptr_t)test_files + 4);
		r->now += 6 * SECOND;
		spool_ask(&r->sp, r->now);
		assert_int_equal(spool_step(&r->sp, r->now), 0);
		step_until_closed(r);
		/* That many may stay until one more segment has ended. */
		assert_true(pt->files.dsos.n <= 4096 + 200);
		most[i / 65] = MAX(most[i / 65], mallinfo2().uordblks);
		if (!i)
			fds = open_fds();
		assert_true(open_fds() <= fds + 2);
	}
	/* The table was full in both halves. */
	assert_true(most[1] <= most[0] + most[0] / 20);
	assert_int_equal(spool_finish(&r->sp, r->now, 0), 0);
	assert_int_equal(r->sp.files, 131);
	n = files(r, name, 8);
	assert_int_equal(n, 2);
	/* After all this forgetting, the rest is right. */
	read_file(name[0], 101);
	assert_true(self_id() && has_rows(self_id()));
	read_file(name[1], 0);
	rig_fini(r);
	for (size_t i = 0; i < n; i++)
		free(name[i]);
	rmdir(r->dir);
	free(r);
}

/* ---- the flight recorder ---- */

static void test_flight(void **state)
{
	const uint32_t self = (uint32_t)getpid();
	struct rig *r = calloc(1, sizeof(*r));
	size_t used = 0, n;
	uint64_t in_dump;
	char *name[8];
	struct child a;

	(void)state;
	r->o.overwrite = true;
	r->o.overwrite_ns = 8 * SECOND;
	rig_init(r);
	a = start(plain_child, NULL);
	sample(r, (uint32_t)a.pid, 0);
	/* One segment per second, ten samples each. */
	for (unsigned int i = 0; i < 400; i++) {
		for (unsigned int k = 0; k < 10; k++)
			sample(r, self, k ? (uintptr_t)test_files + i % 50 : 0);
		r->now += SECOND;
		assert_int_equal(spool_step(&r->sp, r->now), 0);
		assert_true(r->sp.nkept <= SPOOL_SEGMENTS + 1);
		if (i == 200)
			used = mallinfo2().uordblks;
	}
	assert_true(mallinfo2().uordblks <= used + used / 4);
	assert_int_equal(files(r, name, 8), 0);
	assert_true(access(r->file, F_OK));
	in_dump = 10 * r->sp.nkept;
	assert_true(in_dump >= 80);
	spool_ask(&r->sp, r->now);
	assert_true(spool_hurries(&r->sp));
	/* What came just before is still in the rings. */
	assert_int_equal(spool_step(&r->sp, r->now), 0);
	assert_null(r->sp.closing.out);
	r->now += DRAIN_GUARD_NS;
	assert_int_equal(spool_step(&r->sp, r->now), 0);
	assert_non_null(r->sp.closing.out);
	assert_false(spool_hurries(&r->sp));
	/* Two requests while the first dump is being written give one more dump. */
	spool_ask(&r->sp, r->now);
	spool_ask(&r->sp, r->now);
	step_until_closed(r);
	r->now += DRAIN_GUARD_NS;
	assert_int_equal(spool_step(&r->sp, r->now), 0);
	step_until_closed(r);
	for (unsigned int k = 0; k < 5; k++)
		sample(r, self, (uintptr_t)test_flight + 4);
	assert_int_equal(spool_finish(&r->sp, r->now, 0), 0);
	n = files(r, name, 8);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		read_file(name[i], in_dump);
		/* The ended process is in no dump: its segment is long gone. */
		for (uint32_t k = 0; k < got.nproc; k++)
			assert_int_equal(got.proc[k].pid, self);
		assert_true(self_id() && has_rows(self_id()));
		free(name[i]);
	}
	read_file(r->file, in_dump + 5);
	stop_child(&a);
	rig_fini(r);
	assert_int_equal(rmdir(r->dir), 0);
	free(r);
}

/* More than fits: the oldest segments are dropped, long before they are old. */
static void test_flight_bounded(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	uint64_t chain[1000] = { (uint64_t)-512 }, x = 1;
	struct sample_in s = { .chain = chain, .nchain = 1000, .pid = 0, .tid = 0 };
	char *name[8];
	uint64_t most = 0;

	(void)state;
	r->o.overwrite = true;
	r->o.overwrite_ns = 3600 * SECOND;
	rig_init(r);
	for (unsigned int i = 0; i < 6000; i++) {
		/* Incompressible data. */
		for (unsigned int k = 1; k < 1000; k++)
			chain[k] = random_next(&x);
		s.time = r->now += 1000;
		proctab_sampled(pt, 0, 0, s.time);
		/* -EAGAIN: the thread lags behind, and a recorder would drop the sample. */
		while (rec_writer_sample(w, &s) == -EAGAIN)
			nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
		assert_int_equal(spool_step(&r->sp, r->now), 0);
		most = rec_writer_bytes(w) > most ? rec_writer_bytes(w) : most;
	}
	assert_true(most > SPOOL_BYTES / 2);
	/* One segment more, plus what is on its way to the thread. */
	assert_true(most < SPOOL_BYTES + SPOOL_BYTES / SPOOL_SEGMENTS + (8u << 20));
	assert_int_equal(files(r, name, 8), 0);
	rig_fini(r);
	assert_int_equal(rmdir(r->dir), 0);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_lists),
		T(test_files),
		T(test_files_add_up_to_nothing),
		T(test_flight),
		T(test_flight_bounded),
	};

	log_set_verbosity(-1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
