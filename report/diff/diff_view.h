/* A comparison as text, Markdown, JSON and CSV. */
#ifndef NSPROF_DIFF_VIEW_H
#define NSPROF_DIFF_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "diff/diff.h"
#include "diff/diff_gate.h"

struct strbuf;

struct diff_view {
	const struct diff *d;
	const struct diff_input *in;
	size_t nin;
	const struct diff_gate *gates;	/* judged */
	size_t ngates;
	const char *notes;	/* lines; may be NULL */
	bool aa;		/* A/A test: both sides are the same thing */
	bool color;
	bool markdown;		/* set names and conditions as code */
	uint64_t limit;		/* rows in text and Markdown; 0: all */
	double percent_limit;	/* leave out rows below this on both sides, unless they changed
				 * significantly */
	/* Set by diff_view_init(). */
	const char *unit;	/* suffix of a rate: "%" */
	double factor;		/* from a rate to the number shown */
	size_t *order;		/* owned; rows: significant ones first, then by size of change */
	size_t nrows;
	size_t nsignificant;
};

void diff_view_init(struct diff_view *v);
void diff_view_fini(struct diff_view *v);

/* The one-line summary, without a newline. */
void diff_view_summary(const struct diff_view *v, struct strbuf *out);
/* What was compared, and how: lines, each prefixed with @before. */
void diff_view_method(const struct diff_view *v, const char *before, struct strbuf *out);
/* One gate's result, without a newline. */
void diff_view_gate(const struct diff_view *v, const struct diff_gate *g, struct strbuf *out);

void diff_write_text(const struct diff_view *v, FILE *to);
void diff_write_md(const struct diff_view *v, FILE *to);
void diff_write_json(const struct diff_view *v, FILE *to);
void diff_write_csv(const struct diff_view *v, FILE *to);

#endif
