/* Makes a profile from the collected and named samples (to_profile.h). */
#include "output/to_profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "naming/naming.h"
#include "output/states_text.h"
#include "recording/ctr_table.h"
#include "recording/rec_events.h"
#include "recording/ledger_sums.h"
#include "recording/rec_reader.h"
#include "replay/collect.h"
#include "replay/sample_cgroups.h"
#include "support/symbol.h"

#define NS_PER_S UINT64_C(1000000000)
#define BLOCK_MIN_NS UINT64_C(10000000)
#define BLOCKS_WANTED 1000u
#define EVENT_KEYS 6u	/* settings that describe the event */

/* ---- time ---- */

static int on_tally(void *ctx, const struct ev_tally *row)
{
	uint64_t *seconds = ctx;

	*seconds = MAX(*seconds, row->second + 1);
	return 0;
}

uint64_t to_profile_block(struct rec_reader *r)
{
	uint64_t seconds = 0, wanted;

	/*
	 * A truncated recording has rows up to its last minute; blocks are then merged at the end.
	 */
	rec_reader_tally(r, on_tally, &seconds);
	wanted = MIN(seconds, UINT64_MAX / 2 / NS_PER_S) * (NS_PER_S / BLOCKS_WANTED);
	return MAX((wanted + BLOCK_MIN_NS - 1) / BLOCK_MIN_NS, 1ull) * BLOCK_MIN_NS;
}

/* ---- frames ---- */

struct builder {
	const struct to_profile *in;
	struct profile *p;
	uint32_t *names;	/* naming.names -> strings of @p; 0: not yet */
	uint32_t *texts;	/* collect.texts -> strings of @p */
};

static uint32_t copy_text(struct builder *b, const struct intern *from, uint32_t *map, uint32_t id)
{
	if (id && !map[id])
		map[id] = profile_string(b->p, intern_str(from, id));
	return map[id];
}

static uint32_t name_text(struct builder *b, uint32_t id)
{
	return copy_text(b, b->in->nm->names, b->names, id);
}

static uint32_t source_text(struct builder *b, enum name_source source)
{
	static const char *const texts[NAME_SOURCE_MAX] = {
		[NAME_NONE] = "", [NAME_SYMTAB] = "symtab", [NAME_DYNSYM] = "dynsym", [NAME_DEBUGFILE] = "debugfile",
		[NAME_MINIDEBUG] = "minidebug", [NAME_GOPCLNTAB] = "gopclntab", [NAME_CAPTURED] = "captured",
		[NAME_PERFMAP] = "perf-map", [NAME_JITDUMP] = "jitdump", [NAME_KALLSYMS] = "kallsyms",
		[NAME_INLINE] = "debuginfo", [NAME_DWARF] = "debuginfo",
	};

	return profile_string(b->p, texts[source]);
}

/* [index in naming.ids] -> frame of the profile. Owned by the caller. */
static uint32_t *make_frames(struct builder *b)
{
	const struct naming *nm = b->in->nm;
	uint32_t *frames = xcalloc(nm->nids + 1, sizeof(*frames));

	for (size_t i = 0; i < nm->nids; i++) {
		const struct named_frame *nf = &nm->frames[i];
		const struct profile_frame f = {
			.name = name_text(b, nm->ids[i]), .dso = name_text(b, nf->dso),
			.srcline = name_text(b, nf->line), .source = source_text(b, (enum name_source)nf->source),
			.kind = nf->kind, .joined = nf->joined,
		};

		frames[i] = profile_frame(b->p, &f);
	}
	return frames;
}

/* [node of the tree of locations] -> node of the profile. Owned by the caller. */
static uint32_t *make_nodes(struct builder *b, const uint32_t *frames)
{
	const struct stacktree *tree = &b->in->col->tree;
	const struct naming *nm = b->in->nm;
	uint32_t *nodes = xcalloc(tree->n, sizeof(*nodes));

	for (size_t i = 1; i < tree->n; i++) {
		const struct named *name = &nm->named[tree->nodes[i].loc];
		uint32_t node = nodes[tree->nodes[i].parent];

		/* The input is innermost first, this tree root first. */
		for (uint32_t k = name->n; k-- > 0;) {
			uint32_t frame = frames[name->first + k];
			bool nameless = nm->kernel_id && nm->ids[name->first + k] == nm->kernel_id;

			/* Adjacent "[kernel]" frames become one. */
			if (!nameless || b->p->nodes[node].frame != frame)
				node = profile_child(b->p, node, frame);
		}
		nodes[i] = node;
	}
	return nodes;
}

/* ---- counts ---- */

