#include "run/session.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/opt.h"
#include "containers/container_lookup.h"
#include "events/event_attr.h"
#include "events/event_list.h"
#include "events/event_stacks.h"
#include "events/filter_try.h"
#include "events/open.h"
#include "events/target.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/opener.h"
#include "host/opener_loss.h"
#include "host/procfs.h"
#include "host/unanswered.h"
#include "procfs/pidns.h"
#include "procs/proctab.h"
#include "run/budget_summary.h"
#include "run/cgroup_coverage.h"
#include "run/child.h"
#include "run/confine.h"
#include "run/control.h"
#include "run/event_summary.h"
#include "run/loop.h"
#include "run/output.h"
#include "run/recording_events.h"
#include "run/recording_info.h"
#include "run/sched_times.h"
#include "run/spool.h"
#include "run/stopper.h"
#include "run/summary.h"
#include "sink/drain.h"
#include "sink/execs.h"
#include "sink/ledger.h"
#include "sink/sink.h"

#define STATUS_MAX 65536
/* Enough to be scheduled before the rings are full, even on a fully loaded machine. */
#define DRAIN_NICE (-10)
/* Reading lasts at most this long before the rings are drained: some twenty processes. */
#define SETTLE_SLICE_NS 5000000ull
/* A ring with room for this many samples shows how far we are behind. */
#define RING_TELLING 16
/* At the end of a recording, for all that did not answer in time. */
#define LAST_CHANCE_NS 300000000ull
/* Freed memory that malloc(3) keeps: the largest piece, and the total. */
#define KEPT_PIECE (512 << 10)
#define KEPT_FREED (4 << 20)

struct session {
	const struct record_opts *o;
	struct evlist events;
	struct wakeup_source wakeups;
	struct target target;
	struct output out;
	struct child child;
	struct control control;
	struct events ev;
	struct rec_writer *w;
	struct proctab *pt;
	struct sink *sink;
	struct cgroup_facts *facts;	/* NULL: no cgroups */
	struct cgroup_coverage ran;
	struct ledger ledger;
	struct execs execs;
	struct drain drain;
	struct spool spool;
	struct sched_times sched;
	sigset_t signals, old_mask;
	sigset_t loop_signals;		/* signals, without those that the stopper takes */
	struct stopper stopper;
	uint64_t begun;			/* ns, CLOCK_MONOTONIC */
	/* The same, of the recording: before the command begins, otherwise when there is a file. 0: not yet. */
	uint64_t recorded;
	struct ev_schedstat before_exec;	/* what the command had used by then */
	struct loop loop;
	bool listed;			/* pids is complete */
	uint32_t *pids;			/* owned; processes to read, from next_pid on */
	size_t npids, cap_pids, next_pid;
};

/*
 * Signals arrive through a descriptor. SIGHUP stays ignored if the caller ignores it (nohup).
 * SIGINT and SIGQUIT do not: shells ignore them in "record &", yet scripts use them to stop it.
 */
static void block_signals(struct session *s)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGCHLD, SIGUSR2, SIGCONT };

	sigemptyset(&s->signals);
	for (size_t i = 0; i < ARRAY_SIZE(sigs); i++) {
		struct sigaction sa;

		if (sigs[i] == SIGHUP && !sigaction(SIGHUP, NULL, &sa) && sa.sa_handler == SIG_IGN)
			continue;
		sigaddset(&s->signals, sigs[i]);
	}
	sigprocmask(SIG_BLOCK, &s->signals, &s->old_mask);
}

/* Checks all that can be checked without touching anything. */
static int check(struct session *s)
{
	const struct record_opts *o = s->o;
	int err = evlist_parse(&s->events, o->specs, o->nspecs, o->freq, NULL);

	if (err)
		return err;
	err = filter_try(&s->events);
	if (!err)
		err = pidns_check_proc();
	if (err)
		return err;
	err = off_cpu_check(o, &s->events, &s->wakeups);
	if (!err)
		err = evlist_check_any(&s->events);
	if (err)
		return err;
	evlist_narrow(&s->events, o->all_user, o->all_kernel);
	err = events_check_freq(o, s->events.v, s->events.n);
	if (!err)
		err = event_stacks_check(&s->events, o);
	if (!err)
		err = control_open(&s->control, o->control);
	if (!err)
		err = target_resolve(&s->target, o);
	if (!err)
		err = output_check(&s->out, o->output);
	if (!err && spool_switches(o))
		err = output_check_many(&s->out, o->overwrite ? "--overwrite" : "--switch-output");
	return err;
}

