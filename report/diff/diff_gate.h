/* What makes a comparison fail: "total>2%", "func:parse_.*>5%". */
#ifndef NSPROF_DIFF_GATE_H
#define NSPROF_DIFF_GATE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "diff/diff.h"

enum gate_verdict { GATE_PASS, GATE_FAIL, GATE_UNCLEAR };

struct diff_gate {
	const char *text;	/* borrowed */
	enum { GATE_ALL, GATE_TOTAL, GATE_SELF } of;
	bool points;		/* of the total before; else relative to the function's own cost before */
	double limit;		/* 0.02 for 2 % */
	regex_t regex;		/* unless GATE_ALL */
	/* Filled by diff_gate_judge(). */
	enum gate_verdict verdict;
	size_t matched;		/* functions with enough samples to judge */
	size_t too_few;		/* without */
	size_t row;		/* of diff.row, that decided */
	double change;		/* of it: relative or points, as the limit */
	double more;		/* GATE_UNCLEAR: times as many samples (recordings) as there are would tell 8 times of 10, if the change is as it looks; INFINITY: never so */
};

/* 0, or -EINVAL after a message. Own with diff_gate_fini(). */
int diff_gate_parse(struct diff_gate *g, const char *text);
void diff_gate_fini(struct diff_gate *g);

/*
 * Judges @g: GATE_FAIL when some function's increase is beyond the limit by more than chance, at diff_opts.alpha over all that
 * match; GATE_PASS when for each it is ruled out that it is beyond; functions below @min of all samples on both sides may fail but need not pass.
 * 0; -ENOENT after a message when the expression matches no function on either side.
 */
int diff_gate_judge(struct diff_gate *g, const struct diff *d, double min);

#endif
