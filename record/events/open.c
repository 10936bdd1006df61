#include "events/open.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "event.h"
#include "events/cgroup_perf.h"
#include "events/event_attr.h"
#include "events/perf_layout.h"
#include "events/perm.h"
#include "events/refusal.h"
#include "events/ringplan.h"

/* halving ends here: a smaller ring would not hold even one large sample */
#define RING_FLOOR (64u << 10)
#define SIDE_TASKS (256u << 10)
/*
 * Events of cgroups cost opening, closing, a descriptor and some work at each switch between them,
 * but avoid samples of everything else. Beyond this number they cost more than they save.
 */
#define CGROUP_EVENTS_MAX 100u
#define SEPARATE_MAX 1024ull	/* descriptors; see wants_shared_side() */
#define OPEN_ROUNDS 20		/* see open_whole() */

static const struct {
	uint32_t feat;
	const char *what;
} feat_names[] = {
	{ FEAT_FORMAT_LOST, "its own count of lost samples" },
	{ FEAT_SAMPLE_CGROUP, "cgroup ids in samples" },
	{ FEAT_EXCLUDE_GUEST, "the exclusion of guests" },
	{ FEAT_CGROUP, "cgroup names" },
	{ FEAT_KSYMBOL, "names of BPF programs" },
	{ FEAT_NAMESPACES, "namespaces of processes (or the right to see them)" },
};

/* Opens the first sampling event. Fallbacks are chosen here and hold for all others. */
static int open_first(struct events *ev, int pid, int cpu, unsigned long flags)
{
	bool tried = false;
	int err = 0, fd;

	for (;;) {
		fd = event_open_probing(ev, EVENT_SAMPLES, pid, cpu, flags);
		if (fd >= 0) {
			ev->narrowed |= tried;
			return fd;
		}
		if (evsel_fall_back(&ev->sel, fd)) {
			ev->wanted_err = fd;
			continue;
		}
		if ((fd != -EACCES && fd != -EPERM) || tried || ev->sel.exclude_kernel ||
		    ev->sel.exclude_user || perm_capable())
			return err ? err : fd;
		/*
		 * Recording the kernel may be what is forbidden. If not, the first error is the
		 * true one.
		 */
		err = fd;
		tried = true;
		ev->sel.exclude_kernel = true;
	}
}

static void add_fd(struct event_fd **arr, size_t *n, size_t *cap, int fd, uint32_t cpu, uint64_t cgroup)
{
	XGROW(*arr, *n, *cap);
	(*arr)[(*n)++] = (struct event_fd){ fd, cpu, cgroup };
}

static void close_fds(struct event_fd *fds, size_t *n)
{
	while (*n)
		close(fds[--*n].fd);
}

static uint64_t fds_needed(const struct events *ev)
{
	const struct target *t = ev->target;
	const uint64_t many = target_is_tasks(t) ? t->ntids : 1;
	const uint64_t samples = t->kind == TARGET_CGROUPS ? t->cgroups.n : many;

	return samples * t->ncpus + (ev->shared_side ? 0 : many * t->nall);
}

/*
 * Two events per thread and CPU keep samples from pushing out mappings, but are twice what perf
 * opens. If that exceeds the usual limit of a process, or ours, one event does both. It reports
 * nothing while it is disabled.
 */
static bool wants_shared_side(const struct events *ev)
{
	const struct record_opts *o = ev->opts;

	return target_is_tasks(ev->target) && ev->target->kind != TARGET_COMMAND && !o->start_off && !o->control &&
	       fds_needed(ev) > MIN(SEPARATE_MAX, perm_files_left());
}

/* Opens the sampling events for cgroup @cg, or if it is NULL for thread @pid or everything (-1). */
static int open_samples(struct events *ev, int pid, const struct cgroup *cg)
{
	const unsigned long flags = cg ? PERF_FLAG_PID_CGROUP : 0;
	const struct target *t = ev->target;

	if (cg)
		pid = cg->fd;

	for (uint32_t c = 0; c < t->ncpus; c++) {
		int fd;

		if (!ev->nsamples)
			fd = open_first(ev, pid, (int)t->cpus[c], flags);
		else
			fd = event_open(ev, EVENT_SAMPLES, pid, (int)t->cpus[c], flags);
		/*
		 * A thread may end while its process is being opened; the caller notices if none is
		 * left.
		 */
		if (fd == -ESRCH && t->kind == TARGET_PIDS)
			return 0;
		if (fd < 0) {
			if (cg)
				refusal_explain_cgroup(fd, &ev->sel, t, cg, t->cpus[c], fds_needed(ev));
			else
				refusal_explain(fd, &ev->sel, t, target_is_tasks(t) ? pid : -1, t->cpus[c], fds_needed(ev));
			return fd;
		}
		add_fd(&ev->samples, &ev->nsamples, &ev->cap_samples, fd, c, cg ? cg->id : 0);
	}
	return 0;
}