/*
 * For this thread and those that it starts: what is not packed and written in time is lost as well.
 * The command was forked before and is not affected. 0, or negative errno after a message if -r is
 * not allowed.
 */
static int take_priority(const struct session *s)
{
	const struct sched_param fifo = { (int)s->o->realtime };

	if (s->o->realtime && sched_setscheduler(0, SCHED_FIFO, &fifo)) {
		int err = -errno;

		pr_err("-r %d: cannot set this realtime priority: %s; it needs CAP_SYS_NICE or 'ulimit -r'",
		       fifo.sched_priority, strerror(-err));
		return err;
	}
	/* Without the right, the priority stays as it is. */
	if (!s->o->realtime)
		setpriority(PRIO_PROCESS, 0, DRAIN_NICE);
	return 0;
}

static bool settle(void *ctx);
static void toggled(void *ctx, bool on, uint64_t time);
static void drained(void *ctx, uint64_t time);

/*
 * Opens events, rings and the loop. Starts the command last: then only the output can still fail.
 */
static int prepare(struct session *s)
{
	const struct record_opts *o = s->o;
	bool workload = s->target.kind == TARGET_COMMAND;
	int err;

	if (o->command) {
		err = child_prepare(&s->child, o->command, &s->old_mask, !strcmp(s->out.name, "-"));
		if (err)
			return err;
		if (workload)
			target_set_child(&s->target, (uint32_t)s->child.pid);
	}
	/* Before any thread starts: the stopper, too, needs its turn when all CPUs are busy. */
	err = take_priority(s);
	if (err)
		return err;
	opener_take_priority((int)o->realtime);
	s->stopper.quiet = log_verbosity() < 0;
	s->stopper.confined = !o->no_sandbox && !SANDBOX_SANITIZED;
	stopper_start(&s->stopper, &s->signals, &s->loop_signals);
	/* From here on, a vanished reader is an error of write(2), reported with its cause. */
	signal(SIGPIPE, SIG_IGN);
	err = events_open(&s->ev, o, &s->target, s->events.v, s->events.n, &s->wakeups, workload);
	if (err)
		return err;
	event_list_left(&s->ev, &s->events);
	drain_init(&s->drain, s->ev.data, s->ev.ndata, s->ev.side, s->target.nall);
	s->loop = (struct loop){
		.ev = &s->ev,
		.drain = &s->drain,
		.spool = &s->spool,
		.child = &s->child,
		.signals = &s->loop_signals,
		.stopper = &s->stopper,
		.control = &s->control,
		.start_off = o->start_off,
		.toggles_ms = o->toggles_ms,
		.ntoggles = o->ntoggles,
		.duration_ns = o->duration_ns,
		.least_ring = RING_TELLING * events_record(&s->ev, false),
		.settle = settle,
		.toggled = toggled,
		.drained = drained,
		.settle_ctx = s,
	};
	err = loop_open(&s->loop);
	if (!err && o->command) {
		/* It waits for us, and its events are enabled by its exec. */
		s->recorded = clock_mono_ns();
		sched_times_read((uint32_t)s->child.pid, &s->before_exec);
		err = child_start(&s->child, o->command[0]);
	}
	/* Sampling began with its exec. */
	if (o->command)
		s->loop.started = clock_mono_ns();
	return err;
}

static void read_process(struct session *s, uint32_t pid)
{
	int err = proctab_read(s->pt, pid, clock_mono_ns());

	if (err && err != -ESRCH)
		pr_warn("cannot read the mappings of process %u: %s: its stacks are not kept and "
			"some of its names may be missing", pid, strerror(-err));
}

