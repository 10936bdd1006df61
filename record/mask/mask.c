/*
 * Masks stack copies and registers (contrib/doc/masking.md) in two steps. mask_scan.c drops the
 * words that are in none of a few spans of addresses, which are most of them. coderanges.c looks
 * the rest up.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "event.h"
#include "mask/coderanges.h"
#include "mask/mask_scan.h"
#include "mask/maskset.h"

/*
 * Code is in clumps with wide gaps between them, where heaps are: the program, its libraries, code
 * made at run time. One span over all of them would let every heap pointer through. One more span
 * is for the vsyscall page, and one for the stack itself.
 */
#define CLUMPS (SCAN_SPANS - 2)

#define PLAN_BITS 5
#define PLANS (1u << PLAN_BITS)

/* The spans of one set of mappings. */
struct plan {
	uint64_t version;	/* 0 = unused */
	uint32_t tag;		/* for its ranges in coderanges.h */
	unsigned int used;	/* spans in use; the sample sets the others */
	struct scan_spans spans;
};

struct mask_ctx {
	scan_fn scan;
	scan_same_fn same;
	coderanges_keep_fn keep;
	uint64_t nameless;	/* versions for mask sets that have none, counted down */
	uint64_t bits[SCAN_ENTRIES(STACK_WORDS_MAX)], more[SCAN_ENTRIES(STACK_WORDS_MAX)];
	struct plan plans[PLANS];
	uint32_t tags;		/* given to plans since @ranges was empty */
	struct coderanges ranges;
};

/* What the words of one sample are compared with. */
struct classifier {
	struct mask_ctx *mc;
	const struct maskset *ms;	/* NULL: all words are kept */
	const struct plan *plan;	/* of @ms, as is @code */
	struct coderanges_ask code;
	uint64_t sp, size;	/* the stack as far as known: [sp, sp + size] */
};

struct mask_ctx *mask_ctx_new(bool plain)
{
	struct mask_ctx *mc = xcalloc(1, sizeof(*mc));

	mc->scan = plain ? scan_plain : scan_best();
	mc->same = plain ? scan_same_plain : scan_same_best();
	mc->keep = plain ? coderanges_keep_plain : coderanges_keep_best();
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

/* ---- which words are worth a lookup ---- */

/*
 * The narrowest of the CLUMPS - 1 widest gaps between the first @n ranges; *@like_it: how many of
 * them are not wider.
 */
static uint64_t gap_limit(const struct range *exec, size_t n, size_t *like_it)
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
	*like_it = 0;
	for (size_t k = 0; k < ARRAY_SIZE(widest); k++)
		*like_it += widest[k] == widest[CLUMPS - 2];
	return widest[CLUMPS - 2];
}

static void plan_code(struct plan *pl, const struct maskset *ms)
{
	size_t n = ms->nexec, first = 0, like_it;
	uint64_t limit;

	/* The vsyscall page is in the upper half of addresses, where no clump may reach. */
	while (n && ms->exec[n - 1].start >> 63)
		n--;
	pl->used = 0;
	limit = gap_limit(ms->exec, n, &like_it);
	for (size_t i = 1; i <= n; i++) {
		uint64_t gap = i < n ? ms->exec[i].start - ms->exec[i - 1].end : UINT64_MAX;

		if (gap < limit || (gap == limit && !like_it))
			continue;
		like_it -= gap == limit;
		scan_set(&pl->spans, pl->used++, ms->exec[first].start, ms->exec[i - 1].end);
		first = i;
	}
	if (n < ms->nexec)
		scan_set(&pl->spans, pl->used++, ms->exec[n].start, ms->exec[ms->nexec - 1].end);
}

static const struct plan *plan_of(struct mask_ctx *mc, const struct maskset *ms)
{
	const uint64_t version = ms->version ? ms->version : mc->nameless--;
	struct plan *pl = &mc->plans[spread(version) >> (64 - PLAN_BITS)];

	if (pl->version == version)
		return pl;
	if (++mc->tags == CODERANGE_TAGS) {
		memset(mc->plans, 0, sizeof(mc->plans));
		memset(&mc->ranges, 0, sizeof(mc->ranges));
		mc->tags = 1;
	}
	plan_code(pl, ms);
	pl->version = version;
	pl->tag = mc->tags;
	return pl;
}