static uint32_t *make_threads(struct builder *b)
{
	const struct collect *c = b->in->col;
	uint32_t *threads = xcalloc(c->spread.nthreads + 1, sizeof(*threads));

	for (size_t i = 0; i < c->spread.nthreads; i++) {
		struct profile_thread t = c->spread.threads[i];

		t.container = copy_text(b, c->texts, b->texts, t.container);
		t.cgroup = copy_text(b, c->texts, b->texts, t.cgroup);
		t.comm = copy_text(b, c->texts, b->texts, t.comm);
		t.process = copy_text(b, c->texts, b->texts, t.process);
		t.fields = copy_text(b, c->texts, b->texts, t.fields);
		threads[i] = profile_thread(b->p, &t);
	}
	return threads;
}

static void add_counts(struct builder *b, const uint32_t *nodes)
{
	const struct thread_times *s = &b->in->col->spread;
	uint64_t block_ns = b->in->col->opts.block_ns, blocks = b->in->col->last_time / block_ns + 1;
	uint32_t *threads = make_threads(b), together = (uint32_t)(blocks / (2 * BLOCKS_WANTED)) + 1;

	b->p->block_ns = block_ns * together;
	for (size_t i = 0; i < s->ncounts; i++) {
		const struct thread_times_count *from = &s->counts[i];
		const struct profile_count c = {
			.thread = threads[s->slots[from->slot].thread], .block = s->slots[from->slot].block / together,
			.node = nodes[from->node], .event = b->p->nevents ? s->slots[from->slot].event : 0,
			.samples = from->samples, .period = from->period,
		};

		profile_count(b->p, &c);
	}
	free(threads);
}

/* ---- facts ---- */

/* @value: text (escape.h), or NULL. */
static void meta(struct profile *p, const char *key, const char *value)
{
	if (value && *value)
		profile_set_meta(p, key, value);
}

/* @value: any bytes, or NULL. */
static void meta_bytes(struct profile *p, const char *key, const char *value)
{
	struct strbuf sb = STRBUF_INIT;

	escape_bytes(&sb, value ? value : "");
	meta(p, key, sb.s);
	strbuf_fini(&sb);
}

/* @value: what the user typed, mostly copied from an output. */
static void meta_shown(struct profile *p, const char *key, const char *value)
{
	struct strbuf sb = STRBUF_INIT;

	escape_text(&sb, value);
	meta(p, key, sb.s);
	strbuf_fini(&sb);
}

static void meta_u64(struct profile *p, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	profile_set_meta(p, key, text);
}

/* The facts of the profile's first or only event. */
static void add_event_facts(struct profile *p, const struct ev_event *ev)
{
	meta_bytes(p, "event", ev->name);
	meta_bytes(p, "event_modifier", ev->modifier);
	profile_tell_unit(p, ev->name, ev->unit);
	if (ev->freq)
		meta_u64(p, "frequency", ev->freq);
	else if (ev->period)
		meta_u64(p, "fixed_period", ev->period);
	if (ev->callgraph == CALLGRAPH_UNSET)
		return;
	meta(p, "call_graph", rec_events_callgraph(ev->callgraph));
	meta_u64(p, "stack_bytes", ev->dump_size);
}

static void add_settings(struct profile *p, const struct to_profile *in)
{
	static const char *const keys[][2] = {
		{ "event", "event" }, { "event_modifier", "event_modifier" }, { "frequency", "frequency" },
		{ "fixed_period", "period" }, { "call_graph", "call_graph" }, { "stack_bytes", "dump_size" },
		{ "stacks", "stacks" }, { "ncpus", "ncpus" }, { "hostname", "hostname" }, { "target", "target" },
		{ "command", "cmdline" }, { "begin_wall_ns", "start_wall_ns" },
	};
	const struct rec_events *events = in->col->opts.events;
	const uint32_t event = in->col->opts.event == REC_EVENTS_ALL ? 0 : in->col->opts.event;
	const bool described = events && !events->plain;

	meta_bytes(p, "input", in->input);
	if (described)
		add_event_facts(p, &events->table.ev[event]);
	for (size_t i = described ? EVENT_KEYS : 0; i < ARRAY_SIZE(keys); i++)
		meta_bytes(p, keys[i][0], rec_reader_info(in->reader, keys[i][1]));
	meta(p, "weight", collect_periods_vary(in->col, event) ? "period" : "samples");
	meta_u64(p, "duration_ns", in->col->last_time);
}

static uint32_t string_of(struct profile *p, const char *bytes)
{
	struct strbuf sb = STRBUF_INIT;
	uint32_t id;

	escape_bytes(&sb, bytes);
	id = profile_string(p, sb.s ? sb.s : "");
	strbuf_fini(&sb);
	return id;
}