static void note_process(void *ctx, uint32_t pid)
{
	struct session *s = ctx;

	XGROW(s->pids, s->npids, s->cap_pids);
	s->pids[s->npids++] = pid;
}

static void write_cgroup(void *ctx, uint64_t id, const char *path)
{
	struct session *s = ctx;

	sink_cgroups_add(&s->sink->cgroups, id, path);
}

/* The process of a thread; 0 if it is gone. */
static uint32_t tgid_of(uint32_t tid)
{
	int fd = nsopen_procfile(tid, "status"), err;
	uint32_t tgid = 0;
	char *text;

	if (fd < 0)
		return 0;
	text = nsopen_slurp(fd, STATUS_MAX, NULL, &err);
	close(fd);
	if (text)
		tgid = procfs_status_tgid(text);
	free(text);
	return tgid;
}

/* Does the command's exec enable its events? */
static bool enabled_by_exec(const struct session *s)
{
	return s->ev.on_exec && !s->o->start_off;
}

/* Lists the processes that are in the target already, and writes the names of its cgroups. */
static void list_processes(struct session *s)
{
	const struct target *t = &s->target;
	uint64_t took = s->loop.enabled_at - s->begun;

	if (s->loop.enabled_at) {
		recording_info_started(s->w, took);
		pr_verbose("sampling began %.1f ms after the start", (double)took / 1e6);
	}
	for (size_t i = 0; i < t->cgroups.n; i++)
		cgroup_walk(&t->cgroups.v[i], write_cgroup, note_process, s);
	for (size_t i = 0; i < t->npids; i++) {
		uint32_t pid = tgid_of(t->pids[i]);

		if (pid)
			note_process(s, pid);
	}
	if (t->kind == TARGET_ALL && s->sink->threads.on)
		sched_times_all(note_process, s);
	else if (t->kind == TARGET_COMMAND && !enabled_by_exec(s))
		sched_times_begin(&s->sched, (uint32_t)s->child.pid);
}

/*
 * Processes that run already have no side-band records, so read them while they live. Neither
 * sampling nor the rings wait for that: the rings are drained between two slices. With -a there are
 * too many; processes are then read when they are sampled.
 */
static bool settle(void *ctx)
{
	struct session *s = ctx;
	const uint64_t until = clock_mono_ns() + SETTLE_SLICE_NS;

	if (!s->listed)
		list_processes(s);
	s->listed = true;
	while (s->next_pid < s->npids && clock_mono_ns() < until) {
		const uint32_t pid = s->pids[s->next_pid++];

		sched_times_begin(&s->sched, pid);
		if (s->target.kind != TARGET_ALL)
			read_process(s, pid);
	}
	return s->next_pid < s->npids || sched_times_resume(&s->sched);
}

static bool exec_since(void *ctx, uint32_t pid, uint64_t time)
{
	return execs_since(ctx, pid, time);
}

static bool lost_since(void *ctx, uint64_t time)
{
	return execs_lost_since(ctx, time);
}

static bool has_room(void *ctx)
{
	return drain_has_room(ctx);
}

struct writer_start {
	struct session *s;
	const struct confine *confine;	/* NULL: rights are kept */
	int err;
};

static void *start_writer(void *arg)
{
	struct writer_start *ws = arg;
	struct session *s = ws->s;

	if (ws->confine)
		confine_rights(ws->confine);
	if (!s->recorded)
		s->recorded = clock_mono_ns();
	if (s->o->overwrite)
		s->w = rec_writer_new_memory(s->recorded, events_listed(&s->ev), &ws->err);
	else
		s->w = rec_writer_new_since(s->out.fd, s->recorded, events_listed(&s->ev), &ws->err);
	return NULL;
}

/* There is something to read in the file. */
static int take_place(struct session *s)
{
	int err = output_commit(&s->out);

	if (err)
		output_undo(&s->out);
	return err;
}

/*
 * The writer's thread must not have our rights, and inherits them from the thread that starts it.
 * We still need ours, to give the file its name, or to remove it if the writer cannot start.
 */
