#include "diff/diff_gate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "grid/distributions.h"

/*
 * No number of samples distinguishes a change close to the limit. One that is off by this part of
 * the limit must be distinguished.
 */
#define NEAR 0.25

int diff_gate_parse(struct diff_gate *g, const char *text)
{
	const char *gt = strrchr(text, '>'), *colon = strchr(text, ':'), *unit = "";
	char *end, *regex, error[200];
	int err;

	memset(g, 0, sizeof(*g));
	g->text = text;
	if (gt) {
		g->limit = strtod(gt + 1, &end) / 100;
		unit = end;
		g->points = !strcmp(unit, "pp");
	}
	if (!gt || unit == gt + 1 || (strcmp(unit, "%") && !g->points) || !(g->limit >= 0 && g->limit < 1e6))
		goto bad;
	if (gt - text == 5 && !strncmp(text, "total", 5)) {
		g->of = GATE_ALL;
		return 0;
	}
	if (!colon || colon > gt || colon + 1 == gt)
		goto bad;
	if (colon - text == 4 && !strncmp(text, "func", 4))
		g->of = GATE_TOTAL;
	else if (colon - text == 4 && !strncmp(text, "self", 4))
		g->of = GATE_SELF;
	else
		goto bad;
	regex = xstrndup(colon + 1, (size_t)(gt - colon - 1));
	err = regcomp(&g->regex, regex, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &g->regex, error, sizeof(error));
		pr_err("--fail-on '%s': invalid regular expression '%s': %s", text, regex, error);
		g->of = GATE_ALL;
	}
	free(regex);
	return err ? -EINVAL : 0;
bad:
	pr_err("--fail-on '%s': expected total>2%%, func:REGEX>5%% or self:REGEX>5%%, the limit in per cent or in points of the "
	       "total (0.5pp)", text);
	g->of = GATE_ALL;
	return -EINVAL;
}

void diff_gate_fini(struct diff_gate *g)
{
	if (g->of != GATE_ALL)
		regfree(&g->regex);
}

/* How far a change exceeds the limit, and the variance of that. Linear in the rates, so exact. */
struct excess {
	double value, var, unseen, change, scale;
};

static struct excess excess_of(const struct diff_gate *g, const struct diff *d, const struct diff_column *c)
{
	double all = diff_rate(d, &d->row[0], DIFF_BEFORE, DIFF_TOTAL), factor = g->points ? 1 : 1 + g->limit;
	struct excess e;

	e.scale = g->points ? all * g->limit : c->rate[DIFF_BEFORE] * g->limit;
	e.value = c->rate[DIFF_AFTER] - c->rate[DIFF_BEFORE] - e.scale;
	e.var = c->var[DIFF_AFTER] + factor * factor * c->var[DIFF_BEFORE];
	e.unseen = c->unseen * (1 + factor * factor) / 2;
	e.change = g->points ? (all > 0 ? c->change / all : 0) : c->rate[DIFF_BEFORE] > 0 ? c->change / c->rate[DIFF_BEFORE] : INFINITY;
	return e;
}

/*
 * The factor on the number of samples that would distinguish the change from the limit in 8 of 10
 * cases, if it is as it looks.
 */
static double more_samples(const struct excess *e, double critical)
{
	double target = MAX(fabs(e->value), NEAR * e->scale) / (critical + DIFF_POWER_80), room = target * target - e->unseen;

	return room > 0 ? MAX((e->var - e->unseen) / room, 1) : INFINITY;
}

struct judge {
	struct diff_gate *g;
	const struct diff *d;
	double min;
	double worst;		/* largest excess over its standard error, for the current verdict */
};

static void judge_row(struct judge *j, size_t row, const struct diff_column *c)
{
	struct diff_gate *g = j->g;
	const struct diff *d = j->d;
	double all = MAX(diff_rate(d, &d->row[0], DIFF_BEFORE, DIFF_TOTAL), diff_rate(d, &d->row[0], DIFF_AFTER, DIFF_TOTAL));
	struct excess e = excess_of(g, d, c);
	/*
	 * A failure needs one function of many, so its level is divided by their number. A pass
	 * needs all of them and no correction.
	 */
	double fail = dist_t_limit(2 * d->opts.alpha / (double)MAX(g->matched, 1), c->df), pass = dist_t_limit(2 * d->opts.alpha, c->df);
	double t = e.var > 0 ? e.value / sqrt(e.var) : e.value > 0 ? INFINITY : e.value < 0 ? -INFINITY : 0;
	enum gate_verdict v = t > fail ? GATE_FAIL : t < -pass ? GATE_PASS : GATE_UNCLEAR;
	bool small = MAX(c->rate[DIFF_BEFORE], c->rate[DIFF_AFTER]) < j->min * all;

	if (d->stat.method == DIFF_BY_COUNT)
		v = GATE_UNCLEAR;
	else if (v == GATE_UNCLEAR && small)
		v = GATE_PASS;
	/* FAIL beats UNCLEAR beats PASS; among equals, the largest excess wins. */
	if (g->row != SIZE_MAX && !(v == GATE_FAIL && g->verdict != GATE_FAIL) && !(v == GATE_UNCLEAR && g->verdict == GATE_PASS) &&
	    !(v == g->verdict && t > j->worst))
		return;
	j->worst = t;
	g->verdict = v;
	g->row = row;
	g->change = e.change;
	g->more = v == GATE_UNCLEAR ? more_samples(&e, e.value < 0 ? pass : fail) : 0;
}

int diff_gate_judge(struct diff_gate *g, const struct diff *d, double min)
{
	unsigned int value = g->of == GATE_SELF ? DIFF_SELF : DIFF_TOTAL;
	struct judge j = { g, d, min, -INFINITY };
	size_t named = 0;

	g->verdict = GATE_PASS;
	g->row = SIZE_MAX;
	/* Two passes: the number of functions determines how far each has to be off. */
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = g->of == GATE_ALL ? 0 : 1; i < (g->of == GATE_ALL ? 1 : d->nrows); i++) {
			const struct diff_column *c = diff_column(d, &d->row[i], value);

			if (g->of != GATE_ALL && regexec(&g->regex, intern_str(d->names, d->row[i].name), 0, NULL, 0))
				continue;
			if (pass && c)
				judge_row(&j, i, c);
			if (pass)
				continue;
			named++;
			g->matched += c != NULL;
			g->too_few += !c;
		}
	}
	if (!named) {
		pr_err("--fail-on '%s' matches no function on either side", g->text);
		return -ENOENT;
	}
	/* None has enough samples to judge. */
	if (!g->matched) {
		g->verdict = GATE_UNCLEAR;
		g->row = 0;
		g->more = INFINITY;
	}
	return 0;
}
