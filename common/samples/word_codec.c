#include "samples/word_codec.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/util.h"
#include "samples/sample_ctx.h"
#include "samples/shadow_walk.h"
#include "samples/word_history.h"

#define REL_NEAR 32u	/* bytes between addresses that may belong to one object */
#define FEED 16u	/* unchanged words above the first changed one, for first contexts */

/*
 * Symbols under CTX_OP. A run has at least one word. A run from the history may end with the end of
 * the copy.
 */
enum word_op {
	OP_RUN,				/* as it continued last time in the first context */
	OP_RUN_ON,			/* as it continued after the source of the previous run */
	OP_RUN_OLD,			/* as OP_RUN, but the time before */
	OP_RUN_OTHER,			/* as it continued last time in the second context */
	OP_RUN_SHADOW,			/* as in the shadow */
	OP_END,				/* no further word */
	OP_LITERAL,			/* LIT_*, with its own distance */
	OP_NEAR = OP_LITERAL + 5,	/* LIT_*, with the distance from the history */
	OP_NR = OP_NEAR + 5,
};
static_assert(OP_NR <= 16, "a symbol");
static_assert(STACK_WORDS_MAX < WORD_DIST_END, "a distance");

/* Classes of ops, which predict the next op. */
static const uint8_t op_class[OP_NR] = { 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3 };

enum word_literal { LIT_CODE, LIT_NEW, LIT_REL, LIT_SEEN, LIT_RAW };

/* ---- the shadow's change, shared by encoder and decoder ---- */

#define B(n) 1ull << (n), 1ull << ((n) + 1), 1ull << ((n) + 2), 1ull << ((n) + 3)
/* A table, as shifting by a variable takes three instructions. */
static const uint64_t bit_of[64] = {
	B(0), B(4), B(8), B(12), B(16), B(20), B(24), B(28), B(32), B(36), B(40), B(44), B(48), B(52), B(56), B(60),
};
#undef B

int words_change(struct shadow_pool *pool, struct shadow_thread *st, const struct word_change *change)
{
	const uint64_t base = change->base, end = change->end, *const val = change->val + change->n;
	uint64_t lo = base, no = UINT64_MAX;	/* everything below @lo is done; number of @page */
	const uint16_t *const idx = change->idx + change->n;
	struct shadow_page *page = NULL;

	/* Indexed from the end: one number to count, and no end to compare it with. */
	for (int64_t i = -(int64_t)change->n; i;) {
		uint64_t addr = base + 8 * (uint64_t)idx[i], group = align_down(addr, 512), hi;
		uint64_t first = group / 8 - base / 8, at = idx[i] - first, bits = 0, stale, *w, *nonzero;

		if (addr >> SHADOW_PAGE_SHIFT != no) {
			no = addr >> SHADOW_PAGE_SHIFT;
			page = shadow_page_make(pool, st, no);
		}
		if (!page)
			return -EINVAL;
		if (lo < group) {
			shadow_zero(st, lo, group);
			lo = group;
		}
		hi = MIN(group + 512, end);
		w = &page->w[group / 8 % SHADOW_PAGE_WORDS];
		nonzero = &page->nonzero[group / 512 % SHADOW_GROUPS];
		do {
			w[at] = val[i];
			bits |= bit_of[at];
		} while (++i && (at = idx[i] - first) < 64);
		stale = ~0ull >> (64 - (hi - lo) / 8) << lo / 8 % 64 & *nonzero & ~bits;
		*nonzero = (*nonzero ^ stale) | bits;
		for (; stale; stale &= stale - 1)
			w[__builtin_ctzll(stale)] = 0;
		lo = hi;
	}
	shadow_zero(st, lo, end);
	return 0;
}

/* ---- where the next words may be found ---- */

struct sources {
	uint64_t context, context2;	/* hashes of the words above */
	uint32_t from[OP_RUN_SHADOW];	/* words of the history by op; 0: none */
	uint64_t near;			/* place of the next word by the first one; or NOWHERE */
	uint32_t ctx;
};

static uint64_t second_context(const struct descent *d)
{
	uint64_t h = d->sym[0] * MIX2 + d->sym[1] * MIX3;

	return (h ^ h >> 32) * MIX1;
}

static const struct word_other *other_slot(const struct descent *d, uint64_t context)
{
	return &d->m->other[context >> (64 - WORD_SLOT_BITS)];
}

/*
 * The tables are larger than CPU caches, and one look-up leads to the next. So prefetch what is
 * needed first while the shadow is read.
 */