static int confined_writer(struct session *s, struct confine *confine)
{
	struct writer_start ws = { s, confine, 0 };
	pthread_t t;

	confine_prepare(confine);
	if (pthread_create(&t, NULL, start_writer, &ws))
		return -EAGAIN;
	pthread_join(t, NULL);
	if (!s->w)
		return ws.err;
	ws.err = take_place(s);
	confine_rights(confine);
	stopper_settle(&s->stopper);
	confine_calls(confine);
	return ws.err;
}

static bool any_kernel(const struct events *ev)
{
	for (size_t i = 0; i < ev->n; i++)
		if (!ev->v[i].sel.exclude_kernel)
			return true;
	return false;
}

static int make_writer(struct session *s)
{
	struct confine confine = {
		.late_events = !target_is_tasks(&s->target),
		.kernel = any_kernel(&s->ev),
		.rotates = spool_switches(s->o),
		.output = s->out.name,
		.child = s->child.pid,
	};
	struct writer_start ws = { s, NULL, 0 };

	if (!s->o->no_sandbox && !SANDBOX_SANITIZED)
		return confined_writer(s, &confine);
	if (s->o->no_sandbox)
		pr_warn("--no-sandbox: the recorder keeps all of its rights");
	start_writer(&ws);
	return s->w ? take_place(s) : ws.err;
}

static void begin_ledger(struct session *s)
{
	bool *clock = xcalloc(s->ev.n, sizeof(*clock));

	for (size_t i = 0; i < s->ev.n; i++)
		clock[i] = evsel_is_clock(&s->ev.v[i].sel) && !s->ev.v[i].member;
	ledger_begin(&s->ledger, s->w, clock[0], target_is_tasks(&s->target));
	ledger_events(&s->ledger, clock, (uint32_t)s->ev.n);
	free(clock);
}

/* The output file and everything that writes to it. */
static int open_writer(struct session *s)
{
	int err = s->o->overwrite ? 0 : output_open(&s->out);

	if (err)
		return err;
	err = make_writer(s);
	if (!s->w) {
		if (err == -EAGAIN)
			pr_err("cannot start the writer thread: %s; raise the limits of processes (ulimit -u) or memory (ulimit -v)",
			       strerror(-err));
		else
			pr_err("cannot write '%s': %s; choose another file with -o", output_shown(&s->out), strerror(-err));
		output_undo(&s->out);
		return err;
	}
	if (err)
		return err;
	events_tell(&s->ev);
	if (!target_is_tasks(&s->target) && !pidns_is_first())
		pr_warn("this is not the host's pid namespace: processes outside of it are [outside], without names and "
			"stacks; share the host's (hostPID: true, docker run --pid host), or run on the host");
	recording_info_write(s->w, s->o, &s->ev);
	begin_ledger(s);
	s->pt = proctab_new(s->w);
	if (!pidns_is_first())
		proctab_nested(s->pt);
	if (s->child.pid)
		proctab_own_child(s->pt, (uint32_t)s->child.pid);
	if (spool_switches(s->o))
		proctab_keep_slices(s->pt);
	s->sink = sink_new(s->o, &s->target.fs, s->pt, s->w, &s->ledger, maskers_for_cpus(s->target.ncpus));
	if (s->target.fs.fd >= 0)
		s->facts = cgroup_facts_new(&s->target.fs, &s->target.cgroups, s->target.containers,
					    s->o->runtime_roots, s->w);
	s->sink->cgroups.facts = s->facts;
	if (s->facts) {
		container_lookup_first(cgroup_facts_lookup(s->facts));
		container_lookup_while(cgroup_facts_lookup(s->facts), has_room, &s->drain);
	}
	s->sink->cgroups.root_unsure = s->ev.reach != CGROUP_REACH_ALL;
	event_layout(&s->ev, 0, &s->sink->layout);
	s->sink->clock = (uint32_t)events_clock(&s->ev);
	if (events_have_ids(&s->ev))
		s->sink->events = sampled_events_new(&s->ev, s->sink->nslots);
	s->sink->pressure.spares = events_split(&s->ev);
	sink_written(s->sink, recording_events_write(s->w, &s->ev, s->begun));
	s->sink->shared_side = s->ev.shared_side;
	if (s->ev.by_cgroup_id)
		s->sink->cgroups.filter = &s->target.cgroups;
	s->sink->threads.on = events_waits(&s->ev) != SIZE_MAX;
	s->sink->woken_at = s->wakeups.pid_at;
	s->sink->threads.all = s->target.kind != TARGET_CGROUPS;
	sched_times_init(&s->sched, s->sink, &s->target, !enabled_by_exec(s));
	if (enabled_by_exec(s)) {
		switch_threads_execs(&s->sink->threads, (uint32_t)s->child.pid);
		s->sched.before = s->before_exec;
	}
	s->spool = (struct spool){
		.o = s->o, .ev = &s->ev, .out = &s->out, .w = s->w, .pt = s->pt, .sink = s->sink,
		.ledger = &s->ledger, .sched = &s->sched,
	};
	spool_init(&s->spool, rec_writer_start(s->w));
	s->loop.sink = s->sink;
	execs_init(&s->execs, s->drain.rings, s->drain.n, s->ev.shared_side);
	proctab_look_ahead(s->pt, exec_since, lost_since, &s->execs);
	return 0;
}

