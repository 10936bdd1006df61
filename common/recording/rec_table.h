/*
 * Encodes a table of numbers into the payload of a block and decodes it. Columns hold the
 * differences to the row before, which are small or 0 for counts that hardly change. zstd does the
 * rest.
 */
#ifndef NSPROF_REC_TABLE_H
#define NSPROF_REC_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/strbuf.h"

#define REC_TABLE_COLS 16u	/* a reader uses at most the first 16 columns */

/* Append @rows rows of @cols numbers to @out; @cells holds one row after the other. */
void rec_table_put(struct strbuf *out, const uint64_t *cells, size_t rows, unsigned int cols);

struct rec_table {
	uint64_t left;				/* rows not read yet */
	unsigned int cols;
	struct cursor col[REC_TABLE_COLS];	/* into the caller's bytes */
	uint64_t row[REC_TABLE_COLS];		/* the row read last; missing columns are 0 */
};

/* @data is borrowed until the last rec_table_next(). 0, or -EINVAL when it is damaged. */
int rec_table_open(struct rec_table *t, const void *data, size_t len);
/* Read the next row into t->row. 1, 0 after the last one, -EINVAL when the bytes are damaged. */
int rec_table_next(struct rec_table *t);

#endif
