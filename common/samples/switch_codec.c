#include "samples/switch_codec.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "samples/nibble_codec.h"

#define RECENT 13u		/* threads remembered of a CPU */
#define GUESSES 1024u
#define THREADS 32u		/* threads, modulo this, that have models of their own */
#define RUNS 4u			/* the same, for how long they run */
/*
 * Times between two switches are mostly such numbers of bits. One symbol says how many, the next
 * has the bits below the highest one. All others follow no pattern and go without a model.
 */
#define TIME_BITS_MIN 6u
#define TIME_BITS_MAX 20u
#define TIME_TOP 4u

/* Symbols under CTX_IN: below RECENT, which of the recent threads comes. */
enum in_op { IN_GUESS = RECENT, IN_ID, IN_OTHER };
/* Symbols under CTX_OUT: the thread that is there leaves. */
enum out_op { OUT_BLOCKED, OUT_PREEMPTED, OUT_OTHER, OUT_MARK };
/* Symbols under CTX_KIND and CTX_THREAD, for what is not expected. */
enum kind { KIND_IN, KIND_BLOCKED, KIND_PREEMPTED, KIND_MARK, KINDS };
enum thread_op { THREAD_ID, THREAD_NEW };
/* Symbols under CTX_TIME: how many bits more than TIME_BITS_MIN. */
enum time_op { TIME_FAR = TIME_BITS_MAX - TIME_BITS_MIN + 1 };

/*
 * Kinds of times: how long a thread runs, or until one comes after another was blocked, preempted, or
 * until it leaves after its mark.
 */
#define TIMES (RUNS + 3)

enum switch_ctx {
	CTX_OUT,
	CTX_IN = CTX_OUT + 2 * THREADS,
	CTX_KIND = CTX_IN + 2 * THREADS,
	CTX_THREAD,
	CTX_ID,
	CTX_PID = CTX_ID + NIBBLE_NUM,
	CTX_TID = CTX_PID + NIBBLE_NUM,
	CTX_CPUS = CTX_TID + NIBBLE_NUM,
	CTX_CPU = CTX_CPUS + NIBBLE_NUM,
	CTX_COUNT = CTX_CPU + NIBBLE_NUM,
	CTX_FIRST = CTX_COUNT + NIBBLE_NUM,
	CTX_FAR = CTX_FIRST + NIBBLE_NUM,
	CTX_TIME = CTX_FAR + NIBBLE_NUM,	/* for each kind of time, */
	CTX_TOP = CTX_TIME + TIMES,		/* and number of bits */
	CTX_NR = CTX_TOP + TIMES * 16,
};
static_assert(CTX_NR <= NIBBLE_CONTEXTS, "a model for each");

/* What both sides know of the CPU whose switches are being coded. */
struct here {
	uint32_t recent[RECENT];	/* threads, latest first */
	uint32_t n;
	bool on;			/* the first of them is there; otherwise it left, */
	bool preempted;			/* like this */
	bool marked;			/* the last of all was a mark */
	uint64_t time;			/* ns, of the last switch or mark */
};

/* What both sides know of a block. */
struct model {
	struct here here;
	uint32_t guess[GUESSES];	/* the thread that came after two */
};

struct switch_enc {
	struct model m;
	struct u64map threads;		/* pid << 32 | tid -> index */
	uint64_t last;			/* key of the thread that is here.recent[0] */
	struct u64map cpus;		/* number -> switches, then where they begin */
	struct ev_switch *sw;		/* owned; by CPU */
	uint32_t *cpu;			/* owned; numbers, ascending */
	size_t cap, cpu_cap;
	struct strbuf *out, *bits;	/* borrowed */
	uint64_t held;			/* the last bits, lowest first, and how many */
	uint32_t nheld;
};

struct thread {
	uint32_t pid, tid;
};

/* The switches of a CPU that are left, of switch_dec.sw. */
struct run {
	size_t at, end;
};

struct switch_dec {
	struct model m;
	struct nibble_dec *in;		/* owned */
	struct cursor bits;
	uint64_t at;			/* bits taken */
	struct thread *thread;		/* owned; by index */
	uint32_t nthreads;
	struct ev_switch *sw;		/* owned; CPU by CPU */
	size_t n;
	struct ev_switch *mark;		/* owned */
	size_t nmarks;
	struct run *run;		/* owned; by CPU */
	uint32_t nruns;
	uint32_t *heap;			/* owned; of runs that have switches left, the next one first */
	uint32_t nheap;
	size_t thread_cap, cap, mark_cap, run_cap, heap_cap;
};

