/*
 * Shared by all formats of a comparison: which rows, in which order and unit, and the sentences
 * about them.
 */
#include "diff/diff_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "grid/distributions.h"
#include "grid/markdown.h"
#include "profile/profile.h"

/*
 * Remaining correlation of neighbouring batches from which a warning is printed. None of 150 pairs
 * of synthetic recordings of ten to sixty blocks without memory reaches it. Nine of ten of those
 * that remember for half or a sixth of their length do.
 */
#define SLOW 0.45

static double change_of(const struct diff *d, const struct diff_row *r, unsigned int value)
{
	return diff_rate(d, r, DIFF_AFTER, value) - diff_rate(d, r, DIFF_BEFORE, value);
}

static bool row_significant(const struct diff *d, const struct diff_row *r)
{
	return diff_significant(d, r, DIFF_SELF) || diff_significant(d, r, DIFF_TOTAL);
}

static int row_rank(const struct diff *d, const struct diff_row *r)
{
	return row_significant(d, r) ? 0 : diff_column(d, r, DIFF_SELF) || diff_column(d, r, DIFF_TOTAL) ? 1 : 2;
}

static double most_changed(const struct diff *d, const struct diff_row *r)
{
	return MAX(fabs(change_of(d, r, DIFF_SELF)), fabs(change_of(d, r, DIFF_TOTAL)));
}

/*
 * Sorts by self or total, whichever changed more. Callers change with their callees: among equals,
 * the function with the cost comes first.
 */
static int by_change(const void *a, const void *b, void *ctx)
{
	const struct diff *d = ctx;
	const struct diff_row *x = &d->row[*(const size_t *)a], *y = &d->row[*(const size_t *)b];
	int rank = row_rank(d, x) - row_rank(d, y);
	double cx, cy;

	if (rank)
		return rank;
	cx = most_changed(d, x);
	cy = most_changed(d, y);
	if (cx == cy) {
		cx = fabs(change_of(d, x, DIFF_SELF));
		cy = fabs(change_of(d, y, DIFF_SELF));
	}
	if (cx != cy)
		return cx < cy ? 1 : -1;
	return x->name == y->name ? (x->kind > y->kind) - (x->kind < y->kind) :
	       strcmp(intern_str(d->names, x->name), intern_str(d->names, y->name));
}

/* Amounts that are time (ns of a clock) are shown as time. */
static bool counts_time(const struct diff_view *v)
{
	const char *event = profile_meta(v->in[0].profile, "event");

	return v->d->opts.period && event && profile_time_of(event, profile_meta(v->in[0].profile, "event_unit"));
}

/* "samples", or "waits". */
static const char *counted(const struct diff_view *v)
{
	return profile_counted(profile_meta(v->in[0].profile, "event"));
}

