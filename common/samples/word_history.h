/*
 * What words_encode() and words_decode() share: the way down a copy, the history of all words coded
 * so far, and where in it the next words may be found. Only for word_codec.c.
 */
#ifndef NSPROF_WORD_HISTORY_H
#define NSPROF_WORD_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/util.h"
#include "samples/word_codec.h"

enum word_kind {	/* meaning of a sym of struct word_model */
	KIND_ABS,	/* the value */
	KIND_REL,	/* the value minus the word's own address */
	KIND_SEEN,	/* rank in struct word_seen */
};

/* A place below every copy: "no further word". */
#define NOWHERE 0u

struct place {
	uint64_t addr, val;		/* NOWHERE, 0: no further word */
};

static inline bool place_eq(const struct place *a, const struct place *b)
{
	return a->addr == b->addr && a->val == b->val;
}

/* Code words met on the way down. */
struct codes {
	uint64_t val[3];		/* the latest first */
	uint64_t at;			/* address of the latest */
};

/* The state of one way down a copy. */
struct descent {
	struct word_model *m;
	struct word_seen *seen;
	uint64_t lo, span;		/* the copy */
	uint64_t at;			/* address of the previous word, at first the copy's end */
	struct codes codes;		/* before it */
	uint64_t sym[2];		/* previous words, hashed by kind */
	uint32_t on;			/* where the last run or a literal's source goes on; or 0 */
	uint32_t hist;			/* the two previous symbols, two bits each */
};

/* Multipliers without structure (those of splitmix64 and the like). */
#define MIX1 0x9e3779b97f4a7c15ull
#define MIX2 0xbf58476d1ce4e5b9ull
#define MIX3 0x94d049bb133111ebull

static inline void descent_begin(struct descent *d, struct word_model *m, struct word_seen *seen,
				 uint64_t lo, uint32_t nwords)
{
	*d = (struct descent){
		.m = m, .seen = seen, .lo = lo, .span = 8 * (uint64_t)nwords,
		.at = lo + 8 * (uint64_t)nwords, .hist = 15
	};
	d->codes.at = d->at;
	seen->n = 0;
}

/* The kind of word @p, and its symbol in the history. */
static inline enum word_kind descent_classify(const struct descent *d, const struct place *p,
					      uint64_t *sym)
{
	uint32_t rank;

	*sym = p->val;
	if (p->val - d->lo > d->span)
		return KIND_ABS;
	rank = word_seen_rank(d->seen, p->val);
	*sym = rank < d->seen->n ? rank : p->val - p->addr;
	return rank < d->seen->n ? KIND_SEEN : KIND_REL;
}

/* Address @val was met; @kind and @sym are its coding. */
static inline void seen_push(struct word_seen *s, enum word_kind kind, uint64_t sym, uint64_t val)
{
	if (kind == KIND_REL) {
		s->first = (s->first - 1) % WORD_SEEN;
		s->n += s->n < WORD_SEEN;
	} else {
		for (uint64_t i = sym; i; i--)
			s->addr[(s->first + i) % WORD_SEEN] = word_seen_at(s, i - 1);
	}
	s->addr[s->first] = val;
}

static inline void codes_push(struct codes *c, uint64_t val, uint64_t at)
{
	c->val[2] = c->val[1];
	c->val[1] = c->val[0];
	c->val[0] = val;
	c->at = at;
}

/* Continue below word @p without adding it to the history. */
static inline void descent_push(struct descent *d, const struct place *p, enum word_kind kind,
				uint64_t sym)
{
	d->sym[1] = d->sym[0];
	d->sym[0] = sym * 4 + kind;
	d->at = p->addr;
	if (kind == KIND_ABS)
		codes_push(&d->codes, p->val, p->addr);
	else
		seen_push(d->seen, kind, sym, p->val);
}

static inline void descent_feed(struct descent *d, const struct place *p)
{
	uint64_t sym;
	enum word_kind kind = descent_classify(d, p, &sym);

	descent_push(d, p, kind, sym);
}

/*
 * The context of the next word: the last three code words, and the distance to the latest of them.
 */
static inline uint64_t descent_context(const struct descent *d)
{
		/* The older a code word, the less it counts. */
	uint64_t h = (d->codes.val[1] * MIX2 ^ d->codes.val[2]) * MIX3 + d->codes.val[0] * MIX1;

	h += (d->codes.at - d->at) * MIX2;

	return (h ^ h >> 32) * MIX1;
}

static inline uint32_t past_dist_kind(const struct descent *d, uint32_t no)
{
	return d->m->dist_kind[no % WORD_PAST];
}

static inline uint64_t past_sym(const struct descent *d, uint32_t no)
{
	return d->m->sym[no % WORD_PAST];
}