static int open_sides(struct events *ev, int pid)
{
	const struct target *t = ev->target;

	for (uint32_t c = 0; c < t->nall; c++) {
		int fd = (ev->nsides ? event_open : event_open_probing)(ev, EVENT_SIDE, pid, (int)t->cpus[c], 0);

		if (fd == -ESRCH)
			return 0;
		if (fd == -EMFILE || fd == -ENFILE) {
			refusal_explain(fd, &ev->sel, t, pid, t->cpus[c], fds_needed(ev));
			return fd;
		}
		if (fd < 0) {
			ev->side_err = fd;
			return 0;
		}
		add_fd(&ev->sides, &ev->nsides, &ev->cap_sides, fd, c, 0);
	}
	return 0;
}

/* Opens one event per CPU for all cgroups, if samples contain their cgroup. */
static int open_for_many_cgroups(struct events *ev)
{
	int err = open_samples(ev, -1, NULL);

	ev->by_cgroup_id = !err && ev->feats & FEAT_SAMPLE_CGROUP;
	if (!err && !ev->by_cgroup_id)
		close_fds(ev->samples, &ev->nsamples);
	return err;
}

static int open_all(struct events *ev)
{
	const struct target *t = ev->target;
	int err = 0;

	if (!target_is_tasks(t)) {
		err = open_sides(ev, -1);
		if (!err && t->kind == TARGET_ALL)
			return open_samples(ev, -1, NULL);
		if (!err && t->cgroups.n > CGROUP_EVENTS_MAX && ev->reach == CGROUP_REACH_ALL)
			err = open_for_many_cgroups(ev);
		if (err || ev->by_cgroup_id)
			return err;
		for (size_t i = 0; i < t->cgroups.n && !err; i++)
			err = open_samples(ev, -1, &t->cgroups.v[i]);
		return err;
	}
	for (size_t i = 0; i < t->ntids; i++) {
		/* Side-band first: no sample may precede the reporting of mappings. */
		if (!ev->side_err && !ev->shared_side)
			err = open_sides(ev, (int)t->tids[i]);
		if (!err)
			err = open_samples(ev, (int)t->tids[i], NULL);
		if (err)
			return err;
	}
	if (!ev->nsamples) {
		refusal_explain(-ESRCH, &ev->sel, t, t->npids == 1 ? (int)t->pids[0] : -1, 0, 0);
		return -ESRCH;
	}
	return 0;
}

/* The first event on each CPU owns its ring; the others are redirected to it. */
static int map_rings(struct event_fd *fds, size_t n, struct ring *rings, size_t bytes,
		     bool sideband)
{
	for (size_t i = 0; i < n; i++) {
		struct ring *r = &rings[fds[i].cpu];
		int err = 0;

		if (!r->page)
			err = ring_map(r, fds[i].fd, bytes, sideband);
		else if (ioctl(fds[i].fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd))
			err = -errno;
		if (err)
			return err;
	}
	return 0;
}

static void close_all(struct events *ev)
{
	for (size_t c = 0; c < ev->target->ncpus; c++)
		ring_unmap(&ev->data[c]);
	for (size_t c = 0; c < ev->target->nall; c++)
		ring_unmap(&ev->side[c]);
	close_fds(ev->samples, &ev->nsamples);
	close_fds(ev->sides, &ev->nsides);
}

/*
 * A thread has events if it was listed, or if its creator had an event when it started. A thread
 * that starts between the listing and its creator's event has none, and a new listing does not
 * distinguish it from threads that have events. So open everything again until no thread was
 * started meanwhile.
 */
static int open_whole(struct events *ev)
{
	int err = 0;

	for (int round = 0; round < OPEN_ROUNDS; round++) {
		close_all(ev);
		ev->shared_side = wants_shared_side(ev);
		err = open_all(ev);
		ev->missed = err ? 0 : target_threads_again(ev->target);
		if (!ev->missed)
			break;
	}
	return err;
}