static void choose_unit(struct diff_view *v)
{
	static const struct { double ns; const char *name; } times[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	double largest = MAX(diff_rate(v->d, &v->d->row[0], 0, DIFF_TOTAL), diff_rate(v->d, &v->d->row[0], 1, DIFF_TOTAL));
	size_t i = 0;

	v->factor = 1;
	v->unit = "";
	if (v->d->opts.per == DIFF_PER_TOTAL || (v->d->opts.per == DIFF_PER_SECOND && counts_time(v))) {
		v->factor = v->d->opts.per == DIFF_PER_TOTAL ? 100 : 1e-7;
		v->unit = "%";
	} else if (counts_time(v)) {
		while (i + 1 < ARRAY_SIZE(times) && largest < times[i].ns)
			i++;
		v->factor = 1 / times[i].ns;
		v->unit = times[i].name;
	}
}

void diff_view_init(struct diff_view *v)
{
	const struct diff *d = v->d;
	double all[DIFF_SIDES], min = v->percent_limit / 100;

	choose_unit(v);
	v->order = xcalloc(d->nrows, sizeof(*v->order));
	v->nrows = v->nsignificant = 0;
	for (unsigned int s = 0; s < DIFF_SIDES; s++)
		all[s] = diff_rate(d, &d->row[0], s, DIFF_TOTAL);
	for (size_t i = 1; i < d->nrows; i++) {
		bool significant = row_significant(d, &d->row[i]), large = false;

		for (unsigned int s = 0; s < DIFF_SIDES; s++)
			large = large || diff_rate(d, &d->row[i], s, DIFF_TOTAL) >= min * all[s];
		v->nsignificant += significant;
		if (significant || large)
			v->order[v->nrows++] = i;
	}
	if (v->nrows)
		qsort_r(v->order, v->nrows, sizeof(*v->order), by_change, (void *)d);
}

void diff_view_fini(struct diff_view *v)
{
	free(v->order);
	v->order = NULL;
}

/* ---- sentences ---- */

/* Appends the text of others: as code in Markdown. */
static void add_foreign(struct strbuf *out, const struct diff_view *v, const char *text)
{
	if (v->markdown)
		markdown_code(out, text, false);
	else
		escape_text(out, text);
}

static void add_name(struct strbuf *out, const struct diff_view *v, const struct diff_row *r)
{
	const char *name = r->name ? intern_str(v->d->names, r->name) : "all";

	strbuf_adds(out, v->markdown ? "" : "'");
	add_foreign(out, v, name);
	strbuf_adds(out, v->markdown ? "" : "'");
}

static const char *points(const struct diff_view *v)
{
	return v->d->opts.per == DIFF_PER_TOTAL ? " points" : v->unit;
}

/* "42%", "+261%", "new", "gone"; blank if both sides are 0. */
static void relative(const struct diff *d, const struct diff_row *r, unsigned int value, char out[16])
{
	double b = diff_rate(d, r, DIFF_BEFORE, value), a = diff_rate(d, r, DIFF_AFTER, value), by = 100 * (a - b) / b;

	if (!(b > 0))
		snprintf(out, 16, "%s", a > 0 ? "new" : "");
	else if (!(a > 0))
		snprintf(out, 16, "gone");
	else
		snprintf(out, 16, "%+.*f%%", fabs(by) < 99.95 ? 1 : 0, MIN(by, 99999));
}

/* "all: 10ms -> 12ms, +20.0% (+- 0.5ms), significant" */
static void add_all(const struct diff_view *v, struct strbuf *out)
{
	const struct diff *d = v->d;
	const struct diff_column *c = diff_column(d, &d->row[0], DIFF_TOTAL);
	char rel[16];

	relative(d, &d->row[0], DIFF_TOTAL, rel);
	strbuf_adds(out, "all: ");
	strbuf_add_number(out, v->factor * diff_rate(d, &d->row[0], DIFF_BEFORE, DIFF_TOTAL), 4);
	strbuf_addf(out, "%s -> ", v->unit);
	strbuf_add_number(out, v->factor * diff_rate(d, &d->row[0], DIFF_AFTER, DIFF_TOTAL), 4);
	strbuf_addf(out, "%s, %s", v->unit, rel);
	if (!c)
		return;
	strbuf_adds(out, " (+- ");
	strbuf_add_number(out, v->factor * dist_t_limit(0.05, c->df) * c->se, 2);
	strbuf_addf(out, "%s)%s", v->unit, diff_significant(d, &d->row[0], DIFF_TOTAL) ? ", significant" : "");
}

static int by_rate(const void *a, const void *b)
{
	const struct diff_column *x = *(const struct diff_column *const *)a, *y = *(const struct diff_column *const *)b;
	double rx = x->rate[0] + x->rate[1], ry = y->rate[0] + y->rate[1];

	return rx < ry ? 1 : rx > ry ? -1 : x < y ? -1 : x > y;
}

/*
 * Among the ten largest functions: the smallest and the largest change of self that would be found
 * in 8 of 10 cases. Returns how many of the ten have such a value.
 */
static size_t detectable(const struct diff *d, double *low, double *high)
{
	const struct diff_column **c = xcalloc(d->nrows, sizeof(*c));
	size_t n = 0;

	*low = INFINITY;
	*high = 0;
	for (size_t i = 1; i < d->nrows; i++)
		if (diff_column(d, &d->row[i], DIFF_SELF))
			c[n++] = diff_column(d, &d->row[i], DIFF_SELF);
	qsort(c, n, sizeof(const struct diff_column *), by_rate);
	for (size_t i = 0; i < MIN(n, 10); i++) {
		*low = MIN(*low, diff_stat_detectable(&d->stat, c[i]));
		*high = MAX(*high, diff_stat_detectable(&d->stat, c[i]));
	}
	free(c);
	return n;
}

/*
 * Appends which changes (@low to @high) of the @n most expensive functions would have been seen. A
 * share cannot change by more than 100 points.
 */
static void add_detectable(const struct diff_view *v, size_t n, double low, double high, struct strbuf *out)
{
	const double most = v->d->opts.per == DIFF_PER_TOTAL ? 100 : INFINITY;
	struct strbuf least = STRBUF_INIT, largest = STRBUF_INIT;

	if (low > most) {
		strbuf_adds(out, "; the recordings are too short for any change to be seen");
		return;
	}
	strbuf_add_number(&least, low, low < 100 ? 2 : 6);
	strbuf_add_number(&largest, high, high < 100 ? 2 : 6);
	strbuf_addf(out, "; of the %slargest, changes %s %s", n < 10 ? "" : "ten ", high > most ? "from" : "of", least.s);
	if (high <= most && strcmp(least.s, largest.s) != 0)
		strbuf_addf(out, " to %s", largest.s);
	strbuf_addf(out, "%s%s would have been seen%s", points(v), high > most ? " on" : "", high > most ? ", of some functions none" : "");
	strbuf_fini(&least);
	strbuf_fini(&largest);
}

static bool all_timed(const struct diff_view *v)
{
	for (size_t i = 0; i < v->nin; i++)
		if (!v->in[i].profile->block_ns)
			return false;
	return true;
}

void diff_view_summary(const struct diff_view *v, struct strbuf *out)
{
	const struct diff *d = v->d;
	double low, high;
	size_t n;

	if (v->aa) {
		strbuf_adds(out, "A/A test: changes are ");
		strbuf_add_number(out, diff_stat_noise(&d->stat), 2);
		strbuf_adds(out, " times as large as expected; ");
	}
	if (d->opts.per != DIFF_PER_TOTAL) {
		add_all(v, out);
		strbuf_adds(out, "; ");
	}
	if (d->stat.method == DIFF_BY_COUNT)
		strbuf_adds(out, all_timed(v) ? "inconclusive: the recordings are too short to see what varies"
					      : "inconclusive: without times or several files per version, nothing tells change from chance");
	else if (!v->nsignificant)
		strbuf_addf(out, "no significant change in %zu function%s", d->tested, plural(d->tested));
	else
		strbuf_addf(out, "%zu of %zu function%s changed significantly", v->nsignificant, d->tested, plural(d->tested));
	if (v->nsignificant) {
		const struct diff_row *r = &d->row[v->order[0]];
		unsigned int value = diff_significant(d, r, DIFF_SELF) ? DIFF_SELF : DIFF_TOTAL;

		strbuf_adds(out, ", most ");
		add_name(out, v, r);
		strbuf_addf(out, " (%s %.2f%s -> %.2f%s)", value == DIFF_SELF ? "self" : "total",
			    diff_rate(d, r, DIFF_BEFORE, value) * v->factor, v->unit, diff_rate(d, r, DIFF_AFTER, value) * v->factor,
			    v->unit);
	}
	n = d->stat.method == DIFF_BY_COUNT ? 0 : detectable(d, &low, &high);
	if (n)
		add_detectable(v, n, low * v->factor, high * v->factor, out);
}

/* ", cpu-clock:u, 99 Hz" */
static void add_event(const struct diff_view *v, const struct profile *p, struct strbuf *out)
{
	const char *event = profile_meta(p, "event"), *modifier = profile_meta(p, "event_modifier");
	const char *frequency = profile_meta(p, "frequency");
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "%s%s%s", event ? event : "", modifier ? ":" : "", modifier ? modifier : "");
	if (sb.len) {
		strbuf_adds(out, ", ");
		add_foreign(out, v, sb.s);
	}
	if (frequency) {
		strbuf_adds(out, ", ");
		add_foreign(out, v, frequency);
		strbuf_adds(out, " Hz");
	}
	strbuf_fini(&sb);
}

