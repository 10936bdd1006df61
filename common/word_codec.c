#include "word_codec.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "sample_ctx.h"
#include "util.h"

#define REL_NEAR 32u	/* bytes between addresses that may be of one thing */
#define FETCH 8u	/* how many words ahead guesses are fetched: main memory is far */
#define FEED 16u	/* unchanged words above the first changed one that make the first contexts */

enum word_kind {	/* what struct word_guess.sym is */
	KIND_ABS,	/* the value */
	KIND_REL,	/* the value less the word's own address */
	KIND_SEEN,	/* index in struct word_seen */
};

/* Symbols under CTX_OP. A literal may have the distance of the first guess. */
enum word_op {
	OP_GUESS,			/* the first guess is right */
	OP_GUESS_OLD,			/* what came before that in its context */
	OP_OTHER, OP_OTHER_OLD,		/* the same of the other context */
	OP_SHADOW,			/* none of these; as the shadow has it */
	OP_END,				/* no further word, and no one guessed it */
	OP_LITERAL,			/* LIT_*, distance of its own */
	OP_NEAR = OP_LITERAL + 5,	/* LIT_*, distance guessed right */
	OP_NR = OP_NEAR + 5,
};
static_assert(OP_NR <= 16, "a symbol");

/* How much an op says about the next one's. */
static const uint8_t op_class[OP_NR] = { 0, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 };

enum word_literal { LIT_CODE, LIT_NEW, LIT_REL, LIT_SEEN, LIT_RAW };

/* A place below every copy: "no further word". */
#define NOWHERE 0u

struct place {
	uint64_t addr, val;		/* NOWHERE, 0: no further word */
};

/* ---- what the shadow knows, from the top down ---- */

struct walk {
	const struct shadow_thread *st;
	struct shadow_page *page;
	uint64_t lo, group;		/* addresses: of the end, of the 64 words in work */
	uint64_t bits;			/* of them, those to come that are not 0 */
	struct place at;		/* the first of these */
};

static void walk_load(struct walk *w)
{
	w->bits = w->page ? w->page->nonzero[w->group / 512 % SHADOW_GROUPS] : 0;
	if (w->group <= w->lo)
		w->bits &= ~0ull << w->lo / 8 % 64;
}

/* To the next word that is not 0, in the next group that has one if need be. */
static inline void walk_settle(struct walk *w)
{
	uint64_t top;

	while (!w->bits && w->group > w->lo) {
		bool next = w->group % 4096 == 0;

		w->group -= 512;
		if (next)
			w->page = shadow_page_get(w->st, w->group >> SHADOW_PAGE_SHIFT);
		if (!w->page)
			w->group = align_down(w->group, 4096);
		walk_load(w);
	}
	if (!w->bits) {
		w->at = (struct place){ NOWHERE, 0 };
		return;
	}
	top = 63 - (unsigned int)__builtin_clzll(w->bits);
	w->at.addr = w->group + 8 * top;
	w->at.val = w->page->w[w->group / 8 % SHADOW_PAGE_WORDS + top];
}

/* [@lo, @hi) are 8-aligned addresses, @lo below @hi. */
static void walk_begin(struct walk *w, const struct shadow_thread *st, uint64_t lo, uint64_t hi)
{
	*w = (struct walk){ .st = st, .lo = lo, .group = align_down(hi - 8, 512) };
	w->page = shadow_page_get(st, w->group >> SHADOW_PAGE_SHIFT);
	walk_load(w);
	w->bits &= ~0ull >> (63 - (hi - 8) / 8 % 64);
	walk_settle(w);
}

static inline void walk_next(struct walk *w)
{
	w->bits ^= 1ull << w->at.addr / 8 % 64;
	walk_settle(w);
}

/* What lies above @addr became 0; @addr itself is passed if it is next. */
static inline void walk_clear(struct walk *w, uint64_t addr)
{
	while (w->at.addr > addr) {
		unsigned int n = w->at.addr / 8 % SHADOW_PAGE_WORDS;

		w->page->w[n] = 0;
		w->page->nonzero[n / 64] ^= 1ull << n % 64;
		walk_next(w);
	}
	if (w->at.addr == addr && addr != NOWHERE)
		walk_next(w);
}

/* ---- guesses ---- */

