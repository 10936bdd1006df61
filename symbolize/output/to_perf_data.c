/*
 * A recording as perf.data (to_perf_data.h). Events take effect in the order of the file, but perf
 * sorts by time. So a record has the time of its event, but never an earlier one than the records
 * before it.
 */
#include "output/to_perf_data.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/event_name.h"
#include "modules/kernel_id.h"
#include "output/buildid_dir.h"
#include "output/perf_file.h"
#include "output/perf_tracing.h"
#include "recording/rec_events.h"
#include "recording/rec_reader.h"
#include "replay/replay.h"
#include "support/interrupt.h"
#include "support/progress.h"
#include "symbols/kallsyms.h"
#include "unwind/callchain.h"

#define NS_PER_S UINT64_C(1000000000)

/*
 * Range of the kernel's own text on x86-64, wherever KASLR puts it
 * (Documentation/arch/x86/x86_64/mm.rst).
 */
#define KERNEL_TEXT_START UINT64_C(0xffffffff80000000)
#define KERNEL_TEXT_END UINT64_C(0xffffffffc0000000)
#define KERNEL_NAME "[kernel.kallsyms]"

#define BPF_MODULE "bpf"	/* the module of BPF programs in kallsyms */

/* Samples and records lost on one CPU in one second. */
struct loss {
	uint64_t time;		/* ns, end of the second */
	uint64_t lost;
	uint32_t cpu;
};

/* One pass over the recording. */
struct pass {
	struct modules *mods;
	struct replay *rp;
	struct event_ops replay;	/* its handlers */
	struct callchain *cc;
};

struct export {
	struct to_perf_data *in;
	struct perf_file *pf;	/* NULL in a pass that only reads */
	struct pass pass;
	struct progress progress;	/* over all passes */
	uint64_t seen;		/* samples, over all passes */
	const struct callchain *joins;	/* borrowed; knows which joined frames hold; NULL: none do */
	uint64_t last;		/* the latest time written, ns */
	struct u64map told;	/* pid << 32 | tid -> comm (interned by the replay) that the
				 * perf.data has for the thread */
	struct intern *names;	/* names of files */
	struct u64map first;	/* name -> id of the binary first mapped under it */
	struct u64map others;	/* name << 32 | id of another binary -> its own name */
	struct u64map ids;	/* name -> id of a binary with a build-id */
	uint8_t kernel_id[BUILD_ID_MAX];
	size_t kernel_id_len;	/* bytes */
	struct loss *losses;	/* in order of time */
	size_t nlosses, losses_cap, next_loss;
	uint64_t total_lost;	/* sum of @losses */
	uint64_t kernel[PERF_FILE_FRAMES], user[PERF_FILE_FRAMES];
};

/* ---- threads and times ---- */

static struct perf_file_id stamp(struct export *x, uint32_t pid, uint32_t tid, uint64_t time)
{
	x->last = MAX(x->last, time);
	return (struct perf_file_id){ .pid = pid, .tid = tid, .time = x->last };
}

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

static void tell_comm(struct export *x, const struct perf_file_id *id, bool exec, const char *comm)
{
	perf_file_comm(x->pf, id, exec, comm);
	*u64map_put(&x->told, thread_key(id->pid, id->tid), NULL) = (uintptr_t)comm;
}

/* Call before a sample: writes the thread's name if perf does not know it yet. */
static void tell_thread(struct export *x, const struct replay_sample *s)
{
	const struct ev_sample *ev = s->ev;
	const uint64_t *told = u64map_get(&x->told, thread_key(ev->pid, ev->tid));
	struct perf_file_id id;

	if (told && *told == (uintptr_t)s->comm)
		return;
	id = stamp(x, ev->pid, ev->tid, 0);
	if (!told && ev->tid != ev->pid)
		perf_file_fork(x->pf, &id, ev->pid, ev->pid, true);
	if (*s->comm)
		tell_comm(x, &id, false, s->comm);
}

/* ---- files ---- */

/*
 * perf 6.1 keeps one file per path. If two containers have different binaries under one path, later
 * ones get a number, so that none is mistaken for another.
 */
static uint32_t name_of(struct export *x, const char *path, uint32_t dso)
{
	uint32_t name = intern_add(x->names, path);
	struct strbuf sb = STRBUF_INIT;
	uint64_t *slot;
	bool is_new;

	if (!dso || *path != '/')
		return name;
	slot = u64map_put(&x->first, name, &is_new);
	if (is_new)
		*slot = dso;
	if (*slot == dso)
		return name;
	slot = u64map_put(&x->others, (uint64_t)name << 32 | dso, &is_new);
	if (is_new) {
		strbuf_addf(&sb, "%s~%zu", path, x->others.n + 1);
		*slot = intern_add(x->names, sb.s);
		strbuf_fini(&sb);
	}
	return (uint32_t)*slot;
}