static void sources_begin(const struct descent *d, struct sources *s)
{
	s->context = descent_context(d);
	s->context2 = second_context(d);
	__builtin_prefetch(past_slot(d, s->context));
	__builtin_prefetch(&d->m->dist_kind[d->on % WORD_PAST]);
	__builtin_prefetch(other_slot(d, s->context2));
}

static void sources_find(const struct descent *d, const struct place *shadow, struct sources *s)
{
	const struct word_last *last = past_slot(d, s->context);
	uint32_t none, first = 3;	/* without a source, a kind that does not exist */

	s->from[OP_RUN] = 0;
	if (past_valid(d, last->no) && last->check == past_check(s->context)) {
		s->from[OP_RUN] = last->no;
		first = last->dist_kind;
		/* Likely to be needed, and it will have arrived by then. */
		__builtin_prefetch(&d->m->sym[last->no % WORD_PAST]);
		__builtin_prefetch(&d->m->dist_kind[last->no % WORD_PAST]);
	}
	s->from[OP_RUN_ON] = past_valid(d, d->on) && d->on != s->from[OP_RUN] ? d->on : 0;
	if (!s->from[OP_RUN] && s->from[OP_RUN_ON])
		first = past_dist_kind(d, d->on);
	none = (uint32_t)!s->from[OP_RUN] << 1 | !s->from[OP_RUN_ON];
	s->near = none == 3 ? NOWHERE : past_addr(d, first);
	s->ctx = CTX_OP + (d->hist << 6 | (first & 3) << 4 | (uint32_t)(d->codes.at == d->at) << 3 | none << 1 |
			   (uint32_t)(none < 3 && s->near == shadow->addr));
}

/* The remaining sources, needed only when the first two are wrong. */
static void sources_find_more(const struct descent *d, struct sources *s)
{
	const struct word_other *o = other_slot(d, s->context2);
	uint32_t newest = s->from[OP_RUN];

	s->from[OP_RUN_OLD] = newest ? past_older(d, newest, s->context) : 0;
	s->from[OP_RUN_OTHER] = past_valid(d, o->no) &&
		o->check == (uint32_t)s->context2 ? o->no : 0;
}

/* Call it before the first word of @op is added to the history. */
static void descent_note(struct descent *d, const struct sources *s, uint32_t op)
{
	d->hist = (d->hist << 2 & 12) | op_class[op];
	/* The second context learns what the first one did not know. */
	if (op == OP_RUN)
		return;
	d->m->other[s->context2 >> (64 - WORD_SLOT_BITS)] =
		(struct word_other){ .no = d->m->n, .check = (uint32_t)s->context2 };
}

/* Step to a word that no entry predicted. */
static void descent_step_new(struct descent *d, uint64_t context, const struct place *p)
{
	uint64_t sym;
	enum word_kind kind = descent_classify(d, p, &sym);

	descent_step(d, context, p, kind, sym);
}

/*
 * Step to word @p, coded as literal @op. Reuses what its coding has already found: the @rank of a
 * seen address, or that an address was not seen. The next run may continue after the word that the
 * first source had instead.
 */
static void descent_literal(struct descent *d, const struct sources *s, const struct place *p, uint32_t op,
			    uint32_t rank)
{
	uint32_t lit = op - (op >= OP_NEAR ? OP_NEAR : OP_LITERAL);
	uint32_t first = s->from[OP_RUN] ? s->from[OP_RUN] : s->from[OP_RUN_ON];

	descent_note(d, s, op);
	if ((lit != LIT_REL && lit != LIT_SEEN) || p->val - d->lo > d->span)
		descent_step_new(d, s->context, p);
	else if (lit == LIT_REL)
		descent_step(d, s->context, p, KIND_REL, p->val - p->addr);
	else
		descent_step(d, s->context, p, KIND_SEEN, rank);
	d->on = first ? first + 1 : 0;
}

/* A stack address relative to its own place: in words if possible, which the low bit tells. */
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

/* Context of a literal's distance: its kind, and whether the word above is code. */
static inline uint32_t dist_ctx(const struct descent *d, uint32_t lit)
{
	return CTX_DIST + (lit << 1 | (d->at == d->codes.at)) * NIBBLE_SMALL;
}

/*
 * A stack address not met before is often near one that was, in the same buffer or structure.
 * Returns the index of the nearest, or their number when none is near.
 */