/* The state of one way down a copy. */
struct descent {
	struct word_model *m;
	struct word_seen *seen;
	uint64_t lo, span;		/* the copy */
	uint64_t at;			/* address of the word before, at first the copy's end */
	uint64_t code[2], code_hash;	/* code words before it; the last three */
	uint64_t code_at;		/* where the last of them is */
	uint64_t sym[2];		/* words before it, hashed by kind */
	struct word_guess *entry[2];	/* for what comes next */
	uint32_t check[2];
	uint32_t hist;			/* the two symbols before, two bits each */
};

static void descent_begin(struct descent *d, struct word_model *m, struct word_seen *seen,
			  uint64_t lo, uint32_t nwords)
{
	*d = (struct descent){
		.m = m, .seen = seen, .lo = lo, .span = 8 * (uint64_t)nwords,
		.at = lo + 8 * (uint64_t)nwords, .hist = 15
	};
	d->code_at = d->at;
	seen->n = 0;
}

/* Multipliers without structure (splitmix64's and others of its kind). */
#define MIX1 0x9e3779b97f4a7c15ull
#define MIX2 0xbf58476d1ce4e5b9ull
#define MIX3 0x94d049bb133111ebull

/* What kind of word it is, as a guess says it. */
static inline enum word_kind descent_classify(const struct descent *d, const struct place *p,
					      uint64_t *sym)
{
	uint32_t i = 0;

	*sym = p->val;
	if (p->val - d->lo > d->span)
		return KIND_ABS;
	while (i < d->seen->n && d->seen->addr[i] != p->val)
		i++;
	*sym = i < d->seen->n ? i : p->val - p->addr;
	return i < d->seen->n ? KIND_SEEN : KIND_REL;
}

/* What the first context of the next word is hashed from. */
static inline uint64_t context(uint64_t code_hash, uint64_t code_at, uint64_t at)
{
	uint64_t h = code_hash + (code_at - at) * MIX2;

	return (h ^ h >> 32) * MIX1;
}

static inline uint64_t code_context(const uint64_t *code, uint64_t val)
{
	/* The last three, the older the less of them. */
	return (code[0] * MIX2 ^ code[1]) * MIX3 + val * MIX1;
}

/* Go on below the word @p. */
static inline void descent_push(struct descent *d, const struct place *p, enum word_kind kind,
				uint64_t sym)
{
	struct word_seen *s = d->seen;

	d->sym[1] = d->sym[0];
	d->sym[0] = sym * 4 + kind;
	d->at = p->addr;
	if (kind == KIND_ABS) {
		d->code_hash = code_context(d->code, p->val);
		d->code[1] = d->code[0];
		d->code[0] = p->val;
		d->code_at = p->addr;
		return;
	}
	if (kind == KIND_REL) {
		s->n += s->n < WORD_SEEN;
		sym = s->n - 1;
	}
	for (uint64_t i = 0, carry = p->val; i <= sym; i++) {
		uint64_t next = s->addr[i];

		s->addr[i] = carry;
		carry = next;
	}
}

static inline void descent_feed(struct descent *d, const struct place *p)
{
	uint64_t sym;
	enum word_kind kind = descent_classify(d, p, &sym);

	descent_push(d, p, kind, sym);
}

static inline void descent_look(struct descent *d, unsigned int i, uint64_t h, struct word_guess *t)
{
	d->entry[i] = &t[h >> (64 - WORD_GUESS_BITS)];
	d->check[i] = (uint32_t)h | 1;
}

/*
 * What the entry of context @i says comes next, or with @old came before that; false if it says
 * nothing.
 */
static inline bool descent_guess(const struct descent *d, unsigned int i, unsigned int old,
				 struct place *p)
{
	const struct word_guess *g = d->entry[i];

	*p = (struct place){ NOWHERE, 0 };
	if (g->check != d->check[i] || !g->dist[old])
		return false;
	if (8 * (uint64_t)g->dist[old] > d->at - d->lo)
		return true;
	p->addr = d->at - 8 * (uint64_t)g->dist[old];
	p->val = g->sym[old];
	if (g->kind[old] == KIND_REL)
		p->val += p->addr;
	else if (g->kind[old] == KIND_SEEN)
		p->val = d->seen->addr[g->sym[old]];
	return g->kind[old] != KIND_SEEN || g->sym[old] < d->seen->n;
}

/* What may come next. Further guesses are looked up only where the first was wrong. */
struct guesses {
	struct place first, shadow;
	bool have;			/* a first guess */
	uint32_t ctx;
};

static inline bool place_eq(const struct place *a, const struct place *b)
{
	return a->addr == b->addr && a->val == b->val;
}

