#include "samples/sample_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "host/pages.h"
#include "recording.h"
#include "samples/code_dict.h"
#include "samples/nibble_codec.h"
#include "samples/reg_codec.h"
#include "samples/sample_ctx.h"
#include "samples/sample_state.h"
#include "samples/shadow.h"
#include "samples/word_codec.h"

/* Per block; decoding this many touches most pages of the models. */
#define TOUCH_SYMBOLS 16384u

/* Symbols under CTX_THREAD: how the sample's thread is coded. */
enum thread_op { THREAD_LAST, THREAD_GUESS, THREAD_NEW, THREAD_ID };

/* Symbols under CTX_EVENT: below these, the event's index. */
enum event_op { EVENT_FEW = 13, EVENT_GUESS = EVENT_FEW, EVENT_SAME, EVENT_NO };

struct sample_enc {
	struct sample_state st;
	struct u64map index;		/* pid << 32 | tid -> thread index */
	struct code_enc code;
	struct chain_enc chain;
	struct sample_thread lru;	/* list head; lru.next was used most recently */
	struct strbuf evicted;		/* symbols for the threads pushed out by the sample */
};

struct sample_dec {
	struct sample_state st;
	struct code_dec code;
	struct chain_dec chain;
	struct nibble_dec *in;		/* owned */
	struct u64map index;		/* as sample_enc.index; filled since the first mark */
	uint32_t nindex;		/* threads that it has */
	const struct ev_switch *mark, *marks_end;	/* of the block, those left */
	bool has_marks;
	struct word_list list;
	uint64_t ip[REC_CHAIN_LEN];
	uint8_t payload[PAYLOAD_MAX];
	struct sample_change change;
	uint32_t *gone;			/* owned; change.gone */
	size_t gone_cap;
};

/* Where the thread was: all that is known of its sample is in @t. @slot: of its event. */
static void note_place(struct sample_thread *t, uint32_t which, uint32_t slot)
{
	const struct sample_place now = {
		.sp = t->regs[UREG_SP], .ip = t->regs[UREG_IP], .words = (uint32_t)((t->hi - t->lo) / 8),
		.chain = t->chain[slot],
	};

	sample_note_place(t, which, &now);
}

/* ---- encoder ---- */

struct sample_enc *sample_enc_new(size_t pages)
{
	struct sample_enc *e = xcalloc(1, sizeof(*e));

	shadow_pool_init(&e->st.pool, pages);
	e->lru.prev = e->lru.next = &e->lru;
	return e;
}

void sample_enc_free(struct sample_enc *e)
{
	if (!e)
		return;
	sample_state_fini(&e->st);
	u64map_fini(&e->index);
	code_enc_fini(&e->code);
	chain_enc_fini(&e->chain);
	strbuf_fini(&e->evicted);
	free(e);
}

void sample_enc_events(struct sample_enc *e)
{
	e->st.events = true;
}

void sample_enc_key(struct sample_enc *e)
{
	sample_state_key(&e->st);
	u64map_clear(&e->index);
	code_enc_reset(&e->code);
	chain_enc_reset(&e->chain);
	e->lru.prev = e->lru.next = &e->lru;
}

bool sample_enc_wants_key(const struct sample_enc *e)
{
	/*
	 * One more block adds less than the other half: a block has at most 512 KiB of columns, an
	 * entry takes at least one byte, and a thread six.
	 */
	return e->code.n > REC_CODE_MAX / 2 || e->chain.n > REC_CHAIN_MAX / 2 ||
	       e->st.nthr > REC_THREAD_MAX / 2;
}

static void lru_del(struct sample_thread *t)
{
	t->prev->next = t->next;
	t->next->prev = t->prev;
	t->prev = t->next = NULL;
}

static void lru_touch(struct sample_enc *e, struct sample_thread *t)
{
	if (t->next)
		lru_del(t);
	t->next = e->lru.next;
	t->prev = &e->lru;
	t->next->prev = t;
	e->lru.next = t;
}