static void add_side(const struct diff_view *v, unsigned int side, const char *before, struct strbuf *out)
{
	const struct diff *d = v->d;
	const char *value;

	for (size_t i = 0; i < v->nin; i++) {
		const struct profile *p = v->in[i].profile;

		if (v->in[i].side != side)
			continue;
		strbuf_addf(out, "%s%s ", before, side == DIFF_BEFORE ? "before:" : "after: ");
		add_foreign(out, v, v->in[i].path);
		strbuf_addf(out, ", %" PRIu64 " %.*s%s", p->samples, (int)strlen(counted(v)) - 1, counted(v), plural(p->samples));
		add_event(v, p, out);
		value = profile_meta(p, "duration_ns");
		if (value)
			strbuf_addf(out, ", %.1f s", strtod(value, NULL) / 1e9);
		if (d->opts.per == DIFF_PER_UNIT)
			strbuf_addf(out, ", %g unit%s", v->in[i].scale, v->in[i].scale == 1 ? "" : "s");
		strbuf_addc(out, '\n');
	}
}

static void add_statistics(const struct diff_view *v, const char *before, struct strbuf *out)
{
	const struct diff_stat *st = &v->d->stat;
	double slow = MAX(st->correlation[0], st->correlation[1]);

	switch (st->method) {
	case DIFF_BY_TIME:
		strbuf_addf(out, "%sp: permutation test over %zu and %zu blocks of ", before, st->units[0], st->units[1]);
		strbuf_add_number(out, diff_unit_seconds(v->d, DIFF_BEFORE), 2);
		if (v->d->block_ns[DIFF_BEFORE] != v->d->block_ns[DIFF_AFTER]) {
			strbuf_adds(out, " s and ");
			strbuf_add_number(out, diff_unit_seconds(v->d, DIFF_AFTER), 2);
		}
		strbuf_adds(out, " s, corrected for the number of functions\n");
		strbuf_addf(out, "%sone recording per version tells nothing about run-to-run noise; %.2g %% per function is assumed (--run-noise)\n",
			    before, 100 * st->run_noise);
		if (slow > SLOW)
			strbuf_addf(out, "%sthe program changes slowly, and the recordings are short: findings may be chance; longer recordings would tell\n",
				    before);
		break;
	case DIFF_BY_RUNS:
		strbuf_addf(out, "%sp: moderated t test over %zu and %zu recordings, corrected for the number of functions; costs differ by %.2g %% from run to run\n", before,
			    st->units[0], st->units[1], 100 * st->run_noise);
		break;
	case DIFF_BY_COUNT:
		strbuf_addf(out, "%sintervals assume that samples are independent, which is not true: they are too narrow and give no verdict\n",
			    before);
		break;
	}
}

