/*
 * Folded text into a profile, whatever the order of its lines: compared with a list of all paths in
 * it, and with the same lines in another order. Also its picture, with and without the nodes that
 * are too narrow to be seen.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/xalloc.h"
#include "in_range.h"
#include "input/folded.h"
#include "pictures/svg.h"
#include "profile/lead_frames.h"
#include "profile/profile.h"
#include "random.h"
#include "views/calltree.h"

enum { LINES = 60, PATHS = LINES * 8 };

struct line {
	char text[160];		/* frames and ';' */
	uint64_t count;
};

/* All paths from a root, as texts without empty frames. */
struct paths {
	struct line path[PATHS];
	size_t n;
};

static uint32_t below(uint64_t *rnd, uint32_t n)
{
	return (uint32_t)(random_next(rnd) >> 20) % n;
}

/*
 * Frames of few names, so that stacks overlap. Frames that share a prefix continue with a byte that
 * sorts before ';' or after it; some are one or two words of eight bytes long, or one byte more or
 * less.
 */
static void random_stack(uint64_t *rnd, bool gaps, bool joined, char *text)
{
	static const char *const names[] = {
		"a", "b", "a-", "a:", "a~", "a b", "a 1", "aaaaaaa", "aaaaaaaa", "aaaaaaaab", "aaaaaaaaaaaaaaaa",
		"a_[k]", "a\xc3\xa4", "a_[joined]", "a_[joined]_[j]",
	};
	const uint32_t nnames = sizeof(names) / sizeof(*names) - (joined ? 0 : 2);
	uint32_t n = 1 + below(rnd, 5);

	*text = '\0';
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			strcat(text, ";");
		if (!gaps || below(rnd, 8))
			strcat(text, names[below(rnd, nnames)]);
	}
	/* A line of nothing but empty frames would be invalid. */
	if (!text[strspn(text, ";")])
		strcat(text, "a");
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

enum order { SORTED, NEARLY_SORTED, ANY };

static void random_lines(uint64_t *rnd, bool gaps, bool joined, enum order order, struct line *lines)
{
	for (int i = 0; i < LINES; i++) {
		random_stack(rnd, gaps, joined, lines[i].text);
		lines[i].count = 1 + (random_next(rnd) >> (44 + below(rnd, 20)));
	}
	if (order == ANY)
		return;
	qsort(lines, LINES, sizeof(*lines), by_text);
	if (order == NEARLY_SORTED) {
		struct line *a = &lines[below(rnd, LINES)], *b = &lines[below(rnd, LINES)], line = *a;

		*a = *b;
		*b = line;
	}
}

static struct profile *read_lines(const struct line *lines)
{
	struct profile *p = profile_new();
	struct strbuf text = STRBUF_INIT;
	struct folded_stats st;
	FILE *in;

	for (int i = 0; i < LINES; i++)
		strbuf_addf(&text, "%s %llu\n", lines[i].text, (unsigned long long)lines[i].count);
	in = fmemopen(text.s, text.len, "r");
	assert_non_null(in);
	assert_int_equal(folded_read(in, "text", p, &st), 0);
	assert_int_equal(st.lines, LINES);
	fclose(in);
	strbuf_fini(&text);
	profile_finish(p);
	return p;
}

static struct line *path_of(struct paths *all, const char *text)
{
	size_t i = 0;

	while (i < all->n && strcmp(all->path[i].text, text))
		i++;
	if (i == all->n) {
		strcpy(all->path[all->n].text, text);
		all->path[all->n++].count = 0;
	}
	return &all->path[i];
}

static void add_line(struct paths *all, const struct line *line)
{
	char path[sizeof(line->text)] = "";

	for (const char *s = line->text; *s; s += strspn(s, ";")) {
		size_t n = strcspn(s, ";");

		if (n && *path)
			strcat(path, ";");
		strncat(path, s, n);
		if (n)
			path_of(all, path);
		s += n;
	}
	path_of(all, path)->count += line->count;
}

static void node_text(const struct profile *p, uint32_t node, struct strbuf *to)
{
	static const char *const marks[PROFILE_KINDS] = { [PROFILE_KERNEL] = "_[k]", [PROFILE_JIT] = "_[j]" };
	const struct profile_frame *f = &p->frames[p->nodes[node].frame];

	if (p->nodes[node].parent) {
		node_text(p, p->nodes[node].parent, to);
		strbuf_addc(to, ';');
	}
	strbuf_addf(to, "%s%s%s", profile_text(p, f->name), f->joined ? "_[joined]" : "",
		    marks[f->kind] ? marks[f->kind] : "");
}

static void each_path_is_one_node(void **state)
{
	static struct line lines[LINES];
	static struct paths all;
	uint64_t rnd = 1;

	(void)state;
	for (int round = 0; round < 600; round++) {
		struct profile *p;

		random_lines(&rnd, round % 2, true, (enum order)(round / 2 % 3), lines);
		all.n = 0;
		for (int i = 0; i < LINES; i++)
			add_line(&all, &lines[i]);
		p = read_lines(lines);
		assert_int_equal(p->nnodes - 1, all.n);
		for (size_t i = 0; i < p->ncounts; i++) {
			struct strbuf text = STRBUF_INIT;
			struct line *path;

			node_text(p, p->counts[i].node, &text);
			path = path_of(&all, text.s);
			assert_int_equal(p->counts[i].samples, path->count);
			path->count = 0;
			strbuf_fini(&text);
		}
		for (size_t i = 0; i < all.n; i++)
			assert_int_equal(all.path[i].count, 0);
		profile_free(p);
	}
}

