/* Layout: Documentation/scheduler/sched-stats.rst, "/proc/<pid>/schedstat". */
#include "run/sched_times.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/opener.h"
#include "host/procfs.h"
#include "sink/sink_switches.h"

/* Room for three numbers, or for the fields of /proc/PID/stat up to the start time. */
#define TEXT_MAX 512

/* For the times of all threads when a segment ends: at once, and the share of the segment in CPU time. */
#define CUT_SLICE_NS 5000000ull
#define CUT_SHARE 50
/* A CPU on which only one thread runs may have one tick in this time (CONFIG_NO_HZ_FULL). */
#define IDLE_NS 2000000000ull

void sched_times_init(struct sched_times *st, struct sink *sink, const struct target *target, bool off)
{
	*st = (struct sched_times){ .sink = sink, .target = target, .prev_at = U64MAP_INIT };
	sink->sums.start = rec_writer_start(sink->w);
	if (off)
		sched_times_toggle(st, false, sink->sums.start);
}

void sched_times_fini(struct sched_times *st)
{
	free(st->v);
	free(st->threads);
	free(st->last);
	free(st->prev);
	u64map_fini(&st->prev_at);
	free(st->resumed);
}

static bool read_text(int procfd, const char *name, char text[TEXT_MAX])
{
	int fd = nsopen_process_file(procfd, name);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, TEXT_MAX - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool read_thread(int procfd, uint32_t pid, uint32_t tid, struct ev_schedstat *ev)
{
	char name[48], text[TEXT_MAX];

	snprintf(name, sizeof(name), "task/%" PRIu32 "/schedstat", tid);
	*ev = (struct ev_schedstat){ .pid = pid, .tid = tid };
	if (!read_text(procfd, name, text))
		return false;
	ev->time = clock_mono_ns();
	return sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ev->run_ns, &ev->wait_ns, &ev->slices) == 3;
}

void sched_times_read(uint32_t pid, struct ev_schedstat *ev)
{
	const int procfd = nsopen_process(pid);

	if (procfd < 0 || !read_thread(procfd, pid, pid, ev))
		*ev = (struct ev_schedstat){ 0 };
	if (procfd >= 0)
		close(procfd);
}

