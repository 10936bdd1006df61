#include "word_codec.h"

#include <errno.h>
#include <string.h>

#include "recording.h"
#include "util.h"

/*
 * REC_COL_WORDS has for each token varint skip << 3 | tag, and behind it the new value as the tag
 * says. A token names the word that lies skip words behind the one of the token before (behind the
 * start of the copy for the first). With REC_W_GAP in the tag the words skipped became 0, without
 * it they are as they were: where calls have rewritten a stretch of stack, the words that are gone
 * cost nothing beside those that are new.
 *
 * Token and value share a column because one call path leaves the same string of bytes wherever its
 * frames lie; apart they made recordings of C++, python3 and g++ 3-7 % larger.
 */
static uint64_t zigzag(uint64_t d)
{
	return d << 1 ^ (uint64_t)((int64_t)d >> 63);
}

static uint64_t unzigzag(uint64_t z)
{
	return z >> 1 ^ -(z & 1);
}

/* A stack address relative to where it lies: in words when it can be, which the low bit says. */
static uint64_t stack_value(uint64_t rel)
{
	return rel % 8 ? zigzag(rel) << 1 | 1 : zigzag((uint64_t)((int64_t)rel / 8)) << 1;
}

static uint64_t stack_relative(uint64_t v)
{
	return v & 1 ? unzigzag(v >> 1) : unzigzag(v >> 1) * 8;
}

/* Bits [first, end) of a 64-word group, where @first and @end are word numbers in the page. */
static uint64_t group_mask(unsigned int g, unsigned int first, unsigned int end)
{
	unsigned int lo = MAX(first, g * 64) - g * 64, hi = MIN(end, g * 64 + 64) - g * 64;

	return (hi < 64 ? (1ull << hi) - 1 : ~0ull) & ~0ull << lo;
}

/* ---- encoder ---- */

struct emitter {
	struct strbuf *col;
	struct code_enc *dict;
	uint64_t base;		/* runtime address of word 0 */
	uint32_t next;		/* word behind that of the last token */
	uint32_t cleared;	/* last word that became 0 since then, if there is one */
	bool clears, keeps; /* since the last token: words that became 0; that are not 0 and stay */
	uint32_t n;
};

static void put_token(struct emitter *em, uint32_t idx, uint32_t tag)
{
	uint32_t token = (idx - em->next) << 3 | (em->keeps ? 0 : REC_W_GAP) | tag;

	strbuf_add_varint(&em->col[REC_COL_WORDS], token);
	em->next = idx + 1;
	em->clears = em->keeps = false;
	em->n++;
}

static void flush_clears(struct emitter *em)
{
	if (em->clears)
		put_token(em, em->cleared, REC_W_CLEAR);
}

static void put_word(struct emitter *em, uint32_t idx, uint64_t old, uint64_t val, uint8_t cls)
{
	struct strbuf *out = &em->col[REC_COL_WORDS];
	uint64_t rel = val - (em->base + 8 * (uint64_t)idx);

	if (cls == WORD_CODE) {
		put_token(em, idx, REC_W_CODE);
		code_enc_put(em->dict, out, &em->col[REC_COL_CODE_DEF], val);
	} else if (cls == WORD_STACK && zigzag(rel) >> 63 == 0) {
		put_token(em, idx, REC_W_STACK);
		strbuf_add_varint(out, stack_value(rel));
	} else {
		put_token(em, idx, REC_W_RAW);
		strbuf_add_varint(out, old ^ val);
	}
}

/* One word that is not zero in the shadow or in the copy. */
static void encode_word(struct emitter *em, uint32_t idx, uint64_t old, uint64_t val, uint8_t cls)
{
	if (val == old) {
		flush_clears(em);
		em->keeps = true;
	} else if (val) {
		put_word(em, idx, old, val, cls);
	} else if (em->keeps) {
		put_token(em, idx, REC_W_CLEAR);
	} else {
		/* The next token will say so, as long as nothing in between stays. */
		em->clears = true;
		em->cleared = idx;
	}
}

/*
 * Words [@first, @end) of @page against kept words [@k, @kend) of @sw, whose word number in the
 * page is idx + @shift.
 */
