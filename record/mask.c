/*
 * Masking of stack copies and registers (DESIGN.md section 2), in two steps: mask_scan.c drops the
 * words that lie in none of a few spans of addresses, which are most; the rest is looked up here.
 */
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "mask_scan.h"
#include "maskset.h"
#include "util.h"
#include "xalloc.h"

/*
 * The executable ranges cut the address space into intervals: ranges and the gaps between them.
 * Words of one stack fall into few of them, so the interval of the last word that fell into a 64 KiB
 * granule is kept in a direct-mapped cache. A gap is as good an answer as a range. Processes share
 * the cache: the version of their mappings is part of the key, so nothing has to be cleared.
 */
#define GRANULE_BITS 16
#define CACHE_BITS 9
#define CACHE_SIZE (1u << CACHE_BITS)

struct interval {
	uint64_t start;
	uint64_t len;	/* the last address is start + len: an interval is never empty */
	uint64_t owner;	/* version << 1 | 1 when it is code; 0 = unused */
};

/*
 * Code lies in clumps with wide gaps between them, where heaps are: the program, its libraries, code
 * made at run time. One span that held all would let every heap pointer through. One more is for the
 * vsyscall page, one for the stack itself.
 */
#define CLUMPS (SCAN_SPANS - 2)

#define PLAN_BITS 5
#define PLANS (1u << PLAN_BITS)

/* The spans of one set of mappings. */
struct plan {
	uint64_t version;	/* 0 = unused */
	unsigned int used;	/* spans; the others are for the sample to set */
	struct scan_spans spans;
};

struct mask_ctx {
	scan_fn scan;
	uint64_t nameless;	/* versions given to mask sets that have none, counted down */
	uint64_t bits[SCAN_ENTRIES(STACK_WORDS_MAX)], more[SCAN_ENTRIES(STACK_WORDS_MAX)];
	struct plan plans[PLANS];
	struct interval cache[CACHE_SIZE];
};

/* One sample's question. */
struct classifier {
	struct mask_ctx *mc;
	const struct maskset *ms;
	uint64_t version;	/* of the executable ranges, never 0 */
	uint64_t key;		/* interval.owner of a gap */
	uint64_t salt;		/* spreads equal addresses of different processes over the cache */
	uint64_t sp, size;	/* the stack, as far as it is known, is [sp, sp + size] */
};

struct mask_ctx *mask_ctx_new(bool plain)
{
	struct mask_ctx *mc = xcalloc(1, sizeof(*mc));

	mc->scan = plain ? scan_plain : scan_best();
	mc->nameless = UINT64_MAX >> 1;
	return mc;
}

void mask_ctx_free(struct mask_ctx *mc)
{
	free(mc);
}

/* The golden ratio in 64 bits: spreads keys that differ in any of their bits. */
static inline uint64_t spread(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15ull;
}

static void classifier_init(struct classifier *c, struct mask_ctx *mc, const struct maskset *ms,
			    uint64_t sp, uint64_t size)
{
	c->mc = mc;
	c->ms = ms;
	c->version = ms && ms->version ? ms->version : mc->nameless--;
	c->key = c->version << 1;
	c->salt = c->version << 32;
	c->sp = sp;
	c->size = ms && ms->top > sp ? MAX(size, ms->top - sp) : size;
}

/* ---- which words are worth a lookup ---- */

/* The least of the CLUMPS - 1 widest gaps between the first @n ranges. */
static uint64_t gap_limit(const struct range *exec, size_t n)
{
	uint64_t widest[CLUMPS - 1] = { 0 };

	for (size_t i = 1; i < n; i++) {
		uint64_t gap = exec[i].start - exec[i - 1].end;

		for (size_t k = 0; k < ARRAY_SIZE(widest); k++) {
			uint64_t less = MIN(gap, widest[k]);

			widest[k] = MAX(gap, widest[k]);
			gap = less;
		}
	}
	return widest[CLUMPS - 2];
}

