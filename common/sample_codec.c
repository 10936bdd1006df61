#include "sample_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code_dict.h"
#include "recording.h"
#include "shadow.h"
#include "util.h"
#include "word_codec.h"
#include "xalloc.h"

/*
 * Registers in the order of their bits in REC_COL_REGS: those that a callee saves come first,
 * because masking leaves little in the others and the bitmap then fits into one byte. ip and sp
 * have columns of their own.
 */
static const uint8_t reg_order[] = {
	UREG_BP, UREG_BX, UREG_R12, UREG_R13, UREG_R14, UREG_R15, UREG_AX, UREG_CX,
	UREG_DX, UREG_SI, UREG_DI, UREG_R8, UREG_R9, UREG_R10, UREG_R11,
};

/* How far from sp a register may point to be coded relative to it, in bytes. */
#define REG_SP_REACH (16 << 20)

/* What both sides remember of a thread. */
struct thread {
	uint32_t pid, tid;
	uint64_t regs[UREG_MAX];		/* of its last sample that had registers */
	uint64_t cgroup;
	uint64_t lo, hi; /* stack copy of its last sample; lo == hi: none, or forgotten */
	uint32_t chain;			/* node of its last chain */
	struct shadow_thread shadow;
	struct thread *prev, *next;	/* encoder: LRU list, only while it has shadow pages */
};

/* What both sides remember of a CPU (modulo REC_CPU_SLOTS) to predict its next sample. */
struct cpu {
	uint64_t time, step; /* ns; of the last sample, and its distance to the one before */
	uint64_t period;
	uint32_t thread;		/* index + 1; 0 = none */
};

/* The state that encoder and decoder change in the same way. */
struct state {
	struct thread **thr;		/* owned, by index; reused after a KEY block */
	uint32_t nthr;
	uint32_t nalloc;		/* entries of thr[] that point to something */
	size_t cap;
	struct cpu cpu[REC_CPU_SLOTS];
	struct shadow_pool pool;
	uint64_t full_words;		/* words in the last copy that was full */
};

struct sample_enc {
	struct state st;
	struct u64map index;		/* pid << 32 | tid -> thread index */
	struct code_enc code;
	struct chain_enc chain;
	struct thread lru;		/* list head; lru.next was used last */
};

struct sample_dec {
	struct state st;
	struct code_dec code;
	struct chain_dec chain;
	uint64_t ip[REC_CHAIN_LEN];
};

/* ---- shared state ---- */

static void state_key(struct state *st)
{
	for (uint32_t i = 0; i < st->nthr; i++)
		shadow_clear(&st->pool, &st->thr[i]->shadow);
	st->nthr = 0;
	st->full_words = 0;
	memset(st->cpu, 0, sizeof(st->cpu));
}

static void state_fini(struct state *st)
{
	state_key(st);
	shadow_pool_fini(&st->pool);
	for (uint32_t i = 0; i < st->nalloc; i++)
		free(st->thr[i]);
	free(st->thr);
}

static struct thread *state_add_thread(struct state *st, uint32_t pid, uint32_t tid)
{
	struct thread *t;

	if (st->nthr == st->nalloc) {
		XGROW(st->thr, st->nalloc, st->cap);
		st->thr[st->nalloc++] = xmalloc(sizeof(*t));
	}
	t = st->thr[st->nthr++];
	memset(t, 0, sizeof(*t));
	t->pid = pid;
	t->tid = tid;
	return t;
}

/* The thread's next copy is coded against nothing. */
static void state_forget(struct state *st, struct thread *t)
{
	shadow_clear(&st->pool, &t->shadow);
	t->lo = t->hi = 0;
}

/* Where a copy normally begins; wraps for a mad stack pointer, on both sides alike. */
static uint64_t usual_base(const struct thread *t)
{
	return align_up(t->regs[UREG_SP], 8);
}

/*
 * A copy that was cut at the size asked for is as long as the last such one; any other ends where
 * the stack ends, so where the one before ended.
 */
