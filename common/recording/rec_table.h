/*
 * A table of numbers to the payload of a block and back: columns of differences to the row before,
 * which are small or 0 for counts that hardly change, and zstd does the rest.
 */
#ifndef NSPROF_REC_TABLE_H
#define NSPROF_REC_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/strbuf.h"

#define REC_TABLE_COLS 16u	/* of these at most a reader makes use */

/* Append @rows rows of @cols numbers each, one row behind the other in @cells, to @out. */
void rec_table_put(struct strbuf *out, const uint64_t *cells, size_t rows, unsigned int cols);

struct rec_table {
	uint64_t left;				/* rows not read yet */
	unsigned int cols;
	struct cursor col[REC_TABLE_COLS];	/* into the caller's bytes */
	uint64_t row[REC_TABLE_COLS];		/* the row read last; columns the table lacks are 0 */
};

/* @data is borrowed until the last rec_table_next(). 0, or -EINVAL when it is damaged. */
int rec_table_open(struct rec_table *t, const void *data, size_t len);
/* The next row, in t->row. 1, 0 behind the last, -EINVAL when the bytes are damaged. */
int rec_table_next(struct rec_table *t);

#endif
