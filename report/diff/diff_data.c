/* A comparison as JSON and CSV. */
#include <math.h>
#include <string.h>

#include "base/intern.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "bytes/json.h"
#include "diff/diff_view.h"
#include "grid/csv.h"
#include "grid/distributions.h"
#include "profile/profile.h"

static const char *const value_names[DIFF_VALUES] = { "self", "total" };
static const char *const method_names[] = {
	[DIFF_BY_TIME] = "blocks of time", [DIFF_BY_RUNS] = "recordings", [DIFF_BY_COUNT] = "counts",
};
static const char *const per_names[] = {
	[DIFF_PER_TOTAL] = "total", [DIFF_PER_SECOND] = "second", [DIFF_PER_UNIT] = "unit",
};
static const char *const kind_names[PROFILE_KINDS] = {
	[PROFILE_USER] = "user", [PROFILE_KERNEL] = "kernel", [PROFILE_JIT] = "jit", [PROFILE_INLINED] = "inlined",
	[PROFILE_LEADING] = "leading",
};
static const char *const verdict_names[] = { [GATE_PASS] = "pass", [GATE_FAIL] = "regression", [GATE_UNCLEAR] = "inconclusive" };

/* JSON has no infinity: the member is then left out. */
static void json_number(struct json *j, const char *key, double v)
{
	if (isfinite(v))
		json_double(j, key, v);
}

static void json_value(const struct diff *d, const struct diff_row *r, unsigned int value, struct json *j)
{
	const struct diff_column *c = diff_column(d, r, value);
	double b = diff_rate(d, r, DIFF_BEFORE, value), a = diff_rate(d, r, DIFF_AFTER, value);

	json_begin_object(j, value_names[value]);
	json_number(j, "before", b);
	json_number(j, "after", a);
	json_number(j, "change", a - b);
	if (b > 0)
		json_number(j, "relative", (a - b) / b);
	json_u64(j, "samples_before", (uint64_t)r->samples[DIFF_BEFORE][value]);
	json_u64(j, "samples_after", (uint64_t)r->samples[DIFF_AFTER][value]);
	json_bool(j, "tested", c);
	if (c) {
		double half = dist_t_limit(0.05, c->df) * c->se;

		json_number(j, "se", c->se);
		json_number(j, "low", c->change - half);
		json_number(j, "high", c->change + half);
		if (d->stat.method != DIFF_BY_COUNT) {
			json_number(j, "p_alone", c->p);
			json_number(j, "p", c->p_all);
			json_number(j, "detectable", diff_stat_detectable(&d->stat, c));
		}
		json_bool(j, "significant", diff_significant(d, r, value));
	}
	json_end_object(j);
}