static void plan_code(struct plan *pl, const struct maskset *ms)
{
	size_t n = ms->nexec, first = 0;
	uint64_t limit;

	/* The vsyscall page lies in the upper half of addresses: no clump may reach that far. */
	while (n && ms->exec[n - 1].start >> 63)
		n--;
	pl->used = 0;
	limit = gap_limit(ms->exec, n);
	for (size_t i = 1; i <= n; i++) {
		if (i < n && (pl->used == CLUMPS - 1 ||
			      ms->exec[i].start - ms->exec[i - 1].end < limit))
			continue;
		scan_set(&pl->spans, pl->used++, ms->exec[first].start, ms->exec[i - 1].end);
		first = i;
	}
	if (n < ms->nexec)
		scan_set(&pl->spans, pl->used++, ms->exec[n].start, ms->exec[ms->nexec - 1].end);
}

/* Where a word of this sample has to lie to be worth a lookup, other stacks apart. */
static void set_spans(const struct classifier *c, struct scan_spans *sp)
{
	struct plan *pl = &c->mc->plans[spread(c->version) >> (64 - PLAN_BITS)];

	if (pl->version != c->version) {
		plan_code(pl, c->ms);
		pl->version = c->version;
	}
	*sp = pl->spans;
	for (unsigned int i = pl->used; i < SCAN_SPANS; i++)
		scan_set(sp, i, c->sp, c->sp + c->size);
}

/* The same for other stacks. Those beyond the number of spans: anywhere. */
static void set_other_spans(const struct maskset *ms, struct scan_spans *sp)
{
	for (unsigned int i = 0; i < SCAN_SPANS; i++) {
		const struct range *r = &ms->stacks[MIN(i, ms->nstacks - 1)];

		scan_set(sp, i, r->start, r->end);
	}
	if (ms->nstacks > SCAN_SPANS)
		scan_set(sp, 0, 0, UINT64_MAX);
}

/* ---- lookup ---- */

/*
 * A range holds its end address, too: a call of a function that never returns may be the very last
 * instruction of a mapping, and its return address then is the end. One address too many for each
 * mapping costs nothing.
 */
__attribute__((noinline))
static void interval_find(const struct maskset *ms, uint64_t v, uint64_t key, struct interval *iv)
{
	/* The first range that ends at or above v. */
	size_t at = BISECT(ms->nexec, i, ms->exec[i].end < v);

	if (at < ms->nexec && ms->exec[at].start <= v) {
		iv->start = ms->exec[at].start;
		iv->len = ms->exec[at].end - ms->exec[at].start;
		iv->owner = key | 1;
		return;
	}
	iv->start = at ? ms->exec[at - 1].end + 1 : 0;
	iv->len = (at < ms->nexec ? ms->exec[at].start - 1 : UINT64_MAX) - iv->start;
	iv->owner = key;
}

static inline bool is_code(const struct classifier *c, uint64_t v)
{
	struct interval *iv = &c->mc->cache[spread((v >> GRANULE_BITS) ^ c->salt) >>
					    (64 - CACHE_BITS)];

	if ((v - iv->start > iv->len) | ((iv->owner ^ c->key) > 1))
		interval_find(c->ms, v, c->key, iv);
	return iv->owner & 1;
}

static bool in_other_stack(const struct maskset *ms, uint64_t v)
{
	size_t i;

	for (i = 0; i < ms->nstacks; i++) {
		if (v >= ms->stacks[i].start && v <= ms->stacks[i].end)
			return true;
	}
	return false;
}

/*
 * Class of the word @v, or 0: matters to no unwinder. The end of a stack range belongs to it: the
 * CFA of the outermost frame may point right behind the copy. What points further up is for no unwinder, but
 * a copy that begins higher keeps it: it is the same word in both, or it would seem to have changed. No branch depends on what @v is:
 * stack and code addresses follow each other without any pattern.
 */
