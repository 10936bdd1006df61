#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "events/perf_layout.h"
#include "sink/sink_side.h"
#include "sink/sink_switches.h"

/* End of user addresses with four-level paging. Stacks end there with five levels, too. */
#define USER_END 0x7ffffffff000ull

struct sink *sink_new(const struct record_opts *o, const struct cgroup_fs *fs, struct proctab *pt,
		      struct rec_writer *w, struct ledger *ledger, unsigned int helpers)
{
	struct sink *s = xcalloc(1, sizeof(*s));

	s->opts = o;
	s->pt = pt;
	s->w = w;
	sink_cgroups_init(&s->cgroups, fs, pt, w);
	s->ledger = ledger;
	s->leave_own = !o->include_self;
	s->own_pid = (uint32_t)getpid();
	s->seen = seen_addrs_new();
	s->maskers = maskers_new(helpers);
	s->nslots = helpers ? SINK_BATCH : 1;
	s->slot = xcalloc(s->nslots, sizeof(*s->slot));
	s->jobs = xcalloc(s->nslots, sizeof(*s->jobs));
	if (helpers)
		s->words = xmalloc(s->nslots * sizeof(*s->words));
	else
		s->recents = last_copies_new();
	return s;
}

void sink_free(struct sink *s)
{
	if (!s)
		return;
	sink_cgroups_fini(&s->cgroups);
	sink_ksyms_fini(&s->ksyms);
	while (s->n)
		maskset_release(&s->slot[--s->n].held);
	maskers_free(s->maskers);
	last_copies_free(s->recents);
	free(s->words);
	free(s->slot);
	free(s->jobs);
	free(s->switches);
	switch_threads_fini(&s->threads);
	switch_sums_fini(&s->sums);
	u64map_fini(&s->openers);
	woken_threads_fini(&s->woken);
	free(s->cpus);
	seen_addrs_free(s->seen);
	free(s);
}

void sink_end(struct sink *s, bool last)
{
	if (s->cgroups.facts && !s->err)
		cgroup_facts_cut(s->cgroups.facts, last);
}

void sink_cut(struct sink *s, uint64_t now_ns)
{
	struct ev_pressure ev = {
		.time = now_ns, .level = s->pressure.level, .cause = s->pressure.cause,
	};

	seen_addrs_forget_all(s->seen);
	sink_cgroups_cut(&s->cgroups);
	sink_written(s, sink_ksyms_write(&s->ksyms, s->w, now_ns));
	if (ev.level != PRESSURE_NONE)
		sink_written(s, rec_writer_pressure(s->w, &ev));
}

static bool is_code(const struct maskset *ms, uint64_t addr)
{
	size_t at = BISECT(ms->nexec, i, ms->exec[i].end <= addr);

	return at < ms->nexec && addr >= ms->exec[at].start;
}

static void saw_user(struct sink *s, struct proc *p, uint32_t owner, uint64_t addr)
{
	if (addr && seen_addrs_new_addr(s->seen, owner, addr))
		proc_saw_code(p, addr);
}

/* Notes code addresses from registers and stack that the recording may have to resolve later. */
static void note_user(struct sink *s, const struct sink_slot *sl, const struct maskset *ms)
{
	const struct stack_words *words = sl->job.words;
	const struct sample_in *in = &sl->raw.in;
	const uint32_t owner = seen_addrs_owner(s->seen, in->pid);
	/* What was noted with the previous sample needs no look. */
	const uint32_t n = words->nkept - (sl->recent && sl->recent->owner == owner ? sl->job.same : 0);

	saw_user(s, sl->proc, owner, in->regs[UREG_IP]);
	proc_saw_jit_leaf(sl->proc, in->regs[UREG_IP]);
	if (!ms)
		return;
	for (unsigned int i = 0; i < UREG_MAX; i++)
		if (i != UREG_SP && in->regs[i] && is_code(ms, in->regs[i]))
			saw_user(s, sl->proc, owner, in->regs[i]);
	for (uint32_t i = 0; (i = seen_addrs_skip(s->seen, owner, words, i, n)) < n; i++) {
		/* With full stacks nothing has been classified yet. */
		if (words->cls[i] == WORD_CODE || is_code(ms, words->val[i]))
			saw_user(s, sl->proc, owner, words->val[i]);
	}
}

