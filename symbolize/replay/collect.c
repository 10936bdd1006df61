/* Collects samples in a tree (collect.h). */
#include "replay/collect.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/log.h"
#include "base/longname.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/parser.h"
#include "debuginfo/inlines.h"
#include "modules/jitcode.h"
#include "recording/rec_events.h"
#include "recording/rec_reader.h"
#include "replay/collect_priv.h"
#include "replay/collect_waits.h"
#include "replay/sample_cgroups.h"
#include "replay/sample_fields.h"
#include "replay/sample_filter.h"
#include "support/interrupt.h"

/*
 * Successive samples on one CPU are mostly of one thread and share their outer frames. The nodes of
 * those frames are reused instead of looked up.
 */
/* Bytes of a name from a jitdump, of which each address has a copy. Java's reach a few KiB. */
#define JIT_NAME_MAX ((size_t)4 << 10)
#define LAST_PATHS 64	/* with more CPUs, some share an entry */

struct last_path {
	uint32_t base;		/* node below which the stack is */
	uint32_t generation;	/* of the address space: equal ones have equal mappings */
	struct path_step {
		uint64_t addr;	/* frame.addr */
		uint32_t what;	/* frame_what() */
		uint32_t node;
	} *steps;		/* owned; user frames, root first */
	uint32_t n;
	uint32_t cap;
};

/*
 * Recently found locations, a cache in front of the images' own. Its size fits into a core's cache.
 */
#define RECENT_BITS 12
#define RECENT_FRAMES (1u << RECENT_BITS)

struct recent_frame {
	uint64_t key;		/* address looked up; top bit: joined */
	uint32_t generation;	/* of the address space; 0: empty */
	uint32_t loc;
};

/* A sample whose stack depends on whether @image had begun to run. */
struct doubt {
	uint32_t image, part;
	uint64_t period;
	struct seen in_exec, entered;
};

void collect_init(struct collect *c, struct replay *rp, const struct collect_opts *opts)
{
	memset(c, 0, sizeof(*c));
	c->opts = *opts;
	c->rp = rp;
	sample_cgroups_expect(replay_cgroups(rp), opts->names);
	c->cc = callchain_new(opts->unwinder, opts->max_stack);
	if (opts->events)
		callchain_events(c->cc, opts->events->table.ev, opts->events->table.n);
	c->texts = intern_new();
	locations_init(&c->locs);
	stacktree_init(&c->tree);
	thread_times_init(&c->spread, c->texts);
	c->leads_event = opts->split == LEAD_EVENT || lead_has(&opts->lead, LEAD_EVENT);
	c->leads_state = opts->split == LEAD_STATE || lead_has(&opts->lead, LEAD_STATE);
	c->nevents = opts->events ? (uint32_t)opts->events->table.n : 1;
	c->events = xcalloc(c->nevents, sizeof(*c->events));
	c->fields = opts->fields && opts->events ? sample_fields_new(opts->events, opts->fields) : NULL;
	c->selects = opts->filter || (opts->event != REC_EVENTS_ALL && c->nevents > 1);
	c->last = xcalloc(LAST_PATHS, sizeof(*c->last));
	c->recent = xcalloc(RECENT_FRAMES, sizeof(*c->recent));
	/* No blanks in these names: users grep for them. */
	c->truncated = collect_text(c, "[truncated_stack]");
	c->broken = collect_text(c, "[broken_stack]");
	c->scan = collect_text(c, "[scanned]");
	c->empty = collect_text(c, "[no_stack]");
	/* Not a thread of that name. */
	c->state_mark = locations_id(&c->locs, &(struct location){
		.kind = LOC_TEXT, .joined = true, .owner = intern_add(c->texts, "[state]"),
	});
	collect_waits_init(c);
}

/* Frees what was only needed for samples: naming needs the memory. */
static void free_unwinding(struct collect *c)
{
	callchain_free(c->cc);
	c->cc = NULL;
	for (size_t i = 0; c->last && i < LAST_PATHS; i++)
		free(c->last[i].steps);
	free(c->last);
	c->last = NULL;
	free(c->recent);
	c->recent = NULL;
}

