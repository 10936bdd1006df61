/*
 * Turns perf.data into a recording. perf's names are not trusted where perf is known to be wrong
 * (contrib/doc/perf-data.md): it keeps one build-id per path, and reads it from the host once a
 * container is gone.
 */
#include "import/import_parse.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/event_name.h"
#include "events/sample_parse.h"
#include "host/clock.h"
#include "host/parser.h"
#include "import/import_event.h"
#include "import/import_fields.h"
#include "import/import_host.h"
#include "import/import_losses.h"
#include "import/import_switches.h"
#include "import/import_output.h"
#include "import/perfdata.h"
#include "procs/proctab.h"
#include "recording/ledger_sums.h"
#include "recording/rec_events.h"
#include "sink/ledger.h"
#include "sink/sink.h"
#include "sink/sink_side.h"

/*
 * How far the wall clock may be off. If perf tells it: file systems' times tick 100 times per
 * second. Within the same boot, perf's clock, local_clock(), runs beside CLOCK_MONOTONIC_RAW and is
 * never set. Otherwise, perf may have taken a while to finish the file.
 */
#define CLOCK_TOLD_NS INT64_C(20000000)
#define CLOCK_SAME_BOOT_NS INT64_C(2000000000)
#define CLOCK_OF_FILE_NS INT64_C(60000000000)

struct import {
	const struct import_opts *o;
	const struct import_files *files;
	const char *name;		/* name of the input, quoted; borrowed */
	struct perfdata *pd;
	struct import_host host;
	struct import_event event;	/* the chosen events */
	uint64_t *chain;	/* owned: a stack joined from a sample and its deferred part */
	uint64_t undeferred;		/* samples with a deferred part that is not in the file */
	struct import_output *out;
	struct record_opts ro;		/* the options that perf was given, as ours */
	struct cgroup_fs fs;
	struct rec_writer *w;		/* NULL until the first record */
	struct proctab *pt;
	struct sink *sink;
	struct ledger ledger;
	struct import_losses losses;
	struct import_fields fields;
	bool listed;		/* the recording lists its events */
	struct import_switches switches;
	uint64_t first, last;		/* times, ns; 0 = none so far */
	int64_t until_ns;		/* wall clock at the end */
	uint64_t unknown_event;		/* samples of events that the file does not describe */
	uint64_t filtered;		/* samples that perf record --filter left out */
	uint64_t *room;			/* owned, for perfdata_sample() */
};

static struct perfdata_attr *first_event(const struct import *im)
{
	return import_event_first(&im->event, im->pd);
}

/* ---- before the first record ---- */

/* @r, with the latest time so far if it is a sum that has none. */
static struct perfdata_record dated(const struct import *im, const struct perfdata_record *r)
{
	struct perfdata_record d = *r;

	if (r->attr && r->time >= PERFDATA_SUMS && perfdata_is_offcpu(r->attr))
		d.time = im->last;
	return d;
}

static int look(void *ctx, const struct perfdata_record *stored)
{
	struct import *im = ctx;
	const struct perfdata_record here = dated(im, stored), *r = &here;

	if (r->time) {
		im->first = im->first ? MIN(im->first, r->time) : r->time;
		im->last = MAX(im->last, r->time);
	}
	if (r->type == PERF_RECORD_SAMPLE && r->attr) {
		r->attr->samples++;
		if (import_event_counts(r))
			import_event_look(im->pd, r);
	}
	import_host_look(&im->host, im->pd, r);
	return 0;
}

static int choose_event(struct import *im)
{
	return import_event_choose(&im->event, im->pd, im->o->event, im->name);
}

static int check_arch(const struct import *im)
{
	const char *arch = im->pd->arch;

	if (!arch || !strcmp(arch, "x86_64"))
		return 0;
	pr_err("%s was recorded on %s: only x86_64 can be unwound", im->name, arch);
	return -ENOTSUP;
}

/* ---- the recording ---- */

static void number(struct rec_writer *w, const char *key, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	rec_writer_info(w, key, text);
}

static void text(struct rec_writer *w, const char *key, const char *value)
{
	if (value)
		rec_writer_info(w, key, value);
}