static int on_dso(void *ctx, const struct ev_dso *ev)
{
	const struct export *x = ctx;

	return x->pass.replay.dso(x->pass.rp, ev);
}

static int on_mmap(void *ctx, const struct ev_mmap *ev)
{
	struct export *x = ctx;
	const struct module *m;
	struct perf_file_id id;
	uint32_t name;
	int err = x->pass.replay.mmap(x->pass.rp, ev);

	if (err || !ev->len || !x->pf)
		return err;
	m = ev->dso ? modules_get(x->pass.mods, ev->dso) : NULL;
	name = name_of(x, ev->path, m ? m->id : 0);
	if (m && m->dso.build_id_len)
		*u64map_put(&x->ids, name, NULL) = m->id;
	id = stamp(x, ev->pid, ev->tid, ev->time);
	perf_file_mmap(x->pf, &id, ev, m ? &m->dso : NULL, intern_str(x->names, name));
	return 0;
}

/* ---- processes ---- */

/*
 * The process has another image than @old: writes the records that perf takes as the start of one.
 */
static void tell_image(struct export *x, const struct image *old, const struct ev_proc *ev)
{
	const struct image *img = replay_current(x->pass.rp, ev->pid);
	const struct perf_file_id id = stamp(x, ev->pid, ev->pid, ev->time);
	struct perf_file_id before = id;
	/* The fork was written already; only now come the facts. */
	const bool forked = ev->inherited && old && !old->serial && old->parent;

	/* hotspot processes a fork after all mappings of the same time, and would drop these. */
	before.time -= !!before.time;
	if (!forked && (ev->inherited || !old || old->exited))
		perf_file_fork(x->pf, &before, ev->ppid, ev->ppid, !img->parent);
	tell_comm(x, &id, old && !ev->inherited, img->comm);
}

static int on_proc(void *ctx, const struct ev_proc *ev)
{
	struct export *x = ctx;
	const struct image *old = replay_current(x->pass.rp, ev->pid);
	int err = x->pass.replay.proc(x->pass.rp, ev);

	if (!err && x->pf && replay_current(x->pass.rp, ev->pid) != old)
		tell_image(x, old, ev);
	return err;
}

/* A new name is written with the first sample under it. */
static int on_comm(void *ctx, const struct ev_comm *ev)
{
	struct export *x = ctx;
	const struct image *old = replay_current(x->pass.rp, ev->pid), *img;
	int err = x->pass.replay.comm(x->pass.rp, ev);
	struct perf_file_id id;

	img = replay_current(x->pass.rp, ev->pid);
	if (err || !x->pf || !ev->exec || img == old)
		return err;
	id = stamp(x, ev->pid, ev->tid, ev->time);
	tell_comm(x, &id, true, img->comm);
	return 0;
}

static int on_fork(void *ctx, const struct ev_task *ev)
{
	struct export *x = ctx;
	int err = x->pass.replay.fork(x->pass.rp, ev);
	struct perf_file_id id;

	if (err || !x->pf)
		return err;
	id = stamp(x, ev->pid, ev->tid, ev->time);
	perf_file_fork(x->pf, &id, ev->ppid, ev->ptid, false);
	/* The reader keeps track of its current name, which is written with the first sample. */
	*u64map_put(&x->told, thread_key(ev->pid, ev->tid), NULL) = 0;
	return 0;
}

static int on_exit_event(void *ctx, const struct ev_task *ev)
{
	struct export *x = ctx;
	int err = x->pass.replay.exit(x->pass.rp, ev);
	struct perf_file_id id;

	if (err || !x->pf)
		return err;
	id = stamp(x, ev->pid, ev->tid, ev->time);
	perf_file_exit(x->pf, &id, ev->ppid, ev->ptid);
	u64map_del(&x->told, thread_key(ev->pid, ev->tid));
	return 0;
}

/* ---- the kernel ---- */

static int on_ksymbol(void *ctx, const struct ev_ksymbol *ev)
{
	struct export *x = ctx;
	int err = x->pass.replay.ksymbol(x->pass.rp, ev);
	struct perf_file_id id;

	if (err || !x->pf)
		return err;
	id = stamp(x, 0, 0, ev->time);
	perf_file_ksymbol(x->pf, &id, ev);
	return 0;
}