/* The entry of the first context has been looked up. */
static inline void descent_first(struct descent *d, const struct place *shadow, struct guesses *g)
{
	uint32_t hits;

	g->have = descent_guess(d, 0, 0, &g->first);
	hits = g->have ? d->entry[0]->hits + 1u : 0;
	g->shadow = *shadow;
	g->ctx = CTX_OP + (d->hist << 6 | (uint32_t)(d->code_at == d->at) << 5 | MIN(hits, 7u) << 1);
	if (g->have && d->entry[0]->kind[0] == KIND_ABS)
		g->ctx += 1 << 4;
	if (g->have && place_eq(&g->first, &g->shadow))
		g->ctx += 1;
}

/* Guess @op, one of those behind the first. */
static inline bool descent_other(struct descent *d, uint32_t op, struct place *p)
{
	return descent_guess(d, op >= OP_OTHER, op != OP_OTHER, p);
}

static inline void descent_second(struct descent *d)
{
	uint64_t h = d->sym[0] * MIX2 + d->sym[1] * MIX3;

	descent_look(d, 1, (h ^ h >> 32) * MIX1, d->m->word);
}

static inline void learn(struct word_guess *g, uint32_t check, uint64_t dist, enum word_kind kind,
			 uint64_t sym)
{
	if (g->check == check && g->dist[0] == dist && g->sym[0] == sym && g->kind[0] == kind) {
		g->hits += g->hits < UINT8_MAX;
		return;
	}
	g->sym[1] = g->sym[0];
	g->kind[1] = g->kind[0];
	g->dist[1] = g->check == check ? g->dist[0] : 0;
	g->sym[0] = sym;
	g->kind[0] = (uint8_t)kind;
	g->dist[0] = (uint16_t)dist;
	g->check = check;
	g->hits = 0;
}

static __attribute__((noinline)) void learn_both(struct descent *d, const struct place *p)
{
	uint64_t dist = (d->at - p->addr) / 8, sym;
	enum word_kind kind = descent_classify(d, p, &sym);

	descent_push(d, p, kind, sym);
	learn(d->entry[0], d->check[0], dist, kind, sym);
	learn(d->entry[1], d->check[1], dist, kind, sym);
}

/* The second table learns from what the first did not know. */
static inline void descent_learn(struct descent *d, uint32_t op, const struct place *p)
{
	struct word_guess *g = d->entry[0];

	d->hist = (d->hist << 2 & 12) | op_class[op];
	if (op == OP_GUESS) {
		g->hits += g->hits < UINT8_MAX;
		descent_push(d, p, (enum word_kind)g->kind[0], g->sym[0]);
	} else {
		learn_both(d, p);
	}
}

/* A stack address relative to where it lies: in words when it can be, which the low bit says. */
static uint64_t zigzag(uint64_t d)
{
	return d << 1 ^ (uint64_t)((int64_t)d >> 63);
}

static uint64_t unzigzag(uint64_t z)
{
	return z >> 1 ^ -(z & 1);
}

static uint64_t relative(uint64_t rel)
{
	return rel % 8 ? zigzag(rel) << 1 | 1 : zigzag((uint64_t)((int64_t)rel / 8)) << 1;
}

static uint64_t unrelative(uint64_t v)
{
	return v & 1 ? unzigzag(v >> 1) : unzigzag(v >> 1) * 8;
}

/* Context of a literal's distance: by what it is and what lies above. */
static inline uint32_t dist_ctx(const struct descent *d, uint32_t lit)
{
	return CTX_DIST + (lit << 1 | (d->at == d->code_at)) * NIBBLE_NUM;
}

/*
 * A stack address that was not met yet often lies by one that was, in the same buffer or structure:
 * index of the nearest, or their number when none is near.
 */
static uint32_t nearest(const struct word_seen *seen, uint64_t val)
{
	uint64_t best = REL_NEAR;
	uint32_t at = seen->n;

	for (uint32_t i = 0; i < seen->n; i++) {
		uint64_t diff = val > seen->addr[i] ? val - seen->addr[i] : seen->addr[i] - val;

		if (diff < best) {
			best = diff;
			at = i;
		}
	}
	return at;
}

/* ---- encoder ---- */