static uint64_t predict_words(const struct state *st, const struct thread *t, uint64_t lo,
			      bool full)
{
	if (full)
		return st->full_words;
	return t->hi > lo ? (t->hi - lo) / 8 : 0;
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
	state_fini(&e->st);
	u64map_fini(&e->index);
	code_enc_fini(&e->code);
	chain_enc_fini(&e->chain);
	free(e);
}

void sample_enc_key(struct sample_enc *e)
{
	state_key(&e->st);
	u64map_clear(&e->index);
	code_enc_reset(&e->code);
	chain_enc_reset(&e->chain);
	e->lru.prev = e->lru.next = &e->lru;
}

bool sample_enc_wants_key(const struct sample_enc *e)
{
	/*
	 * One more block adds less than the other half: a block holds at most 512 KiB of columns,
	 * and an entry takes a byte, a thread six.
	 */
	return e->code.n > REC_CODE_MAX / 2 || e->chain.n > REC_CHAIN_MAX / 2 ||
	       e->st.nthr > REC_THREAD_MAX / 2;
}

static void lru_del(struct thread *t)
{
	t->prev->next = t->next;
	t->next->prev = t->prev;
	t->prev = t->next = NULL;
}

static void lru_touch(struct sample_enc *e, struct thread *t)
{
	if (t->next)
		lru_del(t);
	t->next = e->lru.next;
	t->prev = &e->lru;
	t->next->prev = t;
	e->lru.next = t;
}

/*
 * Make room for one copy, oldest thread first; @t was touched and goes last. The decoder is told
 * what was forgotten and so holds the same pages without keeping an order of its own.
 */
static bool evict(struct sample_enc *e, struct strbuf *rare)
{
	size_t mark = rare->len;
	uint32_t n = 0;

	while (e->st.pool.live + WORD_CODEC_PAGES > e->st.pool.max && e->lru.prev != &e->lru) {
		struct thread *old = e->lru.prev;
		uint64_t *idx = u64map_get(&e->index, (uint64_t)old->pid << 32 | old->tid);

		strbuf_add_varint(rare, *idx + 1);
		lru_del(old);
		state_forget(&e->st, old);
		n++;
	}
	if (n)
		strbuf_add_varint(rare, 0);
	return rare->len != mark;
}

static struct thread *enc_thread(struct sample_enc *e, const struct sample_in *s, struct cpu *cpu,
				 struct strbuf *col)
{
	bool is_new;
	uint64_t *idx = u64map_put(&e->index, (uint64_t)s->pid << 32 | s->tid, &is_new);

	if (is_new) {
		*idx = e->st.nthr;
		state_add_thread(&e->st, s->pid, s->tid);
		strbuf_add_varint(col, 1);
		strbuf_add_varint(col, s->pid);
		strbuf_add_svarint(col, (int64_t)s->tid - (int64_t)s->pid);
	} else if (cpu->thread == *idx + 1) {
		strbuf_add_varint(col, 0);
	} else {
		strbuf_add_varint(col, *idx + 2);
	}
	cpu->thread = (uint32_t)*idx + 1;
	return e->st.thr[*idx];
}

static void enc_reg(struct sample_enc *e, struct strbuf *col, unsigned int reg, uint64_t old,
		    uint64_t val, uint64_t sp, bool unmasked)
{
	struct strbuf *out = &col[REC_COL_REGS];
	int64_t rel = (int64_t)(val - sp);

	if (!val) {
		strbuf_addc(out, REC_R_ZERO);
	} else if (rel % 8 == 0 && rel > -REG_SP_REACH && rel < REG_SP_REACH) {
		strbuf_addc(out, REC_R_SP);
		strbuf_add_svarint(out, rel / 8);
	} else if ((!unmasked && reg != UREG_BP) || code_enc_known(&e->code, val)) {
		/* bp is never masked and holds anything: it must not fill the dictionary. */
		strbuf_addc(out, REC_R_CODE);
		code_enc_put(&e->code, out, &col[REC_COL_CODE_DEF], val);
	} else {
		strbuf_addc(out, REC_R_RAW);
		strbuf_add_varint(out, old ^ val);
	}
}

