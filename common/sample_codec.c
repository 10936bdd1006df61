#include "sample_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code_dict.h"
#include "nibble_codec.h"
#include "recording.h"
#include "sample_ctx.h"
#include "shadow.h"
#include "util.h"
#include "word_codec.h"
#include "xalloc.h"

/* Registers in the order they are coded in; ip and sp come before. */
static const uint8_t reg_order[] = {
	UREG_BP, UREG_BX, UREG_R12, UREG_R13, UREG_R14, UREG_R15, UREG_AX, UREG_CX,
	UREG_DX, UREG_SI, UREG_DI, UREG_R8, UREG_R9, UREG_R10, UREG_R11,
};

#define NREGS ((uint32_t)ARRAY_SIZE(reg_order))

/* How far from sp a register may point to be coded relative to it, in bytes. */
#define REG_SP_REACH (16 << 20)

#define ROW_BITS 10
#define GUESSES 1024u

/* Under CTX_REG, what a register holds now. */
enum reg_op {
	REG_SAME,	/* as in the thread's last sample with registers */
	REG_GUESS,	/* as with the same ip before */
	REG_ZERO,
	REG_SP,		/* sp and so many words */
	REG_SEEN,	/* an address met on the stack */
	REG_CODE, REG_NEW,
	REG_RAW,	/* one of the last such values, or old value XOR new value */
};

#define RAW_RECENT 15u		/* values of registers that are neither code nor stack */

/* Under CTX_THREAD, whose sample it is. */
enum thread_op { THREAD_LAST, THREAD_GUESS, THREAD_NEW, THREAD_ID };

enum reg_kind { REG_KIND_ABS, REG_KIND_SP, REG_KIND_SEEN };

/* What registers held at an ip the last time. */
struct reg_row {
	uint64_t ip;			/* 0: nothing yet */
	uint64_t val[ARRAY_SIZE(reg_order)];	/* as kind says */
	uint8_t kind[ARRAY_SIZE(reg_order)];	/* enum reg_kind */
};

/* What both sides remember of a thread. */
struct thread {
	uint32_t pid, tid;
	uint64_t regs[UREG_MAX];		/* of its last sample that had registers */
	uint64_t cgroup;
	uint64_t lo, hi; /* stack copy of its last sample; lo == hi: none, or forgotten */
	uint32_t chain;			/* node of its last chain */
	uint32_t flags;			/* REC_S_STABLE of its last sample */
	struct shadow_thread shadow;
	struct thread *prev, *next;	/* encoder: LRU list, only while it has shadow pages */
};

/* What both sides remember of a CPU (modulo REC_CPU_SLOTS) to predict its next sample. */
struct cpu {
	uint64_t time, step; /* ns; of the last sample, and its distance to the one before */
	uint64_t period;
	uint32_t thread, before;	/* index + 1 of the last two; 0 = none */
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
	uint32_t last_cpu[3];		/* of the samples before */
	uint32_t cpu_guess[GUESSES];	/* what came after three like these */
	uint32_t thread_guess[GUESSES];	/* index + 1, what came after two on a CPU */
	struct reg_row row[1u << ROW_BITS];
	uint64_t raw[RAW_RECENT];	/* the last one first */
	struct word_model words;
	struct word_seen seen;		/* in the stack of the sample in work */
	bool used;			/* since all of this was zeroed, some MiB */
};

struct sample_enc {
	struct state st;
	struct u64map index;		/* pid << 32 | tid -> thread index */
	struct code_enc code;
	struct chain_enc chain;
	struct thread lru;		/* list head; lru.next was used last */
	struct word_scratch scratch;
	struct strbuf evicted;		/* symbols that say whom the sample in work pushed out */
};

struct sample_dec {
	struct state st;
	struct code_dec code;
	struct chain_dec chain;
	struct nibble_dec *in;		/* owned */
	uint64_t ip[REC_CHAIN_LEN];
};

/* ---- shared state ---- */

