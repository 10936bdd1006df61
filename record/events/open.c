#include "events/open.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "event.h"
#include "events/cgroup_perf.h"
#include "events/event_attr.h"
#include "events/event_list.h"
#include "events/perf_layout.h"
#include "events/perm.h"
#include "events/refusal.h"
#include "events/ringplan.h"
#include "events/switch_events.h"
#include "events/wakeup_events.h"
#include "host/clock.h"

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

static bool fall_back(struct events *ev, struct rec_event *e, int err)
{
	struct evsel instead = e->sel;

	if (!evsel_fall_back(&instead, err) || event_list_has(ev, &instead))
		return false;
	e->sel = instead;
	e->wanted_err = err;
	return true;
}

/* Opens an event for the first time. Fallbacks are chosen here and hold for all others of it. */
static int open_first(struct events *ev, size_t event, const struct event_place *at)
{
	struct rec_event *e = &ev->v[event];
	bool tried = false;
	int err = 0, fd;

	for (;;) {
		fd = event_open_probing(ev, event, at);
		if (fd >= 0) {
			ev->narrowed |= tried;
			e->probed = true;
			return fd;
		}
		if (fall_back(ev, e, fd))
			continue;
		if ((fd != -EACCES && fd != -EPERM) || tried || e->sel.exclude_kernel ||
		    e->sel.exclude_user || e->sel.tracepoint || e->sel.waits || perm_capable())
			return err ? err : fd;
		/*
		 * Recording the kernel may be what is forbidden. If not, the first error is the
		 * true one.
		 */
		err = fd;
		tried = true;
		e->sel.exclude_kernel = true;
	}
}

static void add_fd(struct event_fd **arr, size_t *n, size_t *cap, const struct event_fd *e)
{
	XGROW(*arr, *n, *cap);
	(*arr)[(*n)++] = *e;
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

	return samples * (ev->n + (events_waits(ev) != SIZE_MAX)) * t->ncpus + (ev->shared_side ? 0 : many * t->nall) +
	       (ev->wakeup_source.id ? t->nall : 0);
}

/*
 * Two events per thread and CPU keep samples from pushing out mappings, but are twice what perf
 * opens. If that exceeds the usual limit of a process, or ours, one event does both. It reports
 * nothing while it is disabled.
 */
static bool wants_shared_side(const struct events *ev)
{
	const struct record_opts *o = ev->opts;

	/* The first event reports mappings then, and must be on all CPUs. */
	return target_is_tasks(ev->target) && ev->target->kind != TARGET_COMMAND && !o->start_off && !o->control && !ev->v[0].sel.ncpus &&
	       fds_needed(ev) > MIN(SEPARATE_MAX, perm_files_left());
}

/* Can the event be on this CPU? One of a PMU may be on some only. */
static bool on_cpu(const struct evsel *sel, uint32_t cpu)
{
	for (size_t i = 0; i < sel->ncpus; i++)
		if (sel->cpus[i] == cpu)
			return true;
	return !sel->ncpus;
}

/* Does the error say that this event cannot be recorded, and nothing about the others? */
static bool is_of_event(int err)
{
	return err != -ESRCH && err != -EMFILE && err != -ENFILE && err != -ENOMEM && err != -EBADF && err != -EINTR;
}

static void explain(const struct events *ev, size_t event, const struct event_place *at, const struct cgroup *cg, int err)
{
	const struct target *t = ev->target;
	const struct evsel *sel = &ev->v[event].sel;

	if (cg)
		refusal_explain_cgroup(err, sel, t, cg, (uint32_t)at->cpu, fds_needed(ev));
	else
		refusal_explain(err, sel, t, target_is_tasks(t) ? at->pid : -1, (uint32_t)at->cpu, fds_needed(ev));
}