void collect_fini(struct collect *c)
{
	free_unwinding(c);
	collect_waits_fini(c);
	intern_free(c->texts);
	locations_fini(&c->locs);
	stacktree_fini(&c->tree);
	thread_times_fini(&c->spread);
	strbuf_fini(&c->lead);
	u64map_fini(&c->threads);
	u64map_fini(&c->ended_in);
	free(c->leads);
	free(c->each);
	free(c->doubts);
	free(c->events);
	sample_fields_free(c->fields);
	strbuf_fini(&c->payloads);
	strbuf_fini(&c->values);
	pending_joins_fini(&c->pending);
	filtered_out_fini(&c->leftout);
}

/*
 * For addresses outside ELF files. The location gets the function's name at this time and its line,
 * if a jitdump has them. So an address that was used twice becomes two locations.
 */
static void jit_location(struct collect *c, const struct addrspace *as, struct location *loc)
{
	const struct jit_func *func = addrspace_find_jit(as, (struct avma){ loc->addr });
	struct strbuf text = STRBUF_INIT;
	struct source_line at;

	if (!func)
		return;
	loc->kind = LOC_JIT;
	loc->image = loc->owner;
	longname_add(&text, func->name, strlen(func->name), JIT_NAME_MAX);
	strbuf_addc(&text, '\n');
	if (jitcode_line(func, loc->addr, &at)) {
		longname_add(&text, at.file, strlen(at.file), LONGNAME_BRIEF);
		strbuf_addf(&text, ":%" PRIu32, at.line);
	}
	loc->owner = intern_addn(c->texts, text.s, text.len);
	strbuf_fini(&text);
}

/* Like locations_id(), but announces new locations to their debug info. */
static uint32_t note_location(struct locations *ls, const struct location *loc)
{
	size_t had = ls->n;
	uint32_t id = locations_id(ls, loc);

	if (ls->n > had && loc->kind == LOC_FILE && loc->mod->inlines)
		inlines_expected(loc->mod->inlines, loc->off);
	return id;
}

static uint32_t user_location(struct collect *c, struct image *img, struct avma addr, uint32_t part,
			      bool joined)
{
	const struct mapping *m = addrspace_find(img->as, addr);
	struct location loc = { .owner = img->index, .addr = addr.v, .part = part, .joined = joined };

	if (!m) {
		loc.kind = LOC_NOMAP;
	} else if (!m->mod) {
		loc.kind = LOC_ANON;
		loc.path = m->path;
	} else {
		module_load(m->mod);
		loc.mod = m->mod;
		loc.off = addr.v - m->start + m->pgoff;
		if (m->mod->source == MODULE_NONE) {
			/* JIT code in a file of its own: the process's perf map names it. */
			loc.kind = LOC_NOELF;
		} else {
			loc.kind = LOC_FILE;
			loc.owner = m->mod->id;
			loc.addr = loc.off;
		}
	}
	if (loc.kind == LOC_ANON || loc.kind == LOC_NOELF)
		jit_location(c, img->as, &loc);
	return note_location(&c->locs, &loc);
}

static uint32_t frame_location(struct collect *c, const struct replay_sample *s,
			       const struct frame *f)
{
	struct image *img = s->img;
	struct avma addr = frame_lookup_addr(f);
	const uint64_t key = addr.v ^ (uint64_t)f->joined << 63;
	struct recent_frame *rf;
	uint64_t *slot;
	uint32_t id;
	bool is_new;

	if (f->kernel) {
		int32_t ks = replay_find_ksym(c->rp, addr.v);
		struct location loc = {
			.kind = ks < 0 ? LOC_KERNEL : LOC_KSYM,
			.owner = ks < 0 ? 0 : (uint32_t)ks,
			.addr = addr.v,
		};

		return locations_id(&c->locs, &loc);
	}
	rf = &c->recent[(addr.v ^ addr.v >> RECENT_BITS) % RECENT_FRAMES];
	if (rf->key == key && rf->generation == img->as->generation)
		return rf->loc;
	if (img->cache_generation != img->as->generation) {
		u64map_clear(&img->cache);
		img->cache_generation = img->as->generation;
	}
	slot = u64map_put(&img->cache, key, &is_new);
	if (is_new) {
		id = user_location(c, img, addr, s->part, f->joined);
		*slot = id;
	}
	*rf = (struct recent_frame){ key, img->as->generation, (uint32_t)*slot };
	return (uint32_t)*slot;
}