static uint64_t real_period(const struct events *ev)
{
	const uint64_t asked = ev->sel.period;

	return asked && evsel_is_clock(&ev->sel) ? MAX(asked, CLOCK_PERIOD_MIN) : asked;
}

static uint64_t ram_bytes(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t plan_ring(const struct events *ev)
{
	return ringplan_bytes(events_rate(ev), ev->record_bytes, ev->target->ncpus, ram_bytes());
}

static uint64_t plan_record(const struct record_opts *o)
{
	uint64_t bytes = 512;	/* fixed fields, registers, a kernel chain of some depth */

	if (o->callgraph == CALLGRAPH_DWARF)
		bytes += o->dump_size;
	else if (o->callgraph == CALLGRAPH_FP)
		bytes += 1024;	/* at most 127 user frames */
	return MIN(bytes, LAYOUT_RECORD_MAX - 8);
}

/*
 * Chooses the next smaller plan after the kernel refused to map the rings. False: it cannot shrink
 * further.
 */
static bool shrink(struct events *ev)
{
	if (ev->opts->ring_bytes)
		return false;
	if (ev->side_bytes > SIDE_MIN)
		ev->side_bytes = SIDE_MIN;
	else if (ev->data_bytes > 2 * RING_FLOOR || (ev->data_bytes > RING_FLOOR &&
						ev->side_bytes <= RING_FLOOR))
		ev->data_bytes /= 2;
	else if (ev->side_bytes > RING_FLOOR)
		ev->side_bytes /= 2;
	else
		return false;
	return true;
}

static void explain_map(const struct events *ev, int err)
{
	pr_err("cannot map rings of %llu KiB for %zu CPU%s: %s: kernel.perf_event_mlock_kb is %ld; "
	       "use a smaller -m, or raise it or 'ulimit -l', or run as root",
	       (unsigned long long)ev->data_bytes / 1024, ev->target->ncpus, plural(ev->target->ncpus), strerror(-err),
	       perm_sysctl("perf_event_mlock_kb", 516));
}

/*
 * The rings hold less than they should, because memory or the amount that may be locked is limited.
 */
static void tell_ring_time(const struct events *ev, uint64_t ms)
{
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	const bool locked = ev->data_bytes < plan_ring(ev);

	say = ms < RING_MS_SCARCE ? pr_warn : pr_info;
	say("rings hold %llu ms of samples instead of %d (%llu KiB on %s%zu CPU%s, %s)%s",
	    (unsigned long long)ms, RING_MS, (unsigned long long)ev->data_bytes / 1024,
	    plural_of(ev->target->ncpus, "", "each of "), ev->target->ncpus, plural(ev->target->ncpus),
	    locked ? "kernel.perf_event_mlock_kb and 'ulimit -l' allow no more"
		   : "the memory for all rings is limited",
	    ms >= RING_MS_SCARCE ? ""
	    : locked		 ? ": samples may be lost; raise them, or lower -F or --call-graph dwarf,SIZE"
				 : ": samples may be lost; lower -F or --call-graph dwarf,SIZE, or use -m");
}

void events_tell(const struct events *ev)
{
	uint64_t ms = events_ring_ms(ev);

	if (ev->wanted != ev->sel.name)
		pr_info("no hardware counter for '%s' on this machine, recording '%s'", ev->wanted,
			ev->sel.name);
	if (ev->period != ev->sel.period)
		pr_warn("the kernel's clocks have no period below %u ns: recording one sample every %u ns, not %llu",
			CLOCK_PERIOD_MIN, CLOCK_PERIOD_MIN, (unsigned long long)ev->sel.period);
	if (ev->narrowed)
		pr_info("recording user space only: kernel.perf_event_paranoid is %d and "
			"CAP_PERFMON is missing", perm_paranoid());
	if (ev->side_err)
		pr_warn("mappings are not traced (%s): processes that start from now on may lack "
			"names", strerror(-ev->side_err));
	if (ev->missed)
		pr_warn("%zu thread%s began while nsprof attached to the process: samples of %s and of threads %s may be missing; -G and --container miss none",
			ev->missed, plural(ev->missed), plural_of(ev->missed, "it", "them"), plural_of(ev->missed, "it starts", "they start"));
	if (ev->shared_side)
		pr_verbose("%zu threads: one event per thread and CPU records both samples and mappings", ev->target->ntids);
	pr_verbose("rings of %llu KiB (%llu ms) and %llu KiB for mappings on %s%zu CPU%s",
		   (unsigned long long)ev->data_bytes / 1024, (unsigned long long)ms,
		   (unsigned long long)ev->side_bytes / 1024, plural_of(ev->target->ncpus, "", "each of "), ev->target->ncpus,
		   plural(ev->target->ncpus));
	if (ev->data_bytes <= ev->record_bytes)
		pr_warn("a ring of %llu KiB does not hold one sample of up to %llu KiB: such samples will "
			"be lost; use a larger -m or a smaller --call-graph dwarf,SIZE",
			(unsigned long long)ev->data_bytes / 1024,
			(unsigned long long)(ev->record_bytes + 1023) / 1024);
	else if (ms < RING_MS && !ev->opts->ring_bytes)
		tell_ring_time(ev, ms);
	for (size_t i = 0; i < ARRAY_SIZE(feat_names); i++)
		if (!(ev->feats & feat_names[i].feat))
			pr_verbose("the kernel lacks %s", feat_names[i].what);
}

int events_open(struct events *ev, const struct record_opts *o, struct target *t,
		const struct evsel *sel, bool on_exec)
{
	int err;

	memset(ev, 0, sizeof(*ev));
	ev->sel = *sel;
	ev->wanted = sel->name;
	ev->target = t;
	ev->opts = o;
	ev->on_exec = on_exec;
	ev->feats = FEATS_ALL;
	/* Needed for cgroup ids in samples; without a hierarchy there are no names. */
	if (t->fs.fd >= 0 || !cgroup_fs_open(&t->fs))
		ev->reach = cgroup_perf_reach(&t->fs);
	ev->freq = events_clamp_freq(sel);
	ev->period = real_period(ev);
	ev->data = xcalloc(t->ncpus, sizeof(*ev->data));
	ev->side = xcalloc(t->nall, sizeof(*ev->side));
	ev->closed = xcalloc(t->nall, sizeof(*ev->closed));
	ev->record_bytes = plan_record(o);
	ev->data_bytes = o->ring_bytes ? o->ring_bytes : plan_ring(ev);
	ev->side_bytes = target_is_tasks(t) ? SIDE_TASKS : ringplan_side(t->nall, ram_bytes());
	perm_raise_nofile();
	for (;;) {
		err = open_whole(ev);
		if (err)
			return err;
		/* The event may have become a clock. */
		ev->period = real_period(ev);
		err = map_rings(ev->samples, ev->nsamples, ev->data, ev->data_bytes, false);
		if (!err)
			err = map_rings(ev->sides, ev->nsides, ev->side, ev->side_bytes, true);
		if (!err)
			break;
		ev->map_err = err;
		/* The watermark is part of the event, so a smaller ring requires new events. */
		if ((err != -EPERM && err != -ENOMEM) || !shrink(ev)) {
			explain_map(ev, err);
			return err;
		}
		close_all(ev);
	}
	return 0;
}

void events_close(struct events *ev)
{
	if (!ev->data)
		return;
	close_all(ev);
	free(ev->samples);
	free(ev->sides);
	free(ev->closed);
	free(ev->data);
	free(ev->side);
}

/* Opens one more event for a CPU that already has a ring. @cg: NULL = everything. */
static int add_one(struct events *ev, enum event_kind kind, const struct cgroup *cg, uint32_t c)
{
	const struct ring *r = kind == EVENT_SIDE ? &ev->side[c] : &ev->data[c];
	int fd, err;

	fd = event_open(ev, kind, cg ? cg->fd : -1, (int)ev->target->cpus[c], cg ? PERF_FLAG_PID_CGROUP : 0);
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd)) {
		err = -errno;
		close(fd);
		return err;
	}
	if (kind == EVENT_SIDE)
		add_fd(&ev->sides, &ev->nsides, &ev->cap_sides, fd, c, 0);
	else
		add_fd(&ev->samples, &ev->nsamples, &ev->cap_samples, fd, c, cg ? cg->id : 0);
	return 0;
}

