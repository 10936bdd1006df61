/*
 * Code of one binary as a recording has it (CAPTURE_CODE): ranges of the file's own addresses (svma)
 * with their bytes. Recorder and symbolizer both ask here. nsprof.data(5) has the layout.
 *
 * Every range begins where an instruction does, and one of a whole function where that does; two that
 * touch stay two. What is in none of them was not captured.
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

/* Samples whose innermost frame was user code of the binary, and those of them in no range. */
struct code_counts {
	uint64_t samples;
	uint64_t missed;	/* at most samples */
	uint64_t missed_functions;	/* that these are in; of some no more than a part is missing */
};

/*
 * Appended to @out: @n ranges, sorted and disjoint, whose bytes follow each other in @bytes. Cannot
 * fail.
 */
void code_pack_write(const struct code_range *ranges, size_t n, const void *bytes,
		     const struct code_counts *counts, struct strbuf *out);

struct code_pack;

/* @data, @size bytes from a recording, are copied. NULL: damaged. */
struct code_pack *code_pack_read(const void *data, size_t size);
void code_pack_free(struct code_pack *cp);	/* accepts NULL */

/* Sorted and disjoint, borrowed like the bytes; how many. */
size_t code_pack_ranges(const struct code_pack *cp, const struct code_range **ranges);
const struct code_counts *code_pack_counts(const struct code_pack *cp);
/* Code from @svma to the end of its range: how many bytes, 0 when it is in none; *@bytes is set then. */
size_t code_pack_find(const struct code_pack *cp, uint64_t svma, const uint8_t **bytes);

#endif