static_assert(offsetof(struct frame, scanned) == offsetof(struct frame, kind) + 3, "read as one");

/* All members of struct frame except the address, as one number. */
static inline uint32_t frame_what(const struct frame *f)
{
	uint32_t what;

	memcpy(&what, (const char *)f + offsetof(struct frame, kind), sizeof(what));
	return what;
}

/* The node for the innermost @n frames of stack @st, below @node. */
static uint32_t stack_node(struct collect *c, const struct replay_sample *s, const struct stack *st,
			   uint32_t n, uint32_t node)
{
	struct last_path *lp = &c->last[s->ev->cpu % LAST_PATHS];
	uint32_t i = n, depth = 0;
	bool keep = true;

	if (lp->base != node || lp->generation != s->img->as->generation)
		lp->n = 0;
	lp->base = node;
	lp->generation = s->img->as->generation;
	if (lp->cap < n) {
		lp->cap = n * 2;
		lp->steps = xrealloc(lp->steps, lp->cap * sizeof(*lp->steps));
	}
	while (i && depth < lp->n && st->frames[i - 1].addr.v == lp->steps[depth].addr &&
	       frame_what(&st->frames[i - 1]) == lp->steps[depth].what) {
		i--;
		depth++;
	}
	if (depth)
		node = lp->steps[depth - 1].node;
	lp->n = depth;
	/*
	 * Kernel frames are leaves, and the symbol at their address can change over time, so they
	 * are not kept for the next stack.
	 */
	for (; i; i--) {
		const struct frame *f = &st->frames[i - 1];

		node = stacktree_child(&c->tree, node, frame_location(c, s, f));
		/*
		 * The mark goes between the frame and its callee. It is not kept: the next stack
		 * may have the same frames without a search.
		 */
		if (f->scanned) {
			node = stacktree_child(&c->tree, node, c->scan);
			keep = false;
		}
		keep = keep && !f->joined;
		if (!f->kernel && keep)
			lp->steps[lp->n++] = (struct path_step){ f->addr.v, frame_what(f), node };
	}
	return node;
}

static void show_progress(struct collect *c)
{
	uint64_t samples = c->seen + c->others;

	if (samples % PROGRESS_EVERY)
		return;
	if (c->all_samples)
		samples = atomic_fetch_add(c->all_samples, PROGRESS_EVERY) + PROGRESS_EVERY;
	progress_show(&c->progress, samples);
}

/* Unwinds @s and adds its stack below node @lead. */
static struct seen see(struct collect *c, const struct replay_sample *s, uint32_t lead, bool in_exec)
{
	uint32_t node = lead;
	struct seen seen;
	struct stack st;

	callchain_build(c->cc, s->ev, in_exec ? NULL : s->img->as, &st);
	/*
	 * The mark goes to the root, so that complete and incomplete stacks do not share a tower.
	 */
	if (collect_incomplete(st.end)) {
		bool cut = collect_truncated(st.end) || st.end == UNWIND_HOLE || st.end == UNWIND_DEPTH ||
			   st.end == UNWIND_OTHER_STACK;

		node = stacktree_child(&c->tree, node, cut ? c->truncated : c->broken);
	}
	node = stack_node(c, s, &st, st.n, node);
	if (!st.n)
		node = stacktree_child(&c->tree, node, c->empty);
	seen = (struct seen){ .node = node, .end = st.end, .at = st.at ? st.at->id : 0, .event = s->ev->event };
	if (!seen.at && st.end == UNWIND_NO_JIT_ROWS)
		seen.at = COLLECT_AT_IMAGE | s->img->index;
	if (st.joined) {
		seen.joined = stack_node(c, s, &st, st.n + st.joined, lead);
		seen.border = st.border;
	}
	return seen;
}