/* The chain of @in as a copy of our own. Valid until the next call for another sample. */
static uint64_t *own_chain(struct sink *s, struct sample_in *in)
{
	if (in->chain != s->chain)
		memcpy(s->chain, in->chain, in->nchain * sizeof(*in->chain));
	in->chain = s->chain;
	return s->chain;
}

/*
 * Masks user address @i of the chain, which is no known code: programs without frame pointers may
 * have data in %rbp, or where the kernel then looks for a return address. Returns false if there is
 * nothing to compare with. Then the user part ends there. What runs outside our pid namespace never
 * has more than one address.
 */
static bool mask_chain(struct sink *s, struct sink_slot *sl, uint32_t i)
{
	struct sample_in *in = &sl->raw.in;

	if (proc_is_known(sl->proc) || !in->pid) {
		own_chain(s, in)[i] = CHAIN_UNMAPPED;
		return true;
	}
	in->nchain = i;
	sl->withheld = true;
	return false;
}

/* Notes kernel addresses, and user addresses of a frame pointer chain. Masks what is no code. */
static void note_chain(struct sink *s, struct sink_slot *sl)
{
	struct sample_in *in = &sl->raw.in;
	uint64_t context = 0;
	uint32_t owner = 0;

	in->nchain = MIN(in->nchain, ARRAY_SIZE(s->chain) - 2);
	if (in->nchain > 1 && in->chain[0] == PERF_CONTEXT_USER)
		proc_saw_leaf(s->pt, sl->proc, in->chain[1]);
	for (uint32_t i = 0; i < in->nchain; i++) {
		uint64_t v = in->chain[i];

		if (v >= PERF_CONTEXT_MAX) {
			context = v;
			owner = seen_addrs_owner(s->seen, v == PERF_CONTEXT_KERNEL ? SEEN_ADDRS_KERNEL : in->pid);
		} else if (context == PERF_CONTEXT_USER) {
			if (!v || seen_addrs_has(s->seen, owner, v))
				continue;
			if (s->opts->full_stacks || proc_is_code(sl->proc, v, in->chain[i - 1] == context))
				saw_user(s, sl->proc, owner, v);
			else if (!mask_chain(s, sl, i))
				break;
		} else if (context == PERF_CONTEXT_KERNEL && seen_addrs_new_addr(s->seen, owner, v)) {
			proctab_saw_kernel(s->pt, v);
		}
	}
	if (sl->unmapped && context != PERF_CONTEXT_USER) {
		own_chain(s, in)[in->nchain++] = (uint64_t)PERF_CONTEXT_USER;
		s->chain[in->nchain++] = CHAIN_UNMAPPED;
	}
	if (sl->withheld)
		own_chain(s, in)[in->nchain++] = CHAIN_WITHHELD;
	s->ledger->l.withheld += sl->withheld;
}

static uint64_t thread_key(const struct sample_in *in)
{
	return (uint64_t)in->pid << 32 | in->tid;
}

/*
 * Data cannot be told from addresses without mappings, so neither registers nor stack are kept.
 * Often there is no stack to lose: during an exec, the old one is gone and the registers are still
 * those of the old program.
 */
static void withhold_user(struct sink_slot *sl, uint64_t size)
{
	sl->raw.in.has_regs = false;
	sl->withheld = size;
	sl->unmapped = !size;
}

/* May the sample go before those of other events? */
static bool is_spare(const struct sink *s, const struct sample_in *in)
{
	return s->events && sampled_events_spare(s->events, in->event);
}

/* Prepares masking of the stack, while the mappings are those of the sample. */
static void prepare_user(struct sink *s, struct sink_slot *sl)
{
	struct raw_sample *raw = &sl->raw;
	struct sample_in *in = &raw->in;
	uint64_t sp, size = raw->stack ? raw->size : 0;
	const struct maskset *ms;

	/* Where no stack is, the register may hold anything, and what is equal to it, too. */
	if (!size && !s->opts->full_stacks)
		in->regs[UREG_SP] = 0;
	sp = in->regs[UREG_SP];
	ms = proc_maskset(sl->proc, in->tid, in->regs[UREG_IP], sp, size);
	if (!ms && !s->opts->full_stacks) {
		withhold_user(sl, size);
		return;
	}
	if (ms)
		proc_maskset_hold(sl->proc, ms, &sl->held);
	else
		s->ledger->l.maps_unknown++;
	in->unmasked = s->opts->full_stacks;
	in->cut = size > pressure_copy_max(&s->pressure, is_spare(s, in));
	if (in->cut)
		size = pressure_copy_max(&s->pressure, is_spare(s, in));
	in->copy_full = !in->cut && size && size == raw->asked && sp + size < USER_END;
	sl->job.ms = in->unmasked ? NULL : &sl->held.ms;
	sl->job.sp = sp;
	sl->job.copy = raw->stack;
	sl->job.size = size;
	sl->job.words = s->recents ? last_copies_room(s->recents) : &s->words[sl - s->slot];
	sl->recent = s->recents && sl->job.ms ? last_copies_find(s->recents, thread_key(in), sl->job.ms) : NULL;
	sl->job.last = sl->recent ? &sl->recent->last : NULL;
}

