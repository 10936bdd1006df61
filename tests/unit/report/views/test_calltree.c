/* Folded text into a profile, a profile into a call tree, and the table of functions. */
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
#include "input/folded.h"
#include "pictures/svg.h"
#include "profile/lead_frames.h"
#include "profile/profile.h"
#include "views/calltree.h"
#include "views/table.h"

static struct calltree *read_text(const char *text, size_t len, struct folded_stats *st)
{
	static const struct lead comm = { .by = { LEAD_COMM }, .n = 1 };	/* folded text
										 * has none */
	struct profile *p = profile_new();
	FILE *in = fmemopen((void *)text, len, "r");
	struct calltree *t;

	assert_non_null(in);
	assert_int_equal(folded_read(in, "text", p, st), 0);
	fclose(in);
	profile_finish(p);
	t = calltree_of(p, &comm, false, 0);
	assert_int_equal(t->nodes[0].total, p->samples);
	profile_free(p);
	return t;
}

static const struct calltree_node *node_at(const struct calltree *t, const char *path)
{
	uint32_t at = 0;

	while (*path) {
		size_t n = strcspn(path, ";");

		for (at = t->nodes[at].child; at; at = t->nodes[at].next) {
			const char *name = intern_str(t->names, t->nodes[at].name);

			if (strlen(name) == n && !memcmp(name, path, n))
				break;
		}
		if (!at)
			return NULL;
		path += n + (path[n] == ';');
	}
	return &t->nodes[at];
}

static void folded_counts(void **state)
{
	static const char text[] = "# comment\n"
				   "app;main;a b;leaf 3\n"
				   "app;main;a b 4\n"
				   "\n"
				   "app;main;vfs_read_[k] 2.9\n"
				   "app;js_[j];in_[i] 1\r\n"
				   "app;main;zero 0\n"
				   "no count\n"
				   "12\n"
				   "x 1e5\n"
				   " 5\n";
	struct folded_stats st;
	struct calltree *t = read_text(text, sizeof(text) - 1, &st);

	(void)state;
	assert_int_equal(st.lines, 5);
	assert_int_equal(st.bad, 4);
	assert_int_equal(t->nodes[0].total, 10);
	assert_int_equal(node_at(t, "app")->hue, HUE_USER);
	assert_int_equal(node_at(t, "app;main")->total, 9);
	assert_int_equal(node_at(t, "app;main;a b")->self, 4);
	assert_int_equal(node_at(t, "app;main;a b;leaf")->self, 3);
	assert_int_equal(node_at(t, "app;main;vfs_read")->hue, HUE_KERNEL);
	assert_int_equal(node_at(t, "app;js")->hue, HUE_JIT);
	assert_int_equal(node_at(t, "app;js;in")->hue, HUE_INLINED);
	assert_null(node_at(t, "app;main;zero"));
	calltree_free(t);
}

static void folded_overflow(void **state)
{
	static const char text[] = "a;b 18446744073709551615\na;b 5\na;c 99999999999999999999999\n";
	struct folded_stats st;
	struct calltree *t = read_text(text, sizeof(text) - 1, &st);

	(void)state;
	assert_true(node_at(t, "a;b")->self == UINT64_MAX);
	assert_true(node_at(t, "a")->total == UINT64_MAX);
	calltree_free(t);
}

/* Names with every byte value except the separators of folded text. */
static void folded_bytes(void **state)
{
	char text[64], want[64];
	int c;

	(void)state;
	for (c = 1; c < 256; c++) {
		struct folded_stats st;
		struct calltree *t;
		int n;

		if (strchr(";\n\r ", c))
			continue;
		n = snprintf(text, sizeof(text), "a;x%cy;b 7\n", c);
		t = read_text(text, (size_t)n, &st);
		assert_int_equal(st.lines, 1);
		snprintf(want, sizeof(want), c < 0x20 || c == 0x7f ? "a;x\\u{%x}y" : c < 0x80 ? "a;x%cy" : "a;x\\x{%x}y", c);
		assert_non_null(node_at(t, want));
		assert_int_equal(node_at(t, want)->total, 7);
		calltree_free(t);
	}
	{
		static const char nul[] = "a;x\0y 7\n";
		struct folded_stats st;
		struct calltree *t = read_text(nul, sizeof(nul) - 1, &st);

		assert_int_equal(st.bad, 1);
		calltree_free(t);
	}
}

static uint32_t add_frame(struct profile *p, const char *name, enum profile_kind kind, bool joined)
{
	const struct profile_frame f = { .name = profile_string(p, name), .kind = kind, .joined = joined };

	return profile_frame(p, &f);
}

/*
 * Leading frames come from threads. Threads with equal leading frames share one stack, in however
 * many blocks of time.
 */
