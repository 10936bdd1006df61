/* A table for output (grid.h). */
#include "grid/grid.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "grid/csv.h"
#include "profile/profile.h"

#define WIDTH_MAX 60	/* characters; longer texts push the following columns to the right */

/* As perf: large shares are red, noteworthy ones green. */
#define MUCH 5.0
#define SOME 0.5
#define RED "\033[31m"
#define GREEN "\033[32m"
#define PLAIN "\033[m"

static const char kind_marks[PROFILE_KINDS + 1] = ".kji.";
static const char *const kind_names[PROFILE_KINDS] = { "user", "kernel", "jit", "inlined", "leading" };

void grid_column(struct grid *g, const char *title, const char *key, enum grid_kind kind)
{
	grid_column_of(g, title, key, kind, NULL, 0);
}

void grid_column_of(struct grid *g, const char *title, const char *key, enum grid_kind kind, const char *group, uint64_t whole)
{
	XGROW(g->cols, g->ncols, g->cols_cap);
	g->cols[g->ncols++] = (struct grid_column){ title, key, kind, group, whole };
}

struct grid_cell *grid_row(struct grid *g)
{
	size_t need = (g->nrows + 1) * g->ncols;

	if (need > g->cap) {
		g->cap = MAX(need, g->cap * 2);
		g->cells = xrealloc(g->cells, g->cap * sizeof(*g->cells));
	}
	memset(g->cells + g->nrows * g->ncols, 0, g->ncols * sizeof(*g->cells));
	return g->cells + g->nrows++ * g->ncols;
}

void grid_fini(struct grid *g)
{
	free(g->cols);
	free(g->cells);
	*g = (struct grid){ 0 };
}

static double percent(uint64_t n, uint64_t whole)
{
	return whole ? 100.0 * (double)n / (double)whole : 0;
}

/* What 100 % is in column @k. */
static uint64_t whole_of(const struct grid *g, size_t k)
{
	return g->cols[k].whole ? g->cols[k].whole : g->whole;
}

void grid_percent(uint64_t n, uint64_t whole, bool color, FILE *to)
{
	double share = percent(n, whole);
	const char *on = share >= MUCH ? RED : share >= SOME ? GREEN : "";

	if (color && *on)
		fprintf(to, "%s%8.2f%%%s", on, share, PLAIN);
	else
		fprintf(to, "%8.2f%%", share);
}

/* Appends the text of a cell that is not a share. */
static void cell_text(const struct grid_column *col, const struct grid_cell *c, struct strbuf *out)
{
	const char *slash;

	strbuf_reset(out);
	switch (col->kind) {
	case GRID_PERCENT:
		break;
	case GRID_COUNT:
		strbuf_addf(out, "%" PRIu64, c->n);
		break;
	case GRID_TEXT:
		escape_text(out, c->text);
		break;
	case GRID_PATH:
		slash = strrchr(c->text, '/');
		escape_text(out, slash && slash[1] ? slash + 1 : c->text);
		break;
	case GRID_SYMBOL:
		strbuf_addf(out, "[%c] ", kind_marks[c->n]);
		escape_text(out, c->text);
		break;
	}
}

/* The columns from @k on that have its group; *@width: their width with the gaps between them. */
static size_t group_end(const struct grid *g, size_t k, const size_t *widths, size_t *width)
{
	size_t end = k;

	*width = 0;
	for (; end < g->ncols && g->cols[end].group == g->cols[k].group; end++)
		*width += widths[end] + (end > k ? 2 : 0);
	return end;
}

/* Makes room for the headings of groups. */
static void widen_groups(const struct grid *g, size_t *widths)
{
	for (size_t k = 0, end, width; k < g->ncols; k = end) {
		size_t need = g->cols[k].group ? escape_width(g->cols[k].group) + (k ? 0 : 2) : 0;

		end = group_end(g, k, widths, &width);
		if (need > width)
			widths[end - 1] += need - width;
	}
}

static void find_widths(const struct grid *g, size_t *widths)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t k = 0; k < g->ncols; k++) {
		/* The first title is preceded by "# ". */
		widths[k] = MAX(strlen(g->cols[k].title) + (k ? 0 : 2), g->cols[k].kind == GRID_PERCENT ? (size_t)9 : (size_t)0);
		for (size_t i = 0; i < g->nrows && g->cols[k].kind != GRID_PERCENT; i++) {
			cell_text(&g->cols[k], &g->cells[i * g->ncols + k], &sb);
			widths[k] = MAX(widths[k], MIN(sb.s ? escape_width(sb.s) : 0, (size_t)WIDTH_MAX));
		}
	}
	widen_groups(g, widths);
	strbuf_fini(&sb);
}

static bool is_right(enum grid_kind kind)
{
	return kind == GRID_PERCENT || kind == GRID_COUNT;
}

/* Writes @text into its column; no padding after the last one. */
static void put_text(const struct grid *g, size_t k, const char *text, size_t width, FILE *to)
{
	size_t n = escape_width(text);
	int pad = n < width ? (int)(width - n) : 0;

	fprintf(to, "%s%*s%s", k ? "  " : "", is_right(g->cols[k].kind) ? pad : 0, "", text);
	if (!is_right(g->cols[k].kind) && k + 1 < g->ncols)
		fprintf(to, "%*s", pad, "");
}