static int cmp_u32(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_recorded(const struct sched_times *st, uint32_t tid)
{
	const struct target *t = st->target;

	return t->kind != TARGET_TIDS || bsearch(&tid, t->tids, t->ntids, sizeof(tid), cmp_u32);
}

static void keep(struct sched_times *st, const struct ev_schedstat *ev)
{
	struct ev_schedstat *v;

	XGROW(st->v, st->n, st->cap);
	v = &st->v[st->n++];
	*v = *ev;
	if (st->before.tid != ev->tid)
		return;
	v->run_ns -= MIN(v->run_ns, st->before.run_ns);
	v->wait_ns -= MIN(v->wait_ns, st->before.wait_ns);
	v->slices -= MIN(v->slices, st->before.slices);
}

/* Has it ended, and only waits for its parent to look? Threads other than the first one do not wait. */
static bool has_ended(int procfd, uint32_t pid, uint32_t tid)
{
	char text[TEXT_MAX];

	return pid == tid && read_text(procfd, "stat", text) && !procfs_stat_running(text);
}

static void begin_thread(struct sched_times *st, int procfd, uint32_t pid, uint32_t tid)
{
	struct ev_schedstat ev;

	if (!is_recorded(st, tid) || switch_threads_timed(&st->sink->threads, pid, tid) || !read_thread(procfd, pid, tid, &ev))
		return;
	/* It has just begun: its fork comes from the rings. */
	if ((!ev.run_ns && !ev.wait_ns && !ev.slices) || has_ended(procfd, pid, tid))
		return;
	switch_threads_found(&st->sink->threads, pid, tid);
	switch_sums_found(&st->sink->sums, pid, tid, ev.run_ns);
	if (st->sink->opts->wakeups)
		woken_threads_found(&st->sink->woken, pid, tid);
	keep(st, &ev);
}

/* The number that a folder of /proc is named after; 0: it is no process and no thread. */
static uint32_t number(const char *name)
{
	char *end;
	const unsigned long n = name[0] >= '1' && name[0] <= '9' ? strtoul(name, &end, 10) : 0;

	return n && !*end ? (uint32_t)n : 0;
}

/* Is it an opener of ours that is to be left out? One that has just begun is known by its parent only. */
static bool is_opener(const struct sched_times *st, int procfd)
{
	char text[TEXT_MAX];
	uint64_t ticks;
	uint32_t ppid;

	return st->sink->leave_own && read_text(procfd, "stat", text) && !procfs_stat_start(text, &ticks, &ppid) && opener_owns(ppid);
}

void sched_times_begin(struct sched_times *st, uint32_t pid)
{
	const int procfd = st->sink->threads.on && !sink_switches_own(st->sink, pid) ? nsopen_process(pid) : -1;
	const int fd = procfd < 0 || is_opener(st, procfd) ? -1 : nsopen_process_file(procfd, "task");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *de;

	while (dir && (de = readdir(dir)) && st->sink->threads.known.n < SWITCH_THREADS_MAX / 2)
		if (number(de->d_name))
			begin_thread(st, procfd, pid, number(de->d_name));
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	if (procfd >= 0)
		close(procfd);
}

static bool is_kthread(uint32_t pid)
{
	const int procfd = nsopen_process(pid);
	char text[TEXT_MAX];
	bool is;

	if (procfd < 0)
		return true;
	is = !read_text(procfd, "stat", text) || procfs_stat_kthread(text);
	close(procfd);
	return is;
}

void sched_times_all(void (*fn)(void *ctx, uint32_t pid), void *ctx)
{
	DIR *dir = opendir(nsopen_proc());
	const struct dirent *de;

	while (dir && (de = readdir(dir))) {
		const uint32_t pid = number(de->d_name);

		if (pid && !is_kthread(pid))
			fn(ctx, pid);
	}
	if (dir)
		closedir(dir);
}

/* Reads the times of all threads that live and whose first times are in the recording. */
static void read_known(struct sched_times *st)
{
	const uint64_t until = clock_mono_ns() + SCHED_TIMES_END_NS;
	const struct switch_threads *t = &st->sink->threads;
	struct ev_schedstat ev;
	uint64_t key, known;
	size_t it = 0;

	while (u64map_next(&t->known, &it, &key, &known) && clock_mono_ns() < until) {
		const int procfd = known ? nsopen_process((uint32_t)(key >> 32)) : -1;

		if (procfd < 0)
			continue;
		if (read_thread(procfd, (uint32_t)(key >> 32), (uint32_t)key, &ev)) {
			keep(st, &ev);
			switch_sums_read(&st->sink->sums, &ev);
		}
		close(procfd);
	}
}

void sched_times_end(struct sched_times *st)
{
	/* Otherwise they were read as it went off. */
	if (!st->off)
		read_known(st);
}

/* Its process, and with it the container, which readers know from its cgroup. */
static void tell(struct sink *sink, uint32_t pid, uint32_t tid, uint64_t time)
{
	uint64_t cgroup;

	proctab_waited(sink->pt, pid, tid, time);
	/* Any id but 0 asks for the one that the process was seen in. */
	cgroup = sink_cgroups_guess(&sink->cgroups, CGROUP_ROOT_ID, pid);
	if (cgroup)
		sink_cgroups_wanted(&sink->cgroups, cgroup, pid);
}

void sched_times_tell(struct sched_times *st)
{
	const uint64_t until = clock_mono_ns() + SCHED_TIMES_END_NS;
	const struct switch_threads *t = &st->sink->threads;
	uint64_t key, known;
	size_t it = 0;

	while (u64map_next(&t->known, &it, &key, &known) && clock_mono_ns() < until)
		tell(st->sink, (uint32_t)(key >> 32), (uint32_t)key, clock_mono_ns());
}

void sched_times_write(struct sched_times *st, uint64_t time)
{
	size_t done = 0;

	st->drained = time;
	while (done < st->n && st->v[done].time <= time)
		sink_written(st->sink, rec_writer_schedstat(st->sink->w, &st->v[done++]));
	st->n -= done;
	if (done && st->n)
		memmove(st->v, st->v + done, st->n * sizeof(*st->v));
}

/* ---- switched off and on ---- */

static void write_toggle(struct sched_times *st, uint64_t time)
{
	sink_written(st->sink, rec_writer_toggle(st->sink->w, &(struct ev_toggle){ .time = time, .on = !st->off }));
}

void sched_times_toggle(struct sched_times *st, bool on, uint64_t time)
{
	uint64_t key, known;
	size_t it = 0;

	if (!st->sink->threads.on || on == !st->off)
		return;
	st->off = !on;
	write_toggle(st, time);
	switch_sums_toggle(&st->sink->sums, on, time);
	/* Each file needs what its threads have from now on. */
	st->cutting = false;
	st->nprev = 0;
	u64map_clear(&st->prev_at);
	st->nresumed = st->resumed_at = 0;
	if (!on)
		read_known(st);
	while (on && u64map_next(&st->sink->threads.known, &it, &key, &known)) {
		if (!known)
			continue;
		XGROW(st->resumed, st->nresumed, st->resumed_cap);
		st->resumed[st->nresumed++] = key;
	}
}

static void begin_again(struct sched_times *st, uint64_t key)
{
	const uint32_t pid = (uint32_t)(key >> 32), tid = (uint32_t)key;
	const int procfd = u64map_get(&st->sink->threads.known, key) ? nsopen_process(pid) : -1;
	struct ev_schedstat ev;

	if (procfd < 0)
		return;
	if (read_thread(procfd, pid, tid, &ev) && (ev.run_ns || ev.wait_ns || ev.slices) && !has_ended(procfd, pid, tid)) {
		switch_sums_found(&st->sink->sums, pid, tid, ev.run_ns);
		keep(st, &ev);
	}
	close(procfd);
}

bool sched_times_resume(struct sched_times *st)
{
	const uint64_t until = clock_mono_ns() + CUT_SLICE_NS;

	while (st->resumed_at < st->nresumed && clock_mono_ns() < until)
		begin_again(st, st->resumed[st->resumed_at++]);
	return st->resumed_at < st->nresumed;
}

/* ---- the end of a segment ---- */

/* Lists the threads that switched at @since or later, or those that did not. */
static void list_threads(struct sched_times *st, uint64_t since, bool switched)
{
	const struct switch_threads *t = &st->sink->threads;
	uint64_t key, known;
	size_t it = 0;

	while (u64map_next(&t->known, &it, &key, &known)) {
		if ((switch_sums_since(&st->sink->sums, (uint32_t)(key >> 32), (uint32_t)key) >= since) != switched)
			continue;
		XGROW(st->threads, st->nthreads, st->threads_cap);
		st->threads[st->nthreads++] = key;
	}
}

static void begin_cut(struct sched_times *st, uint64_t since, uint64_t now)
{
	const uint64_t share = MAX((now - MIN(now, since)) / CUT_SHARE, CUT_SLICE_NS);

	st->cutting = true;
	st->nthreads = st->at = st->nlast = st->missing = 0;
	st->left_ns = st->nprev ? MIN(share, SCHED_TIMES_END_NS) : SCHED_TIMES_END_NS;
	list_threads(st, since, false);
	list_threads(st, since, true);
}

/* The times of the thread that are known from the segment before and still right; NULL: it has to be read. */
static const struct thread_times *known_times(const struct sched_times *st, uint64_t key, uint64_t now)
{
	const uint32_t pid = (uint32_t)(key >> 32), tid = (uint32_t)key;
	const uint64_t *at = u64map_get(&st->prev_at, key);
	const struct thread_times *t = at ? &st->prev[*at] : NULL;

	if (!t)
		return NULL;
	if (switch_sums_off(&st->sink->sums, pid, tid))
		return switch_sums_since(&st->sink->sums, pid, tid) < t->asked ? t : NULL;
	/* It never switched, and had not run. The kernel's account of one that runs may be old. */
	if (switch_sums_idle(&st->sink->sums, pid, tid, t->ev.run_ns))
		return !st->left_ns || now - MIN(now, t->asked) < IDLE_NS ? t : NULL;
	return NULL;
}

static void take_times(struct sched_times *st, const struct thread_times *t)
{
	XGROW(st->last, st->nlast, st->last_cap);
	st->last[st->nlast++] = *t;
	tell(st->sink, t->ev.pid, t->ev.tid, st->drained);
}

static void read_again(struct sched_times *st, uint64_t key, uint64_t now)
{
	const uint32_t pid = (uint32_t)(key >> 32), tid = (uint32_t)key;
	const int procfd = nsopen_process(pid);
	struct thread_times t = { .asked = now };

	if (procfd < 0)
		return;
	/* One that has never run begins with its first switch. */
	if (read_thread(procfd, pid, tid, &t.ev) && (t.ev.run_ns || t.ev.wait_ns || t.ev.slices)) {
		keep(st, &t.ev);
		t.ev = st->v[st->n - 1];
		take_times(st, &t);
	}
	close(procfd);
}

static void ask_thread(struct sched_times *st, uint64_t key, uint64_t now)
{
	const struct thread_times *known;
	struct thread_times t;

	if (!u64map_get(&st->sink->threads.known, key))
		return;
	if (st->off) {
		tell(st->sink, (uint32_t)(key >> 32), (uint32_t)key, st->drained);
		return;
	}
	known = known_times(st, key, now);
	if (known) {
		/* All that happened until then is written, so this may be, too. */
		t = *known;
		t.ev.time = st->drained;
		sink_written(st->sink, rec_writer_schedstat(st->sink->w, &t.ev));
		take_times(st, &t);
	} else if (st->left_ns) {
		read_again(st, key, now);
	} else {
		st->missing++;
	}
}

/* One slice of reading, or of what is left to do without it. */
static void ask_threads(struct sched_times *st)
{
	const uint64_t begin = clock_mono_ns(), from = clock_thread_ns();
	const bool reads = st->left_ns;
	uint64_t now = begin;

	while (st->at < st->nthreads && now < begin + CUT_SLICE_NS) {
		ask_thread(st, st->threads[st->at++], now);
		now = clock_mono_ns();
	}
	if (reads)
		st->left_ns -= MIN(st->left_ns, clock_thread_ns() - from);
}

bool sched_times_cut(struct sched_times *st, uint64_t since)
{
	if (!st->sink->threads.on)
		return true;
	if (!st->cutting)
		begin_cut(st, since, clock_mono_ns());
	ask_threads(st);
	if (st->at == st->nthreads && st->missing && !st->told) {
		pr_warn("%zu threads are too many to look at for each file: %zu may be missing in files where they only wait; use a longer time or size",
			st->nthreads, st->missing);
		st->told = true;
	}
	return st->at == st->nthreads && !st->n;
}

/* What was taken last is what is known when the next segment ends. */
static void turn_over(struct sched_times *st)
{
	struct thread_times *const v = st->prev;
	const size_t cap = st->prev_cap;

	st->prev = st->last;
	st->nprev = st->nlast;
	st->prev_cap = st->last_cap;
	st->last = v;
	st->nlast = 0;
	st->last_cap = cap;
	u64map_clear(&st->prev_at);
	for (size_t i = 0; i < st->nprev; i++)
		*u64map_put(&st->prev_at, switch_threads_key(st->prev[i].ev.pid, st->prev[i].ev.tid), NULL) = i;
}

void sched_times_again(struct sched_times *st, uint64_t now)
{
	if (st->off)
		write_toggle(st, now);
	for (size_t i = 0; i < st->nlast; i++) {
		struct ev_schedstat ev = st->last[i].ev;

		/* It may have ended since. */
		if (!u64map_get(&st->sink->threads.known, switch_threads_key(ev.pid, ev.tid)))
			continue;
		switch_threads_found(&st->sink->threads, ev.pid, ev.tid);
		ev.time = MAX(ev.time, now);
		sink_written(st->sink, rec_writer_schedstat(st->sink->w, &ev));
	}
	turn_over(st);
	st->cutting = false;
}