/*
 * Make room for one copy, oldest thread first; @t was touched and goes last. The file records what
 * was forgotten, so the decoder holds the same pages without tracking the order itself.
 */
static bool evict(struct sample_enc *e)
{
	strbuf_reset(&e->evicted);

	while (e->st.pool.live + WORD_CODEC_PAGES > e->st.pool.max && e->lru.prev != &e->lru) {
		struct sample_thread *old = e->lru.prev;
		uint64_t *idx = u64map_get(&e->index, (uint64_t)old->pid << 32 | old->tid);

		nibble_put_num(&e->evicted, CTX_EVICT, *idx + 1);
		lru_del(old);
		sample_state_forget(&e->st, old);
	}
	if (!e->evicted.len)
		return false;
	nibble_put_num(&e->evicted, CTX_EVICT, 0);
	return true;
}

/* The index of the sample's thread. With a mark it has no symbols. */
static uint32_t enc_thread(struct sample_enc *e, const struct sample_in *s, bool mark, struct sample_cpu *cpu,
			   struct strbuf *out)
{
	bool is_new;
	uint64_t *idx = u64map_put(&e->index, (uint64_t)s->pid << 32 | s->tid, &is_new);
	uint32_t *guess;

	if (is_new) {
		*idx = e->st.nthr;
		sample_state_add(&e->st, s->pid, s->tid);
	}
	if (mark)
		return (uint32_t)*idx;
	guess = sample_guess_thread(&e->st, cpu);
	if (is_new) {
		nibble_put(out, CTX_THREAD, THREAD_NEW);
		nibble_put_num(out, CTX_PID, s->pid);
		nibble_put_snum(out, CTX_TID, (int64_t)s->tid - (int64_t)s->pid);
	} else if (cpu->thread == *idx + 1) {
		nibble_put(out, CTX_THREAD, THREAD_LAST);
	} else if (*guess == *idx + 1) {
		nibble_put(out, CTX_THREAD, THREAD_GUESS);
	} else {
		nibble_put(out, CTX_THREAD, THREAD_ID);
		nibble_put_num(out, CTX_THREAD_ID, *idx);
	}
	sample_note_thread(cpu, guess, (uint32_t)*idx);
	return (uint32_t)*idx;
}

static void enc_cpu(struct sample_enc *e, uint32_t cpu, struct strbuf *out)
{
	uint32_t *guess = sample_guess_cpu(&e->st);

	nibble_put(out, CTX_CPU_HIT, cpu == *guess);
	if (cpu != *guess)
		nibble_put_num(out, CTX_CPU, cpu);
	sample_note_cpu(&e->st, guess, cpu);
}

/* What preceded: the last events of CPU and thread. All samples with a mark are of one event, mostly. */
static uint32_t event_ctx(const struct sample_cpu *cpu, const struct sample_thread *t, bool mark)
{
	return CTX_EVENT + ((mark ? 16u : MIN(cpu->event, 15u)) << 4 | MIN(t->event, 15u));
}

static void enc_event(struct sample_enc *e, struct sample_cpu *cpu, struct sample_thread *t, bool mark,
		      uint32_t event, struct strbuf *out)
{
	uint32_t *guess = sample_guess_event(&e->st, cpu, t), ctx = event_ctx(cpu, t, mark);

	if (event < EVENT_FEW) {
		nibble_put(out, ctx, event);
	} else if (event == t->event) {
		nibble_put(out, ctx, EVENT_SAME);
	} else if (event == *guess) {
		nibble_put(out, ctx, EVENT_GUESS);
	} else {
		nibble_put(out, ctx, EVENT_NO);
		nibble_put_num(out, CTX_EVENT_NO, event);
	}
	sample_note_event(cpu, t, guess, event);
}