static uint32_t nearest(const struct word_seen *seen, uint64_t val)
{
	uint64_t best = REL_NEAR;
	uint32_t at = seen->n;

	for (uint32_t i = 0; i < seen->n; i++) {
		uint64_t a = word_seen_at(seen, i), diff = val > a ? val - a : a - val;

		if (diff < best) {
			best = diff;
			at = i;
		}
	}
	return at;
}

/* ---- encoder ---- */

/* A copy on its way down: the next words are @sw's first @left ones, downwards, then the end. */
struct encoding {
	struct descent d;
	const struct stack_words *sw;
	uint32_t left;
	bool ended;
	struct walk w;			/* of the shadow */
};

static inline struct place encoding_next(const struct encoding *e)
{
	if (!e->left)
		return (struct place){ NOWHERE, 0 };
	return (struct place){ e->sw->base + 8 * (uint64_t)e->sw->idx[e->left - 1],
			       e->sw->val[e->left - 1] };
}

/*
 * Pass the words that equal those from entry @no on, after the first of a run. Returns their
 * number.
 */
static uint32_t match_past(struct encoding *e, uint32_t no)
{
	/*
	 * Locals, to stay in registers: the compiler must assume that stores may change the
	 * members.
	 */
	const uint16_t *idx = e->sw->idx + e->left, *const first = e->sw->idx;
	const uint64_t *val = e->sw->val + e->left, lo = e->sw->base;
	struct word_seen *seen = e->d.seen;
	struct word_model *m = e->d.m;
	struct codes codes = e->d.codes;
	uint32_t at = (uint32_t)((e->d.at - lo) / 8), n, i;

	do {
		const uint64_t *sym = &m->sym[no % WORD_PAST];
		const uint16_t *dist_kind = &m->dist_kind[no % WORD_PAST];

		n = past_stretch(m, no, (uint32_t)(idx - first));
		for (i = 0; i < n; i++) {
			uint32_t kind = dist_kind[i] & 3, to = idx[-1];
			uint64_t v = val[-1], addr = lo + 8 * (uint64_t)to;

			if (to + (dist_kind[i] >> 2) != at)
				break;
			if (kind == KIND_ABS) {
				if (sym[i] != v)
					break;
				codes_push(&codes, v, addr);
			} else {
				if (kind == KIND_REL ? sym[i] + addr != v :
				    sym[i] >= seen->n || word_seen_at(seen, sym[i]) != v)
					break;
				seen_push(seen, kind, sym[i], v);
			}
			at = to;
			idx--;
			val--;
		}
		descent_copied(&e->d, no, i);
		no += i;
	} while (i == n && idx > first);
	n = e->left - (uint32_t)(idx - first);
	e->d.at = lo + 8 * (uint64_t)at;
	e->d.codes = codes;
	e->left -= n;
	return n;
}

/*
 * Pass the words that equal those from valid entry @no on; the first one does. Returns their
 * number.
 */
static uint32_t run_past(struct encoding *e, uint64_t context, uint32_t no)
{
	uint32_t len = 0;

	if (e->left) {
		struct place p = encoding_next(e);

		descent_copy(&e->d, context, no, &p);
		e->left--;
		len = 1;
	}
	if (e->left)
		len += match_past(e, no + 1);
	if (!e->left && past_addr(&e->d, past_dist_kind(&e->d, no + len)) == NOWHERE) {
		descent_end(&e->d, descent_context(&e->d));
		e->ended = true;
		len++;
	}
	return len;
}

static uint32_t run_shadow(struct encoding *e)
{
	uint32_t len = 0;

	while (e->left) {
		struct place p = encoding_next(e), shadow = walk_next_below(&e->w, e->d.at);

		if (!place_eq(&p, &shadow))
			break;
		descent_step_new(&e->d, descent_context(&e->d), &p);
		e->left--;
		len++;
	}
	return len;
}

/* Code the next word as a literal, and continue below it. */
static void put_literal(struct encoding *e, const struct sources *s, const struct place *shadow,
			struct code_enc *dict, struct strbuf *out)
{
	struct descent *d = &e->d;
	struct place p = encoding_next(e);
	uint8_t cls = e->sw->cls[e->left - 1];
	bool near = s->near == p.addr;
	enum word_literal lit = LIT_RAW;
	uint64_t rel = p.val - p.addr;
	uint32_t rank = 0, by, id = 0, op;

