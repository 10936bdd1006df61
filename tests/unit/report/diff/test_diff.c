/*
 * Two profiles side by side: rows, rates, what may be compared, what fails, and both in one tree.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/intern.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "diff/diff.h"
#include "diff/diff_comparable.h"
#include "diff/diff_gate.h"
#include "diff/diff_tree.h"
#include "grid/distributions.h"
#include "input/reshape.h"
#include "profile/profile.h"
#include "random.h"

static const struct diff_opts shares = { .per = DIFF_PER_TOTAL, .alpha = 0.05, .seed = 1 };

/*
 * Adds @samples of @stack, "l:app;main;i:inlined;k:read": frames, with the letter of their kind
 * before a colon. @period is the period of each sample.
 */
static void add(struct profile *p, uint32_t thread, uint32_t block, const char *stack, uint64_t samples, uint64_t period)
{
	static const char kinds[] = "ukjil";
	char *copy = strdup(stack), *save;
	uint32_t node = 0;
	struct profile_count c;

	assert_non_null(copy);
	for (char *s = strtok_r(copy, ";", &save); s; s = strtok_r(NULL, ";", &save)) {
		struct profile_frame f = { 0 };

		if (s[1] == ':' && strchr(kinds, s[0])) {
			f.kind = (uint8_t)(strchr(kinds, s[0]) - kinds);
			s += 2;
		}
		f.name = intern_add(p->strings, s);
		node = profile_child(p, node, profile_frame(p, &f));
	}
	c = (struct profile_count){ .thread = thread, .block = block, .node = node, .samples = samples, .period = samples * period };
	profile_count(p, &c);
	free(copy);
}

static const struct diff_row *row(const struct diff *d, const char *name)
{
	for (size_t i = 1; i < d->nrows; i++)
		if (!strcmp(intern_str(d->names, d->row[i].name), name))
			return &d->row[i];
	return NULL;
}

static struct diff *compare(const struct profile *before, const struct profile *after, const struct diff_opts *o)
{
	const struct diff_input in[] = { { before, "a", DIFF_BEFORE, 1 }, { after, "b", DIFF_AFTER, 1 } };

	return diff_new(in, 2, o);
}

static void assert_rates(const struct diff *d, const char *name, unsigned int value, double before, double after)
{
	const struct diff_row *r = row(d, name);

	assert_non_null(r);
	if (fabs(diff_rate(d, r, DIFF_BEFORE, value) - before) > 1e-9 || fabs(diff_rate(d, r, DIFF_AFTER, value) - after) > 1e-9)
		fail_msg("%s: %g -> %g, not %g -> %g", name, diff_rate(d, r, DIFF_BEFORE, value), diff_rate(d, r, DIFF_AFTER, value),
			 before, after);
}

/* Two builds of a program, made by hand. */
static void make_builds(struct profile **a, struct profile **b)
{
	*a = profile_new();
	add(*a, 0, 0, "l:app;main;f;f;g.constprop.0", 30, 1);
	add(*a, 0, 0, "l:app;main;f", 10, 1);
	add(*a, 0, 0, "l:app;main;old", 40, 1);
	add(*a, 0, 0, "l:app;main;f;i:small", 20, 1);
	profile_finish(*a);
	*b = profile_new();
	add(*b, 0, 0, "l:app;main;f;g.llvm.123", 90, 1);
	add(*b, 0, 0, "l:app;main;fresh;k:read", 60, 1);
	add(*b, 0, 0, "l:app;main;f", 50, 1);
	profile_finish(*b);
}

