/*
 * The code of one binary that a recording contains (CAPTURE_CODE): ranges of the file's own
 * addresses (svma) with their bytes. Recorder and symbolizer both use it. The layout is in
 * nsprof.data(5).
 *
 * Every range begins at an instruction; a range for a whole function begins where the function
 * begins. Adjacent ranges are not merged. Code outside all ranges was not captured.
 */
#ifndef NSPROF_CODE_PACK_H
#define NSPROF_CODE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct code_range {
	uint64_t svma;
	uint64_t len;		/* bytes, 1 and up */
};

/*
 * Samples whose innermost frame was user code of the binary, and how many of them are in no range.
 */
struct code_counts {
	uint64_t samples;
	uint64_t missed;	/* at most samples */
	/* functions that contain these; some may be missing only in part */
	uint64_t missed_functions;
};

/*
 * Appends to @out: @n sorted and disjoint ranges, whose bytes follow each other in @bytes. Cannot
 * fail.
 */
void code_pack_write(const struct code_range *ranges, size_t n, const void *bytes,
		     const struct code_counts *counts, struct strbuf *out);

struct code_pack;

/* Copies @data, @size bytes from a recording. NULL: damaged. */
struct code_pack *code_pack_read(const void *data, size_t size);
void code_pack_free(struct code_pack *cp);	/* accepts NULL */

/* The ranges, sorted and disjoint; borrowed, like the bytes. Returns their number. */
size_t code_pack_ranges(const struct code_pack *cp, const struct code_range **ranges);
const struct code_counts *code_pack_counts(const struct code_pack *cp);
/*
 * Finds code from @svma to the end of its range. Returns the number of bytes and sets *@bytes; 0 if
 * it is in no range.
 */
size_t code_pack_find(const struct code_pack *cp, uint64_t svma, const uint8_t **bytes);

#endif