static void tell_bpf(struct export *x, const struct kallsym *sym)
{
	const struct ev_ksymbol ev = { .addr = sym->start, .len = (uint32_t)(sym->end - sym->start), .name = sym->name };
	const struct perf_file_id id = { .time = 0 };

	perf_file_ksymbol(x->pf, &id, &ev);
}

/* The symbols of one module are adjacent. */
static void tell_module(struct export *x, const struct kallsym *from, uint64_t end)
{
	struct strbuf sb = STRBUF_INIT;
	const uint64_t start = align_down(from->start, 4096);

	strbuf_addf(&sb, "[%s]", from->module);
	perf_file_kernel(x->pf, start, end - start, 0, sb.s);
	strbuf_fini(&sb);
}

/*
 * Like perf, gives the place of the kernel's text by one of its symbols, so that a reader on
 * another boot of the same kernel can find the others. The build-id identifies the kernel.
 */
static void tell_kernel(struct export *x)
{
	const struct kallsyms *ks = replay_kallsyms(x->pass.rp);
	struct kallsym sym, ref = { .name = NULL }, mod = { .name = NULL };
	struct strbuf name = STRBUF_INIT;
	uint64_t mod_end = 0;
	size_t it = 0;

	strbuf_adds(&name, KERNEL_NAME);
	while (ks && kallsyms_next(ks, &it, &sym)) {
		if (!ref.name && !sym.module) {
			ref = sym;
			strbuf_adds(&name, sym.name);
		}
		if (mod.name && (!sym.module || strcmp(sym.module, mod.module) != 0)) {
			tell_module(x, &mod, mod_end);
			mod.name = NULL;
		}
		if (!sym.module)
			continue;
		if (!strcmp(sym.module, BPF_MODULE)) {
			tell_bpf(x, &sym);
			continue;
		}
		mod = mod.name ? mod : sym;
		mod_end = sym.end;
	}
	if (mod.name)
		tell_module(x, &mod, mod_end);
	perf_file_kernel(x->pf, KERNEL_TEXT_START, KERNEL_TEXT_END - KERNEL_TEXT_START, ref.start, name.s);
	x->kernel_id_len = kernel_id(ks, x->kernel_id);
	perf_file_build_id(x->pf, KERNEL_NAME, true, x->kernel_id, x->kernel_id_len);
	strbuf_fini(&name);
}

/* ---- samples ---- */

static int on_event_sample(void *ctx, const struct ev_sample *ev)
{
	const struct export *x = ctx;

	return x->pass.replay.sample(x->pass.rp, ev);
}

static void tell_losses(struct export *x, uint64_t until)
{
	for (; x->next_loss < x->nlosses && x->losses[x->next_loss].time <= until; x->next_loss++) {
		const struct loss *l = &x->losses[x->next_loss];
		struct perf_file_id id = stamp(x, 0, 0, 0);

		id.cpu = l->cpu;
		perf_file_lost(x->pf, &id, l->lost);
	}
}

/* A damaged recording may have samples of events that it does not describe. */
static bool is_wanted(const struct to_perf_data *in, uint32_t event)
{
	return in->event == REC_EVENTS_ALL ? event < in->events->table.n : event == in->event;
}

static int on_sample(void *ctx, const struct replay_sample *s)
{
	struct export *x = ctx;
	const struct ev_sample *ev = s->ev;
	/* As in all our outputs: every sample counts at least 1. */
	struct perf_file_sample out = {
		.id = { ev->pid, ev->tid, ev->cpu, ev->time }, .event = x->in->event == REC_EVENTS_ALL ? ev->event : 0,
		.period = MAX(ev->period, 1ull), .kernel = x->kernel, .user = x->user,
		.payload = ev->payload, .payload_len = ev->payload_len,
	};
	const uint32_t most = (uint32_t)perf_file_frames(ev->payload_len);
	struct stack st;
	uint32_t n;

	if (interrupt_requested())
		return TO_PERF_DATA_STOPPED;
	if (++x->seen % PROGRESS_EVERY == 0)
		progress_show(&x->progress, x->seen);
	callchain_build(x->pass.cc, ev, s->in_exec ? NULL : s->img->as, &st);
	if (!x->pf || !is_wanted(x->in, ev->event))
		return 0;
	n = st.n;
	/*
	 * A damaged recording may have the ledger of another one that had no stacks deeper than
	 * their copies.
	 */
	if (st.joined && x->joins && callchain_join_holds(&x->joins, 1, st.border))
		n += st.joined;
	if (n > most) {
		n = most;
		x->in->cut++;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct frame *f = &st.frames[i];

		/*
		 * Not the return address. perf looks addresses up unchanged, and if the call never
		 * returns, the return address belongs to the next function. perf's own unwinder
		 * gives callers in the same way. A reader that subtracts 1 is still within the
		 * call.
		 */
		if (f->kernel)
			x->kernel[out.nkernel++] = frame_lookup_addr(f).v;
		else
			x->user[out.nuser++] = frame_lookup_addr(f).v;
	}
	tell_losses(x, ev->time);
	tell_thread(x, s);
	x->last = MAX(x->last, ev->time);
	perf_file_sample(x->pf, &out);
	x->in->samples++;
	return 0;
}