static void enc_stack(struct sample_enc *e, struct sample_thread *t, const struct sample_in *s,
		      const struct sample_place *place, struct strbuf *out)
{
	const struct stack_words *sw = s->stack;
	uint64_t words = sample_predict_words(&e->st, t, sw->base, s->copy_full, place);
	uint32_t same = s->same_as && s->same_as == t->serial ? MIN(s->same, sw->nkept) : 0;

	nibble_put_snum(out, CTX_SIZE, (int64_t)(sw->nwords - words));
	words_encode(&e->st.words, &e->st.pool, &t->shadow, &e->code, sw, same, &e->st.seen, out);
	t->serial = s->serial;
	if (s->copy_full)
		e->st.full_words = sw->nwords;
	t->lo = sw->base;
	t->hi = sw->base + 8 * (uint64_t)sw->nwords;
}

/* A copy that exists, does not begin at 0 and does not wrap around the address space. */
static bool stack_usable(const struct stack_words *sw)
{
	return sw && sw->nwords && sw->base && sw->nwords <= STACK_WORDS_MAX &&
	       sw->base <= UINT64_MAX - 8 * STACK_WORDS_MAX;
}

void sample_enc_add(struct sample_enc *e, const struct sample_in *s, enum sample_mark mark, struct strbuf *out)
{
	struct sample_cpu *cpu = &e->st.cpu[s->cpu % REC_CPU_SLOTS];
	struct sample_clock *clock = sample_clock_of(&e->st, s->cpu, s->event);
	uint32_t nchain = MIN(s->nchain, REC_CHAIN_LEN), slot = s->event % REC_EVENT_SLOTS;
	uint32_t flags = 0, which = PLACE_OTHER, idx;
	const bool marked = mark == MARK_NEXT;
	const struct sample_place *place = NULL;
	struct sample_thread *t;

	e->st.used = true;
	if (mark != MARKS_NONE) {
		nibble_put(out, CTX_MARK + e->st.marked, marked);
		e->st.marked = marked;
	}
	if (!marked)
		enc_cpu(e, s->cpu, out);
	idx = enc_thread(e, s, marked, cpu, out);
	t = e->st.thr[idx];
	if (e->st.events)
		enc_event(e, cpu, t, marked, s->event, out);
	e->st.seen.n = 0;
	if (s->has_regs)
		flags |= REC_S_REGS;
	if (s->copy_full)
		flags |= REC_S_COPY_FULL;
	if (s->unmasked)
		flags |= REC_S_UNMASKED;
	if (s->cut)
		flags |= REC_S_CUT;
	if (s->payload_len)
		flags |= REC_S_PAYLOAD;
	if (s->cgroup != t->cgroup)
		flags |= REC_S_CGROUP;
	if (s->period != clock->period)
		flags |= REC_S_PERIOD;
	if (stack_usable(s->stack)) {
		flags |= REC_S_STACK;
		lru_touch(e, t);
		if (evict(e))
			flags |= REC_S_EVICT;
		if (!t->next)		/* evicted itself: its own stacks filled the pool */
			lru_touch(e, t);
		if (s->stack->base != align_up((s->has_regs ? s->regs : t->regs)[UREG_SP], 8))
			flags |= REC_S_BASE;
	}
	/*
	 * Without a kernel part the chain is { PERF_CONTEXT_USER, ip }. With ip kept, every ip
	 * would make a chain of its own.
	 */
	if (s->has_regs && nchain && s->chain[nchain - 1] == s->regs[UREG_IP]) {
		flags |= REC_S_IP_TAIL;
		nchain--;
	}
	nibble_put(out, CTX_FLAGS_HIT, flags == t->flags[slot]);
	if (flags != t->flags[slot])
		nibble_put_num(out, CTX_FLAGS, flags);
	t->flags[slot] = flags & REC_S_STABLE;
	if (flags & REC_S_EVICT)
		nibble_add(out, &e->evicted);
	if (flags & REC_S_CGROUP)
		nibble_put_num(out, CTX_CGROUP, t->cgroup = s->cgroup);
	if (flags & REC_S_PERIOD)
		nibble_put_snum(out, CTX_PERIOD, (int64_t)(s->period - clock->period));
	clock->period = s->period;
	if (!marked)
		nibble_put_snum(out, CTX_TIME, (int64_t)(s->time - clock->time - clock->step));
	sample_note_time(clock, s->time);
	if (s->has_regs && e->st.events) {
		which = sample_find_place(t, s->regs[UREG_SP], s->regs[UREG_IP]);
		nibble_put(out, sample_place_ctx(t), which);
		if (which != PLACE_OTHER)
			place = &t->places->v[which];
	}
	if (s->has_regs && !place)
		nibble_put_snum(out, CTX_SP, (int64_t)(s->regs[UREG_SP] - t->regs[UREG_SP]));
	if (s->has_regs)
		t->regs[UREG_SP] = s->regs[UREG_SP];
	if (flags & REC_S_BASE)
		nibble_put_snum(out, CTX_BASE, (int64_t)(s->stack->base - sample_usual_base(t)));
	if (flags & REC_S_STACK)
		enc_stack(e, t, s, place, out);
	else
		t->lo = t->hi = 0;
	if (s->has_regs)
		regs_encode(&e->st.regs, &e->st.seen, &e->code, s->regs, s->unmasked, place ? place->ip : 0, t->regs, out);
	t->chain[slot] = chain_enc_put(&e->chain, &e->code, out, s->chain, nchain, t->chain[slot],
				       place ? place->chain : CHAIN_NO_GUESS);
	if (s->has_regs && e->st.events)
		note_place(t, which, slot);
	if (s->payload_len)
		payload_encode(sample_state_payloads(&e->st), &(struct payload_of){ s->event, idx, s->pid, s->tid },
			       s->payload, s->payload_len, out);
}