static void put_literal(struct descent *d, const struct guesses *g, struct code_enc *dict,
			const struct place *p, uint8_t cls, struct strbuf *out)
{
	enum word_literal lit = LIT_RAW;
	bool near = g->have && g->first.addr == p->addr;
	uint64_t rel = p->val - p->addr;
	uint32_t rank = 0, id = 0;

	if (cls == WORD_CODE) {
		lit = code_enc_find(dict, p->val, &id) ? LIT_CODE : LIT_NEW;
	} else if (cls == WORD_STACK && zigzag(rel) >> 63 == 0) {
		while (rank < d->seen->n && d->seen->addr[rank] != p->val)
			rank++;
		lit = rank < d->seen->n ? LIT_SEEN : LIT_REL;
	}
	nibble_put(out, g->ctx, (near ? OP_NEAR : OP_LITERAL) + lit);
	if (!near)
		nibble_put_num(out, dist_ctx(d, lit), (d->at - p->addr) / 8 - 1);
	switch (lit) {
	case LIT_CODE:
		nibble_put_id(out, CTX_WORD_CODE, id, dict->n);
		break;
	case LIT_NEW:
		code_enc_add(dict, out, p->val);
		break;
	case LIT_REL:
		rank = nearest(d->seen, p->val);
		nibble_put(out, CTX_REL_BY, rank < d->seen->n ? rank : WORD_SEEN);
		if (rank < d->seen->n)
			nibble_put_num(out, CTX_REL_NEAR, relative(p->val - d->seen->addr[rank]));
		else
			nibble_put_num(out, CTX_REL, relative(rel));
		break;
	case LIT_SEEN:
		nibble_put(out, CTX_SEEN, rank);
		break;
	case LIT_RAW:
		nibble_put_num(out, CTX_RAW,
			       p->val ^ (g->shadow.addr == p->addr ? g->shadow.val : 0));
		break;
	}
}

/* What the first guess does not say. */
static __attribute__((noinline)) uint32_t encode_miss(struct descent *d, const struct guesses *g,
						      struct code_enc *dict, const struct place *p,
						      uint8_t cls, struct strbuf *out)
{
	uint32_t op = OP_LITERAL;
	struct place other;

	descent_second(d);
	for (uint32_t i = OP_GUESS_OLD; i <= OP_OTHER_OLD && op == OP_LITERAL; i++)
		if (descent_other(d, i, &other) && place_eq(&other, p))
			op = i;
	if (op == OP_LITERAL && place_eq(&g->shadow, p))
		op = OP_SHADOW;
	else if (op == OP_LITERAL && p->addr == NOWHERE)
		op = OP_END;
	if (op == OP_LITERAL)
		put_literal(d, g, dict, p, cls, out);
	else
		nibble_put(out, g->ctx, op);
	return op;
}

static inline uint32_t encode_next(struct descent *d, const struct place *shadow,
				   struct code_enc *dict, const struct place *p, uint8_t cls,
				   struct strbuf *out)
{
	struct guesses g;

	descent_first(d, shadow, &g);
	if (!g.have || !place_eq(&g.first, p))
		return encode_miss(d, &g, dict, p, cls, out);
	nibble_put(out, g.ctx, OP_GUESS);
	return OP_GUESS;
}

/* What the shadow knows of the copy's addresses, from the top down. */
static uint32_t old_words(struct word_list *old, const struct shadow_thread *st, uint64_t base,
			  uint32_t nwords)
{
	uint64_t hi = base + 8 * (uint64_t)nwords;
	uint32_t n = 0;

	while (hi > base) {
		uint64_t page_at = align_down(hi - 8, 4096), from = MAX(page_at, base);
		const struct shadow_page *page = shadow_page_get(st, page_at >> SHADOW_PAGE_SHIFT);
		unsigned int first = from / 8 % SHADOW_PAGE_WORDS;
		unsigned int last = (hi - 8) / 8 % SHADOW_PAGE_WORDS;

		for (unsigned int g = last / 64 + 1; page && g-- > first / 64;) {
			uint64_t bits = page->nonzero[g];

			if (g == last / 64)
				bits &= ~0ull >> (63 - last % 64);
			if (g == first / 64)
				bits &= ~0ull << first % 64;
			while (bits) {
				unsigned int k = 63 - (unsigned int)__builtin_clzll(bits);

				bits ^= 1ull << k;
				old->addr[n] = page_at + 8 * (g * 64 + k);
				old->val[n++] = page->w[g * 64 + k];
			}
		}
		hi = from;
	}
	return n;
}

/* The last page asked for. */
struct page_at {
	struct shadow_page *page;
	uint64_t no;
};

