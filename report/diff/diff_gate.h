/* Conditions under which a comparison fails: "total>2%", "func:parse_.*>5%". */
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
	bool points;		/* limit in points of the total before; otherwise relative to the
				 * function's own cost before */
	double limit;		/* 0.02 for 2 % */
	regex_t regex;		/* unless GATE_ALL */
	/* Filled by diff_gate_judge(). */
	enum gate_verdict verdict;
	size_t matched;		/* functions with enough samples to judge */
	size_t too_few;		/* functions with too few */
	size_t row;		/* deciding row of diff.row */
	double change;		/* change of that row: relative or in points, as the limit */
	double more;		/* GATE_UNCLEAR: this many times the samples (or recordings) would
				 * decide in 8 of 10 cases, if the change is as it looks;
				 * INFINITY: no number would */
};

/* Returns 0, or -EINVAL after a message. Free with diff_gate_fini(). */
int diff_gate_parse(struct diff_gate *g, const char *text);
void diff_gate_fini(struct diff_gate *g);

/*
 * Judges @g. GATE_FAIL: some function's increase exceeds the limit by more than chance, at
 * diff_opts.alpha over all matching functions. GATE_PASS: for each function, an increase beyond the
 * limit is ruled out. A function below the share @min of all samples on both sides can fail the
 * gate but need not pass. Returns 0, or -ENOENT after a message if the expression matches no
 * function on either side.
 */
int diff_gate_judge(struct diff_gate *g, const struct diff *d, double min);

#endif