static void rows_by_hand(void **unused)
{
	struct diff_opts o = shares;
	struct profile *a, *b;
	struct diff *d;

	(void)unused;
	make_builds(&a, &b);
	d = compare(a, b, &o);
	assert_null(row(d, "app"));
	assert_rates(d, "main", DIFF_TOTAL, 1, 1);
	assert_rates(d, "main", DIFF_SELF, 0, 0);
	assert_rates(d, "f", DIFF_TOTAL, 0.6, 0.7);
	assert_rates(d, "f", DIFF_SELF, 0.1, 0.25);
	assert_rates(d, "g", DIFF_SELF, 0.3, 0.45);
	assert_rates(d, "old", DIFF_TOTAL, 0.4, 0);
	assert_rates(d, "fresh", DIFF_TOTAL, 0, 0.3);
	assert_rates(d, "fresh", DIFF_SELF, 0, 0);
	assert_rates(d, "read", DIFF_SELF, 0, 0.3);
	assert_rates(d, "small", DIFF_SELF, 0.2, 0);
	assert_int_equal(row(d, "read")->kind, PROFILE_KERNEL);
	/* fresh and read have the same samples: fresh's total is read's self. */
	assert_int_equal(row(d, "fresh")->column[DIFF_TOTAL], row(d, "read")->column[DIFF_SELF]);
	/* Without times nothing is significant. */
	assert_int_equal(d->stat.method, DIFF_BY_COUNT);
	assert_false(diff_significant(d, row(d, "old"), DIFF_SELF));
	diff_free(d);

	a = reshape(a, true, false);
	b = reshape(b, true, false);
	o.keep_names = true;
	d = compare(a, b, &o);
	assert_null(row(d, "g"));
	assert_rates(d, "g.llvm.123", DIFF_SELF, 0, 0.45);
	assert_rates(d, "f", DIFF_SELF, 0.3, 0.25);
	assert_null(row(d, "small"));
	diff_free(d);
	profile_free(a);
	profile_free(b);
}

static uint64_t state;

/* "name" has on average @share of the @per_block samples in each block. */
static struct profile *made_up(double share, unsigned int per_block, uint64_t period, uint32_t blocks)
{
	struct profile *p = profile_new();

	p->block_ns = 100000000;
	for (uint32_t b = 0; b < blocks; b++) {
		unsigned int n = 0;

		for (unsigned int i = 0; i < per_block; i++)
			n += (double)(random_next(&state) >> 11) / 9007199254740992.0 < share;
		add(p, 0, b, "_start;main;name", n, period);
		add(p, 0, b, "_start;main;rest", per_block - n, period);
	}
	profile_finish(p);
	return p;
}

static void rates_do_not_matter(void **unused)
{
	struct diff_opts o = shares;
	struct profile *a, *b;
	struct diff *d;

	(void)unused;
	state = 5;
	a = made_up(0.3, 100, 1000000, 40);
	b = made_up(0.3, 10, 10000000, 40);
	o.period = true;
	d = compare(a, b, &o);
	assert_int_equal(d->stat.method, DIFF_BY_TIME);
	assert_true(fabs(diff_rate(d, row(d, "name"), DIFF_AFTER, DIFF_SELF) - 0.3) < 0.1);
	assert_false(diff_significant(d, row(d, "name"), DIFF_SELF));
	assert_int_equal(row(d, "_start")->column[DIFF_TOTAL], row(d, "main")->column[DIFF_TOTAL]);
	diff_free(d);
	/* CPU time per second: 0.1 s of samples in each 0.1 s, in both profiles. */
	o.per = DIFF_PER_SECOND;
	d = compare(a, b, &o);
	assert_true(fabs(diff_rate(d, &d->row[0], DIFF_BEFORE, DIFF_TOTAL) - 1e9) < 1);
	assert_true(fabs(diff_rate(d, &d->row[0], DIFF_AFTER, DIFF_TOTAL) - 1e9) < 1);
	assert_false(diff_significant(d, &d->row[0], DIFF_TOTAL));
	diff_free(d);
	profile_free(a);
	profile_free(b);
}

static struct diff_gate judged(const char *text, const struct diff *d, int want)
{
	struct diff_gate g;

	assert_int_equal(diff_gate_parse(&g, text), 0);
	assert_int_equal(diff_gate_judge(&g, d, 0.001), want);
	diff_gate_fini(&g);
	return g;
}