static void drained(void *ctx, uint64_t time)
{
	struct session *s = ctx;

	sched_times_write(&s->sched, time);
}

static void toggled(void *ctx, bool on, uint64_t time)
{
	struct session *s = ctx;

	sched_times_toggle(&s->sched, on, time);
	if (s->facts && time == s->loop.enabled_at)
		cgroup_coverage_begin(&s->ran, &s->target, cgroup_facts_cpu(s->facts));
}

/* The event whose samples stand for CPU time, if any does. */
static const struct evsel *clock_of(const struct session *s)
{
	return &s->ev.v[events_clock(&s->ev)].sel;
}

/* Sums over the samples of the chosen cgroups. */
static struct cgroup_coverage_samples chosen_samples(const struct session *s)
{
	const struct ev_ledger *l = &s->ledger.l;

	return (struct cgroup_coverage_samples){
		.samples = s->sink->chosen ? s->sink->chosen : s->sink->chosen_all, .period_ns = s->sink->chosen_ns, .ncpus = s->target.ncpus,
		.all = evsel_is_clock(clock_of(s)) && !*evsel_modifier(clock_of(s)) && s->sink->chosen && !s->o->cpus &&
		       !l->lost_kernel && !l->throttled && !l->cpus_away,
	};
}

/*
 * Warns if the samples miss what ran in them. 0, or negative errno after a message if nothing ran.
 */
static int tell_ran(const struct session *s, uint64_t stopped)
{
	const struct cgroup_coverage_samples rs = chosen_samples(s);

	if (s->facts && s->sink->chosen)
		cgroup_coverage_tell_many(&s->ran, &s->target, s->facts, &rs, stopped);
	/* Threads that only wait are what was asked for. */
	return s->sink->threads.known.n ? 0 : cgroup_coverage_tell(&s->ran, &rs);
}

/* The first event's period as opened; ns for clocks. 0: it changes. */
static uint64_t period_of(const struct session *s)
{
	const struct rec_event *e = &s->ev.v[0];

	if (e->period)
		return e->period;
	return evsel_is_clock(&e->sel) && e->freq ? 1000000000 / e->freq : 0;
}

/*
 * How many events may have had part of a period left. With threads: those of all live threads, also
 * of inherited ones.
 */
static uint64_t open_at_end(const struct session *s)
{
	const struct sink *k = s->sink;
	uint64_t threads = s->target.kind == TARGET_COMMAND ? 1 : s->target.ntids;

	if (!target_is_tasks(&s->target))
		return s->ev.nsamples;
	threads += k->begun;
	return (threads > k->ended ? threads - k->ended : 0) * s->target.ncpus;
}

