/*
 * A ring of batches between two threads (sample_ahead.h). Waking a thread costs as much as decoding
 * a few samples, so samples are handed over in batches.
 */
#include "samples/sample_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "recording.h"
#include "samples/shadow.h"

#define BATCHES 16u
/* Either limit makes a batch full. */
#define BATCH_SAMPLES 64u
#define BATCH_BYTES (128u << 10)
/* A waiting reader is woken when this many batches are ready. */
#define WAKE_BATCHES 4u

/*
 * A sample in a batch. Its words, its chain, forgotten threads, the words' indices and its payload
 * follow it.
 */
struct packed {
	struct ev_sample ev;	/* without pointers */
	struct word_change words;
	uint32_t thread, ngone;
	bool has_stack;
};

/* Samples of one block. */
struct batch {
	struct strbuf data;
	uint32_t n;
	int err;		/* of the sample after them */
	bool last;		/* the last batch of its block */
	bool done;		/* and the code holds no more */
};

struct sample_ahead {
	struct sample_dec *dec;		/* borrowed; the thread's while blocks are to be decoded */
	pthread_t tid;
	/* Used by the reader. */
	struct shadow_pool pool;
	struct shadow_thread *thr;	/* owned; by index */
	uint32_t nthr;
	size_t cap;
	struct batch *now;		/* current one; NULL: none of the first block yet */
	uint32_t at;			/* samples taken from it, and their bytes */
	size_t pos;
	uint64_t took;			/* samples taken from the first block */
	/* The reader owns batches taken .. made - 1, the thread all others. */
	struct batch batch[BATCHES];
	pthread_mutex_t lock;		/* for the members below */
	pthread_cond_t change;
	struct sample_block block[SAMPLE_AHEAD_BLOCKS];	/* by number */
	uint64_t added, begun, ended;	/* blocks */
	uint64_t made, taken;		/* batches */
	bool open;			/* the block begun last is not completely decoded, */
	bool fresh;			/* and nothing of it has been decoded */
	uint64_t left;			/* samples left in it */
	bool busy;			/* the thread decodes */
	bool reader_waits, thread_waits;
	bool cancel, stop;
};

/* ---- the thread ---- */

static void pack(struct batch *b, const struct ev_sample *ev, const struct sample_change *ch)
{
	static const char zeros[8];
	struct packed p = {
		.ev = *ev, .words = ch->words, .thread = ch->thread, .ngone = ch->ngone,
		.has_stack = ev->stack.shadow,
	};

	p.ev.chain = NULL;
	p.ev.payload = NULL;
	p.ev.stack.shadow = NULL;
	strbuf_add(&b->data, &p, sizeof(p));
	strbuf_add(&b->data, ch->words.val, p.words.n * sizeof(*ch->words.val));
	strbuf_add(&b->data, ev->chain, ev->nchain * sizeof(*ev->chain));
	strbuf_add(&b->data, ch->gone, ch->ngone * sizeof(*ch->gone));
	strbuf_add(&b->data, ch->words.idx, p.words.n * sizeof(*ch->words.idx));
	strbuf_add(&b->data, ev->payload, ev->payload_len);
	strbuf_add(&b->data, zeros, -b->data.len % 8);
	b->n++;
}

/* Decode up to @n samples into @b. Returns how many are left. */
static uint64_t fill(struct sample_ahead *sa, struct batch *b, uint64_t n)
{
	struct ev_sample ev;

	strbuf_reset(&b->data);
	b->n = 0;
	b->err = 0;
	while (n && b->n < BATCH_SAMPLES && b->data.len < BATCH_BYTES) {
		b->err = sample_dec_next(sa->dec, &ev);
		if (b->err)
			return 0;
		pack(b, &ev, sample_dec_change(sa->dec));
		n--;
	}
	return n;
}

/*
 * The next batch of @block. @fresh: starts the block. @left: samples to decode. Returns how many
 * are left.
 */
