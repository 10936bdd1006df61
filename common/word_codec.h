/*
 * The words of a stack copy, both ways. They are coded from the outer end down to the stack pointer, as
 * far as they differ from the thread's shadow: what a caller's frame looked like before tells best
 * what lies below it. Exactly the words in [base, base + 8 * nwords) are compared and set; the
 * shadow keeps what it knows of other addresses.
 */
#ifndef NSPROF_WORD_CODEC_H
#define NSPROF_WORD_CODEC_H

#include <stdint.h>

#include "code_dict.h"
#include "nibble_codec.h"
#include "shadow.h"
#include "stackcopy.h"
#include "strbuf.h"

/* Pages a copy of STACK_WORDS_MAX words touches at most. */
#define WORD_CODEC_PAGES (STACK_WORDS_MAX / SHADOW_PAGE_WORDS + 1)

#define WORD_GUESS_BITS 15
#define WORD_SEEN 8

/* What came below a context: the next word that is not 0, the last time and, if another, before. */
struct word_guess {
	uint64_t sym[2];		/* as its kind says */
	uint32_t check;			/* of the context; 0: none yet */
	uint16_t dist[2];		/* words below the one before; 0: none */
	uint8_t kind[2];
	uint8_t hits;			/* how often the first was right since it is first */
};

/* What encoder and decoder learn from all stacks; zeroed with a KEY block. */
struct word_model {
	struct word_guess code[1u << WORD_GUESS_BITS], word[1u << WORD_GUESS_BITS];
};

/* What encoding one copy needs besides, too large for a stack. */
struct word_scratch {
	struct word_list {
		uint64_t addr[STACK_WORDS_MAX], val[STACK_WORDS_MAX];
	} old;				/* what the shadow had, from the top down */
	uint64_t hash[STACK_WORDS_MAX + 1];
};

/* Addresses in the copy met on the way down, the last one first. Also what registers may hold. */
struct word_seen {
	uint64_t addr[WORD_SEEN];
	uint32_t n;
};

/*
 * Note the symbols of what changed in @out and bring @st up to date. The pool must have
 * WORD_CODEC_PAGES to spare. *@seen is set.
 */
void words_encode(struct word_model *m, struct word_scratch *scratch, struct shadow_pool *pool,
		  struct shadow_thread *st, struct code_enc *dict, const struct stack_words *sw,
		  struct word_seen *seen, struct strbuf *out);

/*
 * The inverse. *@top: address behind the highest word that changed, @base when there is none. 0, or
 * -EINVAL when positions leave the copy or the pool's limit is reached; that the code has ended too
 * early shows in @in.
 */
int words_decode(struct word_model *m, struct shadow_pool *pool, struct shadow_thread *st,
		 struct code_dec *dict, uint64_t base, uint32_t nwords, struct word_seen *seen,
		 struct nibble_dec *in, uint64_t *top);

#endif
