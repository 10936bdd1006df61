/* Folded output: order, merging, leading frames, placeholders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/strbuf.h"
#include "output/to_folded.h"
#include "profile/folded_frame.h"
#include "replay/leading_frames.h"

/* ---- whole output ---- */

struct fixture {
	struct modules *mods;
	struct replay *rp;
	struct intern *texts;
	struct locations locs;
	struct stacktree tree;
};

static void fixture_init(struct fixture *f)
{
	f->mods = modules_new();
	f->rp = replay_new(f->mods);
	f->texts = intern_new();
	locations_init(&f->locs);
	stacktree_init(&f->tree);
}

static void fixture_fini(struct fixture *f)
{
	stacktree_fini(&f->tree);
	locations_fini(&f->locs);
	intern_free(f->texts);
	replay_free(f->rp);
	modules_free(f->mods);
}

static uint32_t text(struct fixture *f, const char *s)
{
	struct location loc = { .kind = LOC_TEXT, .owner = intern_add(f->texts, s) };

	return locations_id(&f->locs, &loc);
}

/* "a;b;c" root first. */
static void stack(struct fixture *f, const char *folded, uint64_t samples, uint64_t period)
{
	char *copy = strdup(folded), *save = NULL, *s;
	uint32_t node = STACKTREE_ROOT;

	for (s = strtok_r(copy, ";", &save); s; s = strtok_r(NULL, ";", &save))
		node = stacktree_child(&f->tree, node, text(f, s));
	stacktree_count(&f->tree, node, samples, period);
	free(copy);
}

static char *output(struct fixture *f, const struct naming_opts *opts, enum fold_weight weight)
{
	struct naming nm;
	char *buf = NULL;
	size_t size;
	FILE *to = open_memstream(&buf, &size);

	naming_run(&nm, opts, f->rp, &f->locs, f->texts);
	fold_write(to, &f->tree, &nm, weight);
	fclose(to);
	naming_fini(&nm);
	return buf;
}