/* Words @old[i .. n) are replaced by @sw's first @k. */
static void replace_words(struct shadow_pool *pool, struct shadow_thread *st,
			  const struct word_list *old, uint32_t i, uint32_t n,
			  const struct stack_words *sw, uint32_t k)
{
	struct page_at at = { NULL, UINT64_MAX };

	for (; i < n; i++) {
		uint64_t no = old->addr[i] >> SHADOW_PAGE_SHIFT;

		if (no != at.no)
			at = (struct page_at){ shadow_page_get(st, no), no };
		shadow_page_set(at.page, old->addr[i] / 8 % SHADOW_PAGE_WORDS, 0);
	}
	at.no = UINT64_MAX;
	while (k--) {
		uint64_t addr = sw->base + 8 * (uint64_t)sw->idx[k];
		uint64_t no = addr >> SHADOW_PAGE_SHIFT;

		if (no != at.no)
			at = (struct page_at){ shadow_page_make(pool, st, no), no };
		shadow_page_set(at.page, addr / 8 % SHADOW_PAGE_WORDS, sw->val[k]);
	}
}

/*
 * The hash of the first context of each word from @k - 1 down, and of the end behind them, so that the
 * entries can be fetched in time. Nearly always right: a guess that takes an address in the copy for a
 * value shows only when it is met.
 */
static void look_ahead(uint64_t *hash, const struct descent *d, const struct stack_words *sw,
		       uint32_t k)
{
	uint64_t code[2] = { d->code[0], d->code[1] }, code_hash = d->code_hash;
	uint64_t code_at = d->code_at, at = d->at;

	for (;;) {
		*hash++ = context(code_hash, code_at, at);
		if (!k--)
			return;
		at = sw->base + 8 * (uint64_t)sw->idx[k];
		if (sw->val[k] - d->lo <= d->span)
			continue;
		code_hash = code_context(code, sw->val[k]);
		code[1] = code[0];
		code[0] = sw->val[k];
		code_at = at;
	}
}

static inline void fetch(const struct word_model *m, uint64_t hash)
{
	__builtin_prefetch(&m->code[hash >> (64 - WORD_GUESS_BITS)], 1);
}

void words_encode(struct word_model *m, struct word_scratch *scratch, struct shadow_pool *pool,
		  struct shadow_thread *st, struct code_enc *dict, const struct stack_words *sw,
		  struct word_seen *seen, struct strbuf *out)
{
	const struct word_list *old = &scratch->old;
	uint32_t n = old_words(&scratch->old, st, sw->base, sw->nwords), i = 0, j, k = sw->nkept, end;
	uint64_t *hash = scratch->hash;
	struct descent d;

	descent_begin(&d, m, seen, sw->base, sw->nwords);
	while (k && i < n && old->val[i] == sw->val[k - 1] &&
	       old->addr[i] == sw->base + 8 * (uint64_t)sw->idx[k - 1]) {
		k--;
		i++;
	}
	if (!k && i == n) {
		nibble_put_num(out, CTX_SAME, 0);
		return;
	}
	nibble_put_num(out, CTX_SAME, sw->nkept - k + 1);
	for (j = MIN(k + FEED, sw->nkept); j-- > k;)
		descent_feed(&d, &(struct place){ sw->base + 8 * (uint64_t)sw->idx[j], sw->val[j] });
	look_ahead(hash, &d, sw, k);
	for (j = 1; j <= MIN(k, FETCH); j++)
		fetch(m, hash[j]);
	for (j = i, end = k;; end--, hash++) {
		struct place p = { NOWHERE, 0 }, shadow = { NOWHERE, 0 };
		uint8_t cls = 0;
		uint32_t op;

		if (end) {
			p.addr = sw->base + 8 * (uint64_t)sw->idx[end - 1];
			p.val = sw->val[end - 1];
			cls = sw->cls[end - 1];
		}
		if (j < n)
			shadow = (struct place){ old->addr[j], old->val[j] };
		if (end > FETCH)
			fetch(m, hash[FETCH + 1]);
		descent_look(&d, 0, context(d.code_hash, d.code_at, d.at), m->code);
		op = encode_next(&d, &shadow, dict, &p, cls, out);
		if (!end)
			break;
		while (j < n && old->addr[j] >= p.addr)
			j++;
		descent_learn(&d, op, &p);
	}
	replace_words(pool, st, old, i, n, sw, k);
}

/* ---- decoder ---- */

/* The word that op and what follows it say. 0 or -EINVAL. */
static int get_literal(const struct descent *d, const struct guesses *g, uint32_t op,
		       struct code_dec *dict, struct nibble_dec *in, struct place *p)
{
	bool near = op >= OP_NEAR;
	uint32_t lit = op - (near ? OP_NEAR : OP_LITERAL), rank;
	uint64_t dist;