/* ---- what both sides know ---- */

static void to_front(struct here *h, uint32_t thread)
{
	uint32_t i = 0;

	if (h->n && h->recent[0] == thread)
		return;
	while (i < h->n && h->recent[i] != thread)
		i++;
	if (i == h->n && h->n < RECENT)
		h->n++;
	/* Few, mostly. */
	for (i = MIN(i, RECENT - 1); i; i--)
		h->recent[i] = h->recent[i - 1];
	h->recent[0] = thread;
}

static uint32_t rank_of(const struct here *h, uint32_t thread)
{
	uint32_t i = 0;

	while (i < h->n && h->recent[i] != thread)
		i++;
	return i < h->n ? i : RECENT;
}

/* The slot that guesses who comes. */
static uint32_t *guess_of(struct model *m)
{
	const uint32_t *r = m->here.recent;

	return &m->guess[hash_u64((uint64_t)r[0] << 32 | r[1]) % GUESSES];
}

static uint32_t out_ctx(const struct here *h)
{
	return CTX_OUT + 2 * (h->recent[0] % THREADS) + h->marked;
}

static uint32_t in_ctx(const struct here *h)
{
	return CTX_IN + 2 * (h->recent[0] % THREADS) + h->preempted;
}

static uint32_t time_kind(const struct here *h)
{
	if (h->marked)
		return RUNS + 2;
	return h->on ? h->recent[0] % RUNS : RUNS + h->preempted;
}

/* Thread @thread came, left like this, or is there and has a mark. */
static void note(struct model *m, enum kind kind, uint32_t thread)
{
	if (kind == KIND_IN)
		*guess_of(m) = thread;
	to_front(&m->here, thread);
	m->here.on = kind == KIND_IN || kind == KIND_MARK;
	m->here.preempted = kind == KIND_PREEMPTED;
	m->here.marked = kind == KIND_MARK;
}

/* ---- encoder ---- */

struct switch_enc *switch_enc_new(void)
{
	return xcalloc(1, sizeof(struct switch_enc));
}

