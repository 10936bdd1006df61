#include "samples/switch_codec.h"

#include <assert.h>
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

/* Symbols under CTX_IN: below RECENT, which of the recent threads comes. */
enum in_op { IN_GUESS = RECENT, IN_ID, IN_OTHER };
/* Symbols under CTX_OUT: the thread that is there leaves. */
enum out_op { OUT_BLOCKED, OUT_PREEMPTED, OUT_OTHER };
/* Symbols under CTX_KIND and CTX_THREAD, for what is not expected. */
enum kind { KIND_IN, KIND_BLOCKED, KIND_PREEMPTED, KINDS };
enum thread_op { THREAD_ID, THREAD_NEW };

enum switch_ctx {
	CTX_OUT,
	CTX_IN = CTX_OUT + THREADS,
	CTX_KIND = CTX_IN + 2 * THREADS,
	CTX_THREAD,
	CTX_ID,
	CTX_PID = CTX_ID + NIBBLE_NUM,
	CTX_TID = CTX_PID + NIBBLE_NUM,
	CTX_CPUS = CTX_TID + NIBBLE_NUM,
	CTX_CPU = CTX_CPUS + NIBBLE_NUM,
	CTX_COUNT = CTX_CPU + NIBBLE_NUM,
	CTX_FIRST = CTX_COUNT + NIBBLE_NUM,
	CTX_GAP = CTX_FIRST + NIBBLE_NUM,
	CTX_RUN = CTX_GAP + 2 * NIBBLE_NUM,
	CTX_NR = CTX_RUN + RUNS * NIBBLE_NUM,
};
static_assert(CTX_NR <= NIBBLE_CONTEXTS, "a model for each");

/* What both sides know of the CPU whose switches are being coded. */
struct here {
	uint32_t recent[RECENT];	/* threads, latest first */
	uint32_t n;
	bool on;			/* the first of them is there; otherwise it left, */
	bool preempted;			/* like this */
	uint64_t time;			/* ns, of the last switch */
};

/* What both sides know of a block. */
struct model {
	struct here here;
	uint32_t guess[GUESSES];	/* the thread that came after two */
};

struct switch_enc {
	struct model m;
	struct u64map threads;		/* pid << 32 | tid -> index */
	struct u64map cpus;		/* number -> switches, then where they begin */
	struct ev_switch *sw;		/* owned; by CPU */
	uint32_t *cpu;			/* owned; numbers, ascending */
	size_t cap, cpu_cap;
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
	struct thread *thread;		/* owned; by index */
	uint32_t nthreads;
	struct ev_switch *sw;		/* owned; CPU by CPU */
	size_t n;
	struct run *run;		/* owned; by CPU */
	uint32_t nruns;
	uint32_t *heap;			/* owned; of runs that have switches left, the next one first */
	uint32_t nheap;
	size_t thread_cap, cap, run_cap, heap_cap;
};

/* ---- what both sides know ---- */

static void to_front(struct here *h, uint32_t thread)
{
	uint32_t i = 0;

	while (i < h->n && h->recent[i] != thread)
		i++;
	if (i == h->n && h->n < RECENT)
		h->n++;
	memmove(h->recent + 1, h->recent, MIN(i, RECENT - 1) * sizeof(*h->recent));
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
	return CTX_OUT + h->recent[0] % THREADS;
}

static uint32_t in_ctx(const struct here *h)
{
	return CTX_IN + 2 * (h->recent[0] % THREADS) + h->preempted;
}

static uint32_t time_ctx(const struct here *h)
{
	return h->on ? CTX_RUN + h->recent[0] % RUNS * NIBBLE_NUM : CTX_GAP + h->preempted * NIBBLE_NUM;
}

