/*
 * What the encoder and the decoder of samples (sample_codec.c) both remember and use to predict the
 * next sample. Both change it in the same way; a KEY block empties it. Nothing here fails.
 */
#ifndef NSPROF_SAMPLE_STATE_H
#define NSPROF_SAMPLE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "recording.h"
#include "samples/payload_codec.h"
#include "samples/reg_codec.h"
#include "samples/shadow.h"
#include "samples/word_codec.h"

#define SAMPLE_GUESSES 1024u

/*
 * Where a thread was when it was sampled: a stack pointer, and what was found there the last time.
 * Threads block and loop at few places.
 */
struct sample_place {
	uint64_t sp, ip;
	uint32_t words;			/* of the copy; 0: there was none */
	uint32_t chain;			/* node */
};

struct sample_places {			/* version 3 */
	struct sample_place v[REC_PLACES];	/* latest first */
	uint32_t n;
	uint32_t last;			/* symbol of the thread's sample before, see sample_place_ctx() */
};

#define PLACE_OTHER REC_PLACES		/* symbol: none of them */

/* What encoder and decoder remember of a thread. */
struct sample_thread {
	uint32_t pid, tid;
	uint64_t regs[UREG_MAX];		/* of its last sample that had registers */
	uint64_t cgroup;
	struct sample_places *places;	/* owned; NULL in version 2 */
	uint64_t lo, hi; /* stack copy of its last sample; lo == hi: none, or forgotten */
	uint32_t event;			/* of its last sample */
	/* By event, modulo REC_EVENT_SLOTS: */
	uint32_t chain[REC_EVENT_SLOTS];	/* node of the last chain */
	uint32_t flags[REC_EVENT_SLOTS];	/* REC_S_STABLE of the last sample */
	struct shadow_thread shadow;
	uint64_t serial;		/* encoder: sample whose stack the shadow holds; 0: none */
	struct sample_thread *prev, *next; /* encoder: LRU list, only while it has shadow pages */
};

/* What encoder and decoder remember of a CPU (modulo REC_CPU_SLOTS) to predict its next sample. */
struct sample_cpu {
	uint32_t thread, before;	/* the last two threads, index + 1; 0 = none */
	uint32_t event;			/* of the last sample */
};

/* The same for one event on a CPU. */
struct sample_clock {
	uint64_t time, step; /* ns; of the last sample, and its distance to the previous one */
	uint64_t period;
};

/* The state that encoder and decoder change in the same way. */
struct sample_state {
	struct sample_thread **thr;	/* owned, by index; reused after a KEY block */
	uint32_t nthr;
	uint32_t nalloc;		/* allocated entries of thr[] */
	size_t cap;
	struct sample_cpu cpu[REC_CPU_SLOTS];
	struct sample_clock clock[REC_CLOCK_SLOTS];
	struct shadow_pool pool;
	uint64_t full_words;		/* words in the last full copy */
	uint32_t last_cpu[3];		/* of the previous samples */
	uint32_t cpu_guess[SAMPLE_GUESSES];	/* the CPU after three like these */
	uint32_t thread_guess[SAMPLE_GUESSES];	/* the thread, index + 1, after two on a CPU */
	uint32_t event_guess[SAMPLE_GUESSES];	/* the event after these of thread and CPU */
	struct reg_model regs;
	struct word_model words;
	struct word_seen seen;		/* in the stack of the current sample */
	struct payload_model *payloads;	/* owned; NULL: there were none */
	uint32_t marked;		/* the last sample that was asked for its mark had one */
	bool used;			/* since all of this (several MiB) was zeroed */
	bool events;			/* version 3: samples of several events */
};

/* Forget everything and clear all threads' shadows. Keeps allocated memory. */
void sample_state_key(struct sample_state *st);
void sample_state_fini(struct sample_state *st);

/* For the first payload since the key, too. */
struct payload_model *sample_state_payloads(struct sample_state *st);

/* Add a thread with the next index, st->nthr; owned by @st. */
struct sample_thread *sample_state_add(struct sample_state *st, uint32_t pid, uint32_t tid);
/* The thread's next copy is coded without a reference. */
void sample_state_forget(struct sample_state *st, struct sample_thread *t);

/*
 * Runtime address where a copy normally begins, from t->regs[UREG_SP]. It wraps for an absurd stack
 * pointer, equally in encoder and decoder.
 */
uint64_t sample_usual_base(const struct sample_thread *t);
/*
 * Predicts the number of words in a copy that begins at @lo. A copy cut at the size asked for
 * (@full) is as long as the last such copy. Any other copy is as long as the last one at this
 * @place (NULL: unknown), or ends at the end of the stack, so where the previous one ended.
 */
uint64_t sample_predict_words(const struct sample_state *st, const struct sample_thread *t,
			      uint64_t lo, bool full, const struct sample_place *place);

/* The slot that guesses the CPU of the next sample. */
uint32_t *sample_guess_cpu(struct sample_state *st);
/* Record that it was @cpu; @guess: from sample_guess_cpu(). */
void sample_note_cpu(struct sample_state *st, uint32_t *guess, uint32_t cpu);

/* The slot that guesses the thread of the CPU's next sample, as index + 1. */
uint32_t *sample_guess_thread(struct sample_state *st, const struct sample_cpu *cpu);
/* Record that it was the one with index @idx; @guess: from sample_guess_thread(). */
void sample_note_thread(struct sample_cpu *cpu, uint32_t *guess, uint32_t idx);

/* The sample's time is @time. */
static inline void sample_note_time(struct sample_clock *clock, uint64_t time)
{
	clock->step = time - clock->time;
	clock->time = time;
}

/* The slot that guesses the event of a sample of thread @t on @cpu. */
uint32_t *sample_guess_event(struct sample_state *st, const struct sample_cpu *cpu, const struct sample_thread *t);
/* Record that it was @event; @guess: from sample_guess_event(). */
void sample_note_event(struct sample_cpu *cpu, struct sample_thread *t, uint32_t *guess, uint32_t event);

/* The place of thread @t that has this stack pointer and, if there are several, this ip. */
uint32_t sample_find_place(const struct sample_thread *t, uint64_t sp, uint64_t ip);
/* Context of the symbol: which place, or PLACE_OTHER. */
uint32_t sample_place_ctx(const struct sample_thread *t);
/*
 * The thread was at @now, which was place number @which, or PLACE_OTHER.
 */
void sample_note_place(struct sample_thread *t, uint32_t which, const struct sample_place *now);

/* Times and period of event @event on CPU @cpu. */
static inline struct sample_clock *sample_clock_of(struct sample_state *st, uint32_t cpu, uint32_t event)
{
	uint32_t slots = st->events ? REC_CLOCK_SLOTS : REC_CPU_SLOTS;

	return &st->clock[(cpu + event * REC_CLOCK_STEP) % slots];
}

#endif