	if (near && g->first.addr == NOWHERE)
		return -EINVAL;
	if (near) {
		p->addr = g->first.addr;
	} else {
		dist = nibble_get_num(in, dist_ctx(d, lit));
		if (dist >= (d->at - d->lo) / 8)
			return -EINVAL;
		p->addr = d->at - 8 * (dist + 1);
	}
	switch (lit) {
	case LIT_CODE:
		return code_dec_find(dict, nibble_get_id(in, CTX_WORD_CODE, dict->n), &p->val);
	case LIT_NEW:
		return code_dec_add(dict, in, &p->val);
	case LIT_REL:
		rank = nibble_get(in, CTX_REL_BY);
		if (rank < d->seen->n)
			p->val = d->seen->addr[rank] +
				 unrelative(nibble_get_num(in, CTX_REL_NEAR));
		else
			p->val = p->addr + unrelative(nibble_get_num(in, CTX_REL));
		return rank < d->seen->n || rank == WORD_SEEN ? 0 : -EINVAL;
	case LIT_SEEN:
		rank = nibble_get(in, CTX_SEEN);
		if (rank >= d->seen->n)
			return -EINVAL;
		p->val = d->seen->addr[rank];
		return 0;
	default:
		p->val = nibble_get_num(in, CTX_RAW) ^
			 (g->shadow.addr == p->addr ? g->shadow.val : 0);
		return 0;
	}
}

static int decode_next(struct descent *d, const struct walk *w, struct code_dec *dict,
		       struct nibble_dec *in, struct place *p, uint32_t *op)
{
	struct guesses g;

	descent_look(d, 0, context(d->code_hash, d->code_at, d->at), d->m->code);
	descent_first(d, &w->at, &g);
	*op = nibble_get(in, g.ctx);
	if (*op == OP_GUESS) {
		*p = g.first;
		return g.have ? 0 : -EINVAL;
	}
	descent_second(d);
	switch (*op) {
	case OP_GUESS_OLD:
	case OP_OTHER:
	case OP_OTHER_OLD:
		return descent_other(d, *op, p) ? 0 : -EINVAL;
	case OP_SHADOW:
		*p = g.shadow;
		return 0;
	case OP_END:
		*p = (struct place){ NOWHERE, 0 };
		return 0;
	default:
		return get_literal(d, &g, *op, dict, in, p);
	}
}

/* Pass @n words that are as they were. */
static int decode_same(struct descent *d, struct walk *w, uint64_t n)
{
	while (n > FEED && w->bits && (uint64_t)__builtin_popcountll(w->bits) <= n - FEED) {
		n -= (uint64_t)__builtin_popcountll(w->bits);
		w->bits = 0;
		walk_settle(w);
	}
	for (; n; n--, walk_next(w)) {
		struct place p = w->at;

		if (!w->bits)
			return -EINVAL;
		if (n <= FEED)
			descent_feed(d, &p);
	}
	return 0;
}

int words_decode(struct word_model *m, struct shadow_pool *pool, struct shadow_thread *st,
		 struct code_dec *dict, uint64_t base, uint32_t nwords, struct word_seen *seen,
		 struct nibble_dec *in, uint64_t *top)
{
	uint64_t same = nibble_get_num(in, CTX_SAME), page_no = 0;
	struct shadow_page *page = NULL;
	struct descent d;
	struct walk w;

	*top = base;
	descent_begin(&d, m, seen, base, nwords);
	walk_begin(&w, st, base, d.at);
	if (!same)
		return 0;
	if (decode_same(&d, &w, same - 1))
		return -EINVAL;
	for (;;) {
		struct place p, old = w.at;
		uint32_t op;

		if (decode_next(&d, &w, dict, in, &p, &op) || !nibble_dec_ok(in))
			return -EINVAL;
		if (*top == base && !place_eq(&p, &old))
			*top = MAX(p.addr, old.addr) + 8;
		walk_clear(&w, p.addr);
		if (p.addr == NOWHERE)
			return 0;
		if (!place_eq(&p, &old)) {
			if (!page || p.addr >> SHADOW_PAGE_SHIFT != page_no) {
				page_no = p.addr >> SHADOW_PAGE_SHIFT;
				page = shadow_page_make(pool, st, page_no);
			}
			if (!page)
				return -EINVAL;
			shadow_page_set(page, p.addr / 8 % SHADOW_PAGE_WORDS, p.val);
		}
		descent_learn(&d, op, &p);
	}
}