	if (cls == WORD_CODE) {
		lit = code_enc_find(dict, p.val, &id) ? LIT_CODE : LIT_NEW;
	} else if (cls == WORD_STACK && zigzag(rel) >> 63 == 0) {
		rank = word_seen_rank(d->seen, p.val);
		lit = rank < d->seen->n ? LIT_SEEN : LIT_REL;
	}
	op = (near ? OP_NEAR : OP_LITERAL) + lit;
	nibble_put(out, s->ctx, op);
	if (!near)
		nibble_put_small(out, dist_ctx(d, lit), (d->at - p.addr) / 8 - 1);
	switch (lit) {
	case LIT_CODE:
		nibble_put_id(out, CTX_WORD_CODE, id, dict->n);
		break;
	case LIT_NEW:
		code_enc_add(dict, out, p.val);
		break;
	case LIT_REL:
		by = nearest(d->seen, p.val);
		nibble_put(out, CTX_REL_BY, by < d->seen->n ? by : WORD_SEEN);
		if (by < d->seen->n)
			nibble_put_small(out, CTX_REL_NEAR, relative(p.val - word_seen_at(d->seen, by)));
		else
			nibble_put_num(out, CTX_REL, relative(rel));
		break;
	case LIT_SEEN:
		nibble_put(out, CTX_SEEN, rank);
		break;
	case LIT_RAW:
		nibble_put_num(out, CTX_RAW, p.val ^ (shadow->addr == p.addr ? shadow->val : 0));
		break;
	}
	descent_literal(d, s, &p, op, rank);
}

/* Code the next word, and all words after it that its source has, too. */
static void encode_next(struct encoding *e, struct code_enc *dict, struct strbuf *out)
{
	struct place p = encoding_next(e), shadow, guess;
	struct descent *d = &e->d;
	struct sources s;
	uint32_t op, len;

	sources_begin(d, &s);
	shadow = walk_next_below(&e->w, e->d.at);
	sources_find(d, &shadow, &s);
	for (op = OP_RUN; op < OP_RUN_SHADOW; op++) {
		if (op == OP_RUN_OLD)
			sources_find_more(d, &s);
		if (s.from[op] && past_guess(d, s.from[op], &guess) && place_eq(&guess, &p))
			break;
	}
	if (op == OP_RUN_SHADOW && !e->left)
		op = OP_END;
	if (op == OP_RUN_SHADOW && !place_eq(&shadow, &p)) {
		put_literal(e, &s, &shadow, dict, out);
		e->left--;
		return;
	}
	nibble_put(out, s.ctx, op);
	descent_note(d, &s, op);
	if (op == OP_END) {
		descent_end(d, s.context);
		e->ended = true;
		return;
	}
	len = op == OP_RUN_SHADOW ? run_shadow(e) : run_past(e, s.context, s.from[op]);
	d->on = op == OP_RUN_SHADOW ? 0 : s.from[op] + len;
	nibble_put_small(out, CTX_RUN + op * NIBBLE_SMALL, len - 1);
}

/*
 * From the first @left words of @sw, pass those at the end that equal the shadow's. Returns how
 * many are left.
 */
static uint32_t pass_same(struct walk *w, const struct stack_words *sw, uint32_t left)
{
	const uint16_t *idx = sw->idx;
	const uint64_t *val = sw->val;
	bool same = true;

	/* In whole groups of 64. */
	while (same && w->bits) {
		const uint64_t *words = &w->page->w[w->group / 8 % SHADOW_PAGE_WORDS];
		uint64_t first = w->group / 8 - sw->base / 8, at, bits = 0, alike;

		for (uint32_t k = left; k && (at = idx[k - 1] - first) < 64 && words[at] == val[k - 1]; k--)
			bits |= 1ull << at;
		bits ^= w->bits;
		same = !bits;
		/* Down to the first word that only one of them has. */
		alike = same ? w->bits : w->bits & ~(~0ull >> __builtin_clzll(bits));
		left -= (uint32_t)__builtin_popcountll(alike);
		w->bits ^= alike;
		walk_settle(w);
	}
	return left;
}

void words_encode(struct word_model *m, struct shadow_pool *pool, struct shadow_thread *st,
		  struct code_enc *dict, const struct stack_words *sw, uint32_t same, struct word_seen *seen,
		  struct strbuf *out)
{
	struct encoding e = { .sw = sw };
	struct word_change change = { .base = sw->base, .idx = sw->idx, .val = sw->val };
	const uint32_t left = sw->nkept - same;