/* The spans in which a word of this sample is worth a lookup, without other stacks. */
static void set_spans(const struct classifier *c, struct scan_spans *sp)
{
	*sp = c->plan->spans;
	for (unsigned int i = c->plan->used; i < SCAN_SPANS; i++)
		scan_set(sp, i, c->sp, c->sp + c->size);
}

/* The same for other stacks. If they are more than the spans: everywhere. */
static void set_other_spans(const struct maskset *ms, struct scan_spans *sp)
{
	for (unsigned int i = 0; i < SCAN_SPANS; i++) {
		const struct range *r = &ms->stacks[MIN(i, ms->nstacks - 1)];

		scan_set(sp, i, r->start, r->end);
	}
	if (ms->nstacks > SCAN_SPANS)
		scan_set(sp, 0, 0, UINT64_MAX);
}

/* ---- classes ---- */

static void classifier_init(struct classifier *c, struct mask_ctx *mc, const struct maskset *ms,
			    uint64_t sp, uint64_t size)
{
	c->mc = mc;
	c->ms = ms;
	c->sp = sp;
	c->size = size;
	if (!ms)
		return;
	c->plan = plan_of(mc, ms);
	coderanges_ask(&c->code, &mc->ranges, ms, c->plan->tag);
	if (ms->top > sp)
		c->size = MAX(size, ms->top - sp);
}

static bool in_other_stack(const struct maskset *ms, uint64_t v)
{
	size_t i;

	if (v % 8)
		return false;
	for (i = 0; i < ms->nstacks; i++) {
		if (v >= ms->stacks[i].start && v <= ms->stacks[i].end)
			return true;
	}
	return false;
}

/*
 * Class of the word @v; 0: it matters to no unwinder. The end of a stack range belongs to it: the
 * CFA of the outermost frame may point right behind the copy. No unwinder needs words that point
 * further up. They are kept all the same, because a copy that begins higher keeps them: otherwise
 * the same word would seem to have changed. Stack pointers are multiples of 8, and so is everything
 * that a frame is found by. Other addresses point into a buffer, or have a byte overwritten.
 */
static uint8_t classify(const struct classifier *c, uint64_t v)
{
	if (!v)
		return 0;
	if (v - c->sp <= c->size && !(v % 8))
		return WORD_STACK;
	if (coderanges_has(&c->code, v))
		return WORD_CODE;
	return in_other_stack(c->ms, v) ? WORD_STACK : 0;
}

static inline uint64_t load_word(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Keeps every word but zeros. Without mappings, only the stack is known. */
static uint32_t keep_all(const struct classifier *c, const unsigned char *p,
			 struct stack_words *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < out->nwords; i++) {
		const uint64_t v = load_word(p + (size_t)i * 8);

		if (!v)
			continue;
		out->idx[n] = (uint16_t)i;
		out->cls[n] = v - c->sp <= c->size ? WORD_STACK : WORD_RAW;
		out->val[n++] = v;
	}
	return n;
}

/* Takes those of @nwords words that a scan has left, without a class yet; returns their number. */
static uint32_t take_bits(const uint64_t *bits, const unsigned char *p, uint32_t nwords, struct stack_words *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nwords; i += 64) {
		for (uint64_t b = bits[i / 64]; b; b &= b - 1) {
			const uint32_t k = i + (uint32_t)__builtin_ctzll(b);

			out->idx[n] = (uint16_t)k;
			out->val[n++] = load_word(p + (size_t)k * 8);
		}
	}
	return n;
}