static void leading_frames(void **state)
{
	struct profile *p = profile_new();
	uint32_t main = profile_child(p, 0, add_frame(p, "main", PROFILE_USER, false));
	uint32_t joined = profile_child(p, 0, add_frame(p, "main", PROFILE_USER, true));
	struct profile_thread th = {
		.container = profile_string(p, "web"), .comm = profile_string(p, "nginx"), .pid = 7, .tid = 8,
	};
	struct lead lead;
	struct calltree *t;

	(void)state;
	p->block_ns = 10;
	for (uint32_t i = 0; i < 4; i++) {
		const struct profile_count c = {
			.thread = profile_thread(p, &th), .block = i, .node = i & 1 ? joined : main,
			.samples = 1u << i, .period = 1000u << i,
		};

		profile_count(p, &c);
		/* 1, 2: two threads; 4: a helper; 8: one without a name, of several. */
		th.tid++;
		th.helper = i == 1;
		if (i == 2) {
			th.comm = 0;
			th.tid = PROFILE_TID_MERGED;
		}
	}
	profile_finish(p);
	assert_int_equal(lead_parse("container,thread", &lead), 0);
	t = calltree_of(p, &lead, false, 0);
	assert_int_equal(node_at(t, "web")->total, 15);
	assert_int_equal(node_at(t, "web")->hue, HUE_LEADING);
	assert_int_equal(node_at(t, "web;nginx-7/8;main")->self, 1);
	assert_int_equal(node_at(t, "web;nginx-7/9;main")->self, 2);
	assert_int_equal(node_at(t, "web;[runtime_helper];nginx-7/10;main")->self, 4);
	assert_int_equal(node_at(t, "web;[no_name]-7/N;main")->self, 8);
	calltree_free(t);
	assert_int_equal(lead_parse("none", &lead), 0);
	t = calltree_of(p, &lead, true, 0);
	assert_int_equal(node_at(t, "main")->self, 15000);
	calltree_free(t);
	profile_free(p);
}

/* Rows of the flat table for folded text, "children self samples symbol" each. Owned. */
static char *table(const char *text, size_t len, uint64_t limit, double percent, uint64_t *hidden)
{
	const struct table_opts opts = {
		.sort = { .keys = { SORT_SYMBOL }, .n = 1 }, .children = true, .limit = limit, .percent_limit = percent,
	};
	struct profile *p = profile_new();
	FILE *in = fmemopen((void *)text, len, "r");
	struct strbuf sb = STRBUF_INIT;
	struct folded_stats st;
	struct groups gs;
	struct grid g;

	assert_int_equal(folded_read(in, "text", p, &st), 0);
	fclose(in);
	profile_finish(p);
	*hidden = table_flat(p, &opts, &gs, &g);
	strbuf_adds(&sb, "");
	for (size_t i = 0; i < g.nrows; i++) {
		const struct grid_cell *c = g.cells + i * g.ncols;

		strbuf_addf(&sb, "%llu %llu %llu %s\n", (unsigned long long)c[0].n, (unsigned long long)c[1].n,
			    (unsigned long long)c[2].n, c[3].text);
	}
	grid_fini(&g);
	groups_fini(&gs);
	profile_free(p);
	return sb.s;
}

/*
 * f calls itself: 100 % of the samples pass through it, each counted once; self counts the samples
 * that end in it.
 */
static void table_recursion(void **state)
{
	static const char text[] = "main;f;f;f 6\nmain;f;g;f 2\nmain;f;g 2\n";
	uint64_t hidden;
	char *out = table(text, sizeof(text) - 1, 0, 0, &hidden);

	(void)state;
	assert_string_equal(out, "10 8 8 f\n10 0 0 main\n4 2 2 g\n");
	assert_int_equal(hidden, 0);
	free(out);
	out = table(text, sizeof(text) - 1, 1, 0, &hidden);
	assert_string_equal(out, "10 8 8 f\n");
	assert_int_equal(hidden, 2);
	free(out);
	out = table(text, sizeof(text) - 1, 0, 41, &hidden);
	assert_string_equal(out, "10 8 8 f\n10 0 0 main\n");
	assert_int_equal(hidden, 1);
	free(out);
}

/* A stack of a million frames must not recurse. */
static void deep_stack(void **state)
{
	size_t depth = 1000000, len = 2 * depth + 2, i;
	const struct table_opts opts = { .percent_limit = 0.5 };
	char *text = malloc(len + 1), *out;
	struct folded_stats st;
	uint64_t hidden;
	struct calltree *t;
	struct svg_opts svg = { .title = "deep", .unit = "samples", .width = 1200, .min_width = 0.1 };
	FILE *to = fopen("/dev/null", "w");

	(void)state;
	assert_non_null(text);
	for (i = 0; i < depth; i++)
		memcpy(text + 2 * i, "f;", 2);
	memcpy(text + 2 * depth - 1, " 9\n", 4);
	t = read_text(text, len, &st);
	assert_int_equal(t->depth, depth);
	out = table(text, len, 0, 0, &hidden);
	assert_string_equal(out, "9 9 9 f\n");
	table_tree_text(t, &opts, false, to);
	svg_write(t, &svg, to);
	assert_int_equal(ferror(to), 0);
	fclose(to);
	free(out);
	free(text);
	calltree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_counts), cmocka_unit_test(folded_overflow), cmocka_unit_test(folded_bytes),
		cmocka_unit_test(leading_frames), cmocka_unit_test(table_recursion), cmocka_unit_test(deep_stack),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