/* Counts samples whose stack is at @node and ends with @end in module @at. */
static void count_at(struct collect *c, uint32_t node, enum unwind_end end, uint32_t at, uint32_t slot, uint32_t event,
		     uint64_t samples, uint64_t period)
{
	c->events[event].truncated += collect_truncated(end) ? samples : 0;
	c->events[event].incomplete += collect_incomplete(end) ? samples : 0;
	collect_note_end(c, end, at, samples);
	stacktree_count(&c->tree, node, samples, period);
	if (slot)
		thread_times_count(&c->spread, slot, node, samples, period);
}

static void count(struct collect *c, const struct seen *seen, uint64_t period)
{
	/* With period 0, the sample would be missing from --weight=period. */
	period = MAX(period, 1ull);
	if (seen->joined)
		pending_joins_add(&c->pending, &(struct pending_join){
			.border = seen->border, .joined = seen->joined, .cut = seen->node,
			.end = seen->end, .at = seen->at, .slot = seen->slot, .event = seen->event,
			.samples = 1, .period = period,
		});
	else
		count_at(c, seen->node, seen->end, seen->at, seen->slot, seen->event, 1, period);
}

/* Counts the samples with joined frames, once all shares have seen all their samples. */
static void settle_pending(struct collect *c, struct collect *const *all, size_t nall)
{
	const struct callchain **ccs = xcalloc(nall, sizeof(*ccs));

	for (size_t i = 0; i < nall; i++)
		ccs[i] = all[i]->cc;
	for (size_t i = 0; i < c->pending.n; i++) {
		const struct pending_join *p = &c->pending.list[i];

		if (callchain_join_holds(ccs, nall, p->border))
			count_at(c, p->joined, UNWIND_JOINED, 0, p->slot, p->event, p->samples, p->period);
		else
			count_at(c, p->cut, p->end, p->at, p->slot, p->event, p->samples, p->period);
	}
	pending_joins_fini(&c->pending);
	c->pending = (struct pending_joins){ 0 };
	free(ccs);
}

static void note(struct collect *c, struct lead_node *ln, uint32_t tid, uint32_t flags)
{
	if (ln->noted & flags)
		return;
	ln->noted |= flags;
	filtered_out_note(&c->leftout, ln->pid, tid, flags);
}

/* Skips @s. Its stack is still noted, since later stacks of its thread may be joined to it. */
static void leave_out(struct collect *c, const struct replay_sample *s, struct lead_node *ln)
{
	bool walk = c->opts.walked && u64map_get(c->opts.walked, s->ev->tid);
	struct stack st;

	note(c, ln, s->ev->tid, LEFTOUT_SKIPPED);
	callchain_build(c->cc, s->ev, walk && !s->in_exec ? s->img->as : NULL, &st);
	if (walk && s->maybe_entered)
		callchain_build(c->cc, s->ev, s->img->as, &st);
}

static uint64_t since_start(const struct collect *c, const struct replay_sample *s)
{
	return s->ev->time > c->opts.start ? s->ev->time - c->opts.start : 0;
}

/* The slot for the thread and time of @s. */
static uint32_t slot_of(struct collect *c, const struct replay_sample *s, struct lead_node *ln)
{
	uint64_t block = c->opts.each ? c->neach : MIN(since_start(c, s) / c->opts.block_ns, (uint64_t)PROFILE_BLOCKS_MAX - 1);

	collect_thread(c, s, ln);
	if (c->opts.each) {
		XGROW(c->each, c->neach, c->each_cap);
		c->each[c->neach++] = (struct collect_each){ s->ev->time, s->ev->period, s->ev->cpu, ln->thread, s->ev->event, 0, 0 };
		if (c->opts.payloads && s->ev->payload_len) {
			c->each[c->neach - 1].payload_len = s->ev->payload_len;
			c->each[c->neach - 1].payload = c->payloads.len;
			strbuf_add(&c->payloads, s->ev->payload, s->ev->payload_len);
		}
	}
	return thread_times_slot(&c->spread, ln->thread, c->opts.each ? 0 : s->ev->event, (uint32_t)block);
}

