/* What the two halves of made rows share: asked one by one (made_rows.c), and written as call frame information (made_rows_emit.c). */
#ifndef NSPROF_MADE_ROWS_PRIV_H
#define NSPROF_MADE_ROWS_PRIV_H

#include "base/hash.h"
#include "base/xalloc.h"
#include "code/code_rows.h"
#include "code/made_rows.h"

struct addrs {
	uint64_t *v;	/* owned, svma values, sorted when all are there */
	size_t n, cap;
};

static inline void addrs_add(struct addrs *as, uint64_t svma)
{
	XGROW(as->v, as->n, as->cap);
	as->v[as->n++] = svma;
}

/* How many there are up to @svma. */
static inline size_t addrs_up_to(const struct addrs *as, uint64_t svma)
{
	size_t lo = 0, hi = as->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (as->v[mid] <= svma)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Bytes from where a function begins that only a call tells of. */
#define CALLED_MAX 65536

/* What made_row_called() has found. */
struct called_row {
	uint64_t target;
	bool after_call, none;
	struct cfi_row row;
};

struct made_rows {
	struct elf_file *ef;
	struct code_rows *code;
	struct addrs starts, cold, noreturn;	/* of all; of parts that are jumped to; that do not return */
	struct addrs twice;	/* that return twice */
	struct section {
		uint64_t svma;
		size_t size;	/* bytes; 0: there is no such section */
	} plts[4];
	const struct addrs *called_here;	/* functions that stacks have shown to be called, sorted; NULL: not looked for */
	uint64_t entry_end;	/* svma where the start-up code ends; 0: not looked at yet */
	bool symbols_read, plts_read;
	struct called_row *called_rows;		/* owned */
	size_t ncalled, called_cap;
	struct u64map called;	/* hash of what was asked for to its number there */
	struct u64map split;	/* hash of two beginnings to 1: ways from one lead behind the other, or 0 */
};

/* Where the symbol begins that @svma is in or behind, 0: there is none; *@entry: it is no part that is jumped to. */
uint64_t made_start_of(struct made_rows *mr, uint64_t svma, bool *entry);

#endif
