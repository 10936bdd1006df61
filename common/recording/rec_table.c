/* Payload: varint rows, varint columns; for each column varint bytes, then its svarints. */
#include "recording/rec_table.h"

#include <errno.h>
#include <string.h>

void rec_table_put(struct strbuf *out, const uint64_t *cells, size_t rows, unsigned int cols)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_add_varint(out, rows);
	strbuf_add_varint(out, cols);
	for (unsigned int c = 0; c < cols; c++) {
		uint64_t prev = 0;

		strbuf_reset(&sb);
		for (size_t r = 0; r < rows; r++) {
			uint64_t v = cells[r * cols + c];

			strbuf_add_svarint(&sb, (int64_t)(v - prev));
			prev = v;
		}
		strbuf_add_varint(out, sb.len);
		strbuf_add(out, sb.s, sb.len);
	}
	strbuf_fini(&sb);
}

int rec_table_open(struct rec_table *t, const void *data, size_t len)
{
	struct cursor c;
	uint64_t cols;

	memset(t, 0, sizeof(*t));
	cursor_init(&c, data, len);
	t->left = cursor_varint(&c);
	cols = cursor_varint(&c);
	for (uint64_t i = 0; i < cols && cursor_ok(&c); i++) {
		uint64_t n = cursor_varint(&c);
		const void *p = n <= cursor_left(&c) ? cursor_bytes(&c, n) : NULL;

		/* A number takes at least one byte, so no row without bytes is read. */
		if (!p || n < t->left)
			return -EINVAL;
		if (i < REC_TABLE_COLS)
			cursor_init(&t->col[t->cols++], p, n);
	}
	if (!cols)
		t->left = 0;
	return cursor_ok(&c) ? 0 : -EINVAL;
}

int rec_table_next(struct rec_table *t)
{
	if (!t->left)
		return 0;
	t->left--;
	for (unsigned int i = 0; i < t->cols; i++) {
		t->row[i] += (uint64_t)cursor_svarint(&t->col[i]);
		if (!cursor_ok(&t->col[i]))
			return -EINVAL;
	}
	return 1;
}