void diff_view_method(const struct diff_view *v, const char *before, struct strbuf *out)
{
	static const char *const per[] = {
		[DIFF_PER_TOTAL] = " per function, as a share of its side", [DIFF_PER_SECOND] = " per function and second",
		[DIFF_PER_UNIT] = " per function and unit",
	};
	const struct diff *d = v->d;

	add_side(v, DIFF_BEFORE, before, out);
	add_side(v, DIFF_AFTER, before, out);
	for (const char *line = v->notes; line && *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
		char *note = xstrndup(line, strcspn(line, "\n"));

		strbuf_adds(out, before);
		add_foreign(out, v, note);
		strbuf_addc(out, '\n');
		free(note);
	}
	strbuf_adds(out, before);
	strbuf_adds(out, !d->opts.period ? counted(v) : counts_time(v) ? profile_time_name(profile_meta(v->in[0].profile, "event")) : "events");
	strbuf_adds(out, per[d->opts.per]);
	strbuf_adds(out, "; +- is the 95 % interval of a single function\n");
	add_statistics(v, before, out);
}

static void add_more(struct strbuf *out, double times, const char *what)
{
	strbuf_adds(out, ": about ");
	strbuf_add_number(out, ceil(10 * times) / 10, 2);
	strbuf_addf(out, " times as many %s would tell", what);
}