__attribute__((always_inline))
static inline uint8_t classify(const struct classifier *c, uint64_t v)
{
	const uint8_t stack = v - c->sp <= c->size, code = is_code(c, v);
	uint8_t cls = (uint8_t)(stack * WORD_STACK | (code & !stack) * WORD_CODE);

	if (c->ms->nstacks && !cls && in_other_stack(c->ms, v))
		cls = WORD_STACK;
	return v ? cls : 0;
}

static inline uint64_t load_word(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Room for one word at @n; returns where the next one goes: there if this one is not kept. */
static inline uint32_t put_word(struct stack_words *out, uint32_t n, uint32_t i, uint64_t v,
				uint8_t cls)
{
	/* Written before it is known to be kept, which saves a branch. */
	out->idx[n] = (uint16_t)i;
	out->cls[n] = cls;
	out->val[n] = v;
	return n + (cls != 0);
}

/* Guessing could lose what matters: every word but zeros. @c->ms may be NULL. */
static uint32_t keep_all(const struct classifier *c, const unsigned char *p,
			 struct stack_words *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < out->nwords; i++) {
		const uint64_t v = load_word(p + (size_t)i * 8);
		uint8_t cls = v - c->sp <= c->size ? WORD_STACK : 0;

		if (!v)
			continue;
		if (c->ms)
			cls = classify(c, v);
		n = put_word(out, n, i, v, cls ? cls : WORD_RAW);
	}
	return n;
}

static uint32_t keep_some(const struct classifier *c, const unsigned char *p,
			  struct stack_words *out)
{
	uint64_t *const bits = c->mc->bits, *const more = c->mc->more;
	struct scan_spans spans;
	uint32_t n = 0;

	set_spans(c, &spans);
	c->mc->scan(&spans, p, out->nwords, bits);
	if (c->ms->nstacks) {
		set_other_spans(c->ms, &spans);
		c->mc->scan(&spans, p, out->nwords, more);
		for (size_t i = 0; i < SCAN_ENTRIES(out->nwords); i++)
			bits[i] |= more[i];
	}
	for (uint32_t i = 0; i < out->nwords; i += 64) {
		for (uint64_t b = bits[i / 64]; b; b &= b - 1) {
			const uint32_t k = i + (uint32_t)__builtin_ctzll(b);
			const uint64_t v = load_word(p + (size_t)k * 8);

			n = put_word(out, n, k, v, classify(c, v));
		}
	}
	return n;
}

void mask_stack(struct mask_ctx *mc, const struct maskset *ms, uint64_t sp, const void *copy,
		size_t size, struct stack_words *out)
{
	const uint64_t base = align_up(sp, 8);
	const unsigned char *p = copy;
	struct classifier c;

	out->base = base;
	out->nkept = 0;
	out->nwords = 0;
	if (size < base - sp)
		return;
	p += base - sp;
	out->nwords = (uint32_t)MIN((size - (base - sp)) / 8, (size_t)STACK_WORDS_MAX);
	classifier_init(&c, mc, ms, sp, size);
	/* Without mappings or a sound stack pointer nothing is sure. */
	if (!ms || base != sp)
		out->nkept = keep_all(&c, p, out);
	else
		out->nkept = keep_some(&c, p, out);
}

void mask_regs(struct mask_ctx *mc, const struct maskset *ms, uint64_t sp, size_t size,
	       uint64_t *regs)
{
	struct classifier c;

	/* A stack pointer in use as an ordinary register says nothing about where the stack is. */
	if (!ms || (sp & 7))
		return;
	classifier_init(&c, mc, ms, sp, size);
	for (unsigned int i = 0; i < UREG_MAX; i++) {
		if (i == UREG_IP || i == UREG_SP || i == UREG_BP || !regs[i])
			continue;
		if (!classify(&c, regs[i]))
			regs[i] = 0;
	}
}