/* Does word @no exist, and is it not overwritten? */
static inline bool past_valid(const struct descent *d, uint32_t no)
{
	return no && d->m->n - no - 1 < WORD_PAST;
}

static inline uint16_t past_check(uint64_t context)
{
	return (uint16_t)context;
}

/* The word before valid word @no in its slot, if it had the same @context; else 0. */
static inline uint32_t past_older(const struct descent *d, uint32_t no, uint64_t context)
{
	uint32_t older = d->m->link[no % WORD_PAST].older;

	return past_valid(d, older) && d->m->link[older % WORD_PAST].check == past_check(context) ? older : 0;
}

static inline struct word_last *past_slot(const struct descent *d, uint64_t context)
{
	return &d->m->last[context >> (64 - WORD_SLOT_BITS)];
}

/* The address that @dist_kind leads to, or NOWHERE. */
static inline uint64_t past_addr(const struct descent *d, uint32_t dist_kind)
{
	uint64_t dist = 8 * (uint64_t)(dist_kind >> 2);

	return dist > d->at - d->lo ? NOWHERE : d->at - dist;
}

/* The next word as word @no of the history predicts it; false if it predicts none. */
static inline bool past_guess(const struct descent *d, uint32_t no, struct place *p)
{
	uint32_t dist_kind = past_dist_kind(d, no);
	uint64_t sym = past_sym(d, no);

	*p = (struct place){ past_addr(d, dist_kind), 0 };
	if (p->addr == NOWHERE)
		return true;
	p->val = sym;
	if ((dist_kind & 3) == KIND_REL) {
		p->val += p->addr;
	} else if ((dist_kind & 3) == KIND_SEEN) {
		if (sym >= d->seen->n)
			return false;
		p->val = word_seen_at(d->seen, sym);
	}
	return true;
}

/* Add the next word to the history, but no context leads to it. */
static inline void past_put(struct descent *d, uint32_t dist_kind, uint64_t sym)
{
	uint32_t at = d->m->n++ % WORD_PAST;

	d->m->sym[at] = sym;
	d->m->dist_kind[at] = (uint16_t)dist_kind;
}

/* Add the next word to the history under @context, which is descent_context(). */
static inline void past_add(struct descent *d, uint64_t context, uint32_t dist_kind, uint64_t sym)
{
	struct word_last *slot = past_slot(d, context), e = {
		.no = d->m->n, .check = past_check(context), .dist_kind = (uint16_t)dist_kind,
	};

	d->m->link[e.no % WORD_PAST] = (struct word_link){ slot->no, e.check };
	*slot = e;
	past_put(d, dist_kind, sym);
}

/* Continue below word @p and add it to the history. */
static inline void descent_step(struct descent *d, uint64_t context, const struct place *p,
				enum word_kind kind, uint64_t sym)
{
	past_add(d, context, (uint32_t)((d->at - p->addr) / 8 << 2 | kind), sym);
	descent_push(d, p, kind, sym);
}

/*
 * The same for a word that equals word @no of the history. Contexts lead only to the first word of
 * a run; the others are reached through it.
 */
static inline void descent_copy(struct descent *d, uint64_t context, uint32_t no, const struct place *p)
{
	uint32_t dist_kind = past_dist_kind(d, no);
	uint64_t sym = past_sym(d, no);

	past_add(d, context, dist_kind, sym);
	descent_push(d, p, (enum word_kind)(dist_kind & 3), sym);
}

/*
 * How many words (at most @max) from valid entry @no on are contiguous and can be copied in one
 * piece after the last.
 */
static inline uint32_t past_stretch(const struct word_model *m, uint32_t no, uint32_t max)
{
	uint32_t from = no % WORD_PAST, to = m->n % WORD_PAST;

	return MIN(MIN(max, m->n - no), WORD_PAST - MAX(from, to));
}

/*
 * The caller has already continued below @n words that equal those from entry @no on, a stretch.
 * Add them to the history and set d->sym, which only later words need.
 */
static inline void descent_copied(struct descent *d, uint32_t no, uint32_t n)
{
	struct word_model *m = d->m;
	uint32_t from = no % WORD_PAST, to = m->n % WORD_PAST;

	if (!n)
		return;
	memmove(&m->sym[to], &m->sym[from], n * sizeof(*m->sym));
	memmove(&m->dist_kind[to], &m->dist_kind[from], n * sizeof(*m->dist_kind));
	m->n += n;
	d->sym[1] = n > 1 ? m->sym[to + n - 2] * 4 + (m->dist_kind[to + n - 2] & 3) : d->sym[0];
	d->sym[0] = m->sym[to + n - 1] * 4 + (m->dist_kind[to + n - 1] & 3);
}

/* There is no further word. */
static inline void descent_end(struct descent *d, uint64_t context)
{
	past_add(d, context, WORD_DIST_END << 2 | KIND_ABS, 0);
}

#endif