static void gates(void **unused)
{
	static const char *const bad[] = {
		"", "total", "total>", "total>2", "total>x%", "total>-1%", "func:>2%", "func:f", "func:(>2%", "fun:f>2%", "self:f>2 %",
		"total>nan%", "total>inf%",
	};
	struct profile *a, *b, *c;
	struct diff *d;
	struct diff_gate g;

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(diff_gate_parse(&g, bad[i]) < 0);
		diff_gate_fini(&g);
	}
	state = 6;
	a = made_up(0.3, 100, 1, 60);
	b = made_up(0.36, 100, 1, 60);
	c = made_up(0.3, 100, 1, 60);
	d = compare(a, b, &shares);
	/* +20 %, which 6,000 samples per profile show to about +- 5. */
	assert_true(diff_significant(d, row(d, "name"), DIFF_SELF));
	assert_int_equal(judged("func:name>5%", d, 0).verdict, GATE_FAIL);
	assert_int_equal(judged("self:^na>5%", d, 0).verdict, GATE_FAIL);
	assert_int_equal(judged("func:name>3pp", d, 0).verdict, GATE_FAIL);
	assert_int_equal(judged("func:name>40%", d, 0).verdict, GATE_PASS);
	assert_int_equal(judged("func:rest>5%", d, 0).verdict, GATE_PASS);
	g = judged("func:name>18%", d, 0);
	assert_int_equal(g.verdict, GATE_UNCLEAR);
	assert_true(g.more > 1);
	judged("func:nosuch>1%", d, -2);
	diff_free(d);
	d = compare(a, c, &shares);
	assert_int_equal(judged("func:name>20%", d, 0).verdict, GATE_PASS);
	assert_int_equal(judged("func:name>0.1%", d, 0).verdict, GATE_UNCLEAR);
	diff_free(d);
	profile_free(a);
	profile_free(b);
	profile_free(c);
}

/*
 * How many samples would show an excess of the apparent size in 8 of 10 comparisons. The standard
 * error shrinks with the square root of the samples.
 */
static void so_many_would_tell(void **unused)
{
	struct profile *a, *b;
	struct diff *d;

	(void)unused;
	state = 12;
	a = made_up(0.3, 100, 1, 60);
	b = made_up(0.33, 100, 1, 60);
	d = compare(a, b, &shares);
	for (int limit = 5; limit <= 15; limit += 10) {
		const struct diff_column *c = diff_column(d, row(d, "name"), DIFF_TOTAL);
		double factor = 1 + limit / 100.0, excess = c->rate[DIFF_AFTER] - factor * c->rate[DIFF_BEFORE];
		double se = sqrt(c->var[DIFF_AFTER] + factor * factor * c->var[DIFF_BEFORE]), beyond;
		char text[32];

		snprintf(text, sizeof(text), "func:^name$>%d%%", limit);
		beyond = fabs(excess) / (se / sqrt(judged(text, d, 0).more)) - dist_t_limit(0.1, c->df);
		assert_true((excess > 0) == (limit == 5));
		assert_true(fabs(dist_normal(beyond) - 0.8) < 1e-3);
	}
	diff_free(d);
	profile_free(a);
	profile_free(b);
}

/* How many reasons forbid comparing @a with @b. */
static size_t reasons(struct profile *a, struct profile *b, const struct diff_opts *o, char **text)
{
	const struct diff_input in[] = { { a, "a", DIFF_BEFORE, 1 }, { b, "b", DIFF_AFTER, 1 } };
	struct strbuf why = STRBUF_INIT, notes = STRBUF_INIT;
	size_t n = diff_fit(in, 2, o, &why, &notes);

	free(*text);
	*text = strdup(why.s ? why.s : "");
	strbuf_fini(&why);
	strbuf_fini(&notes);
	return n;
}

static struct profile *with(const char *key, const char *value)
{
	struct profile *p = profile_new();

	add(p, 0, 0, "main", 1000, 1);
	if (strcmp(key, "event"))
		profile_set_meta(p, "event", "cpu-clock");
	if (strcmp(key, "kept"))
		profile_set_meta(p, "kept", "1000");
	profile_set_meta(p, key, value);
	profile_finish(p);
	return p;
}

