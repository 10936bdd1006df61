/* A flame graph as one self-contained interactive SVG: hover, zoom, search. */
#ifndef NSPROF_SVG_H
#define NSPROF_SVG_H

#include <stdio.h>

#include <stdbool.h>

struct calltree;

/* A node in a comparison: shares of each side's total, or of one for both. */
struct svg_change {
	double before, after;
	bool sure;		/* more than chance: else it is grey */
};

struct svg_opts {
	const char *title;	/* any bytes */
	const char *subtitle;	/* may be NULL */
	const char *unit;	/* "samples" */
	unsigned int width;	/* pixels, 300 to 20,000 */
	double min_width;	/* frames narrower than this many pixels are left out */
	const struct svg_change *changes;	/* [node of the tree]; NULL: no comparison. Counts are of both sides together */
};

/* Of nodes with less than this share of all svg_write() does not look at children: calltree_of() need not make them. */
double svg_least(const struct svg_opts *opts);
/* @t sorted (calltree_sort). Write errors show in the stream's error flag. */
void svg_write(struct calltree *t, const struct svg_opts *opts, FILE *to);

#endif