/* Is a sample of @event counted now? Others are when it is known how long the thread waited. */
static bool counts(const struct collect *c, uint32_t event)
{
	if (!collect_waits_weighs(c, event) || c->opts.each)
		return true;
	return c->opts.event == REC_EVENTS_ALL && !c->events[event].states;
}

static void keep(struct collect *c, const struct replay_sample *s, struct lead_node *ln)
{
	struct seen seen = see(c, s, ln->node, s->in_exec), entered;

	if (c->opts.block_ns || c->opts.each)
		seen.slot = slot_of(c, s, ln);
	if (s->maybe_entered) {
		entered = see(c, s, ln->node, false);
		entered.slot = seen.slot;
	} else {
		entered = seen;
	}
	if (collect_waits_weighs(c, s->ev->event))
		collect_waits_hold(c, s, &seen, s->maybe_entered ? &entered : NULL);
	if (!counts(c, s->ev->event)) {
		;	/* when its weight is known */
	} else if (s->maybe_entered) {
		XGROW(c->doubts, c->ndoubts, c->doubts_cap);
		c->doubts[c->ndoubts++] = (struct doubt){
			.image = s->img->index, .part = s->part, .period = s->ev->period,
			.in_exec = seen, .entered = entered,
		};
	} else {
		count(c, &seen, s->ev->period);
	}
	c->samples++;
	if (!c->selects)
		return;
	note(c, ln, s->ev->tid, LEFTOUT_SEEN);
	if (collect_truncated(entered.end))
		note(c, ln, s->ev->tid, LEFTOUT_DEEP);
}

static void note_periods(struct collect_event *ev, uint64_t min, uint64_t max)
{
	ev->period_min = ev->period_min ? MIN(ev->period_min, min) : min;
	ev->period_max = MAX(ev->period_max, max);
}

bool collect_periods_vary(const struct collect *c, uint32_t event)
{
	bool vary = false;

	for (uint32_t i = 0; i < c->nevents; i++) {
		const struct collect_event *ev = &c->events[i];
		const bool measured = ev->period_max && c->opts.events && rec_events_is_measured(&c->opts.events->table.ev[i]);

		vary |= (event == i || event == REC_EVENTS_ALL) && (ev->period_min != ev->period_max || measured);
	}
	return vary;
}

struct stacknode *collect_weigh_by_event(const struct collect *c)
{
	struct stacknode *nodes = xmemdup(c->tree.nodes, c->tree.n * sizeof(*nodes));
	uint32_t *event = xcalloc(c->tree.n, sizeof(*event));

	for (size_t i = 1; i < c->tree.n; i++) {
		struct stacknode *nd = &nodes[i];
		const struct location *loc = &c->locs.locs[nd->loc];

		event[i] = loc->kind == LOC_TEXT && loc->addr ? (uint32_t)loc->addr - 1 : event[nd->parent];
		if (nd->samples && collect_periods_vary(c, event[i]))
			nd->samples = nd->period;
	}
	free(event);
	return nodes;
}

static void filter_out(struct collect *c, const struct replay_sample *s, struct lead_node *ln, enum filter_key misses)
{
	c->leftout.by_key[misses]++;
	/* Other samples of the thread stand for their own share of its time only. */
	if (misses != FILTER_TIME && collect_waits_weighs(c, s->ev->event))
		collect_waits_hold(c, s, NULL, NULL);
	leave_out(c, s, ln);
}

/* A sample of an event that is not wanted. It changes nothing that is known of the others. */
static void leave_out_event(struct collect *c, const struct replay_sample *s)
{
	struct lead_node ln = { .pid = s->ev->pid };

	c->others++;
	leave_out(c, s, &ln);
	parser_working_on(0, NULL);
	show_progress(c);
}

