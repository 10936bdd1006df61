/*
 * A flame graph as a self-contained page: data, script and style in one file, nothing from the
 * network.
 */
#ifndef NSPROF_HTML_H
#define NSPROF_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct lead;
struct profile;

/* What a comparison found for one value of a function. */
struct html_verdict {
	bool tested;		/* false: too few samples; the rest is unset */
	double low, high;	/* interval of the change of its share, in shares of 1 */
	double p;		/* NAN: change cannot be told from chance, and the interval is not
				 * an answer */
	bool significant;
};

/* What a comparison found for a function, for the colors and the table. */
struct html_change {
	const char *function;	/* name as in the profiles' frames; "" is everything together, which
				 * has only a total */
	struct html_verdict self, total;
	bool kernel;		/* the kernel function of that name; with html_opts.kernel_apart */
};

struct html_opts {
	const char *title;	/* any bytes */
	const char *note;	/* one more line on what the profile lacks, or NULL */
	const struct lead *lead;	/* leading frames that the page starts with; NULL: none */
	bool period;		/* count periods instead of samples; with several events see
				 * profile_event.by_period */
	/* Only with two profiles: */
	const struct html_change *changes;
	size_t nchanges;
	bool kernel_apart;	/* otherwise a change applies to all functions of that name */
	bool amounts;		/* compares amounts, and 100 % is the after side's total; otherwise
				 * compares shares of each side */
	double scale_a, scale_b;	/* factors that make counts comparable; 0 means 1 */
};

/*
 * Writes finished profiles. @a may have several events if it is the only one. @b is NULL, or @a is before and @b after. The same input gives the same
 * bytes. Write errors are left in the stream's error flag.
 */
void html_write(const struct profile *a, const struct profile *b, const struct html_opts *opts, FILE *to);

#endif
