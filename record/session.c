#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "drain.h"
#include "info.h"
#include "ledger.h"
#include "log.h"
#include "loop.h"
#include "nsopen.h"
#include "open.h"
#include "opt.h"
#include "output.h"
#include "procfs.h"
#include "proctab.h"
#include "sink.h"
#include "target.h"
#include "util.h"

#define STATUS_MAX 65536
/* Enough to be scheduled within the time the rings hold on a fully loaded machine. */
#define DRAIN_NICE (-10)

struct session {
	const struct record_opts *o;
	struct evsel sel;
	struct target target;
	struct output out;
	struct child child;
	struct events ev;
	struct rec_writer *w;
	struct proctab *pt;
	struct sink *sink;
	struct ledger ledger;
	struct drain drain;
	sigset_t signals, old_mask;
};

/*
 * Signals come through a descriptor. SIGHUP stays ignored where the caller ignores it (nohup);
 * SIGINT and SIGQUIT do not: shells ignore them in "record &", and scripts stop it by them
 * nevertheless.
 */
static void block_signals(struct session *s)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGCHLD };

	sigemptyset(&s->signals);
	for (size_t i = 0; i < ARRAY_SIZE(sigs); i++) {
		struct sigaction sa;

		if (sigs[i] == SIGHUP && !sigaction(SIGHUP, NULL, &sa) && sa.sa_handler == SIG_IGN)
			continue;
		sigaddset(&s->signals, sigs[i]);
	}
	sigprocmask(SIG_BLOCK, &s->signals, &s->old_mask);
}

/* What can be found out without touching anything. */
static int check(struct session *s)
{
	const struct record_opts *o = s->o;
	int err = evsel_parse(&s->sel, o->event ? o->event : "cycles");

	if (err)
		return err;
	if (o->all_user) {
		s->sel.exclude_kernel = true;
		s->sel.exclude_user = false;
	}
	if (o->all_kernel) {
		s->sel.exclude_user = true;
		s->sel.exclude_kernel = false;
	}
	err = target_resolve(&s->target, o);
	return err ? err : output_check(&s->out, o->output);
}

/* Events, rings, the command: after it the recording can start. */
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
	/* From here on a vanished reader is an error of write(2), told with its cause. */
	signal(SIGPIPE, SIG_IGN);
	err = events_open(&s->ev, o, &s->target, &s->sel, workload);
	if (!err && o->command)
		err = child_start(&s->child, o->command[0]);
	return err;
}

static void read_process(struct session *s, uint32_t pid)
{
	int err = proctab_read(s->pt, pid, loop_now());

	if (err && err != -ESRCH)
		pr_warn("cannot read the mappings of process %u: %s: its stacks are kept whole and "
			"some of its names may be missing", pid, strerror(-err));
}

static void read_cgroup_process(void *ctx, uint32_t pid)
{
	read_process(ctx, pid);
}

static void write_cgroup(void *ctx, uint64_t id, const char *path)
{
	struct session *s = ctx;

	sink_cgroup(s->sink, id, path);
}

/* The process of a thread; 0 when it is gone. */
static uint32_t tgid_of(uint32_t tid)
{
	int fd = nsopen_procfile(tid, "status"), err;
	uint32_t tgid = 0;
	size_t len;
	char *text;

	if (fd < 0)
		return 0;
	text = nsopen_slurp(fd, STATUS_MAX, &len, &err);
	close(fd);
	if (text)
		tgid = procfs_status_tgid(text);
	free(text);
	return tgid;
}

/* What lives already has no side-band records. With -a it is too much: read when sampled. */
static void read_targets(struct session *s)
{
	const struct target *t = &s->target;

	for (size_t i = 0; i < t->ncgroups; i++)
		cgroup_walk(&t->cgroups[i], write_cgroup, read_cgroup_process, s);
	for (size_t i = 0; i < t->npids; i++) {
		uint32_t pid = tgid_of(t->pids[i]);

		if (pid)
			read_process(s, pid);
	}
}