void diff_view_gate(const struct diff_view *v, const struct diff_gate *g, struct strbuf *out)
{
	const struct diff *d = v->d;

	add_foreign(out, v, g->text);
	strbuf_addf(out, ": %s", g->verdict == GATE_PASS ? "passed" : g->verdict == GATE_FAIL ? "regression" : "inconclusive");
	if (!g->matched) {
		strbuf_addf(out, ", each matching function has fewer than %d %s", DIFF_SAMPLES_MIN, counted(v));
		return;
	}
	strbuf_adds(out, ", ");
	add_name(out, v, &d->row[g->row]);
	if (isinf(g->change))
		strbuf_adds(out, " is new");
	else
		strbuf_addf(out, " %+.2f%s", 100 * g->change, g->points ? " points" : " %");
	if (g->verdict != GATE_UNCLEAR)
		return;
	if (d->stat.method == DIFF_BY_COUNT)
		strbuf_adds(out, ": more recordings per version, or recordings with times, would tell");
	else if (d->stat.method == DIFF_BY_RUNS)
		add_more(out, g->more, "recordings");
	else if (isinf(g->more))
		strbuf_adds(out, ": no longer recording would tell, but several per version would");
	else
		add_more(out, g->more, counted(v));
}

/* ---- text ---- */

static void text_value(const struct diff_view *v, const struct diff_row *r, unsigned int value, FILE *to)
{
	const struct diff *d = v->d;
	const struct diff_column *c = diff_column(d, r, value);
	char rel[16];

	relative(d, r, value, rel);
	fprintf(to, " %7.2f %7.2f %+7.2f ", v->factor * diff_rate(d, r, DIFF_BEFORE, value), v->factor * diff_rate(d, r, DIFF_AFTER, value),
		v->factor * change_of(d, r, value));
	if (c)
		fprintf(to, "%6.2f", v->factor * dist_t_limit(0.05, c->df) * c->se);
	else
		fprintf(to, "%6s", "");
	fprintf(to, " %7s", rel);
}

static double row_p(const struct diff *d, const struct diff_row *r)
{
	const struct diff_column *s = diff_column(d, r, DIFF_SELF), *t = diff_column(d, r, DIFF_TOTAL);

	return MIN(s ? s->p_all : 1, t ? t->p_all : 1);
}

static void text_row(const struct diff_view *v, const struct diff_row *r, FILE *to)
{
	const struct diff *d = v->d;
	bool tested = diff_column(d, r, DIFF_SELF) || diff_column(d, r, DIFF_TOTAL), significant = row_significant(d, r);
	struct strbuf name = STRBUF_INIT;

	if (v->color)
		fputs(!significant ? "\033[2m" : change_of(d, r, DIFF_TOTAL) > 0 ? "\033[31m" : "\033[34m", to);
	putc(significant ? '*' : ' ', to);
	text_value(v, r, DIFF_SELF, to);
	fputs(" |", to);
	text_value(v, r, DIFF_TOTAL, to);
	if (tested && d->stat.method != DIFF_BY_COUNT)
		fprintf(to, " | %5.3f", row_p(d, r));
	else
		fprintf(to, " | %5s", "");
	escape_text(&name, intern_str(d->names, r->name));
	fprintf(to, " %c %s%s\n", "ukjil"[r->kind < PROFILE_KINDS ? r->kind : 0] == 'u' ? ' ' : "ukjil"[r->kind], name.s ? name.s : "",
		v->color ? "\033[0m" : "");
	strbuf_fini(&name);
}

static void text_head(const struct diff_view *v, FILE *to)
{
	struct strbuf method = STRBUF_INIT;
	char unit[16];

	diff_view_method(v, "# ", &method);
	fwrite(method.s, 1, method.len, to);
	strbuf_fini(&method);
	snprintf(unit, sizeof(unit), "%s%s", *v->unit ? "in " : "", v->unit);
	fprintf(to, "# * changed significantly; k kernel, j JIT, i inlined\n#\n"
		"# self %-5s                              | total                                   |\n"
		"# before   after  change    +-           |  before   after  change    +-          |     p   function\n", unit);
}