	descent_begin(&e.d, m, seen, sw->base, sw->nwords);
	walk_begin(&e.w, st, sw->base, same ? sw->base + 8 * (uint64_t)sw->idx[left] : e.d.at);
	e.left = pass_same(&e.w, sw, left);
	if (!e.left && e.w.at.addr == NOWHERE) {
		nibble_put_num(out, CTX_SAME, 0);
		return;
	}
	nibble_put_num(out, CTX_SAME, sw->nkept - e.left + 1);
	for (uint32_t k = MIN(e.left + FEED, sw->nkept); k-- > e.left;)
		descent_feed(&e.d, &(struct place){ sw->base + 8 * (uint64_t)sw->idx[k], sw->val[k] });
	change.end = e.d.at;
	change.n = e.left;
	while (!e.ended)
		encode_next(&e, dict, out);
	/* Cannot fail: the pool has the pages that it takes. */
	words_change(pool, st, &change);
}

/* ---- decoder ---- */

/* A copy on its way down. */
struct decoding {
	struct descent d;
	struct walk w;			/* of the shadow */
	struct word_list *list;
	uint32_t first;			/* index in @list of the lowest word so far */
	bool ended;
};

/* Add the next word. 0 or -EINVAL. */
static inline int decoding_take(struct decoding *c, const struct place *p)
{
	if (!c->first || !p->val)
		return -EINVAL;
	c->first--;
	c->list->idx[c->first] = (uint16_t)((p->addr - c->d.lo) / 8);
	c->list->val[c->first] = p->val;
	return 0;
}

/* Decode the literal @op; for a seen address also its *@rank. 0 or -EINVAL. */
static int get_literal(const struct descent *d, const struct sources *s, const struct place *shadow,
		       uint32_t op, struct code_dec *dict, struct nibble_dec *in, struct place *p,
		       uint32_t *rank)
{
	bool near = op >= OP_NEAR;
	uint32_t lit = op - (near ? OP_NEAR : OP_LITERAL), by;
	uint64_t dist;

	if (near && s->near == NOWHERE)
		return -EINVAL;
	if (near) {
		p->addr = s->near;
	} else {
		dist = nibble_get_small(in, dist_ctx(d, lit));
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
		by = nibble_get(in, CTX_REL_BY);
		if (by < d->seen->n)
			p->val = word_seen_at(d->seen, by) +
				 unrelative(nibble_get_small(in, CTX_REL_NEAR));
		else
			p->val = p->addr + unrelative(nibble_get_num(in, CTX_REL));
		return by < d->seen->n || by == WORD_SEEN ? 0 : -EINVAL;
	case LIT_SEEN:
		*rank = nibble_get(in, CTX_SEEN);
		if (*rank >= d->seen->n)
			return -EINVAL;
		p->val = word_seen_at(d->seen, *rank);
		return 0;
	default:
		p->val = nibble_get_num(in, CTX_RAW) ^ (shadow->addr == p->addr ? shadow->val : 0);
		return 0;
	}
}

/*
 * Copy up to @len words from entry @no on, after the first of a run. Returns how many there were
 * before the end of the copy or damage.
 */
static uint64_t copy_past(struct decoding *c, uint32_t no, uint64_t len)
{
	uint16_t *idx = c->list->idx + c->first;
	uint64_t *vals = c->list->val + c->first, done = 0;
	const uint64_t lo = c->d.lo;
	struct word_seen *seen = c->d.seen;
	struct word_model *m = c->d.m;
	struct codes codes = c->d.codes;
	uint32_t at = (uint32_t)((c->d.at - lo) / 8), n, i;

	/*
	 * Each word lies below the previous one, so the list has room for all that fit in the copy.
	 */
	do {
		const uint64_t *syms = &m->sym[no % WORD_PAST];
		const uint16_t *dist_kind = &m->dist_kind[no % WORD_PAST];

		n = past_stretch(m, no, (uint32_t)MIN(len - done, STACK_WORDS_MAX));
		for (i = 0; i < n; i++) {
			uint32_t dist = dist_kind[i] >> 2, kind = dist_kind[i] & 3;
			uint64_t sym = syms[i], val = sym, addr = lo + 8 * (uint64_t)(at - dist);

			if (dist > at)
				break;
			if (kind == KIND_ABS) {
				codes_push(&codes, val, addr);
			} else {
				if (kind == KIND_REL)
					val += addr;
				else if (sym < seen->n)
					val = word_seen_at(seen, sym);
				else
					break;
				if (!val)
					break;
				seen_push(seen, kind, sym, val);
			}
			at -= dist;
			*--idx = (uint16_t)at;
			*--vals = val;
		}
		descent_copied(&c->d, no, i);
		no += i;
		done += i;
	} while (i == n && done < len);
	c->first -= (uint32_t)done;
	c->d.at = lo + 8 * (uint64_t)at;
	c->d.codes = codes;
	return done;
}

