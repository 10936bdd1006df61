/*
 * Recordings of random process lives, read by one thread and by several: all output must be equal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "collectrun.h"
#include "output/to_folded.h"
#include "recgen.h"
#include "recording/rec_writer.h"
#include "unwind/unwind.h"

#define BLOCKS 400	/* the writer starts a part at least every 64 blocks */
#define PIDS 6

struct world {
	struct rec_writer *w;
	struct gen g;		/* for its random numbers */
	uint64_t time;
	uint32_t serial;
	bool alive[PIDS];
	bool strangers;		/* also samples of processes without any event */
};

static uint32_t pid_of(uint32_t i)
{
	return 100 + i;
}

static void put_proc(struct world *w, uint32_t i, bool inherited)
{
	const struct ev_proc ev = {
		.time = w->time, .serial = ++w->serial, .pid = pid_of(i), .ppid = pid_of((i + 1) % PIDS),
		.start_ticks = w->serial, .comm = "told", .exe = "/bin/x", .root = "/", .cgroup = "/first",
		.maps_known = !inherited, .inherited = inherited,
	};

	assert_int_equal(rec_writer_proc(w->w, &ev), 0);
	w->alive[i] = true;
}

static void put_map(struct world *w, uint32_t i)
{
	static const char *const paths[] = { "//anon", "[heap]", "/bin/app", "/lib/other" };
	uint32_t kind = gen_below(&w->g, 4);
	const struct ev_mmap ev = {
		.time = w->time, .pid = pid_of(i), .tid = pid_of(i),
		.start = 0x400000 + 0x1000 * gen_below(&w->g, 4), .len = 0x2000, .prot = PROT_READ | PROT_EXEC,
		.flags = MAP_PRIVATE, .dso = kind < 2 ? 0 : kind, .path = paths[kind],
	};

	assert_int_equal(rec_writer_mmap(w->w, &ev), 0);
}

static void put_exec(struct world *w, uint32_t i)
{
	const struct ev_comm ev = {
		.time = w->time, .pid = pid_of(i), .tid = pid_of(i), .exec = true,
		.comm = gen_below(&w->g, 2) ? "one" : "two",
	};

	/* The recorder may have reported the present state already. */
	if (!gen_below(&w->g, 3))
		put_proc(w, i, false);
	assert_int_equal(rec_writer_comm(w->w, &ev), 0);
}

/* A name that comes late still applies to the process, for all its samples. */
static void put_rename(struct world *w, uint32_t i)
{
	const struct ev_comm ev = {
		.time = w->time, .pid = pid_of(i), .tid = pid_of(i), .comm = gen_below(&w->g, 2) ? "three" : "four",
	};

	if (w->alive[i] || w->strangers)
		assert_int_equal(rec_writer_comm(w->w, &ev), 0);
}

static void put_task(struct world *w, uint32_t i, bool fork)
{
	const struct ev_task ev = {
		.time = w->time, .pid = pid_of(i), .tid = pid_of(i), .ppid = pid_of((i + 1) % PIDS),
		.ptid = pid_of((i + 1) % PIDS),
	};

	w->alive[i] = fork;
	assert_int_equal((fork ? rec_writer_fork : rec_writer_exit)(w->w, &ev), 0);
}

/* In user space, or in the kernel with registers and a stack copy, or with an empty stack copy. */
static void put_sample(struct world *w, uint32_t i)
{
	uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010 };
	static struct stack_words sw = { .base = 0x7ffe0000 };
	struct sample_in s = {
		.time = w->time, .pid = pid_of(i), .tid = pid_of(i), .cpu = gen_below(&w->g, 2),
		.period = 1 + gen_below(&w->g, 100), .chain = chain, .nchain = 2,
	};
	uint64_t ip = 0x400000 + 0x800 * gen_below(&w->g, 12);

	if (w->g.nevents)
		s.event = gen_below(&w->g, w->g.nevents);

	if (!w->alive[i] && !w->strangers)
		return;
	if (gen_below(&w->g, 2)) {
		s.has_regs = true;
		s.regs[UREG_IP] = ip;
		s.regs[UREG_SP] = sw.base;
		sw.nwords = 4 * gen_below(&w->g, 2);
		s.stack = &sw;
	} else {
		chain[0] = (uint64_t)PERF_CONTEXT_USER;
		chain[1] = ip;
	}
	assert_int_equal(rec_writer_sample(w->w, &s), 0);
}