static void what_fits(void **unused)
{
	static const struct { const char *key, *a, *b, *why; } pairs[] = {
		{ "event", "cpu-clock", "cycles", "different events: 'a' has event cpu-clock, 'b' cycles" },
		{ "event_modifier", "u", "k", "different parts of the event" },
		{ "call_graph", "dwarf", "fp", "different kinds of stacks" },
		{ "inlines", "0", "1", "inlined functions on one side only (--no-inline leaves them out)" },
		{ "lost", "10", "200", "losses differ too much: 1.0 % of the samples of 'a', 16.7 % of 'b'" },
		{ "truncated", "0", "300", "shares of truncated stacks differ too much" },
		{ "incomplete", "500", "300", "shares of stacks without a root differ too much" },
		{ "frequency", "99", "999", NULL },
		{ "hostname", "x", "y", NULL },
		{ "lost", "10", "20", NULL },
		{ "stack_bytes", "8192", "65528", NULL },
	};
	struct diff_opts o = shares;
	struct profile *a, *b;
	char *text = NULL;

	(void)unused;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		a = with(pairs[i].key, pairs[i].a);
		b = with(pairs[i].key, pairs[i].b);
		assert_int_equal(reasons(a, b, &o, &text), pairs[i].why ? 1 : 0);
		if (pairs[i].why && !strstr(text, pairs[i].why))
			fail_msg("'%s' does not say '%s'", text, pairs[i].why);
		profile_free(a);
		profile_free(b);
	}
	a = with("note", "x");
	b = profile_new();
	profile_finish(b);
	assert_int_equal(reasons(a, b, &o, &text), 1);
	assert_non_null(strstr(text, "'b' has no samples"));
	profile_free(b);
	b = profile_new();
	add(b, 0, 0, "main", UINT64_MAX, 0);
	add(b, 0, 0, "main;f", 5, 0);
	profile_finish(b);
	assert_int_equal(reasons(a, b, &o, &text), 1);
	assert_non_null(strstr(text, "overflow 64 bits"));
	profile_free(b);
	b = profile_new();
	add(b, 0, 0, "main", 5, 0);
	profile_finish(b);
	o.period = true;
	assert_int_equal(reasons(a, b, &o, &text), 1);
	assert_non_null(strstr(text, "has no periods"));
	o.period = false;
	o.per = DIFF_PER_SECOND;
	assert_int_equal(reasons(a, b, &o, &text), 2);
	profile_free(a);
	profile_free(b);
	free(text);
}

static void both_in_one_tree(void **unused)
{
	struct diff_opts o = shares;
	struct diff_input in[2] = { { .path = "a", .side = DIFF_BEFORE }, { .path = "b", .side = DIFF_AFTER } };
	struct profile *a, *b;
	struct diff_tree *t;
	struct diff *d;
	char *out = NULL;
	size_t len;
	FILE *to;

	(void)unused;
	make_builds(&a, &b);
	in[0].profile = a;
	in[1].profile = b;
	d = diff_new(in, 2, &o);
	t = diff_tree_new(in, 2, d);
	to = open_memstream(&out, &len);
	diff_write_folded(t, to);
	fclose(to);
	/* 100 samples before, 200 after: those before count twice. */
	assert_string_equal(out, "app;main;f 20 50\n"
				 "app;main;f;f;g 60 0\n"
				 "app;main;f;g 0 90\n"
				 "app;main;f;small 40 0\n"
				 "app;main;fresh;read 0 60\n"
				 "app;main;old 80 0\n");
	free(out);
	diff_tree_free(t);
	diff_free(d);
	profile_free(a);
	profile_free(b);
}

/*
 * Eight workers, each with a function of its own: the difference between them shows, although no
 * time does.
 */
static void workers_that_keep_their_work(void **unused)
{
	double se[2];

	(void)unused;
	for (int apart = 0; apart < 2; apart++) {
		struct profile *p[2];
		struct diff *d;

		state = 8;
		for (int s = 0; s < 2; s++) {
			p[s] = profile_new();
			p[s]->block_ns = 1000000;
			for (uint32_t b = 0; b < 40; b++)
				for (int w = 0; w < 8; w++) {
					struct profile_thread th = { .pid = 1, .tid = 10 + w, .nspid = -1 };
					char name[16];

					snprintf(name, sizeof(name), "worker-%d", w);
					th.comm = intern_add(p[s]->strings, name);
					add(p[s], apart ? profile_thread(p[s], &th) : 0, b, w < 4 ? "main;a" : "main;b",
					    20 + random_next(&state) % 10, 1);
				}
			profile_finish(p[s]);
		}
		d = compare(p[0], p[1], &shares);
		se[apart] = diff_column(d, row(d, "a"), DIFF_SELF)->se;
		diff_free(d);
		profile_free(p[0]);
		profile_free(p[1]);
	}
	/*
	 * Tossing eight coins gives 4 +- 1.4 heads: a share of a half, known to +- 0.18 per
	 * profile.
	 */
	assert_true(se[0] < 0.02);
	assert_true(se[1] > 0.2 && se[1] < 0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_by_hand),
		cmocka_unit_test(rates_do_not_matter),
		cmocka_unit_test(gates),
		cmocka_unit_test(so_many_would_tell),
		cmocka_unit_test(what_fits),
		cmocka_unit_test(both_in_one_tree),
		cmocka_unit_test(workers_that_keep_their_work),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