enum { MANY = 10000, LONG = 100000 };

/* The profile of @lines as text. Owned. */
static char *many_lines(char *const *lines)
{
	struct profile *p = profile_new(), *sorted;
	struct strbuf text = STRBUF_INIT;
	struct folded_stats st;
	char *out = NULL;
	size_t len;
	FILE *in, *to = open_memstream(&out, &len);

	for (int i = 0; i < MANY; i++)
		strbuf_addf(&text, "%s\n", lines[i]);
	in = fmemopen(text.s, text.len, "r");
	assert_non_null(in);
	assert_non_null(to);
	assert_int_equal(folded_read(in, "text", p, &st), 0);
	assert_int_equal(st.lines + st.bad, MANY);
	fclose(in);
	strbuf_fini(&text);
	profile_finish(p);
	sorted = profile_sorted(p);
	assert_int_equal(profile_write(to, sorted), 0);
	fclose(to);
	profile_free(sorted);
	profile_free(p);
	return out;
}

static int by_line(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void shuffle(uint64_t *rnd, char **lines)
{
	for (uint32_t i = MANY - 1; i; i--) {
		uint32_t k = below(rnd, i + 1);
		char *line = lines[i];

		lines[i] = lines[k];
		lines[k] = line;
	}
}

/* A stack of LONG frames, with others that share its first part. */
static char *long_line(uint32_t same)
{
	struct strbuf text = STRBUF_INIT;

	for (uint32_t i = 0; i < LONG; i++)
		strbuf_adds(&text, i < same ? "l;" : "m;");
	strbuf_adds(&text, "end 5");
	return text.s;
}

/*
 * More stacks than are looked up in one batch, some of them longer than a batch. Sorted ones are
 * appended. Unsorted ones are looked up by a second thread, or, with one CPU, without one.
 */
static void the_order_of_many_does_not_count(void **state)
{
	static char *lines[MANY];
	cpu_set_t all, one;
	uint64_t rnd = 3;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	for (int round = 0; round < 6; round++) {
		char *sorted, *other;

		for (uint32_t i = 0; i < MANY; i++) {
			char text[160];

			if (i % 50 == 49) {
				lines[i] = xstrdup(i % 100 == 99 ? lines[below(&rnd, i)] : "not a stack");
				continue;
			}
			if (i % 2500 == 0) {
				lines[i] = long_line(below(&rnd, LONG));
				continue;
			}
			random_stack(&rnd, round % 2, true, text);
			lines[i] = xasprintf("f%u;%s;%s %llu", below(&rnd, 500), text, text, (unsigned long long)
					     (round == 3 && i < 3 ? UINT64_MAX : 1 + random_next(&rnd) % 1000));
		}
		qsort(lines, MANY, sizeof(*lines), by_line);
		sorted = many_lines(lines);
		shuffle(&rnd, lines);
		assert_int_equal(sched_setaffinity(0, sizeof(one), round % 3 == 2 ? &one : &all), 0);
		other = many_lines(lines);
		assert_string_equal(sorted, other);
		free(sorted);
		free(other);
		for (uint32_t i = 0; i < MANY; i++)
			free(lines[i]);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/*
 * The picture of @p, from a tree with all nodes or from one with those the picture requests. Owned.
 * *@nodes: the number of nodes.
 */
static char *picture(const struct profile *p, bool all, uint32_t *nodes)
{
	const struct svg_opts opts = { .title = "t", .unit = "samples", .width = 300, .min_width = 4 };
	const struct lead none = { .n = 0 };
	struct calltree *t = calltree_of(p, &none, false, all ? 0 : svg_least(&opts));
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	assert_non_null(to);
	*nodes = t->n;
	assert_int_equal(t->nodes[0].total, p->samples);
	svg_write(t, &opts, to);
	fclose(to);
	calltree_free(t);
	return text;
}

static void what_is_too_narrow_is_not_missed(void **state)
{
	static struct line lines[LINES];
	uint64_t rnd = 2;
	uint32_t fewer = 0;

	(void)state;
	for (int round = 0; round < 100; round++) {
		struct profile *p;
		char *whole, *part;
		uint32_t n, m;

		/*
		 * A joined frame looks like the one that is not joined: such trees are built
		 * completely.
		 */
		random_lines(&rnd, false, round % 5 == 4, SORTED, lines);
		if (round % 10 == 3)
			lines[0].count = lines[1].count = UINT64_MAX;
		p = read_lines(lines);
		whole = picture(p, true, &n);
		part = picture(p, false, &m);
		assert_string_equal(whole, part);
		fewer += m < n;
		free(whole);
		free(part);
		profile_free(p);
	}
	assert_within(fewer, 50, 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_path_is_one_node), cmocka_unit_test(the_order_of_many_does_not_count),
		cmocka_unit_test(what_is_too_narrow_is_not_missed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