static void live(struct world *w)
{
	uint32_t i = gen_below(&w->g, PIDS);

	w->time += 1000 * gen_below(&w->g, 3);
	switch (gen_below(&w->g, 16)) {
	case 0:
		put_task(w, i, true);
		break;
	case 1:
		put_task(w, i, false);
		break;
	case 2:
		put_exec(w, i);
		break;
	case 3:
		put_proc(w, i, gen_below(&w->g, 2));
		break;
	case 4:
	case 5:
		put_map(w, i);
		break;
	case 6:
		put_rename(w, i);
		break;
	default:
		put_sample(w, i);
		break;
	}
}

/* Writes a recording of @nevents (0: one plain event) to file descriptor @fd. */
static void write_events(int fd, uint64_t seed, bool strangers, uint32_t nevents)
{
	struct world w = { .time = 1000000, .strangers = strangers };
	const struct ev_ledger led = { 0 };
	uint64_t tick = 1;

	gen_init(&w.g, seed, 1, 8);
	w.g.nevents = nevents;
	w.g.no_waits = true;
	w.w = gen_writer(&w.g, fd);
	for (uint32_t id = 2; id < 4; id++) {
		const struct ev_dso ev = { .id = id, .path = "/nowhere", .ino = id, .dev_major = 8 };

		assert_int_equal(rec_writer_dso(w.w, &ev), 0);
	}
	for (uint32_t i = 0; i < PIDS; i++)
		put_proc(&w, i, false);
	for (int block = 0; block < BLOCKS; block++) {
		for (uint32_t n = gen_below(&w.g, 40); n; n--)
			live(&w);
		while (rec_writer_fill(w.w) > 50)
			usleep(100);
		/* The second tick ends the block because of its age. */
		for (int k = 0; k < 2; k++)
			assert_int_equal(rec_writer_tick(w.w, tick += 1000000000), 0);
	}
	assert_int_equal(rec_writer_ledger(w.w, &led), 0);
	assert_int_equal(rec_writer_finish(w.w), 0);
	rec_writer_free(w.w);
	gen_fini(&w.g);
}

static void write_world(int fd, uint64_t seed, bool strangers)
{
	write_events(fd, seed, strangers, 0);
}

static uint32_t told_event = REC_EVENTS_ALL;

/*
 * The complete output for the recording @path, except for what @filter leaves out (NULL: nothing),
 * when @threads threads read it. Owned.
 */
static char *told(const char *path, struct filter *filter, unsigned int threads, uint32_t *parts)
{
	static const struct naming_opts nopts = { .annotate = true, .offsets = true };
	struct collect_opts copts = {
		.filter = filter,
		.lead = { .by = { LEAD_THREAD, LEAD_PROCESS }, .n = 2 }, .unwinder = &unwind_cached, .max_stack = 100,
	};
	const struct rec_damage *d;
	struct collect_run run;
	struct collect *col = &run.col;
	uint64_t samples;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	collect_run_open(&run, path);
	if (!run.events.plain) {
		copts.lead = (struct lead){ .by = { LEAD_EVENT, LEAD_THREAD, LEAD_PROCESS }, .n = 3 };
		copts.events = &run.events;
		copts.event = told_event;
	}
	if (filter)
		filter->start = rec_reader_start(run.r);
	*parts = rec_reader_parts(run.r, &samples);
	collect_run_all(&run, &copts, threads, &nopts);
	fold_write(to, &col->tree, &run.nm, FOLD_PERIOD);
	d = rec_reader_damage(run.r);
	fprintf(to, "%" PRIu64 " samples, %zu addresses; %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		col->samples, filter ? 0 : col->locs.n, d->cut, d->cut_at, d->bad_blocks, d->first_bad, d->lost_samples);
	for (int e = 0; e < UNWIND_END_MAX; e++) {
		fprintf(to, "%" PRIu64 ":", col->verdicts[e]);
		for (uint64_t id = 1; id < 4; id++) {
			uint64_t *n = u64map_get(&col->ended_in, id << 8 | (uint64_t)e);

			fprintf(to, " %" PRIu64, n ? *n : 0);
		}
		fprintf(to, "\n");
	}
	for (int i = 0; i < NAME_SOURCE_MAX; i++)
		fprintf(to, "%" PRIu64 "\n", run.nm.by_source[i]);
	for (int k = 0; k < FILTER_KEYS; k++)
		fprintf(to, "%" PRIu64 " by %s\n", col->leftout.by_key[k], filter_key_name((enum filter_key)k));
	assert_int_equal(col->seen, col->samples + filtered_out_samples(&col->leftout));
	fclose(to);
	collect_run_close(&run);
	return text;
}

/* The lines of @text that contain @with, concatenated. Owned. */
static char *lines_with(const char *text, const char *with)
{
	char *copy = strdup(text), *out = calloc(1, strlen(text) + 1), *rest = copy, *line;

	while ((line = strsep(&rest, "\n"))) {
		if (!strstr(line, with))
			continue;
		strcat(out, line);
		strcat(out, "\n");
	}
	free(copy);
	return out;
}

/* A filter for one process leaves the lines of that process, however many threads read. */
static void check_filters(const char *path)
{
	static const unsigned int threads[] = { 1, 2, 5 };
	uint32_t parts;
	char *all = told(path, NULL, 1, &parts);

	for (uint32_t i = 0; i < PIDS; i++) {
		char cond[16], with[16], *want;
		struct filter f = { 0 };

		snprintf(cond, sizeof(cond), "pid=%u", pid_of(i));
		snprintf(with, sizeof(with), "-%u/%u;", pid_of(i), pid_of(i));
		want = lines_with(all, with);
		assert_true(want[0]);
		assert_int_equal(filter_add(&f, cond), 0);
		for (size_t k = 0; k < 3; k++) {
			char *out = told(path, &f, threads[k], &parts), *got = lines_with(out, "/");

			assert_string_equal(got, want);
			free(got);
			free(out);
		}
		free(want);
		filter_fini(&f);
	}
	free(all);
}

static void check_equal(const char *path, uint32_t parts_min)
{
	static const unsigned int threads[] = { 2, 3, 8 };
	uint32_t parts;
	char *one = told(path, NULL, 1, &parts);

	assert_true(parts >= parts_min);
	for (size_t i = 0; i < 3; i++) {
		char *many = told(path, NULL, threads[i], &parts);

		assert_string_equal(many, one);
		free(many);
	}
	free(one);
}

static void test_whole(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		char path[32];
		int fd = gen_memfd(path);

		write_world(fd, seed, seed % 4 == 0);
		check_equal(path, 4);
		close(fd);
	}
}