static uint64_t decode(struct sample_ahead *sa, struct batch *b, const struct sample_block *block, bool fresh,
		       uint64_t left)
{
	if (fresh)
		sample_dec_block(sa->dec, block);
	left = fill(sa, b, left);
	b->last = !left;
	b->done = !left && !b->err && sample_dec_done(sa->dec);
	return left;
}

/* Call it with the lock held, like every function that waits. */
static void thread_wait(struct sample_ahead *sa)
{
	sa->thread_waits = true;
	pthread_cond_wait(&sa->change, &sa->lock);
	sa->thread_waits = false;
}

/* Releases the lock before waking the other side, which needs it. */
static void unlock_and_wake(struct sample_ahead *sa, bool waits)
{
	pthread_mutex_unlock(&sa->lock);
	if (waits)
		pthread_cond_signal(&sa->change);
}

/* Is there a block to begin or to continue? */
static bool has_work(struct sample_ahead *sa)
{
	if (!sa->open && sa->begun < sa->added) {
		sa->left = sa->block[sa->begun++ % SAMPLE_AHEAD_BLOCKS].n;
		sa->open = sa->fresh = true;
	}
	return sa->open;
}

static void *run(void *arg)
{
	struct sample_ahead *sa = arg;

	pthread_mutex_lock(&sa->lock);
	while (!sa->stop) {
		const struct sample_block *block;
		uint64_t left;

		if (sa->cancel || sa->made - sa->taken == BATCHES || !has_work(sa)) {
			thread_wait(sa);
			continue;
		}
		block = &sa->block[(sa->begun - 1) % SAMPLE_AHEAD_BLOCKS];
		sa->busy = true;
		pthread_mutex_unlock(&sa->lock);
		left = decode(sa, &sa->batch[sa->made % BATCHES], block, sa->fresh, sa->left);
		pthread_mutex_lock(&sa->lock);
		sa->busy = sa->fresh = false;
		sa->left = left;
		sa->open = left;
		sa->made++;
		unlock_and_wake(sa, sa->reader_waits && (sa->cancel || !left || sa->made - sa->taken >= WAKE_BATCHES));
		pthread_mutex_lock(&sa->lock);
	}
	pthread_mutex_unlock(&sa->lock);
	return NULL;
}

/* ---- the reader ---- */

static struct shadow_thread *shadow_of(struct sample_ahead *sa, uint32_t idx)
{
	while (sa->nthr <= idx) {
		XGROW(sa->thr, sa->nthr, sa->cap);
		memset(&sa->thr[sa->nthr++], 0, sizeof(*sa->thr));
	}
	return &sa->thr[idx];
}

void sample_ahead_key(struct sample_ahead *sa)
{
	for (uint32_t i = 0; i < sa->nthr; i++)
		shadow_clear(&sa->pool, &sa->thr[i]);
	sa->nthr = 0;
}

/* The thread must have ended. */
static void release(struct sample_ahead *sa)
{
	sample_ahead_key(sa);
	shadow_pool_fini(&sa->pool);
	free(sa->thr);
	for (uint32_t i = 0; i < BATCHES; i++)
		strbuf_fini(&sa->batch[i].data);
	pthread_mutex_destroy(&sa->lock);
	pthread_cond_destroy(&sa->change);
	free(sa);
}

struct sample_ahead *sample_ahead_new(struct sample_dec *d)
{
	struct sample_ahead *sa = xcalloc(1, sizeof(*sa));
	const struct shadow_thread *known;

	sa->dec = d;
	shadow_pool_init(&sa->pool, REC_SHADOW_PAGES_MAX);
	/* Cannot fail: the decoder found room for it. */
	while ((known = sample_dec_shadow(d, sa->nthr)))
		shadow_copy(&sa->pool, shadow_of(sa, sa->nthr), known);
	pthread_mutex_init(&sa->lock, NULL);
	pthread_cond_init(&sa->change, NULL);
	if (!pthread_create(&sa->tid, NULL, run, sa))
		return sa;
	release(sa);
	return NULL;
}

