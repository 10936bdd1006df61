/*
 * The first look at the words of a stack copy: which of them can be in one of a few spans of
 * addresses. Most words end here, so most time of masking is spent here. It also finds what need
 * not be looked at: words equal to those of an earlier copy.
 */
#ifndef NSPROF_MASK_SCAN_H
#define NSPROF_MASK_SCAN_H

#include <stddef.h>
#include <stdint.h>

#define SCAN_SPANS 6
#define SCAN_UNIT_BITS 12	/* spans begin and end with pages */
#define SCAN_ENTRIES(n) (((n) + 63) / 64)

/*
 * Spans of runtime addresses, in units rounded up. A span includes its end, but nothing of the unit
 * behind it, where constants often follow code. It also includes the unit in front of it, but
 * stacks point to nothing there. Only the low 32 bits of a unit's number count. So now and then a
 * word is wrongly taken for an address, and rejected later.
 */
struct scan_spans {
	uint32_t lo[SCAN_SPANS];	/* first unit */
	uint32_t len[SCAN_SPANS];	/* the last unit is lo + len */
};

/*
 * Span @i includes all of [@start, @end], runtime addresses, and less than a unit around them on
 * either side. It includes all addresses if end < start, or if @end is in the last unit.
 */
void scan_set(struct scan_spans *sp, unsigned int i, uint64_t start, uint64_t end);

/*
 * Sets bit i % 64 of @bits[i / 64] if word i of the @n little-endian words at @p, of any alignment,
 * is in a span. Writes all of the last entry, SCAN_ENTRIES(@n) in all.
 */
typedef void (*scan_fn)(const struct scan_spans *sp, const unsigned char *p, size_t n, uint64_t *bits);

void scan_plain(const struct scan_spans *sp, const unsigned char *p, size_t n, uint64_t *bits);
/* The fastest one for this CPU; all of them give the same bits. */
scan_fn scan_best(void);

/*
 * How many bytes at the end of @p equal those at the end of @q, with @n bytes each, a multiple of
 * 8. Counts whole pieces of SCAN_PIECE, and none with a word in [@lo, @lo + @len).
 */
#define SCAN_PIECE 64u
typedef size_t (*scan_same_fn)(const unsigned char *p, const unsigned char *q, size_t n, uint64_t lo, uint64_t len);

size_t scan_same_plain(const unsigned char *p, const unsigned char *q, size_t n, uint64_t lo, uint64_t len);
scan_same_fn scan_same_best(void);

#endif