/* What became of the samples of each event; n = 0: not known. */
struct losses {
	struct profile_event *v;	/* owned; only kept and what follows it, without the sums */
	uint64_t *received;	/* owned; by the recorder: kept, cut, dropped or left out */
	uint64_t throttled;	/* times, of all events */
	uint32_t n;
	bool counted;		/* @received is known */
};

static int on_counts(void *ctx, const struct ev_counts *row)
{
	struct losses *l = ctx;

	l->counted = true;
	if (row->event < l->n) {
		l->received[row->event] += row->samples;
		l->v[row->event].lost += row->lost;
		l->v[row->event].throttled_times += row->throttled;
		l->v[row->event].throttled_samples += row->throttled_samples;
		l->throttled += row->throttled;
	}
	return 0;
}

static uint64_t sum_known(uint64_t a, uint64_t b)
{
	return a == PROFILE_UNKNOWN || b == PROFILE_UNKNOWN ? PROFILE_UNKNOWN : a + b;
}

/* The wall clock's samples are those of its two events. */
static void sum_wall(struct losses *l, const struct rec_events *events)
{
	const struct ev_event *ev = events->table.ev;

	for (uint32_t i = 0; i < l->n; i++)
		for (uint32_t k = 0; k < l->n && ev[i].role == ROLE_WALL; k++) {
			struct profile_event *to = &l->v[i], *from = &l->v[k];

			if (ev[k].role != ROLE_WAITS && k != ev[i].leader)
				continue;
			to->kept = sum_known(to->kept, from->kept);
			to->lost = sum_known(to->lost, from->lost);
			to->cut = sum_known(to->cut, from->cut);
			to->dropped = sum_known(to->dropped, from->dropped);
			to->withheld = sum_known(to->withheld, from->withheld);
			to->throttled_times = sum_known(to->throttled_times, from->throttled_times);
			to->throttled_samples = sum_known(to->throttled_samples, from->throttled_samples);
		}
}

/*
 * Several events share a ring. What each of them lost is known if the kernel counted it, or if there
 * were no losses. What is in the file of each is known once all of it has been read. What the recorder
 * dropped is the rest of what it received, unless it left out some on purpose.
 */
static void find_losses(struct losses *l, const struct to_profile *in)
{
	const struct rec_events *events = in->col->opts.events;
	uint32_t recorded = events ? rec_events_recorded(events) : 0;
	uint64_t in_file = 0;
	struct ev_ledger led;

	if (recorded < 2 || !rec_reader_ledger(in->reader, &led))
		return;
	l->n = (uint32_t)events->table.n;
	l->v = xcalloc(l->n, sizeof(*l->v));
	l->received = xcalloc(l->n, sizeof(*l->received));
	rec_reader_counts(in->reader, on_counts, l);
	for (uint32_t i = 0; i < recorded; i++)
		in_file += in->col->events[i].kept + in->col->events[i].cut;
	for (uint32_t i = 0; i < recorded; i++) {
		const struct collect_event *ev = &in->col->events[i];
		const bool read = in_file == led.kept + led.cut, counts = read && l->counted && !led.own;

		if (!l->counted || (!led.have_format_lost && led.lost_kernel))
			l->v[i].lost = led.lost_kernel ? PROFILE_UNKNOWN : 0;
		l->v[i].kept = read ? ev->kept : PROFILE_UNKNOWN;
		l->v[i].cut = read ? ev->cut : led.cut ? PROFILE_UNKNOWN : 0;
		l->v[i].withheld = read ? ev->withheld : led.withheld ? PROFILE_UNKNOWN : 0;
		l->v[i].dropped = !led.dropped ? 0 :
				  counts && l->received[i] >= ev->kept + ev->cut ? l->received[i] - ev->kept - ev->cut :
										   PROFILE_UNKNOWN;
		/* Older recordings have only the sum. */
		if (l->throttled != led.throttled)
			l->v[i].throttled_times = l->v[i].throttled_samples = PROFILE_UNKNOWN;
	}
	sum_wall(l, events);
}

/* The facts are those of the @first event. */
static void set_stacks(struct profile *p, struct profile_event *to, const struct ev_event *ev, const struct ev_event *first)
{
	if (ev->callgraph == first->callgraph && ev->dump_size == first->dump_size)
		return;
	to->call_graph = string_of(p, rec_events_callgraph(ev->callgraph));
	to->stack_bytes = ev->dump_size;
}

