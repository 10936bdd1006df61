/*
 * The words of a stack copy, both ways. They are coded from the outer end down to the stack
 * pointer, as far as they differ from the thread's shadow: what a caller's frame held before is the
 * best hint of what lies below it. All coded words form a history, and most words are coded as runs
 * of it, as in LZ77, but a context stands for the distance. Exactly the words in
 * [base, base + 8 * nwords) are compared and set; the shadow keeps what it knows of other
 * addresses.
 */
#ifndef NSPROF_WORD_CODEC_H
#define NSPROF_WORD_CODEC_H

#include <stdint.h>

#include "base/strbuf.h"
#include "samples/code_dict.h"
#include "samples/nibble_codec.h"
#include "samples/shadow.h"
#include "stackcopy.h"

/* Most pages that a copy of STACK_WORDS_MAX words touches. */
#define WORD_CODEC_PAGES (STACK_WORDS_MAX / SHADOW_PAGE_WORDS + 1)

#define WORD_SLOT_BITS 14		/* of both tables */
#define WORD_PAST (1u << 16)	/* words in the history */
#define WORD_DIST_END 0x3fffu	/* a distance that leads out of any copy */
#define WORD_SEEN 8

/*
 * Slot of a context: number of the word that came last in it (0: none), and that word's distance.
 */
struct word_last {
	uint32_t no;
	uint16_t check;			/* of the context */
	uint16_t dist_kind;		/* of that word, see struct word_model */
};

/* The same for the second context. */
struct word_other {
	uint32_t no, check;
};

/* How contexts led to a word of the history. */
struct word_link {
	uint32_t older;			/* the previous word in its slot; 0: none */
	uint16_t check;			/* of the context above it */
};

/*
 * What encoder and decoder learn from all stacks; zeroed at a KEY block. Word number n of the
 * history is at n modulo WORD_PAST; 0 is never looked up. The arrays are separate, and a slot has a
 * copy of what is read first: coding waits for memory more than for anything else.
 */
struct word_model {
	uint64_t sym[WORD_PAST];	/* meaning depends on the kind */
	uint16_t dist_kind[WORD_PAST];	/* words below the previous one << 2 | enum word_kind */
	struct word_link link[WORD_PAST];	/* for words that contexts lead to */
	uint32_t n;			/* number of the next word */
	struct word_last last[1u << WORD_SLOT_BITS];	/* by first context */
	struct word_other other[1u << WORD_SLOT_BITS];	/* by second context */
};

/* Scratch for decoding one copy, too large for the C stack; filled from the end. */
struct word_list {
	uint16_t idx[STACK_WORDS_MAX];
	uint64_t val[STACK_WORDS_MAX];
};

/*
 * What a copy does to the shadow. Words are counted from address @base. Those at @idx (ascending)
 * become @val; all others below @end become 0.
 */
struct word_change {
	uint64_t base, end;	/* equal: nothing changes */
	const uint16_t *idx;	/* borrowed from a struct word_list, as @val */
	const uint64_t *val;
	uint32_t n;
	uint64_t top;		/* address after the highest word that changed; @base: none */
};

/* Stack addresses met on the way down the copy. Registers may hold them, too. */
struct word_seen {
	uint64_t addr[WORD_SEEN];	/* a ring: the latest at @first, older ones after it */
	uint32_t n, first;
};

/* The latest one (@rank 0), the one before (1) ...; @rank is below @seen->n. */
static inline uint64_t word_seen_at(const struct word_seen *seen, uint64_t rank)
{
	return seen->addr[(seen->first + rank) % WORD_SEEN];
}

/* Rank of address @val, or their number when it is not among them. */
static inline uint32_t word_seen_rank(const struct word_seen *seen, uint64_t val)
{
	uint32_t rank = 0;

	while (rank < seen->n && word_seen_at(seen, rank) != val)
		rank++;
	return rank;
}

/*
 * Note the symbols of what changed in @out and bring @st up to date. @st is known to equal @sw from
 * the first of the last @same words on. The pool must have WORD_CODEC_PAGES to spare. *@seen is
 * set.
 */
void words_encode(struct word_model *m, struct shadow_pool *pool, struct shadow_thread *st,
		  struct code_enc *dict, const struct stack_words *sw, uint32_t same, struct word_seen *seen,
		  struct strbuf *out);

/*
 * The inverse; *@change tells what was done to @st. 0, or -EINVAL when positions leave the copy or
 * the pool's limit is reached. Code that ended too early shows in @in.
 */
int words_decode(struct word_model *m, struct word_list *scratch, struct shadow_pool *pool,
		 struct shadow_thread *st, struct code_dec *dict, uint64_t base, uint32_t nwords,
		 struct word_seen *seen, struct nibble_dec *in, struct word_change *change);
/*
 * Apply @change to another shadow that equalled @st. 0, or -EINVAL when the pool has no page left.
 */
int words_change(struct shadow_pool *pool, struct shadow_thread *st, const struct word_change *change);

#endif