/* For unanswered_tell(). */
static void whose(void *ctx, const struct opener_miss *m, struct strbuf *out)
{
	const struct session *s = ctx;
	const char *cgroup = m->who[0] || !m->pid ? m->who : proctab_cgroup(s->pt, m->pid), *name;

	name = s->facts && cgroup[0] ? cgroup_facts_name(s->facts, cgroup) : "";
	if (!cgroup[0])
		return;
	strbuf_adds(out, name[0] ? "container " : "cgroup '");
	escape_name(out, name[0] ? name : cgroup);
	if (!name[0])
		strbuf_addc(out, '\'');
}

static void tell_waited(void)
{
	uint64_t all, most;

	opener_waited(&all, &most);
	pr_verbose("waited %.1f ms for files and processes that answered late or not at all, %.1f ms for one tenant", (double)all / 1e6,
		   (double)most / 1e6);
}

/*
 * After the last sample: the rest of the rings, rows, ledger, END. 0 or negative errno after a
 * message.
 */
static int finish(struct session *s, struct loop *l)
{
	const struct evsel *first = events_first(&s->ev);
	uint64_t stopped = clock_mono_ns();
	struct summary sum = {
		.piped = !strcmp(s->out.name, "-"),
		.stays = output_stays(&s->out),
		.elapsed_ns = l->enabled_at ? stopped - l->enabled_at : 0,
		.ncpus = s->target.ncpus,
		.ring_bytes = s->ev.data_bytes,
		.clock = evsel_is_clock(first),
		.work = evsel_counts_work(first),
		.covers = !evsel_is_clock(first) || !*evsel_modifier(first),
		.picked = s->ev.by_cgroup_id,
		.tasks = target_is_tasks(&s->target),
		.events = open_at_end(s),
		.ended = s->sink->ended,
		.still = &l->still,
		.terminal = isatty(STDERR_FILENO),
		.waiting = s->sink->threads.known.n,
		.times = &s->sink->sums,
		.nevents = s->ev.n,
		.event = first->name,
		.modifier = evsel_modifier(first),
		.period = period_of(s),
		.lowest = s->ev.lowest,
		.freq = s->ev.v[0].freq,
		.used_known = cgroup_coverage_knows(&s->ran),
		.used_us = cgroup_coverage_used_us(&s->ran),
	};
	struct cgroup_coverage_samples rs;
	int err;

	if (!s->sink->err)
		drain_round(&s->drain, DRAIN_ALL, s->sink);
	sched_times_write(&s->sched, UINT64_MAX);
	sched_times_tell(&s->sched);
	switch_sums_end(&s->sink->sums);
	standstill_drained(&l->still, stopped, ledger_missed(&s->ledger));
	err = spool_finish(&s->spool, stopped, s->sink->err);
	sum.file = spool_name(&s->spool);
	sum.stall_ns = rec_writer_stall(s->w);
	sum.files = s->spool.files;
	sum.failed = err < 0;
	sum.bytes = sum.failed ? rec_writer_bytes(s->w) : s->spool.total_bytes;
	s->ledger.l = s->spool.total.l;
	sum.counted = event_summary_counted(&s->ev, &s->spool.total);
	if (sum.tasks && !s->ledger.l.lost_sideband)
		sum.barred = proctab_barred(s->pt, &sum.barred_comm);
	rs = chosen_samples(s);
	sum.idle = cgroup_coverage_idle(&s->ran, &rs);
	if (!err || !s->o->overwrite)
		summary_print(&s->ledger, s->o, &sum);
	if (!err)
		event_summary_print(&s->ev, s->sink->events, &s->spool.total, l->enabled_at);
	tell_waited();
	budget_summary_print(s->pt, s->facts);
	unanswered_tell(whose, s);
	return err < 0 ? err : tell_ran(s, stopped);
}

