/* A recording as rec_reader reads it: all passes. Switches and wake-ups become times of threads. */
#include "../mend.h"
#include "recording/cpu_times.h"
#include "recording/rec_reader.h"

static int sample(void *ctx, const struct ev_sample *ev)
{
	uint64_t val;

	(void)ctx;
	fuzz_read(ev->chain, ev->nchain * sizeof(*ev->chain));
	fuzz_read(ev->payload, ev->payload_len);
	for (uint64_t a = ev->stack.lo; a < ev->stack.hi; a += 8)
		stack_view_read(&ev->stack, a, &val);
	return 0;
}

static int comm(void *ctx, const struct ev_comm *ev) { (void)ctx; fuzz_read_text(ev->comm); return 0; }
static int map(void *ctx, const struct ev_mmap *ev) { (void)ctx; fuzz_read_text(ev->path); return 0; }
static int event(void *ctx, const struct ev_event *ev) { (void)ctx; fuzz_read_text(ev->name); fuzz_read_text(ev->fields); return 0; }
static int container(void *ctx, const struct ev_container *ev)
{
	(void)ctx;
	fuzz_read_text(ev->name);
	fuzz_read_text(ev->image);
	fuzz_read_text(ev->pod);
	return 0;
}

static int budget(void *ctx, const struct ev_budget *ev) { (void)ctx; fuzz_read_text(ev->cgroup); return 0; }
static int task_begins(void *ctx, const struct ev_task *ev) { cpu_times_fork(ctx, ev); return 0; }
static int task_ends(void *ctx, const struct ev_task *ev) { cpu_times_exit(ctx, ev); return 0; }
static int cpu_switch(void *ctx, const struct ev_switch *ev) { cpu_times_switch(ctx, ev); return 0; }
static int wakeup(void *ctx, const struct ev_wakeup *ev) { cpu_times_wakeup(ctx, ev); return 0; }
static int schedstat(void *ctx, const struct ev_schedstat *ev) { cpu_times_schedstat(ctx, ev); return 0; }
static int toggle(void *ctx, const struct ev_toggle *ev) { cpu_times_toggle(ctx, ev); return 0; }
static int capture(void *ctx, const struct capture *cap) { (void)ctx; fuzz_read(cap->data, cap->packed ? cap->packed : cap->size); return 0; }
static int tally(void *ctx, const struct ev_tally *row) { (void)ctx; (void)row; return 0; }
static int counts(void *ctx, const struct ev_counts *row) { (void)ctx; (void)row; return 0; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct event_ops ops = {
		.sample = sample, .comm = comm, .mmap = map, .event = event,
		.container = container, .budget = budget, .fork = task_begins, .exit = task_ends,
		.cpu_switch = cpu_switch, .wakeup = wakeup, .schedstat = schedstat, .toggle = toggle,
	};
	static const struct cpu_times_ops none;
	uint8_t *copy = fuzz_copy(data, size);
	const char *key, *val;
	struct ev_ledger ledger;
	const struct cpu_thread *threads;
	struct cpu_times *times;
	struct rec_reader *r;
	uint64_t samples;
	size_t n;
	char path[32];
	size_t it = 0;
	int fd;

	mend(copy, size);
	fd = fuzz_file(copy, size, path);
	r = rec_reader_open(path);
	if (r) {
		while (rec_reader_info_next(r, &it, &key, &val))
			fuzz_read_text(val);
		rec_reader_parts(r, &samples);
		times = cpu_times_new(0, &none, NULL);
		rec_reader_events(r, &ops, times);
		cpu_times_end(times);
		threads = cpu_times_threads(times, &n);
		fuzz_read(threads, n * sizeof(*threads));
		cpu_times_free(times);
		rec_reader_captures(r, capture, NULL);
		rec_reader_captures_packed(r, capture, NULL);
		rec_reader_tally(r, tally, NULL);
		rec_reader_counts(r, counts, NULL);
		rec_reader_ledger(r, &ledger);
		rec_reader_check_whole(r);
		rec_reader_close(r);
	}
	close(fd);
	free(copy);
	return 0;
}