static void enc_regs(struct sample_enc *e, struct thread *t, const struct sample_in *s,
		     struct strbuf *col)
{
	uint64_t sp = s->regs[UREG_SP];
	uint32_t bits = 0;

	code_enc_put(&e->code, &col[REC_COL_IP], &col[REC_COL_CODE_DEF], s->regs[UREG_IP]);
	strbuf_add_svarint(&col[REC_COL_SP], (int64_t)(sp - t->regs[UREG_SP]));
	for (unsigned int i = 0; i < ARRAY_SIZE(reg_order); i++)
		if (s->regs[reg_order[i]] != t->regs[reg_order[i]])
			bits |= 1u << i;
	strbuf_add_varint(&col[REC_COL_REGS], bits);
	for (; bits; bits &= bits - 1) {
		unsigned int reg = reg_order[__builtin_ctz(bits)];

		enc_reg(e, col, reg, t->regs[reg], s->regs[reg], sp, s->unmasked);
		t->regs[reg] = s->regs[reg];
	}
	t->regs[UREG_SP] = sp;
}

static void enc_stack(struct sample_enc *e, struct thread *t, const struct sample_in *s,
		      struct strbuf *col)
{
	const struct stack_words *sw = s->stack;
	uint64_t words = predict_words(&e->st, t, sw->base, s->copy_full);

	strbuf_add_svarint(&col[REC_COL_SIZE], (int64_t)(sw->nwords - words));
	strbuf_add_varint(&col[REC_COL_CHANGED],
			  words_encode(&e->st.pool, &t->shadow, &e->code, sw, col));
	if (s->copy_full)
		e->st.full_words = sw->nwords;
	t->lo = sw->base;
	t->hi = sw->base + 8 * (uint64_t)sw->nwords;
}

/* A copy that is there and does not wrap around the address space. */
static bool stack_usable(const struct stack_words *sw)
{
	return sw && sw->nwords && sw->nwords <= STACK_WORDS_MAX &&
	       sw->base <= UINT64_MAX - 8 * STACK_WORDS_MAX;
}

void sample_enc_add(struct sample_enc *e, const struct sample_in *s, struct strbuf *col)
{
	struct cpu *cpu = &e->st.cpu[s->cpu % REC_CPU_SLOTS];
	const struct chain_cols cols = { &col[REC_COL_CHAIN], &col[REC_COL_CHAIN_NEW],
					 &col[REC_COL_CODE_DEF] };
	struct thread *t = enc_thread(e, s, cpu, &col[REC_COL_THREAD]);
	uint32_t nchain = MIN(s->nchain, REC_CHAIN_LEN);
	uint32_t flags = 0;

	if (s->has_regs)
		flags |= REC_S_REGS;
	if (s->copy_full)
		flags |= REC_S_COPY_FULL;
	if (s->unmasked)
		flags |= REC_S_UNMASKED;
	if (stack_usable(s->stack)) {
		flags |= REC_S_STACK;
		lru_touch(e, t);
		if (evict(e, &col[REC_COL_RARE]))
			flags |= REC_S_EVICT;
		if (!t->next)		/* it was evicted itself: its own stacks filled the pool */
			lru_touch(e, t);
	}
	if (s->cgroup != t->cgroup) {
		flags |= REC_S_CGROUP;
		strbuf_add_varint(&col[REC_COL_RARE], s->cgroup);
		t->cgroup = s->cgroup;
	}
	if (s->period != cpu->period) {
		flags |= REC_S_PERIOD;
		strbuf_add_svarint(&col[REC_COL_PERIOD], (int64_t)(s->period - cpu->period));
		cpu->period = s->period;
	}
	strbuf_add_varint(&col[REC_COL_CPU], s->cpu);
	strbuf_add_svarint(&col[REC_COL_TIME], (int64_t)(s->time - cpu->time - cpu->step));
	cpu->step = s->time - cpu->time;
	cpu->time = s->time;
	if (s->has_regs)
		enc_regs(e, t, s, col);
	/*
	 * Without a kernel part the chain is { PERF_CONTEXT_USER, ip }: one chain for every ip
	 * then.
	 */
	if (s->has_regs && nchain && s->chain[nchain - 1] == s->regs[UREG_IP]) {
		flags |= REC_S_IP_TAIL;
		nchain--;
	}
	t->chain = chain_enc_put(&e->chain, &e->code, &cols, s->chain, nchain, t->chain);
	if (flags & REC_S_STACK) {
		if (s->stack->base != usual_base(t)) {
			flags |= REC_S_BASE;
			strbuf_add_svarint(&col[REC_COL_RARE],
					   (int64_t)(s->stack->base - usual_base(t)));
		}
		enc_stack(e, t, s, col);
	} else {
		t->lo = t->hi = 0;
	}
	strbuf_add_varint(&col[REC_COL_FLAGS], flags);
}