/* The output file and everything that writes to it. */
static int open_writer(struct session *s)
{
	int err = output_open(&s->out);

	if (err)
		return err;
	s->w = rec_writer_new(s->out.fd, &err);
	if (!s->w) {
		pr_err("cannot write '%s': %s; choose another file with -o", output_shown(&s->out),
		       strerror(-err));
		return err;
	}
	events_tell(&s->ev);
	info_write(s->w, s->o, &s->ev);
	/* For cgroup ids in samples; without a hierarchy there are no names. */
	if (s->target.fs.fd < 0 && s->ev.feats & FEAT_SAMPLE_CGROUP)
		cgroup_fs_open(&s->target.fs);
	s->pt = proctab_new(s->w);
	s->sink = sink_new(s->o, &s->target.fs, s->pt, s->w, &s->ledger,
			   s->ev.feats & FEAT_SAMPLE_CGROUP);
	drain_init(&s->drain, s->ev.data, s->ev.side, s->target.ncpus);
	/* This thread only, and the command is started; without the right it stays as it is. */
	setpriority(PRIO_PROCESS, 0, DRAIN_NICE);
	return 0;
}

/* After the last sample: the rest of the rings, rows, ledger, END. 0 or negative errno after a
 * message. */
static int finish(struct session *s, const struct loop *l)
{
	uint64_t stopped = loop_now();
	struct ledger_summary sum = {
		.file = output_shown(&s->out),
		.piped = !strcmp(s->out.name, "-"),
		.elapsed_ns = l->enabled_at ? stopped - l->enabled_at : 0,
		.ncpus = s->target.ncpus,
		.ring_bytes = s->ev.data_bytes,
	};
	int err = s->sink->err, e;

	if (!err) {
		drain_round(&s->drain, DRAIN_ALL, s->sink);
		ledger_settle(&s->ledger, &s->ev);
		err = s->sink->err;
	}
	if (!err)
		err = proctab_capture(s->pt);
	if (!err)
		err = rec_writer_ledger(s->w, &s->ledger.l);
	e = rec_writer_finish(s->w);
	err = err < 0 ? err : e;
	e = output_close(&s->out);
	err = err < 0 ? err : e;
	sum.bytes = rec_writer_bytes(s->w);
	if (err < 0) {
		pr_err("cannot write '%s': %s%s", output_shown(&s->out), strerror(-err),
		       err == -ENOSPC ? "; make room, or use -o on another file system" :
		       err == -EPIPE ? "; its reader has ended" : "");
		sum.failed = true;
	}
	ledger_print(&s->ledger, s->o, &sum);
	return err < 0 ? err : 0;
}

static int record(struct session *s, int *signo)
{
	struct loop l = {
		.ev = &s->ev,
		.drain = &s->drain,
		.sink = s->sink,
		.child = &s->child,
		.signals = &s->signals,
		.delay_ns = s->o->delay_ms * 1000000ull,
		.duration_ns = s->o->duration_ns,
	};
	enum loop_end end = loop_run(&l);
	int err;

	events_disable(&s->ev);
	err = finish(s, &l);
	if (err || end == LOOP_BROKEN)
		return 1;
	if (end == LOOP_SIGNAL)
		*signo = l.signo;
	if (end != LOOP_CHILD)
		return 0;
	if (WIFSIGNALED(s->child.status))
		*signo = WTERMSIG(s->child.status);
	return WIFEXITED(s->child.status) ? WEXITSTATUS(s->child.status) : 0;
}

static void session_fini(struct session *s)
{
	/* The recording is complete: a second signal may now end the wait for the command. */
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
	child_stop(&s->child);
	sink_free(s->sink);
	if (s->pt)
		proctab_free(s->pt);
	if (s->drain.rings)
		drain_fini(&s->drain);
	rec_writer_free(s->w);
	events_close(&s->ev);
	target_fini(&s->target);
	output_close(&s->out);
}

int session_run(const struct record_opts *o, int *signo)
{
	struct session s = { .o = o, .child = CHILD_INIT, .out.fd = -1, .target.fs.fd = -1 };
	int err, rc = 1;

	*signo = 0;
	block_signals(&s);
	err = check(&s);
	if (err == -EINVAL)
		rc = EXIT_USAGE;
	if (!err)
		err = prepare(&s);
	if (!err)
		err = open_writer(&s);
	if (!err) {
		read_targets(&s);
		rc = record(&s, signo);
	}
	session_fini(&s);
	return rc;
}