static void write_info(struct import *im)
{
	const struct perfdata *pd = im->pd;
	const struct perfdata_attr *a = first_event(im);
	struct rec_writer *w = im->w;
	struct ev_event stacks;

	text(w, "version", NSPROF_VERSION);
	text(w, "imported", pd->version ? pd->version : "perf");
	text(w, "cmdline", pd->cmdline ? pd->cmdline : "");
	text(w, "event", im->event.v[0].name);
	text(w, "event_modifier", im->event.v[0].modifier);
	if (!perfdata_is_offcpu(a))
		number(w, a->flags & PERFDATA_FREQ ? "frequency" : "period", a->period);
	import_event_stacks(&im->event, pd, 0, &stacks);
	text(w, "call_graph", rec_events_callgraph(stacks.callgraph));
	number(w, "dump_size", stacks.dump_size);
	if (stacks.max_stack)
		number(w, "max_stack", stacks.max_stack);
	if (im->fields.n)
		text(w, "fields", im->o->payloads == PAYLOADS_ALL ? "all" : "numbers");
	text(w, "stacks", im->o->full_stacks ? "full" : "masked");
	text(w, "target", "perf.data");
	text(w, "hostname", pd->hostname);
	text(w, "kernel", pd->osrelease);
	text(w, "arch", "x86_64");
	if (pd->ncpus)
		number(w, "ncpus", pd->ncpus);
	if (pd->memory_kb)
		number(w, "memory_kb", pd->memory_kb);
	text(w, "clock", "perf");
}

/* Wall clock of the first event. */
static uint64_t start_wall(const struct import *im)
{
	const struct perfdata *pd = im->pd;

	if (pd->have_clock)
		return pd->clock_wall_ns + im->first - pd->clock_ns;
	return (uint64_t)im->until_ns - (im->last - im->first);
}