static void encode_page(struct emitter *em, struct shadow_page *page, unsigned int first,
			unsigned int end, const struct stack_words *sw, uint32_t k, uint32_t kend,
			uint32_t shift)
{
	for (unsigned int g = first / 64; g * 64 < end; g++) {
		uint64_t kept = 0, todo;
		uint32_t k0 = k;

		for (; k < kend && sw->idx[k] + shift < (g + 1) * 64; k++)
			kept |= 1ull << (sw->idx[k] + shift) % 64;
		/*
		 * Words that are zero on both sides never come up: that is most of a masked copy.
		 */
		todo = (page->nonzero[g] & group_mask(g, first, end)) | kept;
		for (; todo; todo &= todo - 1) {
			unsigned int n = g * 64 + (unsigned int)__builtin_ctzll(todo);
			uint64_t val = 0, old = page->w[n];
			uint8_t cls = 0;

			if (kept & (todo & -todo)) {
				val = sw->val[k0];
				cls = sw->cls[k0++];
			}
			encode_word(em, n - shift, old, val, cls);
			if (val != old)
				shadow_page_set(page, n, val);
		}
	}
}

uint32_t words_encode(struct shadow_pool *pool, struct shadow_thread *st, struct code_enc *dict,
		      const struct stack_words *sw, struct strbuf *col)
{
	struct emitter em = { .col = col, .dict = dict, .base = sw->base };
	/* Word numbers as if the copy began with its first page. */
	uint32_t lead = sw->base / 8 % SHADOW_PAGE_WORDS, end = lead + sw->nwords;
	uint64_t no = sw->base >> SHADOW_PAGE_SHIFT;
	uint32_t k = 0;

	for (uint32_t at = 0; at < end; at += SHADOW_PAGE_WORDS, no++) {
		uint32_t k0 = k;
		struct shadow_page *page;

		while (k < sw->nkept && sw->idx[k] + lead < at + SHADOW_PAGE_WORDS)
			k++;
		page = k > k0 ? shadow_page_make(pool, st, no) : shadow_page_get(st, no);
		if (page)
			encode_page(&em, page, at ? 0 : lead, MIN(end - at, SHADOW_PAGE_WORDS), sw,
				    k0, k, lead - at);
	}
	flush_clears(&em);
	return em.n;
}

/* ---- decoder ---- */

/* Set the words in [@from, @to), 8-aligned runtime addresses, to 0. */
static void clear_range(const struct shadow_thread *st, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t no = from >> SHADOW_PAGE_SHIFT;
		struct shadow_page *page = shadow_page_get(st, no);
		unsigned int first = from / 8 % SHADOW_PAGE_WORDS;
		unsigned int end = (unsigned int)MIN(first + (to - from) / 8, SHADOW_PAGE_WORDS);

		for (unsigned int g = first / 64; page && g * 64 < end; g++) {
			uint64_t todo = page->nonzero[g] & group_mask(g, first, end);

			page->nonzero[g] &= ~todo;
			for (; todo; todo &= todo - 1)
				page->w[g * 64 + (unsigned int)__builtin_ctzll(todo)] = 0;
		}
		from += 8 * (uint64_t)(end - first);
	}
}

int words_decode(struct shadow_pool *pool, struct shadow_thread *st, struct code_dec *dict,
		 uint64_t base, uint32_t nwords, uint64_t n, struct cursor *col, uint64_t *top)
{
	struct cursor *c = &col[REC_COL_WORDS];
	uint64_t idx = 0;

	if (n > nwords)
		return -EINVAL;
	for (; n; n--, idx++) {
		uint64_t token = cursor_varint(c);
		struct shadow_page *page;
		uint64_t addr, val = 0;
		unsigned int at;

		if (token >> 3 >= nwords - idx)
			return -EINVAL;
		addr = base + 8 * (idx + (token >> 3));
		if (token & REC_W_GAP)
			clear_range(st, base + 8 * idx, addr);
		idx += token >> 3;
		at = addr / 8 % SHADOW_PAGE_WORDS;
		page = shadow_page_get(st, addr >> SHADOW_PAGE_SHIFT);
		switch (token & 3) {
		case REC_W_CLEAR:
			break;
		case REC_W_STACK:
			val = addr + stack_relative(cursor_varint(c));
			break;
		case REC_W_CODE:
			val = code_dec_get(dict, c, &col[REC_COL_CODE_DEF]);
			break;
		case REC_W_RAW:
			val = (page ? page->w[at] : 0) ^ cursor_varint(c);
			break;
		}
		if (!page && val) {
			page = shadow_page_make(pool, st, addr >> SHADOW_PAGE_SHIFT);
			if (!page)
				return -EINVAL;
		}
		if (page)
			shadow_page_set(page, at, val);
		*top = addr + 8;
	}
	return 0;
}
