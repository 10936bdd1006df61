/*
 * Masking of stack copies and registers (DESIGN.md section 2). Runs over up to 8,192 words for each
 * sample, so the common cases come first: runs of zeros, then words whose neighbourhood was asked
 * about before.
 */
#include <string.h>

#include "event.h"
#include "maskset.h"
#include "util.h"

/*
 * The executable ranges cut the address space into intervals: ranges and the gaps between them.
 * Words of one stack fall into few of them (small numbers, two heaps, three libraries), so the
 * interval of the last word that fell into a 2 MiB granule is kept in a direct-mapped cache. A gap
 * is as good an answer as a range: most words are not code.
 */
#define CACHE_BITS 7
#define CACHE_SIZE (1u << CACHE_BITS)

struct interval {
	uint64_t start;
	uint64_t len;	/* the last address is start + len: an interval is never empty */
	bool code;
};

struct classifier {
	const struct maskset *ms;
	uint64_t sp;		/* the copy is [sp, sp + size] */
	uint64_t size;
	uint64_t lo, span;	/* all that can be kept lies in [lo, lo + span], or above 2^63 */
	struct interval cache[CACHE_SIZE];
};

/* Words outside of these bounds need no closer look: small numbers, text, floating point. */
static void set_bounds(struct classifier *c, bool keep_all)
{
	const struct maskset *ms = c->ms;
	uint64_t lo = c->sp, hi = c->sp + c->size;
	size_t n, i;

	if (keep_all || hi < lo) {
		c->lo = 0;
		c->span = UINT64_MAX;
		return;
	}
	/* With the vsyscall page, which lies in the upper half, the bounds would hold everything. */
	for (n = ms->nexec; n && ms->exec[n - 1].start >> 63; n--)
		;
	if (n) {
		lo = MIN(lo, ms->exec[0].start);
		hi = MAX(hi, ms->exec[n - 1].end);
	}
	for (i = 0; i < ms->nstacks; i++) {
		lo = MIN(lo, ms->stacks[i].start);
		hi = MAX(hi, ms->stacks[i].end);
	}
	c->lo = lo;
	c->span = hi - lo;
}

static void classifier_init(struct classifier *c, const struct maskset *ms, uint64_t sp,
			    uint64_t size)
{
	size_t i;

	c->ms = ms;
	c->sp = sp;
	c->size = size;
	if (!ms)
		return;
	/*
	 * Start above any address, so that an unused slot matches UINT64_MAX alone, which is a gap:
	 * no mapping reaches it.
	 */
	for (i = 0; i < CACHE_SIZE; i++)
		c->cache[i] = (struct interval){ .start = UINT64_MAX };
}

/*
 * A range holds its end address, too: a call of a function that never returns may be the very last
 * instruction of a mapping, and its return address then is the end. One address too many for each
 * mapping costs nothing.
 */
static void interval_find(const struct maskset *ms, uint64_t v, struct interval *iv)
{
	size_t lo = 0, hi = ms->nexec;

	/* The first range that ends at or above v. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ms->exec[mid].end < v)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < ms->nexec && ms->exec[lo].start <= v) {
		iv->start = ms->exec[lo].start;
		iv->len = ms->exec[lo].end - ms->exec[lo].start;
		iv->code = true;
		return;
	}
	iv->start = lo ? ms->exec[lo - 1].end + 1 : 0;
	iv->len = (lo < ms->nexec ? ms->exec[lo].start - 1 : UINT64_MAX) - iv->start;
	iv->code = false;
}

static inline bool is_code(struct classifier *c, uint64_t v)
{
	/* The golden ratio in 64 bits: spreads granules that differ in any of their bits. */
	struct interval *iv = &c->cache[(v >> 21) * 0x9e3779b97f4a7c15ull >> (64 - CACHE_BITS)];

	if (v - iv->start > iv->len)
		interval_find(c->ms, v, iv);
	return iv->code;
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
 * Class of the non-zero word @v, or 0: matters to no unwinder. The end of a stack range belongs to
 * it: the CFA of the outermost frame may point right behind the copy.
 */
static inline uint8_t classify(struct classifier *c, uint64_t v)
{
	if (v - c->sp <= c->size)
		return WORD_STACK;
	if (!c->ms)
		return 0;
	if (is_code(c, v))
		return WORD_CODE;
	return c->ms->nstacks && in_other_stack(c->ms, v) ? WORD_STACK : 0;
}

static inline uint64_t load_word(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Bit k is set when word @p[k] may have to be kept. No branches: kinds of words follow each other
 * without any pattern, and half of the time of a scan would go to mispredictions.
 */
static inline uint64_t candidates(const struct classifier *c, const unsigned char *p,
				  unsigned int n)
{
	uint64_t bits = 0;
	unsigned int k;

	for (k = 0; k < n; k++) {
		const uint64_t v = load_word(p + k * 8);

		bits |= ((uint64_t)(v - c->lo <= c->span) | v >> 63) << k;
	}
	return bits;
}

void mask_stack(const struct maskset *ms, uint64_t sp, const void *copy, size_t size,
		struct stack_words *out)
{
	const uint64_t base = align_up(sp, 8);
	/* Without mappings, or a sound stack pointer, guessing could lose what matters. */
	const bool keep_all = !ms || base != sp;
	const unsigned char *p = copy;
	struct classifier c;
	uint32_t i, n = 0;
	uint64_t bits;
	uint8_t cls;

	out->base = base;
	out->nkept = 0;
	out->nwords = 0;
	if (size < base - sp)
		return;
	p += base - sp;
	out->nwords = (uint32_t)MIN((size - (base - sp)) / 8, (size_t)STACK_WORDS_MAX);
	classifier_init(&c, ms, sp, size);
	set_bounds(&c, keep_all);

	for (i = 0; i < out->nwords; i += 64) {
		const unsigned char *block = p + (size_t)i * 8;

		bits = candidates(&c, block, MIN(out->nwords - i, 64u));
		for (; bits; bits &= bits - 1) {
			const unsigned int k = (unsigned int)__builtin_ctzll(bits);
			const uint64_t v = load_word(block + k * 8);

			cls = v ? classify(&c, v) : 0;
			if (keep_all && v && !cls)
				cls = WORD_RAW;
			/* Written before it is known to be kept, which again saves a branch. */
			out->idx[n] = (uint16_t)(i + k);
			out->cls[n] = cls;
			out->val[n] = v;
			n += cls != 0;
		}
	}
	out->nkept = n;
}

void mask_regs(const struct maskset *ms, uint64_t sp, size_t size, uint64_t *regs)
{
	struct classifier c;
	unsigned int i;

	/* A stack pointer in use as an ordinary register says nothing about where the stack is. */
	if (!ms || (sp & 7))
		return;
	classifier_init(&c, ms, sp, size);
	for (i = 0; i < UREG_MAX; i++) {
		if (i == UREG_IP || i == UREG_SP || i == UREG_BP || !regs[i])
			continue;
		if (!classify(&c, regs[i]))
			regs[i] = 0;
	}
}