static void finish_user(struct sink *s, struct sink_slot *sl)
{
	struct sample_in *in = &sl->raw.in;

	if (!in->unmasked)
		mask_regs(maskers_own(s->maskers), &sl->held.ms, sl->job.sp, sl->job.size, in->regs);
	in->stack = sl->job.words;
	in->serial = ++s->serial;
	in->same = sl->job.same;
	in->same_as = in->same ? sl->recent->serial : 0;
	note_user(s, sl, sl->held.maps ? &sl->held.ms : NULL);
}

/* After the last look at its words and mappings. */
static void remember_user(struct sink *s, struct sink_slot *sl)
{
	const struct sample_in *in = &sl->raw.in;
	const struct maskset *ms = sl->job.ms;
	const struct last_copy now = {
		.who = thread_key(in), .ring = sl->ring, .pos = sl->ring ? sl->ring->tail : 0,
		.version = ms && !ms->nstacks ? ms->version : 0, .top = ms ? ms->top : 0,
		.serial = in->serial, .owner = seen_addrs_owner(s->seen, in->pid),
		.last = { .copy = sl->job.copy, .sp = sl->job.sp, .size = sl->job.size },
	};

	if (s->recents)
		last_copies_put(s->recents, &now);
	maskset_release(&sl->held);
}

static void count_kept(struct sink *s, const struct sample_in *in)
{
	ledger_sample(s->ledger, in->cut ? LEDGER_CUT : LEDGER_KEPT, in);
	s->ledger->l.copy_full += in->copy_full;
}

void sink_flush(struct sink *s)
{
	size_t njobs = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->slot[i].raw.in.has_regs)
			s->jobs[njobs++] = &s->slot[i].job;
	maskers_run(s->maskers, s->jobs, njobs);
	for (size_t i = 0; i < s->n; i++) {
		struct sink_slot *sl = &s->slot[i];
		int err;

		if (sl->raw.in.has_regs)
			finish_user(s, sl);
		note_chain(s, sl);
		err = s->err ? s->err : rec_writer_sample(s->w, &sl->raw.in);
		if (sl->raw.in.has_regs)
			remember_user(s, sl);
		if (err == -EAGAIN) {
			ledger_sample(s->ledger, LEDGER_DROPPED, &sl->raw.in);
			continue;
		}
		sink_written(s, err);
		if (!err)
			count_kept(s, &sl->raw.in);
	}
	s->n = 0;
	sink_switches_write(s);
}

void sink_finish(struct sink *s)
{
	sink_flush(s);
	if (s->recents)
		last_copies_forget(s->recents);
}

static void count_chosen(struct sink *s, const struct sample_in *in)
{
	s->chosen_all++;
	if (in->event != s->clock)
		return;
	s->chosen++;
	s->chosen_ns += ledger_period(s->ledger, in);
}

struct raw_sample *sink_slot(struct sink *s)
{
	return &s->slot[s->n].raw;
}