/* ---- decoder ---- */

struct sample_dec *sample_dec_new(void)
{
	struct sample_dec *d = xcalloc(1, sizeof(*d));

	shadow_pool_init(&d->st.pool, REC_SHADOW_PAGES_MAX);
	return d;
}

void sample_dec_free(struct sample_dec *d)
{
	if (!d)
		return;
	state_fini(&d->st);
	code_dec_fini(&d->code);
	chain_dec_fini(&d->chain);
	free(d);
}

void sample_dec_key(struct sample_dec *d)
{
	state_key(&d->st);
	code_dec_reset(&d->code);
	chain_dec_reset(&d->chain);
}

static struct thread *dec_thread(struct sample_dec *d, struct cpu *cpu, struct cursor *c)
{
	uint64_t v = cursor_varint(c);
	uint64_t idx;

	if (v == 1) {
		uint64_t pid = cursor_varint(c);
		uint64_t tid = pid + (uint64_t)cursor_svarint(c);

		if (pid > UINT32_MAX || tid > UINT32_MAX || d->st.nthr >= REC_THREAD_MAX)
			return NULL;
		idx = d->st.nthr;
		state_add_thread(&d->st, (uint32_t)pid, (uint32_t)tid);
	} else if (v == 0) {
		idx = (uint64_t)cpu->thread - 1;
	} else {
		idx = v - 2;
	}
	if (idx >= d->st.nthr)
		return NULL;
	cpu->thread = (uint32_t)idx + 1;
	return d->st.thr[idx];
}

static int dec_evict(struct sample_dec *d, struct cursor *c)
{
	uint64_t v;

	while ((v = cursor_varint(c))) {
		if (v > d->st.nthr)
			return -EINVAL;
		state_forget(&d->st, d->st.thr[v - 1]);
	}
	return cursor_ok(c) ? 0 : -EINVAL;
}

static int dec_regs(struct sample_dec *d, struct thread *t, struct cursor *col, uint64_t *regs)
{
	struct cursor *c = &col[REC_COL_REGS];
	uint64_t bits;

	t->regs[UREG_IP] = code_dec_get(&d->code, &col[REC_COL_IP], &col[REC_COL_CODE_DEF]);
	t->regs[UREG_SP] += (uint64_t)cursor_svarint(&col[REC_COL_SP]);
	bits = cursor_varint(c);
	if (bits >> ARRAY_SIZE(reg_order))
		return -EINVAL;
	for (; bits; bits &= bits - 1) {
		uint64_t *r = &t->regs[reg_order[__builtin_ctzll(bits)]];

		switch (cursor_u8(c)) {
		case REC_R_ZERO:
			*r = 0;
			break;
		case REC_R_SP:
			*r = t->regs[UREG_SP] + 8 * (uint64_t)cursor_svarint(c);
			break;
		case REC_R_CODE:
			*r = code_dec_get(&d->code, c, &col[REC_COL_CODE_DEF]);
			break;
		case REC_R_RAW:
			*r ^= cursor_varint(c);
			break;
		default:
			return -EINVAL;
		}
	}
	memcpy(regs, t->regs, sizeof(t->regs));
	return 0;
}

