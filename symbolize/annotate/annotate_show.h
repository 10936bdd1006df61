/* Prints a function with its code and samples, as text and as JSON. */
#ifndef NSPROF_ANNOTATE_SHOW_H
#define NSPROF_ANNOTATE_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct annotate_func;
struct code;
struct json;
struct listing;
struct sourcetext;

struct annotate_shown {
	const struct annotate_func *func;
	const struct listing *listing;
	const struct code *code;
	const char *event;	/* "cpu-clock" */
	const char *one;	/* of what is counted: "sample", "wait" */
	bool time;		/* weights are ns */
	uint64_t weight;	/* of all samples, in functions or not */
	bool period;		/* weights are events, not samples: annotate.period */
	struct sourcetext *source;	/* borrowed; for annotate_text() */
	bool demangle, color;	/* for annotate_text() */
};

/* Write errors stay in @to's error flag. */
void annotate_text(const struct annotate_shown *s, FILE *to);
/* Writes one object into an array. */
void annotate_json(const struct annotate_shown *s, struct json *j);

#endif
