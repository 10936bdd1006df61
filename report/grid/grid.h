/* A table on its way out: the same rows as text for people, as CSV and as JSON. */
#ifndef NSPROF_GRID_H
#define NSPROF_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bytes/json.h"

enum grid_kind {
	GRID_PERCENT,	/* cell.n of grid.whole */
	GRID_COUNT,	/* cell.n */
	GRID_TEXT,	/* cell.text */
	GRID_PATH,	/* cell.text; people see what is behind the last '/' */
	GRID_SYMBOL,	/* cell.text, of the enum profile_kind cell.n: "[k] vfs_read"; elsewhere a column of its own */
};

struct grid_column {
	const char *title;	/* "Shared Object" */
	const char *key;	/* "dso": in CSV and JSON */
	enum grid_kind kind;
};

struct grid_cell {
	uint64_t n;
	const char *text;	/* borrowed */
};

#define GRID_COLUMNS_MAX 16

struct grid {
	struct grid_column cols[GRID_COLUMNS_MAX];
	size_t ncols;
	struct grid_cell *cells;	/* owned; row by row */
	size_t nrows, cap;
	uint64_t whole;		/* 100 % */
	void (*after_row)(void *ctx, size_t row, FILE *to);	/* grid_text(): what stands below a row; NULL = nothing */
	void *after_ctx;
};

void grid_column(struct grid *g, const char *title, const char *key, enum grid_kind kind);
/* One more row, of ncols cells to be filled in. Valid until the next one. */
struct grid_cell *grid_row(struct grid *g);
void grid_fini(struct grid *g);

/* Aligned, below a head as perf's. @color: shares stand out, with the sequences of ECMA-48. */
void grid_text(const struct grid *g, bool color, FILE *to);
/* Cells with @sep between them and no blanks, as perf report -t; within a cell it becomes '.'. */
void grid_separated(const struct grid *g, char sep, FILE *to);
/* RFC 4180, but with a line feed: a line of keys, then the rows; percents with two decimals. */
void grid_csv(const struct grid *g, FILE *to);
/* The rows alone, each behind a field @first. */
void grid_csv_rows(const struct grid *g, const char *first, FILE *to);
/* An array of objects at @key. */
void grid_json(const struct grid *g, struct json *j, const char *key);

/* Appends "  12.34%" as in the text of a grid, @n of @whole. */
void grid_percent(uint64_t n, uint64_t whole, bool color, FILE *to);

#endif