static void json_inputs(const struct diff_view *v, unsigned int side, struct json *j)
{
	json_begin_array(j, side == DIFF_BEFORE ? "before" : "after");
	for (size_t i = 0; i < v->nin; i++) {
		const struct profile *p = v->in[i].profile;
		const char *event = profile_meta(p, "event");

		if (v->in[i].side != side)
			continue;
		json_begin_object(j, NULL);
		json_str(j, "file", v->in[i].path);
		json_str(j, "event", event ? event : "");
		json_u64(j, "samples", p->samples);
		json_u64(j, "period", p->period);
		if (v->d->opts.per == DIFF_PER_UNIT)
			json_number(j, "scale", v->in[i].scale);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_gates(const struct diff_view *v, struct json *j)
{
	json_begin_array(j, "fail_on");
	for (size_t i = 0; i < v->ngates; i++) {
		const struct diff_gate *g = &v->gates[i];

		json_begin_object(j, NULL);
		json_str(j, "condition", g->text);
		json_str(j, "verdict", verdict_names[g->verdict]);
		json_u64(j, "judged", g->matched);
		json_u64(j, "too_few_samples", g->too_few);
		if (g->matched) {
			json_str(j, "function", g->row ? intern_str(v->d->names, v->d->row[g->row].name) : "");
			json_number(j, "change", g->change);
		}
		if (g->verdict == GATE_UNCLEAR)
			json_number(j, "more_samples", g->more);
		json_end_object(j);
	}
	json_end_array(j);
}

void diff_write_json(const struct diff_view *v, FILE *to)
{
	const struct diff *d = v->d;
	const bool by_time = d->stat.method == DIFF_BY_TIME;
	struct json *j = json_new(to);
	struct strbuf summary = STRBUF_INIT;

	diff_view_summary(v, &summary);
	json_begin_object(j, NULL);
	json_str(j, "summary", summary.s);
	json_inputs(v, DIFF_BEFORE, j);
	json_inputs(v, DIFF_AFTER, j);
	json_str(j, "per", per_names[d->opts.per]);
	json_str(j, "weight", d->opts.period ? "period" : "samples");
	json_str(j, "notes", v->notes ? v->notes : "");
	json_begin_object(j, "statistics");
	json_str(j, "by", method_names[d->stat.method]);
	json_u64(j, "units_before", d->stat.units[DIFF_BEFORE]);
	json_u64(j, "units_after", d->stat.units[DIFF_AFTER]);
	json_number(j, "unit_seconds_before", by_time ? diff_unit_seconds(d, DIFF_BEFORE) : INFINITY);
	json_number(j, "unit_seconds_after", by_time ? diff_unit_seconds(d, DIFF_AFTER) : INFINITY);
	json_number(j, "correlation_before", d->stat.correlation[DIFF_BEFORE]);
	json_number(j, "correlation_after", d->stat.correlation[DIFF_AFTER]);
	json_number(j, "run_noise", d->stat.run_noise);
	json_number(j, "noise", diff_stat_noise(&d->stat));
	json_number(j, "alpha", d->opts.alpha);
	json_number(j, "critical", d->stat.critical);
	json_u64(j, "tested", d->tested);
	json_u64(j, "columns", d->stat.ncolumns);
	json_u64(j, "significant", v->nsignificant);
	json_end_object(j);
	json_gates(v, j);
	json_begin_object(j, "all");
	json_value(d, &d->row[0], DIFF_TOTAL, j);
	json_end_object(j);
	json_begin_array(j, "functions");
	for (size_t i = 0; i < v->nrows; i++) {
		const struct diff_row *r = &d->row[v->order[i]];

		json_begin_object(j, NULL);
		json_str(j, "name", intern_str(d->names, r->name));
		json_str(j, "kind", kind_names[r->kind]);
		for (unsigned int value = 0; value < DIFF_VALUES; value++)
			json_value(d, r, value, j);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
	json_free(j);
	strbuf_fini(&summary);
}

void diff_write_csv(const struct diff_view *v, FILE *to)
{
	const struct diff *d = v->d;

	fputs("function", to);
	for (unsigned int value = 0; value < DIFF_VALUES; value++)
		fprintf(to, ",%s_before,%s_after,%s_change,%s_low,%s_high,%s_p,%s_significant", value_names[value], value_names[value],
			value_names[value], value_names[value], value_names[value], value_names[value], value_names[value]);
	fputs(",kind\n", to);
	for (size_t i = 0; i < v->nrows; i++) {
		const struct diff_row *r = &d->row[v->order[i]];

		csv_quoted(intern_str(d->names, r->name), to);
		for (unsigned int value = 0; value < DIFF_VALUES; value++) {
			const struct diff_column *c = diff_column(d, r, value);
			double b = diff_rate(d, r, DIFF_BEFORE, value), a = diff_rate(d, r, DIFF_AFTER, value);

			fprintf(to, ",%.8g,%.8g,%.8g", b, a, a - b);
			if (c) {
				double half = dist_t_limit(0.05, c->df) * c->se;

				fprintf(to, ",%.8g,%.8g,", c->change - half, c->change + half);
				if (d->stat.method != DIFF_BY_COUNT)
					fprintf(to, "%.4g", c->p_all);
				fprintf(to, ",%d", diff_significant(d, r, value));
			} else {
				fputs(",,,,0", to);
			}
		}
		fprintf(to, ",%s\n", kind_names[r->kind]);
	}
}