/* Called again at the end: in a pipe, the host and kernel may be named late. */
static void detach(struct import *im)
{
	const struct perfdata_build_id *vdso = import_host_vdso(&im->host, im->pd);

	import_host_name(&im->host, im->pd);
	proctab_detach(im->pt, im->host.same_host ? im->until_ns : INT64_MIN,
		       import_host_same_kernel(&im->host, im->pd));
	if (vdso)
		proctab_recorded_vdso(im->pt, vdso->id, vdso->len);
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Uses the perf maps on this host if the start of the recording is known. */
static void trust_host_maps(struct import *im)
{
	const struct perfdata *pd = im->pd;
	int64_t wall = (int64_t)start_wall(im), late = CLOCK_TOLD_NS;

	if (!im->host.same_host)
		return;
	if (!pd->have_clock && import_host_same_kernel(&im->host, pd)) {
		wall = clock_ns(CLOCK_REALTIME) - (int64_t)clock_raw_ns();
		if (__builtin_add_overflow(wall, (int64_t)im->first, &wall))
			return;		/* not a time of this machine: damaged */
		late = CLOCK_SAME_BOOT_NS;
	} else if (!pd->have_clock) {
		if (!pd->map)
			return;
		late = CLOCK_OF_FILE_NS;
	}
	proctab_host_maps(im->pt, im->first, wall, late);
}

/* A recording of one event without fields describes it in its settings alone. */
static int write_events(struct import *im)
{
	int err = 0;

	for (uint32_t i = 0; im->listed && i < im->event.n && !err; i++) {
		const struct ev_event ev = import_event_describe(&im->event, im->pd, i, im->o->payloads != PAYLOADS_NONE);

		err = rec_writer_event(im->w, &ev);
	}
	return err;
}

/* Each event has counts of its own. */
static void begin_events(struct import *im)
{
	bool clock[SAMPLED_EVENTS_MAX];

	for (uint32_t i = 0; i < im->event.n; i++)
		clock[i] = import_event_is_clock(&im->pd->attrs[im->event.v[i].attr]);
	ledger_events(&im->ledger, clock, im->event.n);
}

static int begin(struct import *im, uint64_t first)
{
	const struct perfdata_attr *a;
	int err = im->event.n ? 0 : choose_event(im);

	if (!err)
		err = check_arch(im);
	if (!err)
		err = import_output_open(im->out);
	if (err)
		return err;
	if (!import_output_again(im->out))
		parser_output_begins();
	if (!im->first)
		im->first = im->last = first;
	import_fields_init(&im->fields, im->pd, &im->event, im->o->payloads);
	im->listed = im->event.n > 1 || im->fields.n || perfdata_is_offcpu(first_event(im)) ||
		     !event_name_tells(im->event.v[0].name, first_event(im)->type, first_event(im)->config) ||
		     (import_switches_asked(im->pd) && import_switches_weigh(first_event(im)));
	im->w = rec_writer_new_at(im->out->out.fd, im->first, start_wall(im), im->listed, &err);
	if (!im->w) {
		pr_err("cannot write '%s': %s; choose another file with -o", output_shown(&im->out->out), strerror(-err));
		import_output_undo(im->out);
		return err;
	}
	err = import_output_commit(im->out);
	if (err) {
		import_output_undo(im->out);
		return err;
	}
	rec_writer_patient(im->w);
	a = first_event(im);
	im->ro = (struct record_opts){ .include_self = true, .full_stacks = im->o->full_stacks };
	write_info(im);
	err = write_events(im);
	if (err) {
		pr_err("cannot write the events of %s: %s", im->name, strerror(-err));
		return err;
	}
	/* perf does not record the CPU for tasks (evsel__config() in tools/perf/util/evsel.c). */
	ledger_begin(&im->ledger, im->w, import_event_is_clock(a), !(a->sample_type & PERF_SAMPLE_CPU));
	begin_events(im);
	im->pt = proctab_new(im->w);
	detach(im);
	trust_host_maps(im);
	im->sink = sink_new(&im->ro, &im->fs, im->pt, im->w, &im->ledger, 0);
	return 0;
}

/* ---- records ---- */

/*
 * Replaces marker and cookie by the user part of the stack, which the kernel walked later. If that
 * part is missing, the marker stays; the sampled address precedes it if it is in user space.
 */
static void join_deferred(struct import *im, const struct perfdata_record *r, struct raw_sample *raw)
{
	struct sample_in *in = &raw->in;
	const uint64_t *user, ip = raw->ip;
	uint64_t cookie;
	uint32_t n;
	size_t nuser;

	if (!perfdata_cookie(im->pd, r, &cookie))
		return;
	n = in->nchain - 2;
	user = perfdata_deferred_find(im->pd, cookie, &nuser);
	im->undeferred += !user;
	im->chain = xrealloc(im->chain, (n + 3 + (user ? nuser : 0)) * sizeof(*im->chain));
	memcpy(im->chain, in->chain, n * sizeof(*im->chain));
	if (user ? !nuser || user[0] < (uint64_t)PERF_CONTEXT_MAX : !n)
		im->chain[n++] = (uint64_t)PERF_CONTEXT_USER;
	if (user) {
		memcpy(im->chain + n, user, nuser * sizeof(*user));
		n += (uint32_t)nuser;
	} else {
		if (n == 1)
			im->chain[n++] = ip;
		im->chain[n++] = CHAIN_DEFERRED;
	}
	in->chain = im->chain;
	in->nchain = n;
}

/* Takes @r as a sample of one event. @part->period 0: the period is that of the sample. */
static int take_part(struct import *im, const struct perfdata_record *r, const struct import_part *part)
{
	struct raw_sample *raw = sink_slot(im->sink);
	int err = perfdata_sample(im->pd, r, raw, im->room);

	if (err)
		return err;
	raw->in.event = part->event;
	import_fields_mask(&im->fields, im->pd, &raw->in);
	if (part->period)
		raw->in.period = part->period;
	join_deferred(im, r, raw);
	sink_take(im->sink);
	return 0;
}

static void take_sample(struct import *im, const struct perfdata_record *r)
{
	const bool counts = r->attr && import_event_counts(r);
	struct import_part parts[PERFDATA_READS];
	size_t n = 1;

	if (!r->attr)
		im->unknown_event++;
	/* In a file, they were counted before. */
	if (!im->pd->map && r->attr)
		r->attr->samples++;
	if (!r->attr || (!r->attr->taken && !counts))
		return;
	parts[0] = (struct import_part){ r->attr->event, 0 };
	if (counts) {
		struct raw_sample *raw = sink_slot(im->sink);

		/* Only for its thread, and to see whether it is whole before it counts. */
		if (perfdata_sample(im->pd, r, raw, im->room)) {
			perfdata_bad(im->pd, r);
			return;
		}
		n = import_event_parts(&im->event, im->pd, r, raw->in.tid, parts);
	}
	for (size_t i = 0; i < n; i++)
		if (take_part(im, r, &parts[i])) {
			perfdata_bad(im->pd, r);
			return;
		}
}

/* Data mappings are not needed. MMAP2 contains the protection; MMAP records are for code only. */
static void take_mmap(struct import *im, const struct perfdata_record *r)
{
	struct kmmap m;

	if ((r->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
		return;
	if (import_mmap(im->pd, r, &m)) {
		perfdata_bad(im->pd, r);
		return;
	}
	if (!m.has_build_id)
		import_host_identify(&im->host, im->pd, &m);
	sink_mmap(im->sink, &m);
}

static void take_comm(struct import *im, const struct perfdata_record *r, struct perfdata_cursor *c)
{
	struct ev_comm ev = { .time = r->time, .exec = r->misc & PERF_RECORD_MISC_COMM_EXEC };

	ev.pid = perfdata_u32(c);
	ev.tid = perfdata_u32(c);
	ev.comm = perfdata_cstr(c);
	if (!c->bad)
		sink_comm(im->sink, &ev);
}

static void take_task(struct import *im, const struct perfdata_record *r, struct perfdata_cursor *c)
{
	struct ev_task ev = { .time = r->time };

	ev.pid = perfdata_u32(c);
	ev.ppid = perfdata_u32(c);
	ev.tid = perfdata_u32(c);
	ev.ptid = perfdata_u32(c);
	if (c->bad)
		return;
	/*
	 * perf synthesizes these for running processes: a fork from itself or its parent, before
	 * the comm and mappings.
	 */
	if (r->type == PERF_RECORD_FORK)
		sink_fork(im->sink, &ev);
	else
		sink_exit(im->sink, &ev);
}

static void take_namespaces(struct import *im, struct perfdata_cursor *c)
{
	/* net, uts, ipc, pid, user, mnt, cgroup: NET_NS_INDEX and those after it. */
	uint64_t ino[NR_NAMESPACES] = { 0 }, n;
	uint32_t pid = perfdata_u32(c);

	perfdata_u32(c);
	n = perfdata_u64(c);
	for (uint64_t i = 0; i < n && i < NR_NAMESPACES && !c->bad; i++) {
		perfdata_u64(c);	/* device of nsfs: the same for all */
		ino[i] = perfdata_u64(c);
	}
	if (!c->bad)
		proctab_namespaces(im->pt, pid, ino[MNT_NS_INDEX], ino[PID_NS_INDEX], ino[USER_NS_INDEX]);
}

/*
 * Without a time: perf wrote it at the end, with the total loss of an event (import_losses.h). With
 * a time: the kernel wrote it, for samples that a PMU could not deliver. Marked as filtered: the user
 * did not want them.
 */
static void take_lost_samples(struct import *im, const struct perfdata_record *r, uint64_t n)
{
	struct perfdata_attr *a = r->attr ? r->attr : first_event(im);

	if (r->misc & PERFDATA_MISC_FILTERED)
		im->filtered += a->taken ? n : 0;
	else if (!r->time && a->read_format & PERF_FORMAT_LOST)
		a->lost += n;
	else if (a->taken)
		ledger_lost_pmu(&im->ledger, r->cpu, a->event, r->time, n);
}

static void take_ksymbol(struct import *im, const struct perfdata_record *r, struct perfdata_cursor *c)
{
	struct ev_ksymbol ev = { .time = r->time };

	ev.addr = perfdata_u64(c);
	ev.len = perfdata_u32(c);
	perfdata_u16(c);
	ev.gone = perfdata_u16(c) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	ev.name = perfdata_cstr(c);
	if (!c->bad)
		sink_ksymbol(im->sink, &ev);
}

static void take_cgroup(struct import *im, struct perfdata_cursor *c)
{
	uint64_t id = perfdata_u64(c);
	const char *path = perfdata_cstr(c);

	if (!c->bad)
		sink_cgroups_add(&im->sink->cgroups, id, path);
}

static int take(void *ctx, const struct perfdata_record *stored)
{
	struct import *im = ctx;
	const struct perfdata_record here = dated(im, stored), *r = &here;
	struct perfdata_cursor c = { .p = r->body, .end = r->body + r->len, .swap = im->pd->swap };
	const struct perfdata_attr *a;
	uint64_t id;

	if (im->pd->piped)
		import_host_look(&im->host, im->pd, r);
	if (!im->w) {
		int err = begin(im, r->time);

		if (err)
			return err;
	}
	im->last = MAX(im->last, r->time);
	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		take_sample(im, r);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		take_mmap(im, r);
		break;
	case PERF_RECORD_COMM:
		take_comm(im, r, &c);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		take_task(im, r, &c);
		break;
	case PERF_RECORD_NAMESPACES:
		take_namespaces(im, &c);
		break;
	case PERF_RECORD_KSYMBOL:
		take_ksymbol(im, r, &c);
		break;
	case PERF_RECORD_CGROUP:
		take_cgroup(im, &c);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		if (im->listed && import_switches_take(&im->switches, r, im->sink, im->w))
			return -EIO;
		break;
	case PERF_RECORD_LOST:
		perfdata_u64(&c);
		import_losses_told(&im->losses, r->cpu, r->time, rec_writer_start(im->w), perfdata_u64(&c));
		proctab_lost(im->pt);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		take_lost_samples(im, r, perfdata_u64(&c));
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		perfdata_u64(&c);
		perfdata_u64(&c);
		id = perfdata_u64(&c);
		a = perfdata_find(im->pd, id);
		if (a && a->taken)
			ledger_throttle(&im->ledger, r->cpu, a->event, r->time, id, r->type == PERF_RECORD_THROTTLE);
		break;
	default:
		break;
	}
	return im->sink->err;
}

/* ---- the end ---- */

/* "at offset 0x1f8: MMAP2 (10) of 112 bytes" */
static void spot_text(const struct perfdata_spot *spot, struct strbuf *sb)
{
	char *type = perfdata_type_text(spot->type);

	if (spot->at == PERFDATA_NOWHERE)
		strbuf_adds(sb, "in compressed or piped data, or a file of the directory");
	else
		strbuf_addf(sb, "at offset 0x%" PRIx64, spot->at);
	strbuf_addf(sb, ": %s of %u byte%s", type, spot->size, plural(spot->size));
	free(type);
}

static void tell_damage(const struct import *im)
{
	const struct perfdata *pd = im->pd;
	struct strbuf sb = STRBUF_INIT;

	if (pd->lacking)
		pr_warn("%u file%s of %s %s missing: the samples in %s are not in the recording", pd->lacking, pd->lacking == 1 ? "" : "s",
			im->name, pd->lacking == 1 ? "is" : "are", pd->lacking == 1 ? "it" : "them");
	if (pd->bad) {
		spot_text(&pd->first_bad, &sb);
		pr_warn("%" PRIu64 " damaged record%s left out, the first %s", pd->bad, pd->bad == 1 ? " is" : "s are", sb.s);
		strbuf_reset(&sb);
	}
	if (pd->cut && pd->end.known) {
		spot_text(&pd->end, &sb);
		pr_warn("%s is cut or damaged %s; all whole records before it are in the recording", im->name, sb.s);
	} else if (pd->cut) {
		pr_warn("%s is cut or was not finished: all whole records are in the recording", im->name);
	}
	strbuf_fini(&sb);
}

static void tell_left_out(const struct import *im)
{
	const struct perfdata *pd = im->pd;

	for (size_t i = 0; i < pd->nattrs; i++) {
		const struct perfdata_attr *a = &pd->attrs[i];

		if (a->taken || !a->samples)
			continue;
		if (im->o->event)
			pr_verbose("%" PRIu64 " sample%s of '%s' %s left out because of --event", a->samples, plural(a->samples),
				   import_event_name(a), plural_of(a->samples, "is", "are"));
		else
			pr_warn("%" PRIu64 " sample%s of '%s' %s left out: the event is described only after the first record of the pipe",
				a->samples, plural(a->samples), import_event_name(a), plural_of(a->samples, "is", "are"));
	}
}

/* "cycles", or "3 events". Owned by the caller. */
static char *event_text(const struct import *im)
{
	return im->event.n == 1 ? xstrdup(im->event.v[0].name) : xasprintf("%" PRIu32 " events", im->event.n);
}

static void tell(const struct import *im)
{
	const struct perfdata *pd = im->pd;
	const struct ev_ledger *l = &im->ledger.l;
	uint64_t n = l->kept + l->cut, bytes = rec_writer_bytes(im->w);
	struct strbuf sb = STRBUF_INIT;
	char *event = event_text(im);

	ledger_sums_text(l, &sb);
	if (im->filtered)
		strbuf_addf(&sb, "%s%" PRIu64 " left out by perf's filter", sb.len ? ", " : "", im->filtered);
	if (pd->bytes)
		strbuf_addf(&sb, "%sfrom %.3f MB", sb.len ? "; " : "", (double)pd->bytes / 1e6);
	if (!im->o->name)
		pr_info("wrote %.3f MB to '%s' (%" PRIu64 " sample%s of %s%s%s)", (double)bytes / 1e6, output_shown(&im->out->out), n,
			plural(n), event, sb.len ? "; " : "", sb.len ? sb.s : "");
	strbuf_fini(&sb);
	free(event);
	tell_left_out(im);
	if (im->unknown_event)
		pr_warn("%" PRIu64 " sample%s left out, of events that the file does not describe",
			im->unknown_event, plural_of(im->unknown_event, " is", "s are"));
	tell_damage(im);
	if (pd->text)
		pr_warn("%" PRIu64 " byte%s of text among the records of %s left out: a command printed into perf's pipe; send its output elsewhere, "
			"as in: perf record -o - -- sh -c 'COMMAND >&2'", pd->text, plural(pd->text), im->name);
	if (im->undeferred)
		pr_warn("%" PRIu64 " sample%s no user stack: perf deferred it, and the record with it is missing in %s", im->undeferred,
			plural_of(im->undeferred, " has", "s have"), im->name);
	if (!im->host.same_host && pd->hostname)
		pr_verbose("recorded on another host, '%s': only binaries with the recorded build-id are used", pd->hostname);
}

static int finish(struct import *im)
{
	int err, e;

	if (!im->w) {
		err = begin(im, 0);
		if (err)
			return err;
	}
	err = import_switches_flush(&im->switches, im->sink, im->w);
	if (err)
		return err;
	sink_flush(im->sink);
	sink_end(im->sink, true);
	if (im->pd->cut || im->pd->bad || im->pd->lacking)
		rec_writer_info(im->w, "imported_cut", "1");
	im->ledger.l.unordered += im->pd->late;
	/* By now, everything that identifies host and kernel is known. */
	detach(im);
	err = im->sink->err ? im->sink->err : proctab_capture(im->pt);
	import_losses_settle(&im->losses, im->pd, &im->ledger, rec_writer_start(im->w), im->last);
	if (!err)
		err = ledger_finish_told(&im->ledger, im->w, im->last);
	e = rec_writer_finish(im->w);
	err = err ? err : e;
	e = output_close(&im->out->out);
	err = err ? err : e;
	if (err)
		pr_err("cannot write '%s': %s", output_shown(&im->out->out), strerror(-err));
	else
		tell(im);
	return err;
}

static int run(struct import *im)
{
	int err;

	im->pd = perfdata_open(im->files->fd, im->name);
	if (!im->pd)
		return -EINVAL;
	/* A pipe ends now. */
	im->until_ns = im->pd->written_ns ? im->pd->written_ns : clock_ns(CLOCK_REALTIME);
	if (im->pd->map) {
		err = perfdata_each(im->pd, false, look, im);
		if (!err && im->pd->nattrs)
			err = choose_event(im);
		if (err)
			return err;
	}
	err = perfdata_each(im->pd, true, take, im);
	if (im->sink && im->sink->err)
		pr_err("cannot write '%s': %s", output_shown(&im->out->out), strerror(-im->sink->err));
	if (err)
		return err;
	err = finish(im);
	return err ? err : im->pd->cut || im->pd->bad || im->pd->lacking;
}

int import_parse(struct import_files *files)
{
	struct import im = { .o = files->o, .files = files, .name = files->name, .out = &files->out, .fs.fd = -1 };
	int err;

	im.room = xmalloc(PERFDATA_ROOM);
	err = run(&im);
	sink_free(im.sink);
	if (im.pt)
		proctab_free(im.pt);
	ledger_fini(&im.ledger);
	rec_writer_free(im.w);
	import_host_fini(&im.host);
	import_switches_fini(&im.switches);
	import_losses_fini(&im.losses);
	import_fields_fini(&im.fields);
	import_event_fini(&im.event);
	free(im.chain);
	perfdata_free(im.pd);
	free(im.room);
	return err;
}