void sample_ahead_free(struct sample_ahead *sa)
{
	if (!sa)
		return;
	pthread_mutex_lock(&sa->lock);
	sa->stop = true;
	unlock_and_wake(sa, sa->thread_waits);
	pthread_join(sa->tid, NULL);
	release(sa);
}

void sample_ahead_add(struct sample_ahead *sa, const struct sample_block *block)
{
	pthread_mutex_lock(&sa->lock);
	sa->block[sa->added++ % SAMPLE_AHEAD_BLOCKS] = *block;
	unlock_and_wake(sa, sa->thread_waits);
}

static void reader_wait(struct sample_ahead *sa)
{
	sa->reader_waits = true;
	pthread_cond_wait(&sa->change, &sa->lock);
	sa->reader_waits = false;
}

/* The current batch is used up, or there is none: get the next one of the first block. */
static void next_batch(struct sample_ahead *sa)
{
	pthread_mutex_lock(&sa->lock);
	if (sa->now)
		sa->taken++;
	/* Unless it waits for a block. */
	if (sa->thread_waits && sa->open)
		pthread_cond_signal(&sa->change);
	while (sa->taken == sa->made)
		reader_wait(sa);
	sa->now = &sa->batch[sa->taken % BATCHES];
	pthread_mutex_unlock(&sa->lock);
	sa->at = 0;
	sa->pos = 0;
}

/* Unpacks the sample at @at, which pack() wrote. Returns where the next one begins. */
static const char *unpack(struct sample_ahead *sa, const char *at, struct ev_sample *ev)
{
	const struct packed *p = (const struct packed *)at;
	const uint64_t *val = (const uint64_t *)(p + 1), *chain = val + p->words.n;
	const uint32_t *gone = (const uint32_t *)(chain + p->ev.nchain);
	const uint16_t *idx = (const uint16_t *)(gone + p->ngone);
	struct word_change words = p->words;
	struct shadow_thread *st;

	*ev = p->ev;
	ev->chain = chain;
	for (uint32_t i = 0; i < p->ngone; i++)
		shadow_clear(&sa->pool, shadow_of(sa, gone[i]));
	st = shadow_of(sa, p->thread);
	words.idx = idx;
	words.val = val;
	/* Cannot fail: the decoder found room for it. */
	words_change(&sa->pool, st, &words);
	if (p->has_stack)
		ev->stack.shadow = st;
	if (p->ev.payload_len)
		ev->payload = (const uint8_t *)(idx + p->words.n);
	return (const char *)(idx + p->words.n) + p->ev.payload_len;
}

int sample_ahead_next(struct sample_ahead *sa, struct ev_sample *ev)
{
	const char *end;

	while (!sa->now || sa->at == sa->now->n) {
		if (sa->now && sa->now->last)
			return sa->now->err ? sa->now->err : -EINVAL;
		next_batch(sa);
	}
	end = unpack(sa, sa->now->data.s + sa->pos, ev);
	sa->pos = align_up((size_t)(end - sa->now->data.s), 8);
	sa->at++;
	sa->took++;
	return 0;
}

void sample_ahead_cancel(struct sample_ahead *sa)
{
	pthread_mutex_lock(&sa->lock);
	sa->cancel = true;
	while (sa->busy)
		reader_wait(sa);
	sa->cancel = sa->open = false;
	sa->added = sa->begun = sa->ended = sa->made = sa->taken = 0;
	pthread_mutex_unlock(&sa->lock);
	sa->now = NULL;
	sa->took = 0;
}

bool sample_ahead_end(struct sample_ahead *sa)
{
	bool done = sa->took == sa->block[sa->ended % SAMPLE_AHEAD_BLOCKS].n;

	/* The block has no samples. */
	if (done && !sa->now)
		next_batch(sa);
	if (!done || !sa->now->done) {
		sample_ahead_cancel(sa);
		return false;
	}
	pthread_mutex_lock(&sa->lock);
	sa->taken++;
	sa->ended++;
	unlock_and_wake(sa, sa->thread_waits);
	sa->now = NULL;
	sa->took = 0;
	return true;
}