static bool wants_event(const struct collect *c, uint32_t event)
{
	return event < c->nevents &&
	       (c->opts.event == event || c->opts.event == REC_EVENTS_ALL || collect_waits_weighs(c, event));
}

/* The first key that keeps a sample out; FILTER_KEYS: none does. */
static enum filter_key first_miss(const struct collect *c, const struct replay_sample *s, const struct lead_node *ln)
{
	if (ln->misses != FILTER_TIME || !c->opts.filter)
		return ln->misses == FILTER_TIME ? FILTER_KEYS : ln->misses;
	/* What counts is when the thread waited, and in which state. */
	if (collect_waits_off(c, s->ev->event) && !c->opts.each)
		return FILTER_KEYS;
	if (!filter_meets(c->opts.filter, FILTER_TIME, s))
		return FILTER_TIME;
	return filter_accepts(c->opts.filter, FILTER_STATE, NULL, STATE_RUNNING) ? FILTER_KEYS : FILTER_STATE;
}

/* A damaged recording may have samples of events that it does not describe. */
static void count_kept(struct collect *c, const struct ev_sample *ev)
{
	struct collect_event *e = ev->event < c->nevents ? &c->events[ev->event] : NULL;

	if (!e)
		return;
	e->kept += !ev->cut;
	e->cut += ev->cut;
	e->withheld += ev->nchain && ev->chain[ev->nchain - 1] == CHAIN_WITHHELD;
}

static int on_sample(void *ctx, const struct replay_sample *s)
{
	struct collect *c = ctx;
	enum filter_key misses;
	struct lead_node *ln;

	if (c->stopped || interrupt_requested()) {
		c->stopped = true;
		/* Shares can be merged only if each has seen all events. */
		return c->share ? 0 : COLLECT_STOPPED;
	}
	count_kept(c, s->ev);
	if (!wants_event(c, s->ev->event)) {
		leave_out_event(c, s);
		return 0;
	}
	ln = collect_lead(c, s);
	misses = first_miss(c, s, ln);
	if (misses == FILTER_KEYS)
		keep(c, s, ln);
	else
		filter_out(c, s, ln, misses);
	/* What follows reads the recording, not the binary of the last frame. */
	parser_working_on(0, NULL);
	if (c->opts.block_ns)
		c->last_time = MAX(c->last_time, since_start(c, s));
	c->seen++;
	note_periods(&c->events[s->ev->event], MAX(s->ev->period, 1ull), MAX(s->ev->period, 1ull));
	show_progress(c);
	return 0;
}

void collect_settle(struct collect *to)
{
	free_unwinding(to);
	collect_waits_settle(to);
	for (size_t i = 0; i < to->spread.nthreads; i++) {
		struct profile_thread *t = &to->spread.threads[i];

		t->process = t->process == COLLECT_NO_IMAGE ? 0 : leading_process_text(replay_image(to->rp, t->process), to->texts);
	}
}

int collect_run(struct collect *c, struct rec_reader *r)
{
	int err;

	progress_begin(&c->progress, c->opts.progress);
	err = c->share ? replay_run_share(c->rp, r, c->share, on_sample, c) :
			 replay_run(c->rp, r, on_sample, c);
	c->late = sample_cgroups_late(replay_cgroups(c->rp));
	collect_waits_end(c);
	if (!c->share) {
		settle_pending(c, &c, 1);
		collect_waits_resolve(c, &c, 1);
		collect_settle(c);
	}
	progress_end(&c->progress);
	return err;
}

uint32_t *collect_each_nodes(const struct collect *c)
{
	uint32_t *nodes = xcalloc(c->neach + 1, sizeof(*nodes));

	for (size_t i = 0; i < c->spread.ncounts; i++) {
		const struct thread_times_count *sc = &c->spread.counts[i];

		nodes[c->spread.slots[sc->slot].block] = sc->node;
	}
	return nodes;
}

/* ---- shares ---- */

