/*
 * The words of a stack copy, both ways. They are coded from the outer end down to the stack pointer,
 * as far as they differ from the thread's shadow: what a caller's frame looked like before tells
 * best what lies below it. So all words that were coded make a history, and most are coded as runs
 * of it, in the manner of LZ77, where a context stands for the distance. Exactly the words in
 * [base, base + 8 * nwords) are compared and set; the shadow keeps what it knows of other addresses.
 */
#ifndef NSPROF_WORD_CODEC_H
#define NSPROF_WORD_CODEC_H

#include <stdint.h>

#include "base/strbuf.h"
#include "samples/code_dict.h"
#include "samples/nibble_codec.h"
#include "samples/shadow.h"
#include "stackcopy.h"

/* Pages a copy of STACK_WORDS_MAX words touches at most. */
#define WORD_CODEC_PAGES (STACK_WORDS_MAX / SHADOW_PAGE_WORDS + 1)

#define WORD_SLOT_BITS 14		/* of both tables */
#define WORD_PAST (1u << 16)	/* words that are remembered */
#define WORD_DIST_END 0x3fffu	/* a distance that leads out of every copy */
#define WORD_SEEN 8

/* What came last in a context: word number, 0: none, and how it goes on there. */
struct word_last {
	uint32_t no;
	uint16_t check;			/* of the context */
	uint16_t dist_kind;		/* of that word, see struct word_model */
};

/* The same by the second context. */
struct word_other {
	uint32_t no, check;
};

/* What led to a word of the history. */
struct word_link {
	uint32_t older;			/* what came in its slot before; 0: none */
	uint16_t check;			/* of the context above it */
};

/*
 * What encoder and decoder learn from all stacks; zeroed with a KEY block. Word number n of the history
 * lies at n modulo WORD_PAST; 0 is never asked for. Its parts lie apart, and a slot has a copy of what
 * is looked at first: coding waits for memory more than for anything else.
 */
struct word_model {
	uint64_t sym[WORD_PAST];	/* as its kind says */
	uint16_t dist_kind[WORD_PAST];	/* words below the one before << 2 | enum word_kind */
	struct word_link link[WORD_PAST];	/* of those that contexts lead to */
	uint32_t n;			/* of the next word */
	struct word_last last[1u << WORD_SLOT_BITS];	/* by first context */
	struct word_other other[1u << WORD_SLOT_BITS];	/* by second context */
};

/* What decoding one copy needs besides, too large for a stack; filled from the end. */
struct word_list {
	uint16_t idx[STACK_WORDS_MAX];
	uint64_t val[STACK_WORDS_MAX];
};

/*
 * What a copy does to the shadow: of its words, counted from address @base on, those at @idx, ascending,
 * become @val, and all others below @end 0.
 */
struct word_change {
	uint64_t base, end;	/* equal: nothing changes */
	const uint16_t *idx;	/* borrowed from a struct word_list, as @val */
	const uint64_t *val;
	uint32_t n;
	uint64_t top;		/* address behind the highest word that is another one now; @base: none */
};

/* Addresses in the copy met on the way down. Also what registers may hold. */
struct word_seen {
	uint64_t addr[WORD_SEEN];	/* the last one at @first, those before it behind it, in a ring */
	uint32_t n, first;
};

/* The one met last (@rank 0), before that (1) ...; @rank is below @seen->n. */
static inline uint64_t word_seen_at(const struct word_seen *seen, uint64_t rank)
{
	return seen->addr[(seen->first + rank) % WORD_SEEN];
}

/* Rank of address @val among those met, or their number. */
static inline uint32_t word_seen_rank(const struct word_seen *seen, uint64_t val)
{
	uint32_t rank = 0;

	while (rank < seen->n && word_seen_at(seen, rank) != val)
		rank++;
	return rank;
}

/*
 * Note the symbols of what changed in @out and bring @st up to date. @st is known to be as the last @same words from the first of them
 * on. The pool must have WORD_CODEC_PAGES to spare. *@seen is set.
 */
void words_encode(struct word_model *m, struct shadow_pool *pool, struct shadow_thread *st,
		  struct code_enc *dict, const struct stack_words *sw, uint32_t same, struct word_seen *seen,
		  struct strbuf *out);

/*
 * The inverse; what was done to @st is also in *@change. 0, or -EINVAL when positions leave the copy or the
 * pool's limit is reached; that the code has ended too early shows in @in.
 */
int words_decode(struct word_model *m, struct word_list *scratch, struct shadow_pool *pool,
		 struct shadow_thread *st, struct code_dec *dict, uint64_t base, uint32_t nwords,
		 struct word_seen *seen, struct nibble_dec *in, struct word_change *change);
/* Do the same to another shadow that was like @st. 0, or -EINVAL when the pool has no page left. */
int words_change(struct shadow_pool *pool, struct shadow_thread *st, const struct word_change *change);

#endif