/* ---- decoder ---- */

struct sample_dec *sample_dec_new(void)
{
	struct sample_dec *d = xpages(sizeof(*d));

	shadow_pool_init(&d->st.pool, REC_SHADOW_PAGES_MAX);
	d->in = nibble_dec_new();
	return d;
}

void sample_dec_free(struct sample_dec *d)
{
	if (!d)
		return;
	sample_state_fini(&d->st);
	code_dec_fini(&d->code);
	chain_dec_fini(&d->chain);
	nibble_dec_free(d->in);
	u64map_fini(&d->index);
	free(d->gone);
	xpages_free(d, sizeof(*d));
}

void sample_dec_events(struct sample_dec *d)
{
	d->st.events = true;
}

void sample_dec_key(struct sample_dec *d)
{
	sample_state_key(&d->st);
	code_dec_reset(&d->code);
	chain_dec_reset(&d->chain);
	nibble_dec_reset(d->in);
	u64map_clear(&d->index);
	d->nindex = 0;
}

/*
 * Call it before many symbols, for the first block since the key. Otherwise a table that is read
 * before it is written faults twice per page (xtouch() says why).
 */
static void touch_models(struct sample_dec *d)
{
	struct sample_state *st = &d->st;

	if (st->used)
		return;
	pages_populate(&st->regs, sizeof(st->regs));
	pages_populate(st->words.last, sizeof(st->words.last));
	pages_populate(st->words.other, sizeof(st->words.other));
}

void sample_dec_block(struct sample_dec *d, const struct sample_block *b)
{
	if (b->symbols >= TOUCH_SYMBOLS)
		touch_models(d);
	nibble_dec_begin(d->in, b->code.base, b->code.size, b->symbols, b->plain);
	d->has_marks = b->has_marks;
	d->mark = b->marks;
	d->marks_end = b->nmarks ? b->marks + b->nmarks : b->marks;
}

