/*
 * The first look at the words of a stack copy: which of them can lie in one of a few spans of addresses. Most words
 * end here, so this is where the time of masking goes. And what need not be looked at: which are those of an earlier copy.
 */
#ifndef NSPROF_MASK_SCAN_H
#define NSPROF_MASK_SCAN_H

#include <stddef.h>
#include <stdint.h>

#define SCAN_SPANS 6
#define SCAN_UNIT_BITS 12	/* spans begin and end with pages */
#define SCAN_ENTRIES(n) (((n) + 63) / 64)

/*
 * Spans of runtime addresses, in units rounded up: a span holds its end, which is nothing of the unit behind it, where
 * constants often lie behind code. In the unit in front of it nothing is that stacks point to. Only the low
 * 32 bits of a unit's number count, so that words are taken for addresses they are not now and then, and
 * rejected later.
 */
struct scan_spans {
	uint32_t lo[SCAN_SPANS];	/* first unit */
	uint32_t len[SCAN_SPANS];	/* the last unit is lo + len */
};

/*
 * Span @i holds all of [@start, @end], runtime addresses, and of those around them less than a unit on either side; all
 * addresses there are when end < start, or in the last unit.
 */
void scan_set(struct scan_spans *sp, unsigned int i, uint64_t start, uint64_t end);

/*
 * Bit i % 64 of @bits[i / 64] is set when word i of the @n little-endian words at @p, of any alignment, lies in a
 * span. All of the last entry is written, SCAN_ENTRIES(@n) in all.
 */
typedef void (*scan_fn)(const struct scan_spans *sp, const unsigned char *p, size_t n, uint64_t *bits);

void scan_plain(const struct scan_spans *sp, const unsigned char *p, size_t n, uint64_t *bits);
/* The fastest this CPU has; all of them give the same bits. */
scan_fn scan_best(void);

/*
 * How many bytes at the end of @p are as those at the end of @q, of @n each, a multiple of 8: whole pieces of SCAN_PIECE,
 * and none with a word in [@lo, @lo + @len).
 */
#define SCAN_PIECE 64u
typedef size_t (*scan_same_fn)(const unsigned char *p, const unsigned char *q, size_t n, uint64_t lo, uint64_t len);

size_t scan_same_plain(const unsigned char *p, const unsigned char *q, size_t n, uint64_t lo, uint64_t len);
scan_same_fn scan_same_best(void);

#endif