/* On a terminal: says that a recording runs and how to end it. */
static void tell_begin(const struct session *s)
{
	const struct record_opts *o = s->o;

	if (!isatty(STDERR_FILENO))
		return;
	if (o->start_off && !o->ntoggles)
		pr_info("sampling begins when --control says 'enable'; Ctrl-C ends the recording");
	else if (o->start_off && o->toggles_ms[0])
		pr_info("sampling begins in %.1f s; Ctrl-C ends the recording", (double)o->toggles_ms[0] / 1e3);
	else if (o->overwrite)
		pr_info("keeping the last %.1f s in memory; 'kill -USR2 %d' writes them, Ctrl-C writes them and ends the recording",
			(double)o->overwrite_ns / 1e9, (int)getpid());
	else if (o->duration_ns)
		pr_info("recording for %.1f s; Ctrl-C stops it earlier", (double)o->duration_ns / 1e9);
	else if (o->command)
		pr_info("recording until '%s' ends; Ctrl-C stops it earlier", o->command[0]);
	else
		pr_info("recording; Ctrl-C stops it");
}

static int record(struct session *s, int *signo)
{
	struct loop *l = &s->loop;
	enum loop_end end;
	int err;

	tell_begin(s);
	/* From here on the rings fill while we wait. */
	opener_be(&opener_hurried);
	end = loop_run(l);
	if (end == LOOP_FULL)
		pr_info("--max-size is reached: the recording ends");
	sched_times_end(&s->sched);
	events_disable(&s->ev);
	opener_be(NULL);
	opener_last_chance(LAST_CHANCE_NS);
	cgroup_coverage_end(&s->ran, &s->target, l->enabled_at ? clock_mono_ns() - l->enabled_at : 0);
	err = finish(s, l);
	if (err || end == LOOP_WRITE_ERROR)
		return 1;
	if (end == LOOP_SIGNAL)
		*signo = l->signo;
	if (end != LOOP_CHILD)
		return 0;
	if (WIFSIGNALED(s->child.status))
		*signo = WTERMSIG(s->child.status);
	return WIFEXITED(s->child.status) ? WEXITSTATUS(s->child.status) : 0;
}

static void session_fini(struct session *s)
{
	/*
	 * The recording is complete: a second signal may now end the wait for the command. A late
	 * SIGUSR2 must not: its sender wanted a file, not an end, and our status is the command's.
	 */
	stopper_fini(&s->stopper);
	signal(SIGUSR2, SIG_IGN);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
	child_stop(&s->child);
	if (s->w)
		spool_fini(&s->spool);
	if (s->sink)
		sampled_events_free(s->sink->events);
	sink_free(s->sink);
	if (s->pt)
		proctab_free(s->pt);
	execs_fini(&s->execs);
	sched_times_fini(&s->sched);
	if (s->drain.rings)
		drain_fini(&s->drain);
	ledger_fini(&s->ledger);
	cgroup_coverage_fini(&s->ran);
	cgroup_facts_free(s->facts);
	rec_writer_free(s->w);
	loop_close(&s->loop);
	events_close(&s->ev);
	evlist_fini(&s->events);
	target_fini(&s->target);
	output_fini(&s->out);
	control_close(&s->control);
	free(s->pids);
}

/*
 * Captures take some hundred KiB per binary and free them again. Memory that goes back to the
 * kernel each time has to be faulted in again each time, page by page.
 */
static void keep_freed(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, KEPT_PIECE);
	mallopt(M_TRIM_THRESHOLD, KEPT_FREED);
#endif
}

int session_run(const struct record_opts *o, int *signo)
{
	struct session s = { .o = o, .child = CHILD_INIT, .control = CONTROL_INIT, .stopper = STOPPER_INIT, .out.fd = -1, .target.fs.fd = -1 };
	int err, rc = 1;

	*signo = 0;
	s.begun = clock_mono_ns();
	keep_freed();
	block_signals(&s);
	if (o->proc)
		nsopen_set_proc(o->proc);
	err = opener_start(!o->no_sandbox);
	if (!err)
		err = check(&s);
	if (err == -EINVAL)
		rc = EXIT_USAGE;
	if (!err && o->dry_run) {
		rc = o->command && child_find(o->command[0]) ? 1 : 0;
		err = 1;
	}
	if (!err)
		err = output_meet(&s.out, &s.signals, signo);
	if (!err)
		err = prepare(&s);
	if (!err)
		err = open_writer(&s);
	if (!err)
		rc = record(&s, signo);
	session_fini(&s);
	opener_stop();
	return rc;
}
