#include "doctor/trial_open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "evlist/evsel.h"
#include "events/open.h"
#include "procfs/pidns.h"
#include "run/child.h"

/* Turns a message into one line without a newline. */
static void chomp(struct strbuf *sb)
{
	while (sb->len && sb->s[sb->len - 1] == '\n')
		sb->s[--sb->len] = '\0';
	for (size_t i = 0; i < sb->len; i++)
		if (sb->s[i] == '\n')
			sb->s[i] = ' ';
}

static void note_events(struct trial_open *t, const struct events *ev)
{
	t->map_err = ev->map_err;
	t->wanted_err = ev->n ? ev->v[0].wanted_err : 0;
	if (t->err) {
		t->call = t->err == ev->map_err ? "mmap" : "perf_event_open";
		return;
	}
	t->narrowed = ev->narrowed;
	t->side_err = ev->side_err;
	t->ring_bytes = ev->data_bytes;
	t->ring_ms = events_ring_ms(ev);
}

/*
 * Descriptors that a recorder opens in addition to its events and what it inherits: its output, and
 * those for waiting.
 */
#define RECORDER_FILES 9

/* Can @n more descriptors be opened? 0, or -EMFILE after a message. */
static int files_left(int n)
{
	int fds[RECORDER_FILES], have = 0;

	while (have < n && (fds[have] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		have++;
	for (int i = 0; i < have; i++)
		close(fds[i]);
	if (have == n)
		return 0;
	pr_err("cannot open the recorder's own files: %s; raise the limit, for instance: ulimit -n 1024", strerror(EMFILE));
	return -EMFILE;
}

static int open_events(struct trial_open *t, const struct record_opts *o, struct target *target)
{
	const bool workload = target->kind == TARGET_COMMAND;
	struct child child = CHILD_INIT;
	struct events ev;
	struct evlist list;
	sigset_t mask;
	int err;

	err = evlist_parse(&list, o->specs, o->nspecs, o->freq, NULL);
	if (!err)
		err = evlist_check_any(&list);
	if (err)
		goto out;
	if (workload) {
		sigprocmask(SIG_BLOCK, NULL, &mask);
		err = child_prepare(&child, o->command, &mask, false);
		if (err)
			goto out;
		target_set_child(target, (uint32_t)child.pid);
	}
	t->err = events_open(&ev, o, target, list.v, list.n, NULL, workload);
	note_events(t, &ev);
	if (!t->err)
		t->err = files_left(RECORDER_FILES);
	events_close(&ev);
	child_stop(&child);
	err = t->err;
out:
	evlist_fini(&list);
	return err;
}

static void begin(struct trial_open *t)
{
	memset(t, 0, sizeof(*t));
	log_divert(&t->said);
	t->err = pidns_check_proc();
}

static void end(struct trial_open *t)
{
	log_divert(NULL);
	chomp(&t->said);
}

void trial_open_proc(struct trial_open *t)
{
	begin(t);
	end(t);
}

void trial_open_run(struct trial_open *t, enum target_kind kind, const char *event, uint32_t pid)
{
	char tid[16], name[] = "true", *command[] = { name, NULL };
	struct event_spec spec = { .text = event ? event : "cycles" };
	struct record_opts o = {
		.specs = &spec,
		.nspecs = 1,
		.freq = FREQ_DEFAULT,
		.callgraph = CALLGRAPH_DWARF,
		.dump_size = DUMP_SIZE_MAX,
		.all_cpus = kind == TARGET_ALL,
		.command = kind == TARGET_COMMAND ? command : NULL,
		.tids = kind == TARGET_TIDS ? tid : NULL,
		.cgroups = kind == TARGET_CGROUPS ? xstrdup("/") : NULL,
	};
	struct target target;

	snprintf(tid, sizeof(tid), "%" PRIu32, pid);
	begin(t);
	if (!t->err) {
		t->err = target_resolve(&target, &o);
		t->ncpus = target.ncpus;
		if (!t->err)
			t->err = open_events(t, &o, &target);
		if (!t->err && kind == TARGET_CGROUPS)
			t->reach = cgroup_perf_reach(&target.fs);
		target_fini(&target);
	}
	end(t);
	free(o.cgroups);
}

/* A message of the recorder tells what failed and why up to the first "; ", then what to do. */
static void split(const struct strbuf *said, struct strbuf *text, struct strbuf *remedy)
{
	const char *cut = said->s ? strstr(said->s, "; ") : NULL;

	if (!said->s)
		return;
	strbuf_add(text, said->s, cut ? (size_t)(cut - said->s) : said->len);
	if (cut)
		strbuf_adds(remedy, cut + 2);
}

void trial_open_explain(const struct trial_open *t, struct strbuf *text, struct strbuf *remedy)
{
	if (t->call)
		strbuf_addf(text, "%s: ", t->call);
	split(&t->said, text, remedy);
}

void trial_open_fini(struct trial_open *t)
{
	strbuf_fini(&t->said);
}