/* As mask_ctx.keep, with other stacks. */
static uint32_t keep_others(const struct classifier *c, struct stack_words *out, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t v = out->val[i];
		const uint8_t cls = classify(c, v);

		/* Written before it is known whether it is kept, which saves a branch. */
		out->idx[kept] = out->idx[i];
		out->cls[kept] = cls;
		out->val[kept] = v;
		kept += cls != 0;
	}
	return kept;
}

/* For the first @nwords words. */
static uint32_t keep_some(const struct classifier *c, const unsigned char *p, uint32_t nwords,
			  struct stack_words *out)
{
	uint64_t *const bits = c->mc->bits, *const more = c->mc->more;
	struct scan_spans spans;

	set_spans(c, &spans);
	c->mc->scan(&spans, p, nwords, bits);
	if (!c->ms->nstacks)
		return c->mc->keep(&c->code, c->sp, c->size, out, take_bits(bits, p, nwords, out));
	set_other_spans(c->ms, &spans);
	c->mc->scan(&spans, p, nwords, more);
	for (size_t i = 0; i < SCAN_ENTRIES(nwords); i++)
		bits[i] |= more[i];
	return keep_others(c, out, take_bits(bits, p, nwords, out));
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
	out->nkept = ms ? keep_some(&c, p, out->nwords, out) : keep_all(&c, p, out);
}

/* ---- words that did not change ---- */

/* Fewer bytes are not worth the trouble. */
#define AGAIN_MIN 512u

/*
 * Bytes at the end of both copies that are equal and would be reduced alike. Both must end at one
 * address. Most do, because they end with the stack. What points between the two stack pointers is
 * stack for only one of them.
 */
static size_t same_bytes(const struct mask_ctx *mc, const struct mask_last *last, uint64_t sp,
			 const unsigned char *copy, size_t size)
{
	const uint64_t lo = MIN(sp, last->sp);
	const unsigned char *old = last->copy;
	size_t n = MIN(size, last->size), same;

	if (!n || (sp | last->sp | size) % 8 || sp + size != last->sp + last->size || size > 8 * STACK_WORDS_MAX ||
	    last->size > 8 * STACK_WORDS_MAX)
		return 0;
	same = mc->same(copy + (size - n), old + (last->size - n), n, lo, MAX(sp, last->sp) - lo);
	return same < AGAIN_MIN ? 0 : same;
}

uint32_t mask_stack_again(struct mask_ctx *mc, const struct maskset *ms, const struct mask_last *last, uint64_t sp,
			  const void *copy, size_t size, struct stack_words *out)
{
	const size_t same = same_bytes(mc, last, sp, copy, size);
	const struct stack_words *old = last->words;
	const uint32_t fresh = (uint32_t)((size - same) / 8), old_fresh = (uint32_t)((last->size - same) / 8);
	struct classifier c;
	uint32_t at, n;

	if (!same) {
		mask_stack(mc, ms, sp, copy, size, out);
		return 0;
	}
	out->base = sp;
	out->nwords = (uint32_t)(size / 8);
	classifier_init(&c, mc, ms, sp, size);
	out->nkept = keep_some(&c, copy, fresh, out);
	at = (uint32_t)BISECT(old->nkept, i, old->idx[i] < old_fresh);
	n = old->nkept - at;
	memcpy(&out->cls[out->nkept], &old->cls[at], n * sizeof(*old->cls));
	memcpy(&out->val[out->nkept], &old->val[at], n * sizeof(*old->val));
	for (uint32_t i = 0; i < n; i++)
		out->idx[out->nkept + i] = (uint16_t)(old->idx[at + i] - old_fresh + fresh);
	out->nkept += n;
	return n;
}

void mask_regs(struct mask_ctx *mc, const struct maskset *ms, uint64_t sp, size_t size,
	       uint64_t *regs)
{
	struct classifier c;

	if (!ms)
		return;
	classifier_init(&c, mc, ms, sp, size);
	for (unsigned int i = 0; i < UREG_MAX; i++) {
		if (i == UREG_IP || i == UREG_SP || !regs[i])
			continue;
		if (!classify(&c, regs[i]))
			regs[i] = 0;
	}
}