static int dec_cpu(struct sample_dec *d, uint32_t *cpu)
{
	uint32_t *guess = sample_guess_cpu(&d->st);
	uint64_t v = *guess;

	if (!nibble_get(d->in, CTX_CPU_HIT))
		v = nibble_get_num(d->in, CTX_CPU);
	if (v > UINT32_MAX)
		return -EINVAL;
	*cpu = (uint32_t)v;
	sample_note_cpu(&d->st, guess, *cpu);
	return 0;
}

/* The mark of the next sample. NULL: it has none, or is *@bad. */
static const struct ev_switch *dec_mark(struct sample_dec *d, bool *bad)
{
	if (!d->has_marks)
		return NULL;
	d->st.marked = nibble_get(d->in, CTX_MARK + d->st.marked);
	*bad = d->st.marked > 1 || (d->st.marked && d->mark == d->marks_end);
	if (*bad)
		d->st.marked = 0;
	return d->st.marked ? d->mark++ : NULL;
}

/* The thread of a sample with a mark. */
static struct sample_thread *marked_thread(struct sample_dec *d, const struct ev_switch *mark)
{
	const uint64_t key = (uint64_t)mark->pid << 32 | mark->tid;
	uint64_t *idx;
	bool is_new;

	for (; d->nindex < d->st.nthr; d->nindex++) {
		const struct sample_thread *t = d->st.thr[d->nindex];

		idx = u64map_put(&d->index, (uint64_t)t->pid << 32 | t->tid, &is_new);
		if (is_new)
			*idx = d->nindex;
	}
	idx = u64map_get(&d->index, key);
	if (!idx && d->st.nthr >= REC_THREAD_MAX)
		return NULL;
	d->change.thread = idx ? (uint32_t)*idx : d->st.nthr;
	return idx ? d->st.thr[*idx] : sample_state_add(&d->st, mark->pid, mark->tid);
}

static struct sample_thread *dec_thread(struct sample_dec *d, struct sample_cpu *cpu)
{
	uint32_t *guess = sample_guess_thread(&d->st, cpu);
	uint64_t idx, pid, tid;

	switch (nibble_get(d->in, CTX_THREAD)) {
	case THREAD_LAST:
		idx = (uint64_t)cpu->thread - 1;
		break;
	case THREAD_GUESS:
		idx = (uint64_t)*guess - 1;
		break;
	case THREAD_NEW:
		pid = nibble_get_num(d->in, CTX_PID);
		tid = pid + (uint64_t)nibble_get_snum(d->in, CTX_TID);
		if (pid > UINT32_MAX || tid > UINT32_MAX || d->st.nthr >= REC_THREAD_MAX)
			return NULL;
		idx = d->st.nthr;
		sample_state_add(&d->st, (uint32_t)pid, (uint32_t)tid);
		break;
	default:
		idx = nibble_get_num(d->in, CTX_THREAD_ID);
		break;
	}
	if (idx >= d->st.nthr)
		return NULL;
	sample_note_thread(cpu, guess, (uint32_t)idx);
	d->change.thread = (uint32_t)idx;
	return d->st.thr[idx];
}

static int dec_event(struct sample_dec *d, struct sample_cpu *cpu, struct sample_thread *t, bool mark)
{
	uint32_t *guess = sample_guess_event(&d->st, cpu, t), op = nibble_get(d->in, event_ctx(cpu, t, mark));
	uint64_t event = op;

	if (op == EVENT_GUESS)
		event = *guess;
	else if (op == EVENT_SAME)
		event = t->event;
	else if (op == EVENT_NO)
		event = nibble_get_num(d->in, CTX_EVENT_NO);
	if (event >= SAMPLED_EVENTS_MAX)
		return -EINVAL;
	sample_note_event(cpu, t, guess, (uint32_t)event);
	return 0;
}

