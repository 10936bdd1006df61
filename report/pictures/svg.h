/* A flame graph as one self-contained interactive SVG: hover, zoom, search. */
#ifndef NSPROF_SVG_H
#define NSPROF_SVG_H

#include <stdio.h>

#include <stdbool.h>

struct calltree;

/* A node in a comparison: shares of each side's total, or of one total for both. */
struct svg_change {
	double before, after;
	bool sure;		/* more than chance; otherwise the node is grey */
};

struct svg_opts {
	const char *title;	/* any bytes */
	const char *subtitle;	/* may be NULL */
	const char *unit;	/* "samples", "ns" */
	const char *of;		/* what time it is if the unit is "ns": "of CPU"; NULL otherwise */
	unsigned int width;	/* pixels, 300 to 20,000 */
	double min_width;	/* frames narrower than this many pixels are left out */
	const struct svg_change *changes;	/* [node of the tree]; NULL: no comparison. Counts
						 * are of both sides together */
};

/*
 * svg_write() skips the children of nodes below this share of all, so calltree_of() need not create
 * them.
 */
double svg_least(const struct svg_opts *opts);
/* @t must be sorted (calltree_sort). Write errors are left in the stream's error flag. */
void svg_write(struct calltree *t, const struct svg_opts *opts, FILE *to);

#endif