void switch_enc_free(struct switch_enc *e)
{
	if (!e)
		return;
	u64map_fini(&e->threads);
	u64map_fini(&e->cpus);
	free(e->sw);
	free(e->cpu);
	free(e);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void flush_bits(struct switch_enc *e)
{
	uint64_t v = htole64(e->held);

	strbuf_add(e->bits, &v, (e->nheld + 7) / 8);
	e->held = 0;
	e->nheld = 0;
}

/* The lowest @n bits of @v, at most 32. */
static void put_bits(struct switch_enc *e, uint64_t v, uint32_t n)
{
	if (e->nheld >= 32) {
		uint32_t low = htole32((uint32_t)e->held);

		strbuf_add(e->bits, &low, sizeof(low));
		e->held >>= 32;
		e->nheld -= 32;
	}
	e->held |= (v & ((1ull << n) - 1)) << e->nheld;
	e->nheld += n;
}

static void put_time(struct switch_enc *e, uint32_t kind, uint64_t time)
{
	uint32_t n = time ? 64 - (uint32_t)__builtin_clzll(time) : 0, op;

	if (n > TIME_BITS_MAX) {
		nibble_put(e->out, CTX_TIME + kind, TIME_FAR);
		nibble_put_num(e->out, CTX_FAR, time);
		return;
	}
	op = n > TIME_BITS_MIN ? n - TIME_BITS_MIN : 0;
	nibble_put(e->out, CTX_TIME + kind, op);
	if (!op) {
		put_bits(e, time, TIME_BITS_MIN);
		return;
	}
	n -= TIME_TOP + 1;
	nibble_put(e->out, CTX_TOP + kind * 16 + op, (uint32_t)(time >> n) & 15);
	put_bits(e, time, n);
}

/* Fills @e->sw, CPU by CPU, and @e->cpu. Returns the number of CPUs. */
static uint32_t by_cpu(struct switch_enc *e, const struct ev_switch *sw, size_t n)
{
	uint64_t at = 0, *count = NULL;
	uint32_t cpus = 0;
	bool is_new;

	if (e->cap < n) {
		e->cap = n + n / 2;
		free(e->sw);
		e->sw = xmalloc(e->cap * sizeof(*e->sw));
	}
	u64map_clear(&e->cpus);
	/* Mostly there are several of one CPU in a row. */
	for (size_t i = 0; i < n; ++*count, i++) {
		if (i && sw[i].cpu == sw[i - 1].cpu)
			continue;
		count = u64map_put(&e->cpus, sw[i].cpu, &is_new);
		if (!is_new)
			continue;
		XGROW(e->cpu, cpus, e->cpu_cap);
		e->cpu[cpus++] = sw[i].cpu;
	}
	qsort(e->cpu, cpus, sizeof(*e->cpu), by_number);
	for (uint32_t i = 0; i < cpus; i++) {
		count = u64map_get(&e->cpus, e->cpu[i]);
		at += *count;
		*count = at - *count;
	}
	for (size_t i = 0; i < n; i++) {
		if (!i || sw[i].cpu != sw[i - 1].cpu)
			count = u64map_get(&e->cpus, sw[i].cpu);
		e->sw[(*count)++] = sw[i];
	}
	return cpus;
}

static uint32_t enc_other(struct switch_enc *e, const struct ev_switch *sw, enum kind kind)
{
	struct strbuf *out = e->out;
	bool is_new;
	uint64_t *idx = u64map_put(&e->threads, (uint64_t)sw->pid << 32 | sw->tid, &is_new);

	nibble_put(out, CTX_KIND, kind);
	nibble_put(out, CTX_THREAD, is_new ? THREAD_NEW : THREAD_ID);
	if (is_new) {
		*idx = e->threads.n - 1;
		nibble_put_num(out, CTX_PID, sw->pid);
		nibble_put_snum(out, CTX_TID, (int64_t)sw->tid - (int64_t)sw->pid);
	} else {
		nibble_put_num(out, CTX_ID, *idx);
	}
	return (uint32_t)*idx;
}

static enum kind kind_of(const struct ev_switch *sw)
{
	if (sw->mark)
		return KIND_MARK;
	return !sw->out ? KIND_IN : sw->preempted ? KIND_PREEMPTED : KIND_BLOCKED;
}

/* The index of the thread of @sw; UINT32_MAX: it has none yet. */
static uint32_t known_thread(const struct switch_enc *e, const struct ev_switch *sw)
{
	const uint64_t key = (uint64_t)sw->pid << 32 | sw->tid, *known;

	/* Mostly it came, or was sampled, just now. */
	if (e->m.here.n && key == e->last)
		return e->m.here.recent[0];
	known = u64map_get(&e->threads, key);
	return known ? (uint32_t)*known : UINT32_MAX;
}

static void enc_switch(struct switch_enc *e, const struct ev_switch *sw)
{
	struct strbuf *out = e->out;
	struct here *h = &e->m.here;
	uint32_t thread = known_thread(e, sw), time = time_kind(h), rank = rank_of(h, thread);
	enum kind kind = kind_of(sw);

	if (h->on && kind != KIND_IN && !rank) {
		nibble_put(out, out_ctx(h), kind == KIND_MARK ? OUT_MARK : sw->preempted ? OUT_PREEMPTED : OUT_BLOCKED);
	} else if (h->on) {
		nibble_put(out, out_ctx(h), OUT_OTHER);
		thread = enc_other(e, sw, kind);
	} else if (kind != KIND_IN || thread == UINT32_MAX) {
		nibble_put(out, in_ctx(h), IN_OTHER);
		thread = enc_other(e, sw, kind);
	} else if (rank < RECENT) {
		nibble_put(out, in_ctx(h), rank);
	} else if (*guess_of(&e->m) == thread) {
		nibble_put(out, in_ctx(h), IN_GUESS);
	} else {
		nibble_put(out, in_ctx(h), IN_ID);
		nibble_put_num(out, CTX_ID, thread);
	}
	put_time(e, time, sw->time - h->time);
	h->time = sw->time;
	note(&e->m, kind, thread);
	e->last = (uint64_t)sw->pid << 32 | sw->tid;
}

void switch_encode(struct switch_enc *e, const struct ev_switch *sw, size_t n, struct strbuf *out,
		   struct strbuf *bits)
{
	const uint32_t cpus = by_cpu(e, sw, n);
	uint64_t first = 0;

	e->out = out;
	e->bits = bits;
	u64map_clear(&e->threads);
	memset(&e->m, 0, sizeof(e->m));
	nibble_put_num(out, CTX_CPUS, cpus);
	for (uint32_t i = 0, at = 0; i < cpus; i++) {
		const uint32_t end = (uint32_t)*u64map_get(&e->cpus, e->cpu[i]);

		e->m.here = (struct here){ .time = e->sw[at].time };
		nibble_put_num(out, CTX_CPU, i ? e->cpu[i] - e->cpu[i - 1] - 1 : e->cpu[i]);
		nibble_put_num(out, CTX_COUNT, end - at - 1);
		nibble_put_snum(out, CTX_FIRST, (int64_t)(e->sw[at].time - first));
		first = e->sw[at].time;
		for (; at < end; at++)
			enc_switch(e, &e->sw[at]);
	}
	flush_bits(e);
}

/* ---- decoder ---- */

struct switch_dec *switch_dec_new(void)
{
	struct switch_dec *d = xcalloc(1, sizeof(*d));

	d->in = nibble_dec_new();
	return d;
}

void switch_dec_free(struct switch_dec *d)
{
	if (!d)
		return;
	nibble_dec_free(d->in);
	free(d->thread);
	free(d->sw);
	free(d->mark);
	free(d->run);
	free(d->heap);
	free(d);
}

static uint32_t dec_id(struct switch_dec *d)
{
	uint64_t id = nibble_get_num(d->in, CTX_ID);

	return (uint32_t)MIN(id, UINT32_MAX);
}

/* The index of a thread that is not expected, UINT32_MAX if there is none. */
static uint32_t dec_other(struct switch_dec *d, uint32_t *kind)
{
	uint64_t pid, tid;

	*kind = nibble_get(d->in, CTX_KIND);
	if (nibble_get(d->in, CTX_THREAD) != THREAD_NEW)
		return dec_id(d);
	pid = nibble_get_num(d->in, CTX_PID);
	tid = pid + (uint64_t)nibble_get_snum(d->in, CTX_TID);
	if (pid > UINT32_MAX || tid > UINT32_MAX)
		return UINT32_MAX;
	XGROW(d->thread, d->nthreads, d->thread_cap);
	d->thread[d->nthreads] = (struct thread){ (uint32_t)pid, (uint32_t)tid };
	return d->nthreads++;
}

/* The next @n bits, at most 32. Beyond the end they are 0. */
static uint64_t get_bits(struct switch_dec *d, uint32_t n)
{
	const size_t byte = d->at / 8;
	uint64_t v = 0;

	if (byte + sizeof(v) <= d->bits.size)
		memcpy(&v, d->bits.base + byte, sizeof(v));
	else if (byte < d->bits.size)
		memcpy(&v, d->bits.base + byte, d->bits.size - byte);
	v = le64toh(v) >> d->at % 8 & ((1ull << n) - 1);
	d->at += n;
	return v;
}

static uint64_t get_time(struct switch_dec *d, uint32_t kind)
{
	uint32_t op = nibble_get(d->in, CTX_TIME + kind), n;
	uint64_t top;

	if (op == TIME_FAR)
		return nibble_get_num(d->in, CTX_FAR);
	if (!op)
		return get_bits(d, TIME_BITS_MIN);
	n = op + TIME_BITS_MIN - TIME_TOP - 1;
	top = 1u << TIME_TOP | nibble_get(d->in, CTX_TOP + kind * 16 + op);
	return top << n | get_bits(d, n);
}

/* The next switch or mark of @cpu. */
static int dec_switch(struct switch_dec *d, uint32_t cpu, struct ev_switch *sw)
{
	struct here *h = &d->m.here;
	uint32_t time = time_kind(h), kind = KIND_IN, thread, op;

	if (h->on) {
		op = nibble_get(d->in, out_ctx(h));
		thread = h->recent[0];
		if (op == OUT_MARK)
			kind = KIND_MARK;
		else if (op >= OUT_OTHER)
			thread = dec_other(d, &kind);
		else
			kind = op == OUT_PREEMPTED ? KIND_PREEMPTED : KIND_BLOCKED;
	} else {
		op = nibble_get(d->in, in_ctx(h));
		if (op < RECENT)
			thread = op < h->n ? h->recent[op] : UINT32_MAX;
		else if (op == IN_GUESS)
			thread = *guess_of(&d->m);
		else if (op == IN_ID)
			thread = dec_id(d);
		else
			thread = dec_other(d, &kind);
	}
	if (thread >= d->nthreads || kind >= KINDS)
		return -EINVAL;
	h->time += get_time(d, time);
	*sw = (struct ev_switch){
		.time = h->time, .pid = d->thread[thread].pid, .tid = d->thread[thread].tid, .cpu = cpu,
		.out = kind == KIND_BLOCKED || kind == KIND_PREEMPTED, .preempted = kind == KIND_PREEMPTED,
		.mark = kind == KIND_MARK,
	};
	note(&d->m, kind, thread);
	return 0;
}

/* The switches and marks of one CPU, at most @most in all. *@cpu: the number of the one before, or -1. */
static int dec_cpu(struct switch_dec *d, int64_t *cpu, uint64_t *first, uint64_t most)
{
	uint64_t number = nibble_get_num(d->in, CTX_CPU) + (uint64_t)(*cpu + 1);
	uint64_t count = nibble_get_num(d->in, CTX_COUNT) + 1;
	const size_t begin = d->n;

	if (number > UINT32_MAX || (int64_t)number <= *cpu || !count || count > most - d->n - d->nmarks ||
	    !nibble_dec_ok(d->in))
		return -EINVAL;
	*cpu = (int64_t)number;
	*first += (uint64_t)nibble_get_snum(d->in, CTX_FIRST);
	d->m.here = (struct here){ .time = *first };
	if (d->cap < d->n + count) {
		d->cap = d->n + count + count / 2;
		d->sw = xrealloc(d->sw, d->cap * sizeof(*d->sw));
	}
	while (count--) {
		struct ev_switch *sw = &d->sw[d->n];

		if (dec_switch(d, (uint32_t)number, sw))
			return -EINVAL;
		if (!sw->mark) {
			d->n++;
			continue;
		}
		XGROW(d->mark, d->nmarks, d->mark_cap);
		d->mark[d->nmarks++] = *sw;
	}
	if (d->n > begin) {
		XGROW(d->run, d->nruns, d->run_cap);
		d->run[d->nruns++] = (struct run){ begin, d->n };
	}
	return nibble_dec_ok(d->in) ? 0 : -EINVAL;
}

/* ---- in the order of time ---- */

static bool before(const struct switch_dec *d, uint32_t a, uint32_t b)
{
	uint64_t ta = d->sw[d->run[a].at].time, tb = d->sw[d->run[b].at].time;

	return ta != tb ? ta < tb : a < b;
}

/* Let the run at place @i of the heap sink to where it belongs. */
static void sink(struct switch_dec *d, uint32_t i)
{
	uint32_t run = d->heap[i], child;

	while ((child = 2 * i + 1) < d->nheap) {
		if (child + 1 < d->nheap && before(d, d->heap[child + 1], d->heap[child]))
			child++;
		if (!before(d, d->heap[child], run))
			break;
		d->heap[i] = d->heap[child];
		i = child;
	}
	d->heap[i] = run;
}

static int by_time(const void *a, const void *b)
{
	const struct ev_switch *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

int switch_decode(struct switch_dec *d, const struct switch_block *b)
{
	uint64_t cpus, first = 0;
	int64_t cpu = -1;
	int err = 0;

	d->n = d->nmarks = d->nruns = d->nheap = d->nthreads = 0;
	memset(&d->m, 0, sizeof(d->m));
	nibble_dec_reset(d->in);
	nibble_dec_begin(d->in, b->code.base, b->code.size, b->symbols, b->plain);
	d->bits = b->bits;
	d->at = 0;
	cpus = nibble_get_num(d->in, CTX_CPUS);
	/* Each takes at least two symbols. */
	while (!err && cpus--)
		err = dec_cpu(d, &cpu, &first, b->symbols / 2);
	if (err || !nibble_dec_done(d->in) || (d->at + 7) / 8 != d->bits.size || (d->nmarks && !b->marks)) {
		d->nmarks = 0;
		return -EINVAL;
	}
	if (d->nmarks)
		qsort(d->mark, d->nmarks, sizeof(*d->mark), by_time);
	for (uint32_t i = 0; i < d->nruns; i++) {
		XGROW(d->heap, d->nheap, d->heap_cap);
		d->heap[d->nheap++] = i;
	}
	for (uint32_t i = d->nheap / 2; i--;)
		sink(d, i);
	return 0;
}

const struct ev_switch *switch_dec_peek(const struct switch_dec *d)
{
	return d->nheap ? &d->sw[d->run[d->heap[0]].at] : NULL;
}

void switch_dec_take(struct switch_dec *d)
{
	struct run *run = &d->run[d->heap[0]];

	if (++run->at == run->end)
		d->heap[0] = d->heap[--d->nheap];
	if (d->nheap)
		sink(d, 0);
}

const struct ev_switch *switch_dec_marks(const struct switch_dec *d, size_t *n)
{
	*n = d->nmarks;
	return d->mark;
}
