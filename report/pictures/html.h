/* A flame graph as a page that holds all it needs: data, script and style in one file, nothing from the network. */
#ifndef NSPROF_HTML_H
#define NSPROF_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct lead;
struct profile;

/* What a comparison found of one value of a function. */
struct html_verdict {
	bool tested;		/* else the rest says nothing: there are too few samples */
	double low, high;	/* interval of the change of its share, in shares of 1 */
	double p;		/* NAN: nothing tells it from chance, and the interval is no answer */
	bool significant;
};

/* What a comparison found of a function, for the colors and the table. */
struct html_change {
	const char *function;	/* name as in the profiles' frames; "" is all of it, which has only a total */
	struct html_verdict self, total;
	bool kernel;		/* the kernel's function of that name, with html_opts.kernel_apart */
};

struct html_opts {
	const char *title;	/* any bytes */
	const char *note;	/* one more line of what the profile lacks, or NULL */
	const struct lead *lead;	/* leading frames that the page begins with; NULL is none */
	bool period;		/* what is counted: samples, or their periods */
	/* With two profiles only: */
	const struct html_change *changes;
	size_t nchanges;
	bool kernel_apart;	/* else changes are of all functions of a name */
	bool amounts;		/* compared are amounts, and 100 % is what there is after; else shares of each side */
	double scale_a, scale_b;	/* counts are multiplied with these to be comparable; 0 is 1 */
};

/*
 * Finished profiles; @b, or NULL, is what @a is compared with: @a is before, @b after. The same input gives the same bytes.
 * Write errors show in the stream's error flag.
 */
void html_write(const struct profile *a, const struct profile *b, const struct html_opts *opts, FILE *to);

#endif