void diff_write_text(const struct diff_view *v, FILE *to)
{
	const struct diff *d = v->d;
	struct strbuf line = STRBUF_INIT;
	size_t n = v->limit ? MIN(v->nrows, v->limit) : v->nrows;

	text_head(v, to);
	for (size_t i = 0; i < n; i++)
		text_row(v, &d->row[v->order[i]], to);
	if (n < v->nrows)
		fprintf(to, "# and %zu more; -n 0 shows all\n", v->nrows - n);
	for (size_t i = 0; i < v->ngates; i++) {
		strbuf_reset(&line);
		diff_view_gate(v, &v->gates[i], &line);
		fprintf(to, "%s\n", line.s);
	}
	strbuf_reset(&line);
	diff_view_summary(v, &line);
	fprintf(to, "%s\n", line.s);
	strbuf_fini(&line);
}

/* ---- Markdown ---- */

static void md_name(const char *name, FILE *to)
{
	struct strbuf sb = STRBUF_INIT;

	markdown_code(&sb, name, true);
	fwrite(sb.s, 1, sb.len, to);
	strbuf_fini(&sb);
}

static void md_value(const struct diff_view *v, const struct diff_row *r, unsigned int value, FILE *to)
{
	const struct diff *d = v->d;
	const struct diff_column *c = diff_column(d, r, value);
	char rel[16];

	relative(d, r, value, rel);
	fprintf(to, " %.2f | %.2f | %+.2f", v->factor * diff_rate(d, r, DIFF_BEFORE, value), v->factor * diff_rate(d, r, DIFF_AFTER, value),
		v->factor * change_of(d, r, value));
	if (c)
		fprintf(to, " ± %.2f", v->factor * dist_t_limit(0.05, c->df) * c->se);
	fprintf(to, "%s%s%s |", *rel ? " (" : "", rel, *rel ? ")" : "");
}

void diff_write_md(const struct diff_view *view, FILE *to)
{
	struct diff_view copy = *view;
	const struct diff_view *v = &copy;
	const struct diff *d = v->d;
	struct strbuf text = STRBUF_INIT;
	size_t n = v->limit ? MIN(v->nrows, v->limit) : v->nrows;

	copy.markdown = true;
	fputs("### Profile: ", to);
	diff_view_summary(v, &text);
	fprintf(to, "%s\n\n", text.s);
	for (size_t i = 0; i < v->ngates; i++) {
		strbuf_reset(&text);
		diff_view_gate(v, &v->gates[i], &text);
		fputs(v->gates[i].verdict == GATE_PASS ? "- " : "- **", to);
		fprintf(to, "%s%s\n", text.s, v->gates[i].verdict == GATE_PASS ? "" : "**");
	}
	if (v->ngates)
		putc('\n', to);
	fprintf(to, "| | function | self before%s%s | after | change | total before%s%s | after | change | p |\n"
		"|---|---|---:|---:|---:|---:|---:|---:|---:|\n", *v->unit ? ", " : "", v->unit, *v->unit ? ", " : "", v->unit);
	for (size_t i = 0; i < n; i++) {
		const struct diff_row *r = &d->row[v->order[i]];

		fputs(row_significant(d, r) ? "| * | " : "| | ", to);
		md_name(intern_str(d->names, r->name), to);
		fputs(r->kind == PROFILE_KERNEL ? " [k] |" : " |", to);
		md_value(v, r, DIFF_SELF, to);
		md_value(v, r, DIFF_TOTAL, to);
		if (d->stat.method != DIFF_BY_COUNT && (diff_column(d, r, DIFF_SELF) || diff_column(d, r, DIFF_TOTAL)))
			fprintf(to, " %.3f |\n", row_p(d, r));
		else
			fputs(" |\n", to);
	}
	fputs("\n<details><summary>How</summary>\n\n", to);
	strbuf_reset(&text);
	diff_view_method(v, "- ", &text);
	if (n < v->nrows)
		strbuf_addf(&text, "- and %zu more function%s\n", v->nrows - n, plural(v->nrows - n));
	fprintf(to, "%s\n</details>\n", text.s);
	strbuf_fini(&text);
}
