/*
 * The words of a stack copy as difference to the thread's shadow, both ways. Exactly the words in
 * [base, base + 8 * nwords) are compared and set; the shadow keeps what it knows of other
 * addresses.
 */
#ifndef NSPROF_WORD_CODEC_H
#define NSPROF_WORD_CODEC_H

#include <stdint.h>

#include "code_dict.h"
#include "cursor.h"
#include "shadow.h"
#include "stackcopy.h"
#include "strbuf.h"

/* Pages a copy of STACK_WORDS_MAX words touches at most. */
#define WORD_CODEC_PAGES (STACK_WORDS_MAX / SHADOW_PAGE_WORDS + 1)

/*
 * Append what changed to REC_COL_WORDS and REC_COL_CODE_DEF of @col (indexed by enum rec_col) and
 * bring @st up to date. The pool must have WORD_CODEC_PAGES to spare. Returns the number of tokens.
 * Cost: kept words + changed words + 8 bitmap words a page.
 */
uint32_t words_encode(struct shadow_pool *pool, struct shadow_thread *st, struct code_enc *dict,
		      const struct stack_words *sw, struct strbuf *col);

/*
 * Read @n tokens and apply them to @st. *@top: address behind the highest changed word, untouched
 * when @n is 0. 0, or -EINVAL when positions leave the copy or the pool's limit is reached; damage
 * inside the columns shows in their cursors.
 */
int words_decode(struct shadow_pool *pool, struct shadow_thread *st, struct code_dec *dict,
		 uint64_t base, uint32_t nwords, uint64_t n, struct cursor *col, uint64_t *top);

#endif
