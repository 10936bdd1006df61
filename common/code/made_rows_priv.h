/*
 * Shared by the two halves of made rows: single lookups (made_rows.c), and writing them as call
 * frame information (made_rows_emit.c).
 */
#ifndef NSPROF_MADE_ROWS_PRIV_H
#define NSPROF_MADE_ROWS_PRIV_H

#include "base/hash.h"
#include "base/xalloc.h"
#include "code/code_rows.h"
#include "code/made_rows.h"

struct addrs {
	uint64_t *v;	/* owned, svma values, sorted once complete */
	size_t n, cap;
};

static inline void addrs_add(struct addrs *as, uint64_t svma)
{
	XGROW(as->v, as->n, as->cap);
	as->v[as->n++] = svma;
}

/* The number of entries up to @svma. */
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

/* Size limit in bytes of functions whose beginning is only known from a call. */
#define CALLED_MAX 65536

/* A result of made_row_called(). */
struct called_row {
	uint64_t target;
	bool after_call, none;
	struct cfi_row row;
};

struct made_rows {
	struct elf_file *ef;
	struct code_rows *code;
	/*
	 * Beginnings of all functions and parts; of parts reached by jumps; of functions that never
	 * return.
	 */
	struct addrs starts, cold, noreturn;
	struct addrs twice;	/* of functions that return twice */
	struct section {
		uint64_t svma;
		size_t size;	/* bytes; 0: no such section */
	} plts[4];
	/* functions that stacks have shown to be called, sorted; NULL: not used */
	const struct addrs *called_here;
	uint64_t entry_end;	/* svma where the start-up code ends; 0: not determined yet */
	bool symbols_read, plts_read;
	struct called_row *called_rows;		/* owned */
	size_t ncalled, called_cap;
	struct u64map called;	/* hash of the query to its index in called_rows */
	struct u64map split;	/* hash of the query of is_split() to its result, 1 or 0 */
};

/*
 * Where the symbol at or below @svma begins; 0: there is none. *@entry: it is not a part reached by
 * jumps.
 */
uint64_t made_start_of(struct made_rows *mr, uint64_t svma, bool *entry);

#endif