/*
 * Several events: any number of threads tells the same, and one event alone has its own lines of what
 * is told of all.
 */
static void test_events(void **state)
{
	(void)state;
	for (uint64_t seed = 70; seed <= 75; seed++) {
		char path[32];
		int fd = gen_memfd(path);
		uint32_t parts;
		char *all;

		write_events(fd, seed, seed % 4 == 0, 3);
		check_equal(path, 4);
		all = told(path, NULL, 1, &parts);
		for (told_event = 0; told_event < 3; told_event++) {
			char with[16], *want, *one = told(path, NULL, 1 + told_event, &parts), *got = lines_with(one, "/");

			snprintf(with, sizeof(with), "event-%u;", told_event);
			want = lines_with(all, with);
			assert_true(*want);
			assert_string_equal(got, want);
			free(want);
			free(got);
			free(one);
		}
		told_event = REC_EVENTS_ALL;
		free(all);
		close(fd);
	}
}

static void test_filtered(void **state)
{
	(void)state;
	for (uint64_t seed = 50; seed <= 56; seed++) {
		static const char *const conds[] = {
			"comm=one", "comm=t*,time=0.0001-0.0045", "time=-0.002", "tid=103", "cgroup=/fi*", "comm=nobody",
		};
		char path[32];
		int fd = gen_memfd(path);

		write_world(fd, seed, seed % 4 == 0);
		check_filters(path);
		for (size_t i = 0; i < sizeof(conds) / sizeof(conds[0]); i++) {
			struct filter f = { 0 };
			uint32_t parts;
			char *one, *many;

			assert_int_equal(filter_add(&f, conds[i]), 0);
			one = told(path, &f, 1, &parts);
			many = told(path, &f, 4, &parts);
			assert_string_equal(many, one);
			free(one);
			free(many);
			filter_fini(&f);
		}
		close(fd);
	}
}

static void test_damaged(void **state)
{
	struct gen g;

	(void)state;
	log_set_verbosity(-1);
	gen_init(&g, 5, 1, 8);
	for (uint64_t seed = 100; seed < 120; seed++) {
		char path[32], byte;
		int fd = gen_memfd(path);
		off_t size;

		write_world(fd, seed, false);
		size = lseek(fd, 0, SEEK_END);
		for (uint32_t n = 1 + gen_below(&g, 4); n; n--) {
			off_t at = 64 + gen_below(&g, (uint32_t)size - 64);

			assert_int_equal(pread(fd, &byte, 1, at), 1);
			byte ^= (char)(1 + gen_below(&g, 255));
			assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		}
		if (seed % 3 == 0)
			assert_int_equal(ftruncate(fd, size - gen_below(&g, (uint32_t)size / 2)), 0);
		check_equal(path, 1);
		close(fd);
	}
	gen_fini(&g);
	log_set_verbosity(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_filtered),
		cmocka_unit_test(test_damaged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