static void state_key(struct state *st)
{
	if (!st->used)
		return;
	st->used = false;
	for (uint32_t i = 0; i < st->nthr; i++)
		shadow_clear(&st->pool, &st->thr[i]->shadow);
	st->nthr = 0;
	st->full_words = 0;
	memset(st->cpu, 0, sizeof(st->cpu));
	memset(st->last_cpu, 0, sizeof(st->last_cpu));
	memset(st->cpu_guess, 0, sizeof(st->cpu_guess));
	memset(st->thread_guess, 0, sizeof(st->thread_guess));
	memset(st->row, 0, sizeof(st->row));
	memset(st->raw, 0, sizeof(st->raw));
	memset(&st->words, 0, sizeof(st->words));
}

static void state_fini(struct state *st)
{
	for (uint32_t i = 0; i < st->nthr; i++)
		shadow_clear(&st->pool, &st->thr[i]->shadow);
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

/* Where the CPU of the next sample is guessed. */
static uint32_t *guess_cpu(struct state *st)
{
	const uint32_t *c = st->last_cpu;

	return &st->cpu_guess[hash_u64(c[0] + ((uint64_t)c[1] << 20) + ((uint64_t)c[2] << 40)) % GUESSES];
}

static void note_cpu(struct state *st, uint32_t *guess, uint32_t cpu)
{
	*guess = cpu;
	st->last_cpu[2] = st->last_cpu[1];
	st->last_cpu[1] = st->last_cpu[0];
	st->last_cpu[0] = cpu;
}

/* Where the thread of the CPU's next sample is guessed. */
static uint32_t *guess_thread(struct state *st, const struct cpu *cpu)
{
	return &st->thread_guess[hash_u64((uint64_t)cpu->thread << 32 | cpu->before) % GUESSES];
}

static void note_thread(struct cpu *cpu, uint32_t *guess, uint32_t idx)
{
	*guess = idx + 1;
	cpu->before = cpu->thread;
	cpu->thread = idx + 1;
}

static struct reg_row *row_of(struct state *st, uint64_t ip)
{
	return &st->row[hash_u64(ip) >> (64 - ROW_BITS)];
}

/* What register @i was at the row's ip, said in terms of this sample; false if that cannot be. */
static bool row_guess(const struct state *st, const struct reg_row *row, uint32_t i, uint64_t sp,
		      uint64_t *val)
{
	*val = row->val[i];
	switch (row->kind[i]) {
	case REG_KIND_SP:
		*val += sp;
		return true;
	case REG_KIND_SEEN:
		if (row->val[i] >= st->seen.n)
			return false;
		*val = st->seen.addr[row->val[i]];
		return true;
	default:
		return true;
	}
}

/* Index of address @val among those met on the stack, or their number. */
static uint32_t seen_rank(const struct word_seen *seen, uint64_t val)
{
	uint32_t i = 0;

	while (i < seen->n && seen->addr[i] != val)
		i++;
	return i;
}

/* Index of @val among the last raw values, or their number. */
static uint32_t raw_rank(const struct state *st, uint64_t val)
{
	uint32_t i = 0;

	while (i < RAW_RECENT && st->raw[i] != val)
		i++;
	return i;
}

static void raw_note(struct state *st, uint64_t val, uint32_t rank)
{
	memmove(st->raw + 1, st->raw, MIN(rank, RAW_RECENT - 1) * sizeof(*st->raw));
	st->raw[0] = val;
}

static void row_note(const struct state *st, struct reg_row *row, uint32_t i, uint64_t sp,
		     uint64_t val)
{
	int64_t rel = (int64_t)(val - sp);
	uint32_t rank = seen_rank(&st->seen, val);

	row->val[i] = val;
	row->kind[i] = REG_KIND_ABS;
	if (rank < st->seen.n) {
		row->val[i] = rank;
		row->kind[i] = REG_KIND_SEEN;
	} else if (rel > -REG_SP_REACH && rel < REG_SP_REACH) {
		row->val[i] = (uint64_t)rel;
		row->kind[i] = REG_KIND_SP;
	}
}

/* Context of register @i: by how the one before was coded, and what there is to guess from. */
static uint32_t reg_ctx(uint32_t i, uint32_t prev, bool have, bool same)
{
	return CTX_REG + (i << 6 | prev << 3 | (uint32_t)have << 1 | same);
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
	strbuf_fini(&e->evicted);
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
static bool evict(struct sample_enc *e)
{
	strbuf_reset(&e->evicted);

	while (e->st.pool.live + WORD_CODEC_PAGES > e->st.pool.max && e->lru.prev != &e->lru) {
		struct thread *old = e->lru.prev;
		uint64_t *idx = u64map_get(&e->index, (uint64_t)old->pid << 32 | old->tid);

		nibble_put_num(&e->evicted, CTX_EVICT, *idx + 1);
		lru_del(old);
		state_forget(&e->st, old);
	}
	if (!e->evicted.len)
		return false;
	nibble_put_num(&e->evicted, CTX_EVICT, 0);
	return true;
}

static struct thread *enc_thread(struct sample_enc *e, const struct sample_in *s, struct cpu *cpu,
				 struct strbuf *out)
{
	bool is_new;
	uint64_t *idx = u64map_put(&e->index, (uint64_t)s->pid << 32 | s->tid, &is_new);
	uint32_t *guess = guess_thread(&e->st, cpu);

	if (is_new) {
		*idx = e->st.nthr;
		state_add_thread(&e->st, s->pid, s->tid);
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
	note_thread(cpu, guess, (uint32_t)*idx);
	return e->st.thr[*idx];
}

static void enc_cpu(struct sample_enc *e, uint32_t cpu, struct strbuf *out)
{
	uint32_t *guess = guess_cpu(&e->st);

	nibble_put(out, CTX_CPU_HIT, cpu == *guess);
	if (cpu != *guess)
		nibble_put_num(out, CTX_CPU, cpu);
	note_cpu(&e->st, guess, cpu);
}

/* What register @i holds when neither the thread's last sample nor the row says so. Its op. */
static uint32_t enc_reg(struct sample_enc *e, struct strbuf *out, uint32_t ctx,
			const struct sample_in *s, uint32_t i, uint64_t old)
{
	uint64_t val = s->regs[reg_order[i]], sp = s->regs[UREG_SP];
	int64_t rel = (int64_t)(val - sp);
	uint32_t rank = seen_rank(&e->st.seen, val), id;
	enum reg_op op;

	if (!val) {
		nibble_put(out, ctx, op = REG_ZERO);
	} else if (rank < e->st.seen.n) {
		nibble_put(out, ctx, op = REG_SEEN);
		nibble_put(out, CTX_REG_SEEN + i, rank);
	} else if (rel % 8 == 0 && rel > -REG_SP_REACH && rel < REG_SP_REACH) {
		nibble_put(out, ctx, op = REG_SP);
		nibble_put_snum(out, CTX_REG_SP, rel / 8);
	} else if (code_enc_find(&e->code, val, &id)) {
		nibble_put(out, ctx, op = REG_CODE);
		nibble_put_id(out, CTX_CODE, id, e->code.n);
	} else if (!s->unmasked && reg_order[i] != UREG_BP) {
		/* bp is never masked and holds anything: it must not fill the dictionary. */
		nibble_put(out, ctx, op = REG_NEW);
		code_enc_add(&e->code, out, val);
	} else {
		nibble_put(out, ctx, op = REG_RAW);
		rank = raw_rank(&e->st, val);
		nibble_put(out, CTX_REG_RECENT, rank);
		if (rank == RAW_RECENT)
			nibble_put_num(out, CTX_REG_RAW, old ^ val);
		raw_note(&e->st, val, rank);
	}
	return op;
}

static void enc_regs(struct sample_enc *e, struct thread *t, const struct sample_in *s,
		     struct strbuf *out)
{
	uint64_t sp = s->regs[UREG_SP], ip = s->regs[UREG_IP];
	struct reg_row *row = row_of(&e->st, ip);
	uint32_t op = REG_SAME;

	code_enc_put(&e->code, out, CTX_IP_NEW, CTX_IP, ip);
	for (uint32_t i = 0; i < NREGS; i++) {
		unsigned int reg = reg_order[i];
		uint64_t val = s->regs[reg], guess = 0;
		bool have = row->ip == ip && row_guess(&e->st, row, i, sp, &guess);
		uint32_t ctx = reg_ctx(i, op, have, have && guess == t->regs[reg]);

		if (val == t->regs[reg])
			nibble_put(out, ctx, op = REG_SAME);
		else if (have && val == guess)
			nibble_put(out, ctx, op = REG_GUESS);
		else
			op = enc_reg(e, out, ctx, s, i, t->regs[reg]);
		row_note(&e->st, row, i, sp, val);
		t->regs[reg] = val;
	}
	row->ip = ip;
}

static void enc_stack(struct sample_enc *e, struct thread *t, const struct sample_in *s,
		      struct strbuf *out)
{
	const struct stack_words *sw = s->stack;
	uint64_t words = predict_words(&e->st, t, sw->base, s->copy_full);

	nibble_put_snum(out, CTX_SIZE, (int64_t)(sw->nwords - words));
	words_encode(&e->st.words, &e->scratch, &e->st.pool, &t->shadow, &e->code, sw, &e->st.seen, out);
	if (s->copy_full)
		e->st.full_words = sw->nwords;
	t->lo = sw->base;
	t->hi = sw->base + 8 * (uint64_t)sw->nwords;
}

/* A copy that is there, does not begin at 0 and does not wrap around the address space. */
static bool stack_usable(const struct stack_words *sw)
{
	return sw && sw->nwords && sw->base && sw->nwords <= STACK_WORDS_MAX &&
	       sw->base <= UINT64_MAX - 8 * STACK_WORDS_MAX;
}

void sample_enc_add(struct sample_enc *e, const struct sample_in *s, struct strbuf *out)
{
	struct cpu *cpu = &e->st.cpu[s->cpu % REC_CPU_SLOTS];
	uint32_t nchain = MIN(s->nchain, REC_CHAIN_LEN);
	uint32_t flags = 0;
	struct thread *t;

	e->st.used = true;
	enc_cpu(e, s->cpu, out);
	t = enc_thread(e, s, cpu, out);
	e->st.seen.n = 0;
	if (s->has_regs)
		flags |= REC_S_REGS;
	if (s->copy_full)
		flags |= REC_S_COPY_FULL;
	if (s->unmasked)
		flags |= REC_S_UNMASKED;
	if (s->cut)
		flags |= REC_S_CUT;
	if (s->cgroup != t->cgroup)
		flags |= REC_S_CGROUP;
	if (s->period != cpu->period)
		flags |= REC_S_PERIOD;
	if (stack_usable(s->stack)) {
		flags |= REC_S_STACK;
		lru_touch(e, t);
		if (evict(e))
			flags |= REC_S_EVICT;
		if (!t->next)		/* it was evicted itself: its own stacks filled the pool */
			lru_touch(e, t);
		if (s->stack->base != align_up((s->has_regs ? s->regs : t->regs)[UREG_SP], 8))
			flags |= REC_S_BASE;
	}
	/*
	 * Without a kernel part the chain is { PERF_CONTEXT_USER, ip }: one chain for every ip
	 * then.
	 */
	if (s->has_regs && nchain && s->chain[nchain - 1] == s->regs[UREG_IP]) {
		flags |= REC_S_IP_TAIL;
		nchain--;
	}
	nibble_put(out, CTX_FLAGS_HIT, flags == t->flags);
	if (flags != t->flags)
		nibble_put_num(out, CTX_FLAGS, flags);
	t->flags = flags & REC_S_STABLE;
	if (flags & REC_S_EVICT)
		nibble_add(out, &e->evicted);
	if (flags & REC_S_CGROUP)
		nibble_put_num(out, CTX_CGROUP, t->cgroup = s->cgroup);
	if (flags & REC_S_PERIOD)
		nibble_put_snum(out, CTX_PERIOD, (int64_t)(s->period - cpu->period));
	cpu->period = s->period;
	nibble_put_snum(out, CTX_TIME, (int64_t)(s->time - cpu->time - cpu->step));
	cpu->step = s->time - cpu->time;
	cpu->time = s->time;
	if (s->has_regs) {
		nibble_put_snum(out, CTX_SP, (int64_t)(s->regs[UREG_SP] - t->regs[UREG_SP]));
		t->regs[UREG_SP] = s->regs[UREG_SP];
	}
	if (flags & REC_S_BASE)
		nibble_put_snum(out, CTX_BASE, (int64_t)(s->stack->base - usual_base(t)));
	if (flags & REC_S_STACK)
		enc_stack(e, t, s, out);
	else
		t->lo = t->hi = 0;
	if (s->has_regs)
		enc_regs(e, t, s, out);
	t->chain = chain_enc_put(&e->chain, &e->code, out, s->chain, nchain, t->chain);
}

/* ---- decoder ---- */

struct sample_dec *sample_dec_new(void)
{
	struct sample_dec *d = xcalloc(1, sizeof(*d));

	shadow_pool_init(&d->st.pool, REC_SHADOW_PAGES_MAX);
	d->in = nibble_dec_new();
	return d;
}

void sample_dec_free(struct sample_dec *d)
{
	if (!d)
		return;
	state_fini(&d->st);
	code_dec_fini(&d->code);
	chain_dec_fini(&d->chain);
	nibble_dec_free(d->in);
	free(d);
}

void sample_dec_key(struct sample_dec *d)
{
	state_key(&d->st);
	code_dec_reset(&d->code);
	chain_dec_reset(&d->chain);
	nibble_dec_reset(d->in);
}

void sample_dec_block(struct sample_dec *d, const struct cursor *code, uint64_t symbols, bool plain)
{
	nibble_dec_begin(d->in, code->base, code->size, symbols, plain);
}

static int dec_cpu(struct sample_dec *d, uint32_t *cpu)
{
	uint32_t *guess = guess_cpu(&d->st);
	uint64_t v = *guess;

	if (!nibble_get(d->in, CTX_CPU_HIT))
		v = nibble_get_num(d->in, CTX_CPU);
	if (v > UINT32_MAX)
		return -EINVAL;
	*cpu = (uint32_t)v;
	note_cpu(&d->st, guess, *cpu);
	return 0;
}

static struct thread *dec_thread(struct sample_dec *d, struct cpu *cpu)
{
	uint32_t *guess = guess_thread(&d->st, cpu);
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
		state_add_thread(&d->st, (uint32_t)pid, (uint32_t)tid);
		break;
	default:
		idx = nibble_get_num(d->in, CTX_THREAD_ID);
		break;
	}
	if (idx >= d->st.nthr)
		return NULL;
	note_thread(cpu, guess, (uint32_t)idx);
	return d->st.thr[idx];
}

static int dec_evict(struct sample_dec *d)
{
	uint64_t v;

	while ((v = nibble_get_num(d->in, CTX_EVICT))) {
		if (v > d->st.nthr)
			return -EINVAL;
		state_forget(&d->st, d->st.thr[v - 1]);
	}
	return 0;
}

/* What a register holds when it is not as it was. */
static int dec_reg(struct sample_dec *d, uint32_t op, uint32_t i, uint64_t sp, uint64_t *val)
{
	struct nibble_dec *in = d->in;
	uint32_t rank;

	switch (op) {
	case REG_ZERO:
		*val = 0;
		return 0;
	case REG_SP:
		*val = sp + 8 * (uint64_t)nibble_get_snum(in, CTX_REG_SP);
		return 0;
	case REG_SEEN:
		rank = nibble_get(in, CTX_REG_SEEN + i);
		if (rank >= d->st.seen.n)
			return -EINVAL;
		*val = d->st.seen.addr[rank];
		return 0;
	case REG_CODE:
		return code_dec_find(&d->code, nibble_get_id(in, CTX_CODE, d->code.n), val);
	case REG_NEW:
		return code_dec_add(&d->code, in, val);
	case REG_RAW:
		rank = nibble_get(in, CTX_REG_RECENT);
		*val = rank < RAW_RECENT ? d->st.raw[rank]
					 : *val ^ nibble_get_num(in, CTX_REG_RAW);
		raw_note(&d->st, *val, rank);
		return 0;
	default:
		return -EINVAL;
	}
}

static int dec_regs(struct sample_dec *d, struct thread *t, uint64_t *regs)
{
	uint64_t sp = t->regs[UREG_SP], *ip = &t->regs[UREG_IP];
	struct reg_row *row;
	uint32_t op = REG_SAME;

	if (code_dec_get(&d->code, d->in, CTX_IP_NEW, CTX_IP, ip))
		return -EINVAL;
	row = row_of(&d->st, *ip);
	for (uint32_t i = 0; i < NREGS; i++) {
		uint64_t *val = &t->regs[reg_order[i]], guess = 0;
		bool have = row->ip == *ip && row_guess(&d->st, row, i, sp, &guess);

		op = nibble_get(d->in, reg_ctx(i, op, have, have && guess == *val));
		if (op == REG_GUESS) {
			if (!have)
				return -EINVAL;
			*val = guess;
		} else if (op != REG_SAME && dec_reg(d, op, i, sp, val)) {
			return -EINVAL;
		}
		row_note(&d->st, row, i, sp, *val);
	}
	row->ip = *ip;
	memcpy(regs, t->regs, sizeof(t->regs));
	return 0;
}

static int dec_stack(struct sample_dec *d, struct thread *t, uint64_t lo, struct ev_sample *ev)
{
	uint64_t words = predict_words(&d->st, t, lo, ev->copy_full);
	uint64_t top, hi;

	words += (uint64_t)nibble_get_snum(d->in, CTX_SIZE);
	if (!words || words > STACK_WORDS_MAX || lo % 8 || !lo ||
	    lo > UINT64_MAX - 8 * STACK_WORDS_MAX)
		return -EINVAL;
	if (words_decode(&d->st.words, &d->st.pool, &t->shadow, &d->code, lo, (uint32_t)words,
			 &d->st.seen, d->in, &top))
		return -EINVAL;
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

/* All but the stack, registers and chain. */
static struct thread *dec_head(struct sample_dec *d, struct ev_sample *ev, uint64_t *flags)
{
	struct nibble_dec *in = d->in;
	struct thread *t;
	struct cpu *cpu;
	uint32_t cpu_no;

	if (dec_cpu(d, &cpu_no))
		return NULL;
	cpu = &d->st.cpu[cpu_no % REC_CPU_SLOTS];
	t = dec_thread(d, cpu);
	if (!t)
		return NULL;
	*flags = t->flags;
	if (!nibble_get(in, CTX_FLAGS_HIT))
		*flags = nibble_get_num(in, CTX_FLAGS);
	if (*flags & ~(uint64_t)REC_S_KNOWN)
		return NULL;
	t->flags = *flags & REC_S_STABLE;
	if (*flags & REC_S_EVICT && dec_evict(d))
		return NULL;
	if (*flags & REC_S_CGROUP)
		t->cgroup = nibble_get_num(in, CTX_CGROUP);
	if (*flags & REC_S_PERIOD)
		cpu->period += (uint64_t)nibble_get_snum(in, CTX_PERIOD);
	cpu->step += (uint64_t)nibble_get_snum(in, CTX_TIME);
	cpu->time += cpu->step;
	*ev = (struct ev_sample){
		.time = cpu->time, .pid = t->pid, .tid = t->tid, .cpu = cpu_no,
		.period = cpu->period, .cgroup = t->cgroup, .chain = d->ip,
		.has_regs = *flags & REC_S_REGS, .copy_full = *flags & REC_S_COPY_FULL,
		.unmasked = *flags & REC_S_UNMASKED, .cut = *flags & REC_S_CUT,
	};
	return t;
}

int sample_dec_next(struct sample_dec *d, struct ev_sample *ev)
{
	struct thread *t;
	uint64_t flags, lo;

	d->st.used = true;
	d->st.seen.n = 0;
	t = dec_head(d, ev, &flags);
	if (!t)
		return -EINVAL;
	if (ev->has_regs)
		t->regs[UREG_SP] += (uint64_t)nibble_get_snum(d->in, CTX_SP);
	if (flags & REC_S_STACK) {
		lo = usual_base(t);
		if (flags & REC_S_BASE)
			lo += (uint64_t)nibble_get_snum(d->in, CTX_BASE);
		if (dec_stack(d, t, lo, ev))
			return -EINVAL;
	} else {
		t->lo = t->hi = 0;
	}
	if ((ev->has_regs && dec_regs(d, t, ev->regs)) ||
	    chain_dec_get(&d->chain, &d->code, d->in, &t->chain, d->ip, &ev->nchain))
		return -EINVAL;
	if (flags & REC_S_IP_TAIL) {
		if (ev->nchain == REC_CHAIN_LEN)
			return -EINVAL;
		d->ip[ev->nchain++] = ev->regs[UREG_IP];
	}
	return nibble_dec_ok(d->in) ? 0 : -EINVAL;
}

bool sample_dec_done(const struct sample_dec *d)
{
	return nibble_dec_done(d->in);
}