/* Thread @thread came, or left like this. */
static void note(struct model *m, enum kind kind, uint32_t thread, uint32_t *guess)
{
	if (kind == KIND_IN)
		*guess = thread;
	to_front(&m->here, thread);
	m->here.on = kind == KIND_IN;
	m->here.preempted = kind == KIND_PREEMPTED;
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

/* Fills @e->sw, CPU by CPU, and @e->cpu. Returns the number of CPUs. */
static uint32_t by_cpu(struct switch_enc *e, const struct ev_switch *sw, size_t n)
{
	uint64_t at = 0, *count;
	uint32_t cpus = 0;
	bool is_new;

	if (e->cap < n) {
		e->cap = n + n / 2;
		free(e->sw);
		e->sw = xmalloc(e->cap * sizeof(*e->sw));
	}
	u64map_clear(&e->cpus);
	for (size_t i = 0; i < n; i++) {
		++*u64map_put(&e->cpus, sw[i].cpu, &is_new);
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
	for (size_t i = 0; i < n; i++)
		e->sw[(*u64map_get(&e->cpus, sw[i].cpu))++] = sw[i];
	return cpus;
}

static uint32_t enc_other(struct switch_enc *e, const struct ev_switch *sw, enum kind kind, struct strbuf *out)
{
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

static void enc_switch(struct switch_enc *e, const struct ev_switch *sw, struct strbuf *out)
{
	struct here *h = &e->m.here;
	uint64_t *known = u64map_get(&e->threads, (uint64_t)sw->pid << 32 | sw->tid);
	uint32_t thread = known ? (uint32_t)*known : UINT32_MAX, ctx = time_ctx(h);
	enum kind kind = !sw->out ? KIND_IN : sw->preempted ? KIND_PREEMPTED : KIND_BLOCKED;
	uint32_t *guess = guess_of(&e->m), rank = rank_of(h, thread);

	if (h->on && sw->out && !rank) {
		nibble_put(out, out_ctx(h), sw->preempted ? OUT_PREEMPTED : OUT_BLOCKED);
	} else if (h->on) {
		nibble_put(out, out_ctx(h), OUT_OTHER);
		thread = enc_other(e, sw, kind, out);
	} else if (sw->out || !known) {
		nibble_put(out, in_ctx(h), IN_OTHER);
		thread = enc_other(e, sw, kind, out);
	} else if (rank < RECENT) {
		nibble_put(out, in_ctx(h), rank);
	} else if (*guess == thread) {
		nibble_put(out, in_ctx(h), IN_GUESS);
	} else {
		nibble_put(out, in_ctx(h), IN_ID);
		nibble_put_num(out, CTX_ID, thread);
	}
	nibble_put_num(out, ctx, sw->time - h->time);
	h->time = sw->time;
	note(&e->m, kind, thread, guess);
}

void switch_encode(struct switch_enc *e, const struct ev_switch *sw, size_t n, struct strbuf *out)
{
	const uint32_t cpus = by_cpu(e, sw, n);
	uint64_t first = 0;

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
			enc_switch(e, &e->sw[at], out);
	}
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

static int dec_switch(struct switch_dec *d, uint32_t cpu, struct ev_switch *sw)
{
	struct here *h = &d->m.here;
	uint32_t *guess = guess_of(&d->m), ctx = time_ctx(h), kind = KIND_IN, thread, op;

	if (h->on) {
		op = nibble_get(d->in, out_ctx(h));
		thread = h->recent[0];
		if (op >= OUT_OTHER)
			thread = dec_other(d, &kind);
		else
			kind = op == OUT_PREEMPTED ? KIND_PREEMPTED : KIND_BLOCKED;
	} else {
		op = nibble_get(d->in, in_ctx(h));
		if (op < RECENT)
			thread = op < h->n ? h->recent[op] : UINT32_MAX;
		else if (op == IN_GUESS)
			thread = *guess;
		else if (op == IN_ID)
			thread = dec_id(d);
		else
			thread = dec_other(d, &kind);
	}
	if (thread >= d->nthreads || kind >= KINDS)
		return -EINVAL;
	h->time += nibble_get_num(d->in, ctx);
	*sw = (struct ev_switch){
		.time = h->time, .pid = d->thread[thread].pid, .tid = d->thread[thread].tid, .cpu = cpu,
		.out = kind != KIND_IN, .preempted = kind == KIND_PREEMPTED,
	};
	note(&d->m, kind, thread, guess);
	return 0;
}

/* The switches of one CPU, at most @most. *@cpu: the number of the one before, or -1. */
static int dec_cpu(struct switch_dec *d, int64_t *cpu, uint64_t *first, uint64_t most)
{
	uint64_t number = nibble_get_num(d->in, CTX_CPU) + (uint64_t)(*cpu + 1);
	uint64_t count = nibble_get_num(d->in, CTX_COUNT) + 1;

	if (number > UINT32_MAX || (int64_t)number <= *cpu || !count || count > most - d->n || !nibble_dec_ok(d->in))
		return -EINVAL;
	*cpu = (int64_t)number;
	*first += (uint64_t)nibble_get_snum(d->in, CTX_FIRST);
	d->m.here = (struct here){ .time = *first };
	XGROW(d->run, d->nruns, d->run_cap);
	d->run[d->nruns++] = (struct run){ d->n, d->n + count };
	while (count--) {
		XGROW(d->sw, d->n, d->cap);
		if (dec_switch(d, (uint32_t)number, &d->sw[d->n]))
			return -EINVAL;
		d->n++;
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

int switch_decode(struct switch_dec *d, const struct cursor *code, uint64_t symbols, bool plain)
{
	uint64_t cpus, first = 0;
	int64_t cpu = -1;
	int err = 0;

	d->n = d->nruns = d->nheap = d->nthreads = 0;
	memset(&d->m, 0, sizeof(d->m));
	nibble_dec_reset(d->in);
	nibble_dec_begin(d->in, code->base, code->size, symbols, plain);
	cpus = nibble_get_num(d->in, CTX_CPUS);
	/* Each takes at least two symbols. */
	while (!err && cpus--)
		err = dec_cpu(d, &cpu, &first, symbols / 2);
	if (err || !nibble_dec_done(d->in))
		return -EINVAL;
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