/* Counts the samples whose stack depends on what other shares saw. */
static void settle_doubts(struct collect *c, struct collect *const *all, size_t nall)
{
	for (size_t i = 0; i < c->ndoubts; i++) {
		const struct doubt *d = &c->doubts[i];
		bool entered = false;

		for (size_t k = 0; k < nall; k++) {
			const struct image *img = replay_image(all[k]->rp, d->image);

			entered |= img->entered && img->entered_part < d->part;
		}
		count(c, entered ? &d->entered : &d->in_exec, d->period);
	}
	c->ndoubts = 0;
}

/* Adds location @id of @from to @to and returns its id there. */
static uint32_t same_location(struct collect *to, const struct collect *from, uint32_t id,
			      struct modules *mods)
{
	struct location loc = from->locs.locs[id], *there;

	if (loc.kind == LOC_TEXT || loc.kind == LOC_JIT)
		loc.owner = intern_add(to->texts, intern_str(from->texts, loc.owner));
	if (loc.mod) {
		loc.mod = modules_get(mods, loc.mod->id);
		module_load(loc.mod);
	}
	if (loc.path)
		loc.path = intern_str(to->texts, intern_add(to->texts, loc.path));
	id = note_location(&to->locs, &loc);
	there = &to->locs.locs[id];
	if (loc.part < there->part)
		*there = loc;
	return id;
}

void collect_add(struct collect *to, struct collect *from, struct collect *const *all, size_t nall,
		 struct modules *mods)
{
	struct stacktree *tree = &from->tree;
	uint32_t *locs = xcalloc(from->locs.n, sizeof(*locs));	/* id in @to + 1; 0: none */
	uint32_t *nodes = xcalloc(tree->n, sizeof(*nodes));
	bool *wanted = xcalloc(tree->n, sizeof(*wanted));
	uint32_t *slots;
	uint64_t key, val;
	size_t it = 0;

	settle_doubts(from, all, nall);
	settle_pending(from, all, nall);
	collect_waits_resolve(from, all, nall);
	collect_waits_mark(from, wanted);
	/* A sample with two possible stacks may have left one without samples. */
	for (size_t i = tree->n; i-- > 1;) {
		wanted[i] |= tree->nodes[i].samples != 0;
		wanted[tree->nodes[i].parent] |= wanted[i];
	}
	for (size_t i = 1; i < tree->n; i++) {
		const struct stacknode *nd = &tree->nodes[i];

		if (!wanted[i])
			continue;
		if (!locs[nd->loc])
			locs[nd->loc] = same_location(to, from, nd->loc, mods) + 1;
		nodes[i] = stacktree_child(&to->tree, nodes[nd->parent], locs[nd->loc] - 1);
		if (nd->samples)
			stacktree_count(&to->tree, nodes[i], nd->samples, nd->period);
	}
	slots = thread_times_slots(&to->spread, &from->spread);
	thread_times_add(&to->spread, &from->spread, nodes, slots);
	collect_waits_add(to, from, nodes, slots);
	free(slots);
	to->last_time = MAX(to->last_time, from->last_time);
	to->samples += from->samples;
	to->seen += from->seen;
	to->late |= from->late;
	to->others += from->others;
	for (uint32_t i = 0; i < to->nevents; i++) {
		const struct collect_event *ev = &from->events[i];

		if (ev->period_max)
			note_periods(&to->events[i], ev->period_min, ev->period_max);
		to->events[i].kept += ev->kept;
		to->events[i].cut += ev->cut;
		to->events[i].withheld += ev->withheld;
		to->events[i].truncated += ev->truncated;
		to->events[i].incomplete += ev->incomplete;
	}
	filtered_out_add(&to->leftout, &from->leftout);
	for (int e = 0; e < UNWIND_END_MAX; e++)
		to->verdicts[e] += from->verdicts[e];
	while (u64map_next(&from->ended_in, &it, &key, &val))
		*u64map_put(&to->ended_in, key, NULL) += val;
	free(locs);
	free(nodes);
	free(wanted);
}