/* With several events. */
static void add_events(struct profile *p, const struct collect *col, const struct losses *losses)
{
	const struct rec_events *events = col->opts.events;

	if (col->opts.event != REC_EVENTS_ALL || !events || events->table.n < 2)
		return;
	for (uint32_t i = 0; i < events->table.n; i++) {
		const struct ev_event *ev = &events->table.ev[i];
		struct profile_event own = {
			.kept = PROFILE_UNKNOWN, .lost = PROFILE_UNKNOWN, .cut = PROFILE_UNKNOWN, .dropped = PROFILE_UNKNOWN,
			.withheld = PROFILE_UNKNOWN, .throttled_times = PROFILE_UNKNOWN, .throttled_samples = PROFILE_UNKNOWN,
		};

		if (i < losses->n)
			own = losses->v[i];
		own.name = string_of(p, ev->name);
		own.modifier = string_of(p, ev->modifier);
		own.unit = string_of(p, ev->unit);
		own.frequency = ev->freq;
		own.fixed_period = ev->freq ? 0 : ev->period;
		own.by_period = collect_periods_vary(col, i);
		set_stacks(p, &own, ev, &events->table.ev[0]);
		own.truncated = col->events[i].truncated;
		own.incomplete = col->events[i].incomplete;
		profile_event(p, &own);
	}
}

/* What the switches say of all threads. */
static void add_states(struct profile *p, const struct collect_states *st)
{
	struct strbuf sb = STRBUF_INIT;

	if (!st->known)
		return;
	states_text_identity(st, &sb);
	meta(p, "note", sb.s);
	strbuf_reset(&sb);
	states_text_sums(st, &sb);
	meta(p, "note", sb.s);
	strbuf_fini(&sb);
}

static void add_losses(struct profile *p, const struct to_profile *in)
{
	const struct collect *c = in->col;
	struct strbuf sb = STRBUF_INIT;
	uint64_t truncated = 0, incomplete = 0;
	struct ev_ledger led;

	for (uint32_t i = 0; i < c->nevents; i++) {
		truncated += c->events[i].truncated;
		incomplete += c->events[i].incomplete;
	}
	meta_u64(p, "truncated", truncated);
	meta_u64(p, "incomplete", incomplete);
	if (!rec_reader_ledger(in->reader, &led))
		return;
	meta_u64(p, "kept", led.kept);
	meta_u64(p, "lost", led.lost_kernel);
	meta_u64(p, "cut", led.cut);
	meta_u64(p, "dropped", led.dropped);
	meta_u64(p, "withheld", led.withheld);
	meta_u64(p, "full_copies", led.copy_full);
	meta_u64(p, "throttled_times", led.throttled);
	meta_u64(p, "throttled_samples", led.throttled_samples);
	ledger_sums_absences(&led, &sb);
	/* It begins with "; ". */
	if (sb.len > 2)
		meta(p, "note", sb.s + 2);
	strbuf_fini(&sb);
}

static void add_throttled(struct profile *p, const struct replay *rp)
{
	struct strbuf sb = STRBUF_INIT;
	size_t n;
	const struct ctr *c = ctr_table_all(sample_cgroups_containers(replay_cgroups(rp)), &n);

	for (size_t i = 0; i < n; i++) {
		strbuf_reset(&sb);
		ctr_throttle_line(&c[i], &sb);
		meta(p, "throttled", sb.s);
	}
	strbuf_fini(&sb);
}

static void add_filters(struct profile *p, const struct filter *f)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; f && i < f->n; i++) {
		strbuf_reset(&sb);
		strbuf_addf(&sb, "%s=%s", filter_key_name(f->conds[i].key), f->conds[i].text);
		meta_shown(p, "filter", sb.s);
	}
	if (f && f->has[FILTER_TIME]) {
		strbuf_reset(&sb);
		filter_times(f, 1, &sb);
		meta(p, "times", sb.s);
	}
	strbuf_fini(&sb);
}

struct profile *to_profile(const struct to_profile *in)
{
	struct builder b = { .in = in, .p = profile_new() };
	uint32_t *frames, *nodes;
	struct losses losses = { 0 };
	struct profile *sorted;

	find_losses(&losses, in);
	b.names = xcalloc(intern_count(in->nm->names), sizeof(*b.names));
	b.texts = xcalloc(intern_count(in->col->texts), sizeof(*b.texts));
	frames = make_frames(&b);
	nodes = make_nodes(&b, frames);
	add_events(b.p, in->col, &losses);
	add_counts(&b, nodes);
	add_settings(b.p, in);
	meta_u64(b.p, "inlines", in->nm->opts.inlines);
	add_losses(b.p, in);
	if (in->col->opts.event < losses.n)
		profile_own_losses(b.p, &losses.v[in->col->opts.event]);
	add_states(b.p, &in->col->states);
	add_filters(b.p, in->col->opts.filter);
	add_throttled(b.p, in->col->rp);
	profile_finish(b.p);
	/* Our threads number things in the order in which each sees them. */
	sorted = profile_sorted(b.p);
	profile_free(b.p);
	free(losses.v);
	free(losses.received);
	free(frames);
	free(nodes);
	free(b.names);
	free(b.texts);
	return sorted;
}
