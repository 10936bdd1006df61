/* A table for output: the same rows as text for people, as CSV and as JSON. */
#ifndef NSPROF_GRID_H
#define NSPROF_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bytes/json.h"

enum grid_kind {
	GRID_PERCENT,	/* cell.n as a share of grid.whole */
	GRID_COUNT,	/* cell.n */
	GRID_TEXT,	/* cell.text */
	GRID_PATH,	/* cell.text; text output shows only what follows the last '/' */
	GRID_SYMBOL,	/* cell.text, of the enum profile_kind cell.n: "[k] vfs_read"; other formats
			 * give the kind its own column */
};

struct grid_column {
	const char *title;	/* "Shared Object" */
	const char *key;	/* "dso": name in CSV and JSON */
	enum grid_kind kind;
	const char *group;	/* heading of neighbours with the same one; NULL: none */
	uint64_t whole;		/* 100 % of its shares; 0: grid.whole */
};

struct grid_cell {
	uint64_t n;
	const char *text;	/* borrowed */
};

struct grid {
	struct grid_column *cols;	/* owned; their texts are borrowed */
	size_t ncols, cols_cap;
	struct grid_cell *cells;	/* owned; row by row */
	size_t nrows, cap;
	uint64_t whole;		/* 100 % */
	/* for grid_text(): writes what follows a row; NULL: nothing */
	void (*after_row)(void *ctx, size_t row, FILE *to);
	void *after_ctx;
};

void grid_column(struct grid *g, const char *title, const char *key, enum grid_kind kind);
/* The same for one of several events: @group and @whole as in struct grid_column. */
void grid_column_of(struct grid *g, const char *title, const char *key, enum grid_kind kind, const char *group, uint64_t whole);
/* Adds a row of ncols cells for the caller to fill in. Valid until the next call. */
struct grid_cell *grid_row(struct grid *g);
void grid_fini(struct grid *g);

/*
 * Aligned columns under a header like perf's. @color: highlights shares, with the sequences of
 * ECMA-48.
 */
void grid_text(const struct grid *g, bool color, FILE *to);
/* Cells separated by @sep, without padding, as perf report -t; a @sep within a cell becomes '.'. */
void grid_separated(const struct grid *g, char sep, FILE *to);
/* RFC 4180, but with line feeds: a line of keys, then the rows; percentages with two decimals. */
void grid_csv(const struct grid *g, FILE *to);
/* Only the rows, each with the field @first in front. */
void grid_csv_rows(const struct grid *g, const char *first, FILE *to);
/* An array of objects at @key. */
void grid_json(const struct grid *g, struct json *j, const char *key);

/* Appends "  12.34%" as grid_text() does, for @n of @whole. */
void grid_percent(uint64_t n, uint64_t whole, bool color, FILE *to);

#endif