static void enable_from(struct events *ev, size_t first)
{
	for (size_t i = first; i < ev->nsamples; i++)
		ioctl(ev->samples[i].fd, PERF_EVENT_IOC_ENABLE, 0);
}

/* The old events stay: they own the rings, and their counts are still needed. */
int events_reopen_cpu(struct events *ev, uint32_t c, bool enable)
{
	const struct target *t = ev->target;
	size_t first = ev->nsamples;
	int err = 0;

	ev->clamped = 0;
	if (ev->side[c].page)
		err = add_one(ev, EVENT_SIDE, NULL, c);
	if (c >= t->ncpus)
		return err;
	if (!err && (t->kind == TARGET_ALL || ev->by_cgroup_id))
		err = add_one(ev, EVENT_SAMPLES, NULL, c);
	else
		for (size_t i = 0; i < t->cgroups.n && !err; i++) {
			err = add_one(ev, EVENT_SAMPLES, &t->cgroups.v[i], c);
			/* This cgroup was removed. The others still exist. */
			if (err == -ENOENT)
				err = 0;
		}
	if (enable)
		enable_from(ev, first);
	return err;
}

int events_add_cgroup(struct events *ev, const struct cgroup *cg, bool enable)
{
	size_t first = ev->nsamples;
	int err = 0;

	ev->clamped = 0;
	if (ev->by_cgroup_id)
		return 0;
	for (uint32_t c = 0; c < ev->target->ncpus && !err; c++) {
		err = add_one(ev, EVENT_SAMPLES, cg, c);
		/* The CPU is offline. events_reopen_cpu() will add it. */
		if (err == -ENODEV)
			err = 0;
	}
	while (err && ev->nsamples > first)
		close(ev->samples[--ev->nsamples].fd);
	if (enable)
		enable_from(ev, first);
	return err;
}

