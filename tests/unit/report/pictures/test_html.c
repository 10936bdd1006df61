/* The tree of a page, for one profile and for two, compared with the profiles' own stacks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "pictures/html.h"
#include "pictures/html_tree.h"
#include "profile/profile.h"
#include "random.h"

static uint32_t below(uint64_t *rnd, uint32_t n)
{
	return (uint32_t)(random_next(rnd) >> 20) % n;
}

/* Stacks of few names, so that they overlap; joined or not, with different sources. */
static struct profile *random_profile(uint64_t *rnd)
{
	struct profile *p = profile_new();
	uint32_t nnodes = 1 + below(rnd, 80);

	for (uint32_t i = 1; i < nnodes; i++) {
		const char name[] = { (char)('a' + below(rnd, 4)), '\0' };
		const struct profile_frame f = {
			.name = profile_string(p, name), .kind = (uint8_t)below(rnd, 2), .joined = below(rnd, 2),
			.source = profile_string(p, below(rnd, 2) ? "symtab" : "captured"),
		};
		uint32_t node = profile_child(p, below(rnd, p->nnodes), profile_frame(p, &f));
		const struct profile_count c = { .node = node, .samples = 1 };

		profile_count(p, &c);
	}
	profile_finish(p);
	return p;
}

/* "a 1;b 2;" from the root on: name and kind, which together identify a box. */
static void path_of(const struct profile *p, uint32_t node, struct strbuf *out)
{
	uint32_t path[128], n = 0;

	for (; node; node = p->nodes[node].parent)
		path[n++] = p->nodes[node].frame;
	while (n--)
		strbuf_addf(out, "%s %c;", profile_text(p, p->frames[path[n]].name), "12"[p->frames[path[n]].kind]);
	strbuf_add(out, "", 0);
}

/* The same for a node of the tree; its parent is the last less deep node before it. */
static void tree_path(const struct html_tree *t, uint32_t node, struct strbuf *out)
{
	uint32_t path[128], n = 0;

	for (uint32_t depth = t->nodes[node].depth, i = node; depth; i--)
		if (t->nodes[i].depth == depth) {
			path[n++] = t->frames[t->nodes[i].frame];
			depth--;
		}
	while (n--)
		strbuf_addf(out, "%s %c;", profile_text(t->all, t->all->frames[path[n]].name),
			    "12"[t->all->frames[path[n]].kind]);
	strbuf_add(out, "", 0);
}

static void check_tree(const struct profile *a, const struct profile *b)
{
	struct html_tree *t = html_tree_new(a, b);
	struct strbuf want = STRBUF_INIT, got = STRBUF_INIT, last = STRBUF_INIT;
	const struct profile *sides[2] = { a, b };

	for (int k = 0; k < 2 && sides[k]; k++)
		for (uint32_t i = 0; i < sides[k]->nnodes; i++) {
			strbuf_reset(&want);
			strbuf_reset(&got);
			path_of(sides[k], i, &want);
			tree_path(t, t->place[k][i], &got);
			assert_string_equal(got.s, want.s);
		}
	/* In the order of their paths, so no path occurs twice. */
	for (uint32_t i = 1; i < t->nnodes; i++) {
		strbuf_reset(&got);
		tree_path(t, i, &got);
		if (i > 1)
			assert_true(strcmp(last.s, got.s) < 0);
		strbuf_reset(&last);
		strbuf_adds(&last, got.s);
	}
	strbuf_fini(&want);
	strbuf_fini(&got);
	strbuf_fini(&last);
	html_tree_free(t);
}

static void test_trees(void **state)
{
	uint64_t rnd = 5;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct profile *a = random_profile(&rnd), *b = i % 3 ? random_profile(&rnd) : NULL;

		check_tree(a, b);
		profile_free(a);
		profile_free(b);
	}
}

/* A million frames deep: nothing may recurse. */
static void test_deep(void **state)
{
	struct profile *p = profile_new();
	const struct profile_frame f = { .name = profile_string(p, "again") };
	uint32_t frame = profile_frame(p, &f), node = 0;
	struct html_tree *t;

	(void)state;
	for (int i = 0; i < 1000000; i++)
		node = profile_child(p, node, frame);
	profile_count(p, &(struct profile_count){ .node = node, .samples = 1 });
	profile_finish(p);
	t = html_tree_new(p, NULL);
	assert_int_equal(t->nnodes, 1000001);
	assert_int_equal(t->nodes[1000000].depth, 1000000);
	html_tree_free(t);
	profile_free(p);
}

static char *page_of(const struct profile *a, const struct profile *b, const struct html_opts *o)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	html_write(a, b, o, to);
	assert_int_equal(fclose(to), 0);
	return text;
}

/*
 * Both profiles are there with their scales, and the verdicts on functions are at the frames with
 * their names.
 */
static void test_two_sides(void **state)
{
	const struct html_change changes[] = {
		{ .function = "", .total = { true, -1, 1, NAN, false } },
		{ .function = "b", .self = { true, -0.5, 0.25, 0.125, true } },
		{ .function = "nowhere", .total = { true, 0, 0, 1, false } },
	};
	const struct html_opts o = { .title = "t", .changes = changes, .nchanges = ARRAY_SIZE(changes), .scale_b = 0.5 };
	struct profile *p[2];
	char *text;

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct profile_frame f = { 0 };

		p[k] = profile_new();
		f.name = profile_string(p[k], "a");
		profile_child(p[k], 0, profile_frame(p[k], &f));
		f.name = profile_string(p[k], k ? "b" : "c");
		profile_count(p[k], &(struct profile_count){ .node = profile_child(p[k], 1, profile_frame(p[k], &f)),
							     .samples = 7 });
		profile_set_meta(p[k], "note", k ? "second" : "first");
		profile_finish(p[k]);
	}
	text = page_of(p[0], p[1], &o);
	assert_non_null(strstr(text, "\"label\":\"before\",\n\"scale\":1,\"samples\":7,"));
	assert_non_null(strstr(text, "\"label\":\"after\",\n\"scale\":0.5,\"samples\":7,"));
	assert_non_null(strstr(text, "[\"note\",\"first\"]"));
	assert_non_null(strstr(text, "[\"note\",\"second\"]"));
	/* Frames are in name order: a, b, c. */
	assert_non_null(strstr(text, "\"changes\":[[-1,null,[-1,1,null,false]],\n[1,[-0.5,0.25,0.125,true],null]],"));
	free(text);
	text = page_of(p[0], NULL, &o);
	assert_null(strstr(text, "\"label\":\"after\""));
	free(text);
	profile_free(p[0]);
	profile_free(p[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trees),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_two_sides),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