/* The same, with what helps if there are others. */
static void explain_alone(const struct events *ev, size_t event, const struct event_place *at, const struct cgroup *cg, int err)
{
	struct strbuf why = STRBUF_INIT, *before;

	if (!is_of_event(err) || !event_list_others(ev, event)) {
		explain(ev, event, at, cg, err);
		return;
	}
	before = log_divert(&why);
	explain(ev, event, at, cg, err);
	log_divert(before);
	pr_err("%.*s; --optional-events records the others without it", why.s ? (int)strcspn(why.s, "\n") : 0, why.s ? why.s : "");
	strbuf_fini(&why);
}

/* --optional-events: the recording goes on without the event, and says why. */
static void leave_out(struct events *ev, size_t event, const struct event_place *at, const struct cgroup *cg, int err)
{
	struct strbuf why = STRBUF_INIT, *before;

	before = log_divert(&why);
	explain(ev, event, at, cg, err);
	log_divert(before);
	event_list_leave_out(ev, event, err, why.s ? why.s : strerror(-err));
	strbuf_fini(&why);
}

/* Gives the event the filter that it was asked for, if any. */
static int set_filter(const struct evsel *sel, int fd)
{
	int err;

	if (!sel->filter || !ioctl(fd, PERF_EVENT_IOC_SET_FILTER, sel->filter))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* Opens one event at one place. A descriptor, or negative errno without a message. */
static int open_event(struct events *ev, size_t event, struct event_place at)
{
	struct rec_event *e = &ev->v[event];
	int fd = e->probed ? event_open(ev, event, &at) : open_first(ev, event, &at);

	/* The PMU has too few counters for the group, but may have them in turn. */
	if (fd == -EINVAL && at.group >= 0 && ev->v[e->sel.leader].sel.weak && !e->member) {
		at.group = -1;
		fd = e->probed ? event_open(ev, event, &at) : open_first(ev, event, &at);
	}
	return fd < 0 ? fd : set_filter(&e->sel, fd);
}

static int remember(struct events *ev, size_t event, int fd, uint32_t c, uint64_t cgroup)
{
	struct event_fd e = { .fd = fd, .cpu = c, .event = (uint32_t)event, .cgroup = cgroup,
			      .period = event_first_period(ev, &ev->v[event]) };

	if (events_have_ids(ev)) {
		if (ioctl(fd, PERF_EVENT_IOC_ID, &e.id)) {
			const int err = -errno;

			close(fd);
			return err;
		}
		event_ids_put(&ev->ids, e.id, e.event, 0);
	}
	add_fd(&ev->samples, &ev->nsamples, &ev->cap_samples, &e);
	return 0;
}

/*
 * Opens all events on CPU number @c of the target, for cgroup @cg, or if that is NULL for thread
 * @pid or everything (-1). After an error *@where has the place, and *@event the event.
 */
static int open_on_cpu(struct events *ev, int pid, const struct cgroup *cg, uint32_t c, struct event_place *where, size_t *event)
{
	const size_t first = ev->nsamples;
	const uint32_t cpu = ev->target->cpus[c];
	int err = 0;

	for (size_t i = 0; i < ev->n && !err; i++) {
		const size_t leader = ev->v[i].sel.leader;
		int fd;

		*event = i;
		*where = (struct event_place){ cg ? cg->fd : pid, (int)cpu, -1, cg ? PERF_FLAG_PID_CGROUP : 0 };
		if (ev->v[i].left_out || !on_cpu(&ev->v[i].sel, cpu))
			continue;
		for (size_t k = first; k < ev->nsamples && leader != i; k++)
			if (ev->samples[k].event == leader)
				where->group = ev->samples[k].fd;
		fd = open_event(ev, i, *where);
		if (fd < 0 && !ev->v[i].probed && ev->opts->optional_events && is_of_event(fd) && event_list_others(ev, i)) {
			leave_out(ev, i, where, cg, fd);
			continue;
		}
		err = fd < 0 ? fd : remember(ev, i, fd, c, cg ? cg->id : 0);
	}
	return err;
}

/*
 * Opens the sampling events for cgroup @cg, or if it is NULL for thread @pid or everything (-1). What
 * reports switches is opened first, and enabled first, so that each sample has its switch.
 */
static int open_samples(struct events *ev, int pid, const struct cgroup *cg)
{
	const struct target *t = ev->target;
	struct event_place at;
	size_t event = 0;

	for (uint32_t c = 0; c < t->ncpus; c++) {
		int err = switch_events_open(ev, pid, cg, c, &at);

		event = events_waits(ev);
		if (!err)
			err = open_on_cpu(ev, pid, cg, c, &at, &event);

		/*
		 * A thread may end while its process is being opened; the caller notices if none is
		 * left.
		 */
		if (err == -ESRCH && t->kind == TARGET_PIDS)
			return 0;
		if (err) {
			explain_alone(ev, event, &at, cg, err);
			return err;
		}
	}
	return 0;
}

static int open_sides(struct events *ev, int pid)
{
	const struct target *t = ev->target;

	for (uint32_t c = 0; c < t->nall; c++) {
		const struct event_place at = { pid, (int)t->cpus[c], -1, 0 };
		int fd = (ev->nsides ? event_open : event_open_probing)(ev, EVENT_SIDE, &at);

		if (fd == -ESRCH)
			return 0;
		if (fd == -EMFILE || fd == -ENFILE) {
			refusal_explain(fd, events_first(ev), t, pid, t->cpus[c], fds_needed(ev));
			return fd;
		}
		if (fd < 0) {
			ev->side_err = fd;
			return 0;
		}
		add_fd(&ev->sides, &ev->nsides, &ev->cap_sides, &(struct event_fd){ .fd = fd, .cpu = c });
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
		/* Switches have no cgroup id. */
		if (!err && t->cgroups.n > CGROUP_EVENTS_MAX && ev->reach == CGROUP_REACH_ALL && events_waits(ev) == SIZE_MAX)
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
		refusal_explain(-ESRCH, events_first(ev), t, t->npids == 1 ? (int)t->pids[0] : -1, 0, 0);
		return -ESRCH;
	}
	return 0;
}

/* Sends @fd's records to ring @r, which it owns if nobody does yet. */
static int send_to(struct ring *r, int fd, size_t bytes)
{
	if (!r->page)
		return ring_map(r, fd, bytes, false);
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) ? -errno : 0;
}