static void test_sorted_and_weighted(void **state)
{
	static const struct naming_opts opts = { .demangle = true };
	struct fixture f;
	char *out;

	(void)state;
	fixture_init(&f);
	stack(&f, "b;y", 1, 10);
	stack(&f, "a;foo bar;x", 4, 40);
	stack(&f, "a;foo;x", 2, 20);
	stack(&f, "a;foo", 12, 30);
	stack(&f, "a;foo 1x", 5, 50);
	stack(&f, "a;foo 12", 3, 30);
	stack(&f, "a;foo 12;x", 8, 80);
	stack(&f, "a;foo!", 6, 60);
	stack(&f, "a;\xc3\xb6", 7, 70);
	stack(&f, "a;foo", 1, 5);
	/*
	 * The order that "LC_ALL=C sort" gives these lines: ' ' 0x20 < '!' 0x21 < ';' 0x3b; bytes
	 * above 0x7f last.
	 */
	out = output(&f, &opts, FOLD_SAMPLES);
	assert_string_equal(out, "a;foo 12;x 8\n"
				 "a;foo 13\n"
				 "a;foo 1x 5\n"
				 "a;foo bar;x 4\n"
				 "a;foo! 6\n"
				 "a;foo;x 2\n"
				 "a;foo\\u{20}12 3\n"
				 "a;\xc3\xb6 7\n"
				 "b;y 1\n");
	free(out);
	out = output(&f, &opts, FOLD_PERIOD);
	assert_non_null(strstr(out, "a;foo 35\n"));
	assert_non_null(strstr(out, "b;y 10\n"));
	free(out);
	fixture_fini(&f);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * A stack as a line begins: a number behind a blank would be the count, so the blank is an escape.
 * Owned.
 */
static char *plain_line(const char *folded)
{
	size_t at = strlen(folded);
	char *line;

	while (at && folded[at - 1] >= '0' && folded[at - 1] <= '9')
		at--;
	if (at && folded[at] && folded[at - 1] == ' ')
		assert_true(asprintf(&line, "%.*s\\u{20}%s", (int)at - 1, folded, folded + at) > 0);
	else
		line = strdup(folded);
	return line;
}

/* The lines of the given stacks, concatenated, merged and sorted in the simplest way. Owned. */
static char *plain_output(char **folded, size_t n)
{
	char *all = NULL, *line, **lines = calloc(n, sizeof(*lines));
	size_t size, nlines = 0, i, same;
	FILE *to = open_memstream(&all, &size);

	qsort(folded, n, sizeof(*folded), by_bytes);
	for (i = 0; i < n; i += same) {
		for (same = 1; i + same < n && !strcmp(folded[i], folded[i + same]); same++)
			;
		line = plain_line(folded[i]);
		assert_true(asprintf(&lines[nlines++], "%s %zu", line, same) > 0);
		free(line);
	}
	qsort(lines, nlines, sizeof(*lines), by_bytes);
	for (i = 0; i < nlines; i++) {
		fprintf(to, "%s\n", lines[i]);
		free(lines[i]);
	}
	free(lines);
	fclose(to);
	return all;
}

/* Names that contain bytes next to ';' and ' ' in the sort order, share prefixes, and are long. */
static void test_order_of_any_names(void **state)
{
	static const struct naming_opts opts = { .demangle = false };
	static const char *const pieces[] = { "a", "b", " ", "!", ":", "<", "1", "\xc3\xb6" };
	uint32_t seed = 7;
	size_t round, i, k;

	(void)state;
	for (round = 0; round < 300; round++) {
		char *folded[400], *want, *got;
		size_t n = 1 + round % 400;
		struct strbuf sb = STRBUF_INIT;
		struct fixture f;

		fixture_init(&f);
		for (i = 0; i < n; i++) {
			size_t depth = 1 + (seed >> 20) % 5;

			strbuf_reset(&sb);
			for (k = 0; k < depth; k++) {
				char name[16] = "";
				size_t len;

				seed = seed * 1664525u + 1013904223u;
				for (len = (seed >> 28) % 4; len; len--) {
					seed = seed * 1664525u + 1013904223u;
					strcat(name, pieces[(seed >> 16) % 8]);
				}
				strbuf_addf(&sb, "%s%s", k ? ";" : "", *name ? name : "?");
			}
			/* Rarely longer than the part of a prefix that is kept. */
			if (round == 299)
				for (k = 0; k < 3; k++)
					strbuf_addf(&sb, ";%0*d;x", 700000, (int)(seed >> 31));
			folded[i] = strdup(sb.s);
			stack(&f, folded[i], 1, 1);
			if (round == 299 && i == 20)
				n = i + 1;
		}
		got = output(&f, &opts, FOLD_SAMPLES);
		want = plain_output(folded, n);
		assert_string_equal(got, want);
		for (i = 0; i < n; i++)
			free(folded[i]);
		free(want);
		free(got);
		strbuf_fini(&sb);
		fixture_fini(&f);
	}
}

/* Different addresses without names give one line. Nothing is lost and nothing is "[unknown]". */
static void test_placeholders_merge(void **state)
{
	struct naming_opts opts = { .demangle = true };
	struct fixture f;
	uint32_t app;
	uint64_t i;
	char *out;

	(void)state;
	fixture_init(&f);
	app = stacktree_child(&f.tree, STACKTREE_ROOT, text(&f, "app"));
	for (i = 0; i < 3; i++) {
		struct location k = { .kind = LOC_KERNEL, .addr = 0xffffffff81000000 + i };
		uint32_t node = stacktree_child(&f.tree, app, locations_id(&f.locs, &k));

		stacktree_count(&f.tree, node, 1, 1);
		/* Nor does one of them below another add a frame. */
		k.addr += 0x1000;
		node = stacktree_child(&f.tree, node, locations_id(&f.locs, &k));
		stacktree_count(&f.tree, node, 2, 2);
	}
	out = output(&f, &opts, FOLD_SAMPLES);
	assert_string_equal(out, "app;[kernel] 9\n");
	free(out);
	opts.annotate = true;
	out = output(&f, &opts, FOLD_SAMPLES);
	assert_string_equal(out, "app;[kernel]_[k] 9\n");
	free(out);
	fixture_fini(&f);
}

static void check_container(const char *cgroup, const char *want)
{
	struct strbuf sb = STRBUF_INIT;

	leading_container(cgroup, &sb);
	assert_string_equal(sb.s, want);
	strbuf_fini(&sb);
}

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void test_container_labels(void **state)
{
	(void)state;
	check_container("/docker/" ID, "0123456789ab");
	check_container("/system.slice/docker-" ID ".scope", "0123456789ab");
	check_container("/machine.slice/libpod-" ID ".scope/container", "0123456789ab");
	check_container("/kubepods.slice/kubepods-pod12.slice/cri-containerd-" ID ".scope",
			"0123456789ab");
	/* The inner ID is the word of the outer container. */
	check_container("/docker/" ID "/docker/" ID2, "0123456789ab/fedcba987654");
	/* One digit more is no container ID. */
	check_container("/docker/" ID "0", "/docker/" ID "0");
	check_container("/user.slice/user-0.slice", "/user.slice/user-0.slice");
	check_container("/", "host");
	check_container("", "[no cgroup]");
}

/* The leading frames for a sample of process 11, thread 12, in a container; with --by @by. */
static void check_lead(const char *by, bool merge, const char *comm, const char *want)
{
	struct addrspace none = { .n = 0 };
	struct image img = { .as = &none, .pid = 11, .comm = comm, .exe = "/usr/bin/python3.11", .cgroup = "/" };
	const struct ev_sample ev = { .pid = 11, .tid = 12 };
	const struct replay_sample s = { .ev = &ev, .img = &img, .comm = comm, .cgroup = "/docker/" ID,
					  .container = "" };
	struct strbuf sb = STRBUF_INIT, all = STRBUF_INIT;
	struct lead lead = { .merge_threads = merge };

	assert_int_equal(lead_parse(by, &lead), 0);
	strbuf_adds(&all, "");
	for (uint32_t i = 0; i < lead.n; i++) {
		if (lead.by[i] == LEAD_PROCESS)
			leading_process(&img, &sb);
		else
			leading_frame(&lead, lead.by[i], &s, &sb);
		strbuf_addf(&all, "%s%s", i ? ";" : "", sb.s);
	}
	assert_string_equal(all.s, want);
	strbuf_fini(&sb);
	strbuf_fini(&all);
}

static void test_leading_frames(void **state)
{
	(void)state;
	check_lead("comm", false, "my;app 7", "my\\u{3b}app 7");
	check_lead("process", false, "my;app 7", "my\\u{3b}app 7-11");
	check_lead("thread", false, "my;app 7", "my\\u{3b}app 7-11/12");
	check_lead("container", false, "my;app 7", "0123456789ab;my\\u{3b}app 7");
	check_lead("none", false, "my;app 7", "");
	check_lead("container,process,thread", false, "app", "0123456789ab;app-11;app-11/12");
	check_lead("thread,container", false, "app", "app-11/12;0123456789ab");
	check_lead("container,none", false, "app", "0123456789ab");
	check_lead("none,comm", false, "app", "app");
	check_lead("thread,process,container,comm,none", false, "a", "a-11/12;a-11;0123456789ab;a");
	check_lead("comm", false, "", "[no_name]");
}

static void test_merged_threads(void **state)
{
	(void)state;
	check_lead("comm", true, "worker-12", "worker-N");
	/* The numbers of a process name are not merged. */
	check_lead("process", true, "worker-12", "worker-12-11");
	/* Otherwise that number would tell the threads apart. */
	check_lead("thread", true, "worker-12", "worker-N-11/N");
	check_lead("thread", true, "worker", "worker-11/12");
	check_lead("container,thread", true, "worker-12", "0123456789ab;worker-N-11/N");
	/* It is the name of the program. */
	check_lead("thread", true, "python3", "python3-11/12");
	check_lead("thread", true, "python4", "pythonN-11/N");
	check_lead("comm", true, "", "[no_name]");
}

static void test_lists(void **state)
{
	static const char *const bad[] = {
		"", ",", "threads", "comm,", ",comm", "comm,comm", "comm process", "comm,colour", "Comm", "none,none",
	};
	struct lead lead;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(lead_parse(bad[i], &lead) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorted_and_weighted),
		cmocka_unit_test(test_order_of_any_names),
		cmocka_unit_test(test_placeholders_merge),
		cmocka_unit_test(test_container_labels),
		cmocka_unit_test(test_leading_frames),
		cmocka_unit_test(test_merged_threads),
		cmocka_unit_test(test_lists),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