void sink_take(struct sink *s)
{
	struct sink_slot *sl = &s->slot[s->n];
	struct sample_in *in = &sl->raw.in;

	if (!in->cgroup || (s->cgroups.root_unsure && in->cgroup == CGROUP_ROOT_ID))
		in->cgroup = sink_cgroups_guess(&s->cgroups, in->cgroup, in->pid);
	if (sink_switches_own(s, in->pid) ||
	    !sink_cgroups_wanted(&s->cgroups, in->cgroup, in->pid)) {
		/*
		 * If the kernel picks the samples, we were in one of the chosen cgroups ourselves.
		 */
		if (!s->cgroups.filter)
			count_chosen(s, in);
		ledger_sample(s->ledger, LEDGER_OWN, in);
		return;
	}
	count_chosen(s, in);
	if (pressure_drops(&s->pressure) &&
	    !pressure_keeps(&s->pressure, proctab_turn(s->pt, in->pid, in->tid), is_spare(s, in))) {
		ledger_sample(s->ledger, LEDGER_DROPPED, in);
		return;
	}
	in->stack = NULL;
	in->copy_full = in->unmasked = in->cut = false;
	sl->withheld = sl->unmapped = false;
	sl->proc = proctab_sampled(s->pt, in->pid, in->tid, in->time);
	proctab_in_cgroup(sl->proc, in->cgroup);
	/* A process outside our pid namespace: nobody can tell which one this stack belongs to. */
	if (!in->pid)
		in->has_regs = false;
	if (in->has_regs)
		prepare_user(s, sl);
	if (++s->n == s->nslots)
		sink_flush(s);
}

/* The sample of a leader stands for its whole group: @lead, with what each member counted since the last. */
static void take_members(struct sink *s, const struct raw_sample *lead, const struct ring *ring)
{
	for (uint32_t i = 0; i < lead->nreads; i++) {
		struct raw_sample *raw = sink_slot(s);
		uint32_t event;
		uint64_t n;

		if (!sampled_events_member(s->events, lead, i, &event, &n))
			continue;
		*raw = *lead;
		if (lead->in.chain == lead->chain)
			raw->in.chain = raw->chain;
		raw->in.event = event;
		raw->in.period = n;
		raw->in.payload_len = 0;
		s->slot[s->n].ring = ring;
		sink_take(s);
	}
}

/* One of several events, or one whose period changes. */
static void take_of_event(struct sink *s, const struct perf_event_header *h, const struct ring *ring)
{
	struct raw_sample *raw = sink_slot(s), lead;

	switch (sampled_events_parse(s->events, h, raw)) {
	case SAMPLED_TAKEN:
		break;
	case SAMPLED_THINNED:
		return;
	case SAMPLED_BAD:
		ledger_sample(s->ledger, LEDGER_DROPPED, &raw->in);
		return;
	}
	if (!raw->nreads) {
		sink_take(s);
		return;
	}
	lead = *raw;
	if (raw->in.chain == raw->chain)
		lead.in.chain = lead.chain;
	sink_take(s);
	take_members(s, &lead, ring);
}

static void take_sample(struct sink *s, const struct perf_event_header *h, const struct ring *ring)
{
	struct raw_sample *raw = sink_slot(s);

	s->slot[s->n].ring = ring;
	if (s->events)
		take_of_event(s, h, ring);
	else if (sample_parse(h, &s->layout, raw))
		ledger_sample(s->ledger, LEDGER_DROPPED, &raw->in);
	else
		sink_take(s);
}

void sink_pressure(struct sink *s, uint64_t now, unsigned int rings)
{
	struct pressure *p = &s->pressure;
	struct ev_pressure ev;

	if (!pressure_update(p, now, rec_writer_fill(s->w), rings))
		return;
	ev = (struct ev_pressure){ .time = now, .level = p->level, .cause = p->cause };
	rec_writer_effort(s->w, p->level);
	sink_written(s, rec_writer_pressure(s->w, &ev));
}

void sink_settle(struct sink *s)
{
	struct ev_ledger *l = &s->ledger->l;

	memcpy(l->pressure_n, s->pressure.n, sizeof(l->pressure_n));
	memcpy(l->pressure_ns, s->pressure.ns, sizeof(l->pressure_ns));
	rec_writer_pool(s->w, &l->pool_waits, &l->pool_peak);
}

void sink_record(struct sink *s, const struct perf_event_header *h, uint64_t time, const struct ring *ring,
		 bool sideband)
{
	if (s->err)
		return;
	if (h->type == PERF_RECORD_SAMPLE) {
		take_sample(s, h, ring);
		return;
	}
	if (h->type == PERF_RECORD_SWITCH || h->type == PERF_RECORD_SWITCH_CPU_WIDE) {
		sink_switches_take(s, h, time);
		return;
	}
	/* Samples before it must not see what it changes. */
	sink_flush(s);
	sink_side_record(s, h, time, sideband);
}