/* The ring of a sampling event; NULL: it has no records. */
static struct ring *ring_of(const struct events *ev, const struct event_fd *e)
{
	const struct rec_event *of = &ev->v[e->event];
	const bool extra = of->unbounded && events_split(ev);

	return of->member ? NULL : &ev->data[e->cpu + (extra ? ev->target->ncpus : 0)];
}

/* The first event on each CPU owns its ring; the others are redirected to it. */
static int map_data(struct events *ev)
{
	for (size_t i = 0; i < ev->nsamples; i++) {
		const bool extra = ev->v[ev->samples[i].event].unbounded && events_split(ev);
		struct ring *r = ring_of(ev, &ev->samples[i]);
		int err = r ? send_to(r, ev->samples[i].fd, extra ? ev->extra_bytes : ev->data_bytes) : 0;

		if (err)
			return err;
		if (r)
			r->extra = extra;
	}
	return 0;
}

static int map_sides(struct events *ev)
{
	for (size_t i = 0; i < ev->nsides; i++) {
		struct ring *r = &ev->side[ev->sides[i].cpu];
		int err = send_to(r, ev->sides[i].fd, ev->side_bytes);

		if (err)
			return err;
		r->sideband = true;
	}
	return 0;
}

static void close_all(struct events *ev)
{
	for (size_t c = 0; c < ev->ndata; c++)
		ring_unmap(&ev->data[c]);
	for (size_t c = 0; c < ev->target->nall; c++)
		ring_unmap(&ev->side[c]);
	close_fds(ev->samples, &ev->nsamples);
	close_fds(ev->sides, &ev->nsides);
	close_fds(ev->switches, &ev->nswitches);
	close_fds(ev->wakeups, &ev->nwakeups);
	event_ids_fini(&ev->ids);
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
	else if (events_split(ev) && ev->extra_bytes > 2 * RING_FLOOR)
		ev->extra_bytes /= 2;
	else if (ev->data_bytes > 2 * RING_FLOOR || (ev->data_bytes > RING_FLOOR &&
						ev->side_bytes <= RING_FLOOR))
		ev->data_bytes /= 2;
	else if (ev->switch_bytes > RING_FLOOR && events_waits(ev) != SIZE_MAX)
		ev->switch_bytes /= 2;
	else if (ev->wakeup_bytes > RING_FLOOR && ev->wakeup_source.id)
		ev->wakeup_bytes /= 2;
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

int events_open(struct events *ev, const struct record_opts *o, struct target *t,
		const struct evsel *sels, size_t n, const struct wakeup_source *wakeups, bool on_exec)
{
	int err;

	memset(ev, 0, sizeof(*ev));
	ev->target = t;
	ev->opts = o;
	ev->on_exec = on_exec;
	if (wakeups)
		ev->wakeup_source = *wakeups;
	ev->feats = FEATS_ALL;
	event_list_init(ev, sels, n);
	/* Needed for cgroup ids in samples; without a hierarchy there are no names. */
	if (t->fs.fd >= 0 || !cgroup_fs_open(&t->fs))
		ev->reach = cgroup_perf_reach(&t->fs);
	ev->ndata = EVENT_RINGS * (size_t)t->ncpus + (ev->wakeup_source.id ? t->nall : 0);
	ev->data = xcalloc(ev->ndata, sizeof(*ev->data));
	ev->side = xcalloc(t->nall, sizeof(*ev->side));
	ev->closed = xcalloc(t->nall * n, sizeof(*ev->closed));
	ev->data_bytes = o->ring_bytes ? o->ring_bytes : events_plan_data(ev);
	ev->extra_bytes = o->ring_bytes ? o->ring_bytes : events_plan_extra(ev);
	ev->side_bytes = target_is_tasks(t) ? SIDE_TASKS : ringplan_side(t->nall, events_ram());
	ev->switch_bytes = ringplan_switches(t->ncpus, events_ram());
	ev->wakeup_bytes = ringplan_switches(t->nall, events_ram());
	perm_raise_nofile();
	for (;;) {
		err = open_whole(ev);
		if (err)
			return err;
		/* What is left out changes the attributes of the others. */
		if (event_list_settle(ev)) {
			close_all(ev);
			continue;
		}
		err = wakeup_events_open(ev);
		if (err)
			return err;
		err = map_data(ev);
		if (!err)
			err = map_sides(ev);
		if (!err)
			err = switch_events_map(ev);
		if (!err)
			err = wakeup_events_map(ev);
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
	event_list_fini(ev);
	free(ev->samples);
	free(ev->sides);
	free(ev->switches);
	free(ev->wakeups);
	free(ev->closed);
	free(ev->data);
	free(ev->side);
}

static void close_from(struct events *ev, size_t first)
{
	while (ev->nsamples > first) {
		const struct event_fd *e = &ev->samples[--ev->nsamples];

		if (e->id)
			event_ids_drop(&ev->ids, e->id, clock_mono_ns());
		close(e->fd);
	}
}

/* Opens more events on a CPU that already has rings. @cg: NULL = everything. All of them or none. */
static int add_samples(struct events *ev, const struct cgroup *cg, uint32_t c)
{
	const size_t first = ev->nsamples;
	const size_t switches = ev->nswitches;
	struct event_place at;
	size_t event;
	int err = switch_events_add(ev, cg, c);

	if (!err)
		err = open_on_cpu(ev, -1, cg, c, &at, &event);

	for (size_t i = first; i < ev->nsamples && !err; i++) {
		struct ring *r = ring_of(ev, &ev->samples[i]);

		/* The CPU had no event of its kind until now: no ring waits for it. */
		if (r && !r->page)
			err = -ENXIO;
		else if (r)
			err = send_to(r, ev->samples[i].fd, 0);
	}
	if (err) {
		close_from(ev, first);
		switch_events_close_from(ev, switches);
	}
	return err;
}

static int add_side(struct events *ev, uint32_t c)
{
	const struct event_place at = { -1, (int)ev->target->cpus[c], -1, 0 };
	int fd = event_open(ev, EVENT_SIDE, &at), err;

	if (fd < 0)
		return fd;
	err = send_to(&ev->side[c], fd, 0);
	if (err)
		close(fd);
	else
		add_fd(&ev->sides, &ev->nsides, &ev->cap_sides, &(struct event_fd){ .fd = fd, .cpu = c });
	return err;
}

static void enable_from(struct events *ev, size_t first, size_t switches)
{
	switch_events_enable_from(ev, switches);
	/* Members of a group that is on go on with their leader. */
	for (size_t i = first; i < ev->nsamples; i++)
		ioctl(ev->samples[i].fd, PERF_EVENT_IOC_ENABLE, 0);
}

/* The old events stay: they own the rings, and their counts are still needed. */
int events_reopen_cpu(struct events *ev, uint32_t c, bool enable)
{
	const struct target *t = ev->target;
	size_t first = ev->nsamples, switches = ev->nswitches;
	int err = 0;

	ev->clamped = 0;
	if (ev->side[c].page)
		err = add_side(ev, c);
	if (!err)
		err = wakeup_events_reopen(ev, c, enable);
	if (c >= t->ncpus)
		return err;
	if (!err && (t->kind == TARGET_ALL || ev->by_cgroup_id))
		err = add_samples(ev, NULL, c);
	else
		for (size_t i = 0; i < t->cgroups.n && !err; i++) {
			err = add_samples(ev, &t->cgroups.v[i], c);
			/* This cgroup was removed. The others still exist. */
			if (err == -ENOENT)
				err = 0;
		}
	if (enable)
		enable_from(ev, first, switches);
	return err;
}

int events_add_cgroup(struct events *ev, const struct cgroup *cg, bool enable)
{
	size_t first = ev->nsamples, switches = ev->nswitches;
	int err = 0;

	ev->clamped = 0;
	if (ev->by_cgroup_id)
		return 0;
	for (uint32_t c = 0; c < ev->target->ncpus && !err; c++) {
		err = add_samples(ev, cg, c);
		/* The CPU is offline. events_reopen_cpu() will add it. */
		if (err == -ENODEV)
			err = 0;
	}
	if (err) {
		close_from(ev, first);
		switch_events_close_from(ev, switches);
	}
	if (enable)
		enable_from(ev, first, switches);
	return err;
}

void events_enable(struct events *ev)
{
	wakeup_events_enable_from(ev, 0);
	enable_from(ev, 0, 0);
}

void events_stop_samples(struct events *ev)
{
	for (size_t i = 0; i < ev->nsamples; i++)
		ioctl(ev->samples[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

static void stop_switches(struct events *ev)
{
	for (size_t i = 0; i < ev->nswitches; i++)
		ioctl(ev->switches[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void events_pause(struct events *ev)
{
	events_stop_samples(ev);
	stop_switches(ev);
	wakeup_events_disable(ev);
}

/*
 * Disables side-band, too: otherwise the last drain would never end on a busy host. Switches last: a
 * thread that ends must have come to a CPU before.
 */
void events_disable(struct events *ev)
{
	events_stop_samples(ev);
	for (size_t i = 0; i < ev->nsides; i++)
		ioctl(ev->sides[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	wakeup_events_disable(ev);
	stop_switches(ev);
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