static int dec_evict(struct sample_dec *d)
{
	uint64_t v;

	while ((v = nibble_get_num(d->in, CTX_EVICT))) {
		if (v > d->st.nthr)
			return -EINVAL;
		/* Threads without pages are skipped, so there are never more entries than pages. */
		if (d->st.thr[v - 1]->shadow.n) {
			XGROW(d->gone, d->change.ngone, d->gone_cap);
			d->gone[d->change.ngone++] = (uint32_t)v - 1;
		}
		sample_state_forget(&d->st, d->st.thr[v - 1]);
	}
	return 0;
}

static int dec_stack(struct sample_dec *d, struct sample_thread *t, uint64_t lo,
		     const struct sample_place *place, struct ev_sample *ev)
{
	uint64_t words = sample_predict_words(&d->st, t, lo, ev->copy_full, place);
	struct word_change *change = &d->change.words;
	bool forgotten = !t->shadow.n;
	uint64_t hi;

	words += (uint64_t)nibble_get_snum(d->in, CTX_SIZE);
	if (!words || words > STACK_WORDS_MAX || lo % 8 || !lo ||
	    lo > UINT64_MAX - 8 * STACK_WORDS_MAX)
		return -EINVAL;
	if (words_decode(&d->st.words, &d->list, &d->st.pool, &t->shadow, &d->code, lo, (uint32_t)words,
			 &d->st.seen, d->in, change))
		return -EINVAL;
	hi = lo + 8 * words;
	/*
	 * From its old lower end up, the shadow holds the words of the thread's previous copy, so
	 * what did not change here equals them. Words below are new to this copy, whatever the
	 * shadow knew.
	 */
	if (hi > t->hi)
		ev->changed_end = hi;
	else if (lo < t->lo)
		ev->changed_end = MAX(change->top, MIN(t->lo, hi));
	else
		ev->changed_end = change->top;
	ev->known_end = forgotten ? UINT64_MAX : change->top;
	if (ev->copy_full)
		d->st.full_words = words;
	t->lo = ev->stack.lo = lo;
	t->hi = ev->stack.hi = hi;
	ev->stack.shadow = &t->shadow;
	return 0;
}

/* Everything but the stack, registers and chain. */
static struct sample_thread *dec_head(struct sample_dec *d, struct ev_sample *ev, uint64_t *flags)
{
	struct nibble_dec *in = d->in;
	struct sample_clock *clock;
	struct sample_thread *t;
	struct sample_cpu *cpu;
	uint32_t cpu_no, slot;
	bool bad = false;
	const struct ev_switch *mark = dec_mark(d, &bad);

	if (mark)
		cpu_no = mark->cpu;
	else if (bad || dec_cpu(d, &cpu_no))
		return NULL;
	cpu = &d->st.cpu[cpu_no % REC_CPU_SLOTS];
	t = mark ? marked_thread(d, mark) : dec_thread(d, cpu);
	if (!t || (d->st.events && dec_event(d, cpu, t, mark)))
		return NULL;
	clock = sample_clock_of(&d->st, cpu_no, t->event);
	slot = t->event % REC_EVENT_SLOTS;
	*flags = t->flags[slot];
	if (!nibble_get(in, CTX_FLAGS_HIT))
		*flags = nibble_get_num(in, CTX_FLAGS);
	if (*flags & ~(uint64_t)(d->st.events ? REC_S_KNOWN | REC_S_PAYLOAD : REC_S_KNOWN))
		return NULL;
	t->flags[slot] = *flags & REC_S_STABLE;
	if (*flags & REC_S_EVICT && dec_evict(d))
		return NULL;
	if (*flags & REC_S_CGROUP)
		t->cgroup = nibble_get_num(in, CTX_CGROUP);
	if (*flags & REC_S_PERIOD)
		clock->period += (uint64_t)nibble_get_snum(in, CTX_PERIOD);
	if (mark)
		sample_note_time(clock, mark->time);
	else
		sample_note_time(clock, clock->time + clock->step + (uint64_t)nibble_get_snum(in, CTX_TIME));
	*ev = (struct ev_sample){
		.time = clock->time, .pid = t->pid, .tid = t->tid, .cpu = cpu_no,
		.period = clock->period, .cgroup = t->cgroup, .event = t->event, .chain = d->ip,
		.has_regs = *flags & REC_S_REGS, .copy_full = *flags & REC_S_COPY_FULL,
		.unmasked = *flags & REC_S_UNMASKED, .cut = *flags & REC_S_CUT,
	};
	return t;
}