/* Copy @len words from entry @no on, the first of them in @context. 0 or -EINVAL. */
static int decode_past(struct decoding *c, uint64_t context, uint32_t no, uint64_t len)
{
	struct descent *d = &c->d;
	uint64_t copied;
	struct place p;

	if (!past_valid(d, no) || !past_guess(d, no, &p))
		return -EINVAL;
	if (p.addr == NOWHERE) {
		descent_end(d, context);
		c->ended = true;
		return len == 1 ? 0 : -EINVAL;
	}
	if (decoding_take(c, &p))
		return -EINVAL;
	descent_copy(d, context, no, &p);
	copied = len > 1 ? copy_past(c, no + 1, len - 1) : 0;
	if (copied == len - 1)
		return 0;
	/* Only the end can be missing. */
	if (copied + 1 != len - 1 || !past_guess(d, no + (uint32_t)len - 1, &p) || p.addr != NOWHERE)
		return -EINVAL;
	descent_end(d, descent_context(d));
	c->ended = true;
	return 0;
}

static int decode_shadow(struct decoding *c, uint64_t len)
{
	while (len--) {
		struct place p = walk_next_below(&c->w, c->d.at);

		if (p.addr == NOWHERE || decoding_take(c, &p))
			return -EINVAL;
		descent_step_new(&c->d, descent_context(&c->d), &p);
	}
	return 0;
}

static int decode_next(struct decoding *c, struct code_dec *dict, struct nibble_dec *in)
{
	struct place p = { NOWHERE, 0 }, shadow;
	struct descent *d = &c->d;
	struct sources s;
	uint32_t op, rank = 0;
	uint64_t len;

	sources_begin(d, &s);
	shadow = walk_next_below(&c->w, c->d.at);
	sources_find(d, &shadow, &s);
	op = nibble_get(in, s.ctx);
	if (op >= OP_LITERAL) {
		if (get_literal(d, &s, &shadow, op, dict, in, &p, &rank) || decoding_take(c, &p))
			return -EINVAL;
		descent_literal(d, &s, &p, op, rank);
		return 0;
	}
	if (op == OP_RUN_OLD || op == OP_RUN_OTHER)
		sources_find_more(d, &s);
	descent_note(d, &s, op);
	if (op == OP_END) {
		descent_end(d, s.context);
		c->ended = true;
		return 0;
	}
	len = nibble_get_small(in, CTX_RUN + op * NIBBLE_SMALL) + 1;
	if (op == OP_RUN_SHADOW) {
		d->on = 0;
		return decode_shadow(c, len);
	}
	d->on = s.from[op] + (uint32_t)len;
	return decode_past(c, s.context, s.from[op], len);
}

/* Pass @n unchanged words. */
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

int words_decode(struct word_model *m, struct word_list *scratch, struct shadow_pool *pool,
		 struct shadow_thread *st, struct code_dec *dict, uint64_t base, uint32_t nwords,
		 struct word_seen *seen, struct nibble_dec *in, struct word_change *change)
{
	struct decoding c = { .list = scratch, .first = nwords };
	uint64_t same = nibble_get_num(in, CTX_SAME), hi, top;

	*change = (struct word_change){ .base = base, .end = base, .top = base };
	descent_begin(&c.d, m, seen, base, nwords);
	if (!same)
		return 0;
	walk_begin(&c.w, st, base, c.d.at);
	if (decode_same(&c.d, &c.w, same - 1))
		return -EINVAL;
	hi = c.d.at;
	top = c.w.at.addr;
	while (!c.ended)
		if (decode_next(&c, dict, in) || !nibble_dec_ok(in))
			return -EINVAL;
	if (c.first < nwords)
		top = MAX(top, base + 8 * (uint64_t)scratch->idx[nwords - 1]);
	*change = (struct word_change){
		.base = base, .end = hi, .idx = scratch->idx + c.first, .val = scratch->val + c.first,
		.n = nwords - c.first, .top = top == NOWHERE ? base : top + 8,
	};
	return words_change(pool, st, change);
}