/* The line of groups above the titles, if there are any. */
static void text_groups(const struct grid *g, const size_t *widths, FILE *to)
{
	if (!g->ncols || !g->cols[0].group)
		return;
	for (size_t k = 0, end, width; k < g->ncols && g->cols[k].group; k = end) {
		const size_t n = escape_width(g->cols[k].group) + (k ? 0 : 2);

		end = group_end(g, k, widths, &width);
		fprintf(to, "%s%s", k ? "  " : "# ", g->cols[k].group);
		if (end < g->ncols && g->cols[end].group)
			fprintf(to, "%*s", (int)(width - n), "");
	}
	fputs("\n", to);
}

static void text_head(const struct grid *g, const size_t *widths, FILE *to)
{
	text_groups(g, widths, to);
	for (size_t k = 0; k < g->ncols; k++) {
		if (!k)
			fprintf(to, "# %*s", (int)widths[k] - 2, g->cols[k].title);
		else
			put_text(g, k, g->cols[k].title, widths[k], to);
	}
	fputs("\n", to);
	for (size_t k = 0; k < g->ncols; k++) {
		fputs(k ? "  " : "# ", to);
		for (size_t i = k ? 0 : 2; i < widths[k]; i++)
			fputc('.', to);
	}
	fputs("\n#\n", to);
}

void grid_text(const struct grid *g, bool color, FILE *to)
{
	size_t *widths = xcalloc(g->ncols + 1, sizeof(*widths));
	struct strbuf sb = STRBUF_INIT;

	find_widths(g, widths);
	text_head(g, widths, to);
	for (size_t i = 0; i < g->nrows; i++) {
		for (size_t k = 0; k < g->ncols; k++) {
			const struct grid_cell *c = &g->cells[i * g->ncols + k];

			if (g->cols[k].kind == GRID_PERCENT) {
				fprintf(to, "%s%*s", k ? "  " : "", (int)widths[k] - 9, "");
				grid_percent(c->n, whole_of(g, k), color, to);
				continue;
			}
			cell_text(&g->cols[k], c, &sb);
			put_text(g, k, sb.s ? sb.s : "", widths[k], to);
		}
		fputs("\n", to);
		if (g->after_row)
			g->after_row(g->after_ctx, i, to);
	}
	free(widths);
	strbuf_fini(&sb);
}

void grid_separated(const struct grid *g, char sep, FILE *to)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t k = 0; k < g->ncols; k++)
		fprintf(to, "%s%.1s%s%s%s", k ? "" : "# ", k ? &sep : "", g->cols[k].title, g->cols[k].group ? " " : "",
			g->cols[k].group ? g->cols[k].group : "");
	fputs("\n", to);
	for (size_t i = 0; i < g->nrows; i++) {
		for (size_t k = 0; k < g->ncols; k++) {
			const struct grid_cell *c = &g->cells[i * g->ncols + k];

			cell_text(&g->cols[k], c, &sb);
			if (g->cols[k].kind == GRID_PERCENT)
				strbuf_addf(&sb, "%.2f%%", percent(c->n, whole_of(g, k)));
			for (char *p = sb.s; p && *p; p++)
				if (*p == sep)
					*p = '.';
			fprintf(to, "%.1s", k ? &sep : "");
			csv_guarded(sb.s ? sb.s : "", to);
		}
		fputs("\n", to);
		if (g->after_row)
			g->after_row(g->after_ctx, i, to);
	}
	strbuf_fini(&sb);
}

static void csv_row(const struct grid *g, const struct grid_cell *row, FILE *to)
{
	for (size_t k = 0; k < g->ncols; k++) {
		fputs(k ? "," : "", to);
		if (g->cols[k].kind == GRID_PERCENT)
			fprintf(to, "%.2f", percent(row[k].n, whole_of(g, k)));
		else if (g->cols[k].kind == GRID_COUNT)
			fprintf(to, "%" PRIu64, row[k].n);
		else
			csv_text(row[k].text, to);
		if (g->cols[k].kind == GRID_SYMBOL)
			fprintf(to, ",%s", kind_names[row[k].n]);
	}
	fputs("\n", to);
}

void grid_csv_rows(const struct grid *g, const char *first, FILE *to)
{
	for (size_t i = 0; i < g->nrows; i++) {
		csv_text(first, to);
		fputc(',', to);
		csv_row(g, g->cells + i * g->ncols, to);
	}
}

void grid_csv(const struct grid *g, FILE *to)
{
	for (size_t k = 0; k < g->ncols; k++) {
		fputs(k ? "," : "", to);
		if (g->cols[k].group)
			csv_text(g->cols[k].key, to);
		else
			fputs(g->cols[k].key, to);
		fputs(g->cols[k].kind == GRID_SYMBOL ? ",kind" : "", to);
	}
	fputs("\n", to);
	for (size_t i = 0; i < g->nrows; i++)
		csv_row(g, g->cells + i * g->ncols, to);
}

void grid_json(const struct grid *g, struct json *j, const char *key)
{
	json_begin_array(j, key);
	for (size_t i = 0; i < g->nrows; i++) {
		json_begin_object(j, NULL);
		for (size_t k = 0; k < g->ncols; k++) {
			const struct grid_cell *c = &g->cells[i * g->ncols + k];

			if (g->cols[k].kind == GRID_PERCENT)
				json_double(j, g->cols[k].key, percent(c->n, whole_of(g, k)));
			else if (g->cols[k].kind == GRID_COUNT)
				json_u64(j, g->cols[k].key, c->n);
			else
				json_str(j, g->cols[k].key, c->text);
			if (g->cols[k].kind == GRID_SYMBOL)
				json_str(j, "kind", kind_names[c->n]);
		}
		json_end_object(j);
	}
	json_end_array(j);
}