static int dec_stack(struct sample_dec *d, struct thread *t, struct cursor *col, uint64_t lo,
		     struct ev_sample *ev)
{
	uint64_t words = predict_words(&d->st, t, lo, ev->copy_full);
	uint64_t changed, top = lo, hi;
	int err;

	words += (uint64_t)cursor_svarint(&col[REC_COL_SIZE]);
	changed = cursor_varint(&col[REC_COL_CHANGED]);
	if (!words || words > STACK_WORDS_MAX || lo % 8 || lo > UINT64_MAX - 8 * STACK_WORDS_MAX)
		return -EINVAL;
	err = words_decode(&d->st.pool, &t->shadow, &d->code, lo, (uint32_t)words, changed, col,
			   &top);
	if (err)
		return err;
	hi = lo + 8 * words;
	/*
	 * Above its old lower end, the words the thread's previous copy had are the shadow's, so
	 * what did not change here equals them. Below it they are new to this copy whatever the
	 * shadow knew.
	 */
	if (hi > t->hi)
		ev->changed_end = hi;
	else if (lo < t->lo)
		ev->changed_end = MAX(top, MIN(t->lo, hi));
	else
		ev->changed_end = top;
	if (ev->copy_full)
		d->st.full_words = words;
	t->lo = ev->stack.lo = lo;
	t->hi = ev->stack.hi = hi;
	ev->stack.shadow = &t->shadow;
	return 0;
}

int sample_dec_next(struct sample_dec *d, struct cursor *col, struct ev_sample *ev)
{
	uint64_t flags = cursor_varint(&col[REC_COL_FLAGS]);
	uint64_t cpu_no = cursor_varint(&col[REC_COL_CPU]);
	struct cursor *rare = &col[REC_COL_RARE];
	struct thread *t;
	struct cpu *cpu;

	if (flags & ~(uint64_t)REC_S_KNOWN || cpu_no > UINT32_MAX)
		return -EINVAL;
	memset(ev, 0, sizeof(*ev));
	cpu = &d->st.cpu[cpu_no % REC_CPU_SLOTS];
	t = dec_thread(d, cpu, &col[REC_COL_THREAD]);
	if (!t)
		return -EINVAL;
	if (flags & REC_S_EVICT && dec_evict(d, rare))
		return -EINVAL;
	if (flags & REC_S_CGROUP)
		t->cgroup = cursor_varint(rare);
	if (flags & REC_S_PERIOD)
		cpu->period += (uint64_t)cursor_svarint(&col[REC_COL_PERIOD]);
	cpu->step += (uint64_t)cursor_svarint(&col[REC_COL_TIME]);
	cpu->time += cpu->step;
	*ev = (struct ev_sample){
		.time = cpu->time, .pid = t->pid, .tid = t->tid, .cpu = (uint32_t)cpu_no,
		.period = cpu->period, .cgroup = t->cgroup, .chain = d->ip,
		.has_regs = flags & REC_S_REGS, .copy_full = flags & REC_S_COPY_FULL,
		.unmasked = flags & REC_S_UNMASKED,
	};
	if (ev->has_regs && dec_regs(d, t, col, ev->regs))
		return -EINVAL;
	t->chain = chain_dec_get(&d->chain, &d->code, &col[REC_COL_CHAIN], &col[REC_COL_CHAIN_NEW],
				 &col[REC_COL_CODE_DEF], t->chain, d->ip, &ev->nchain);
	if (flags & REC_S_IP_TAIL) {
		if (ev->nchain == REC_CHAIN_LEN)
			return -EINVAL;
		d->ip[ev->nchain++] = ev->regs[UREG_IP];
	}
	if (flags & REC_S_STACK) {
		uint64_t lo = usual_base(t);

		if (flags & REC_S_BASE)
			lo += (uint64_t)cursor_svarint(rare);
		if (dec_stack(d, t, col, lo, ev))
			return -EINVAL;
	} else {
		t->lo = t->hi = 0;
	}
	for (unsigned int i = REC_COL_FIRST_SAMPLE; i < REC_COL_NR; i++)
		if (!cursor_ok(&col[i]))
			return -EINVAL;
	return 0;
}