/*
 * The stack pointer of a sample with registers. *@which becomes the number of its place, and *@place
 * that place. At none of those known, they stay PLACE_OTHER and NULL.
 */
static int dec_sp(struct sample_dec *d, struct sample_thread *t, uint32_t *which, const struct sample_place **place)
{
	if (d->st.events)
		*which = nibble_get(d->in, sample_place_ctx(t));
	if (*which == PLACE_OTHER) {
		t->regs[UREG_SP] += (uint64_t)nibble_get_snum(d->in, CTX_SP);
		return 0;
	}
	if (*which >= t->places->n)
		return -EINVAL;
	*place = &t->places->v[*which];
	t->regs[UREG_SP] = (*place)->sp;
	return 0;
}

int sample_dec_next(struct sample_dec *d, struct ev_sample *ev)
{
	const struct sample_place *place = NULL;
	struct sample_thread *t;
	uint32_t which = PLACE_OTHER, slot;
	uint64_t flags, lo;

	d->st.used = true;
	d->st.seen.n = 0;
	d->change.ngone = 0;
	d->change.words = (struct word_change){ 0 };
	t = dec_head(d, ev, &flags);
	if (!t)
		return -EINVAL;
	slot = t->event % REC_EVENT_SLOTS;
	if (ev->has_regs && dec_sp(d, t, &which, &place))
		return -EINVAL;
	if (flags & REC_S_STACK) {
		lo = sample_usual_base(t);
		if (flags & REC_S_BASE)
			lo += (uint64_t)nibble_get_snum(d->in, CTX_BASE);
		if (dec_stack(d, t, lo, place, ev))
			return -EINVAL;
	} else {
		t->lo = t->hi = 0;
	}
	if (ev->has_regs) {
		if (regs_decode(&d->st.regs, &d->st.seen, &d->code, d->in, place ? place->ip : 0, t->regs))
			return -EINVAL;
		memcpy(ev->regs, t->regs, sizeof(t->regs));
	}
	if (chain_dec_get(&d->chain, &d->code, d->in, place ? place->chain : CHAIN_NO_GUESS, &t->chain[slot], d->ip, &ev->nchain))
		return -EINVAL;
	if (ev->has_regs && d->st.events)
		note_place(t, which, slot);
	if (flags & REC_S_IP_TAIL) {
		if (ev->nchain == REC_CHAIN_LEN)
			return -EINVAL;
		d->ip[ev->nchain++] = ev->regs[UREG_IP];
	}
	if (flags & REC_S_PAYLOAD) {
		const struct payload_of of = { ev->event, d->change.thread, ev->pid, ev->tid };

		if (payload_decode(sample_state_payloads(&d->st), &of, d->in, d->payload, &ev->payload_len))
			return -EINVAL;
		ev->payload = d->payload;
	}
	return nibble_dec_ok(d->in) ? 0 : -EINVAL;
}

const struct sample_change *sample_dec_change(struct sample_dec *d)
{
	d->change.gone = d->gone;
	return &d->change;
}

const struct shadow_thread *sample_dec_shadow(const struct sample_dec *d, uint32_t thread)
{
	return thread < d->st.nthr ? &d->st.thr[thread]->shadow : NULL;
}

bool sample_dec_done(const struct sample_dec *d)
{
	return nibble_dec_done(d->in) && d->mark == d->marks_end;
}