void events_enable(struct events *ev)
{
	enable_from(ev, 0);
}

void events_pause(struct events *ev)
{
	for (size_t i = 0; i < ev->nsamples; i++)
		ioctl(ev->samples[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* Disables side-band, too: otherwise the last drain would never end on a busy host. */
void events_disable(struct events *ev)
{
	events_pause(ev);
	for (size_t i = 0; i < ev->nsides; i++)
		ioctl(ev->sides[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

bool events_all_gone(struct events *ev)
{
	if (!target_is_tasks(ev->target))
		return false;
	/*
	 * perf_poll() reports POLLHUP for good once the task and all inherited events have ended.
	 */
	while (ev->alive < ev->nsamples) {
		struct pollfd p = { ev->samples[ev->alive].fd, 0, 0 };

		if (poll(&p, 1, 0) < 0 || !(p.revents & POLLHUP))
			return false;
		ev->alive++;
	}
	return true;
}

/* The result of read(2) on an event with our read_format. */
struct read_values {
	uint64_t count, enabled, running;
	uint64_t lost;		/* with FEAT_FORMAT_LOST only */
};

static bool read_event(const struct events *ev, int fd, struct read_values *v)
{
	size_t want = ev->feats & FEAT_FORMAT_LOST ? sizeof(*v) : sizeof(*v) - sizeof(v->lost);

	memset(v, 0, sizeof(*v));
	return read(fd, v, want) == (ssize_t)want;
}

static bool count_event(const struct events *ev, int fd, struct events_count *c)
{
	struct read_values v;
	bool ok = read_event(ev, fd, &v);

	c->count += v.count;
	c->enabled += v.enabled;
	c->running += v.running;
	c->lost += v.lost;
	return ok;
}

void events_drop_cgroup(struct events *ev, uint64_t id)
{
	size_t kept = 0;

	for (size_t i = 0; i < ev->nsamples; i++) {
		const struct event_fd e = ev->samples[i];

		if (e.cgroup != id || e.fd == ev->data[e.cpu].fd) {
			ev->samples[kept++] = e;
			continue;
		}
		count_event(ev, e.fd, &ev->closed[e.cpu]);
		close(e.fd);
	}
	ev->nsamples = kept;
}

/*
 * perf_read_value() adds up the living children and what ended ones left (sync_child_event()).
 * Their losses are counted at the parent from the start: __perf_output_begin() in
 * kernel/events/ring_buffer.c.
 */
bool events_counts(const struct events *ev, struct events_count *cpus)
{
	struct read_values v;
	bool all = true;

	if (ev->target->nall)
		memcpy(cpus, ev->closed, ev->target->nall * sizeof(*cpus));
	for (size_t i = 0; i < ev->nsamples; i++) {
		struct events_count *c = &cpus[ev->samples[i].cpu];

		c->events++;
		all &= count_event(ev, ev->samples[i].fd, c);
	}
	for (size_t i = 0; i < ev->nsides; i++)
		if (read_event(ev, ev->sides[i].fd, &v))
			cpus[ev->sides[i].cpu].side_lost += v.lost;
	return all;
}