/* ---- what was lost ---- */

static int on_tally(void *ctx, const struct ev_tally *row)
{
	struct export *x = ctx;
	const uint64_t lost = row->lost + row->dropped + row->side_lost;

	if (!lost)
		return 0;
	XGROW(x->losses, x->nlosses, x->losses_cap);
	x->losses[x->nlosses++] = (struct loss){
		.time = rec_reader_start(x->in->reader) + (row->second + 1) * NS_PER_S, .lost = lost, .cpu = row->cpu,
	};
	x->total_lost += lost;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct loss *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static int find_losses(struct export *x)
{
	struct ev_ledger l;
	uint64_t all;
	int err = rec_reader_tally(x->in->reader, on_tally, x);

	if (err)
		return err;
	if (x->nlosses)
		qsort(x->losses, x->nlosses, sizeof(*x->losses), by_time);
	if (!rec_reader_ledger(x->in->reader, &l))
		return 0;
	/* Losses without a known second come at the end. */
	all = l.lost_kernel + l.dropped + l.lost_sideband;
	if (all > x->total_lost) {
		XGROW(x->losses, x->nlosses, x->losses_cap);
		x->losses[x->nlosses++] = (struct loss){ .time = UINT64_MAX, .lost = all - x->total_lost };
	}
	return 0;
}

/* ---- passes ---- */

static int stack_pass_run(struct export *x)
{
	const struct event_ops ops = {
		.dso = on_dso, .mmap = on_mmap, .proc = on_proc, .comm = on_comm, .fork = on_fork, .exit = on_exit_event,
		.ksymbol = on_ksymbol, .sample = on_event_sample,
	};
	int err;

	x->pass.mods = modules_new();
	x->pass.rp = replay_new(x->pass.mods);
	x->pass.cc = callchain_new(x->in->unwinder, x->in->max_stack);
	callchain_events(x->pass.cc, x->in->events->table.ev, x->in->events->table.n);
	err = replay_begin(x->pass.rp, x->in->reader, on_sample, x, &x->pass.replay);
	if (err)
		return err;
	if (x->pf)
		tell_kernel(x);
	return rec_reader_events(x->in->reader, &ops, x);
}

static void stack_pass_fini(struct pass *p)
{
	callchain_free(p->cc);
	replay_free(p->rp);
	modules_free(p->mods);
}

/* ---- the file ---- */

static uint64_t number(const struct rec_reader *r, const char *key)
{
	const char *v = rec_reader_info(r, key);

	return v ? strtoull(v, NULL, 10) : 0;
}

/*
 * An event of a plain recording has only a name; if nsprof does not know it, it has some type, and
 * readers use the name. So does a tracepoint of which no fields are kept: perf reads no file that has
 * one without its format.
 */
static void set_event(struct perf_file_event *out, const struct ev_event *ev, bool plain)
{
	const char *name = *ev->name ? ev->name : "cpu-clock";
	const struct event_name *known = plain ? event_name_find(name, strlen(name)) : NULL;
	const bool formed = ev->type == PERF_TYPE_TRACEPOINT && strchr(name, ':') && perf_tracing_record(ev->fields);

	*out = (struct perf_file_event){
		.name = xasprintf("%s%s%s", name, *ev->modifier ? ":" : "", ev->modifier),
		.type = known ? known->type : plain || (ev->type == PERF_TYPE_TRACEPOINT && !formed) ? (uint32_t)PERF_TYPE_RAW : ev->type,
		.config = known ? known->config : plain ? 0 : ev->config, .config1 = ev->config1, .config2 = ev->config2,
		.freq = ev->freq, .period = ev->freq ? ev->freq : MAX(ev->period, 1ull),
		.exclude_kernel = strchr(ev->modifier, 'u') && !strchr(ev->modifier, 'k'),
		.exclude_user = strchr(ev->modifier, 'k') && !strchr(ev->modifier, 'u'),
		.no_chain = ev->callgraph == CALLGRAPH_NONE,
		.max_stack = (uint16_t)MIN(ev->max_stack, UINT16_MAX),
		.fields = formed && !plain ? ev->fields : NULL,
	};
}

/* The events to write; their number in *@n. Free with free_events(). */
static struct perf_file_event *make_events(const struct to_perf_data *in, uint32_t *n)
{
	const bool all = in->event == REC_EVENTS_ALL;
	struct perf_file_event *evs;

	*n = all ? rec_events_recorded(in->events) : 1;
	evs = xcalloc(*n, sizeof(*evs));
	for (uint32_t i = 0; i < *n; i++)
		set_event(&evs[i], &in->events->table.ev[all ? i : in->event], in->events->plain);
	return evs;
}

static void free_events(struct perf_file_event *evs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free((char *)evs[i].name);
	free(evs);
}

static void tell_features(struct export *x)
{
	const struct rec_reader *r = x->in->reader;
	const uint32_t cpus = (uint32_t)number(r, "ncpus");
	const uint64_t wall = number(r, "start_wall_ns"), memory_kb = number(r, "memory_kb");
	uint64_t name, dso;
	size_t it = 0;

	perf_file_text(x->pf, PERF_FILE_HOSTNAME, rec_reader_info(r, "hostname"));
	perf_file_text(x->pf, PERF_FILE_OSRELEASE, rec_reader_info(r, "kernel"));
	perf_file_text(x->pf, PERF_FILE_VERSION, "nsprof " NSPROF_VERSION);
	perf_file_text(x->pf, PERF_FILE_ARCH, rec_reader_info(r, "arch"));
	perf_file_text(x->pf, PERF_FILE_CMDLINE, rec_reader_info(r, "cmdline"));
	if (cpus)
		perf_file_cpus(x->pf, cpus);
	if (memory_kb)
		perf_file_memory(x->pf, memory_kb);
	if (wall)
		perf_file_clock(x->pf, wall, rec_reader_start(r));
	while (u64map_next(&x->ids, &it, &name, &dso)) {
		const struct ev_dso *d = &modules_get(x->pass.mods, (uint32_t)dso)->dso;

		perf_file_build_id(x->pf, intern_str(x->names, (uint32_t)name), false, d->build_id, d->build_id_len);
	}
}

static int write_file(struct export *x)
{
	const char *clock = rec_reader_info(x->in->reader, "clock");
	const struct rec_damage *d;
	struct perf_file_event *evs;
	uint32_t n;
	int err;

	evs = make_events(x->in, &n);
	x->pf = perf_file_new(x->in->to, evs, n, clock && !strcmp(clock, "monotonic"));
	err = stack_pass_run(x);
	if (err >= 0) {
		tell_losses(x, UINT64_MAX);
		tell_features(x);
		x->in->write_err = perf_file_finish(x->pf);
	}
	perf_file_free(x->pf);
	free_events(evs, n);
	d = rec_reader_damage(x->in->reader);
	if (err >= 0 && !x->in->write_err && x->in->buildid_dir && !(x->in->strict && (d->cut || d->bad_blocks || d->behind))) {
		int e = buildid_dir_write(x->in->buildid_dir, x->in->reader, x->pass.mods, x->kernel_id, x->kernel_id_len);

		err = e ? e : err;
	}
	return err;
}

/*
 * Joining stacks that are deeper than their copies depends on all samples, so they must be read
 * first.
 */
static bool may_join(struct rec_reader *r)
{
	struct ev_ledger l;

	return !rec_reader_ledger(r, &l) || l.copy_full || l.cut;
}

int to_perf_data(struct to_perf_data *in)
{
	struct export *x = xcalloc(1, sizeof(*x));
	struct pass looked = { .mods = NULL };
	int err;

	x->in = in;
	progress_begin(&x->progress, in->progress);
	err = find_losses(x);
	x->names = intern_new();
	if (!err && may_join(in->reader)) {
		err = stack_pass_run(x);
		looked = x->pass;
		x->joins = looked.cc;
	}
	if (!err)
		err = write_file(x);
	progress_end(&x->progress);
	stack_pass_fini(&x->pass);
	if (looked.rp)
		stack_pass_fini(&looked);
	u64map_fini(&x->told);
	u64map_fini(&x->first);
	u64map_fini(&x->others);
	u64map_fini(&x->ids);
	intern_free(x->names);
	free(x->losses);
	free(x);
	return err;
}
