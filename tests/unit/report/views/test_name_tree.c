/* Lines of stacks and their order, against the text itself, sorted by strcmp(3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "profile/profile.h"
#include "random.h"
#include "views/name_tree.h"

static const bool no_marks[PROFILE_KINDS];

static uint32_t frame(struct profile *p, const char *name, uint8_t kind)
{
	const struct profile_frame f = { .name = profile_string(p, name), .kind = kind };

	return profile_frame(p, &f);
}

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

/* Names that begin alike, with bytes below and above those of ';' and of a blank. */
static struct profile *random_tree(uint64_t *seed, bool nameless)
{
	static const char *const names[] = { "a", "a b", "a!", "a~", "ab", "b", "a 1", "a 12", "a\\u{3b}c", "#", "" };
	struct profile *p = profile_new();
	uint32_t last = 0;

	for (int i = 0; i < 60; i++) {
		const uint32_t f = frame(p, names[random_next(seed) % (sizeof(names) / sizeof(*names) - !nameless)], (uint8_t)random_next(seed) % 2);

		last = profile_child(p, random_next(seed) % 2 ? last : (uint32_t)random_next(seed) % p->nnodes, f);
	}
	profile_finish(p);
	return p;
}

static void order_is_that_of_the_text(void **state)
{
	static const bool kernel[PROFILE_KINDS] = { [PROFILE_KERNEL] = true };
	struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
	uint64_t seed = 7;

	(void)state;
	for (int turn = 0; turn < 60; turn++) {
		const bool callee = turn % 3 == 1, guard = turn % 3 == 2;
		struct profile *p = random_tree(&seed, !callee);
		struct name_tree t;

		name_tree_init(&t, p, "[none]", guard ? kernel : no_marks, guard, callee);
		for (uint32_t i = 0; i < p->nnodes; i++)
			for (uint32_t k = 0; k < p->nnodes; k++) {
				int want;

				name_tree_text(&t, t.of[i], UINT64_MAX, &a);
				name_tree_text(&t, t.of[k], UINT64_MAX, &b);
				want = sign(strcmp(a.s ? a.s : "", b.s ? b.s : ""));
				if (sign(name_tree_compare(&t, t.of[i], t.of[k])) != want)
					fail_msg("'%s' and '%s': %d, not %d", a.s, b.s, name_tree_compare(&t, t.of[i], t.of[k]), want);
				assert_true((t.of[i] == t.of[k]) == !want);
			}
		name_tree_fini(&t);
		profile_free(p);
	}
	strbuf_fini(&a);
	strbuf_fini(&b);
}

static void lines(void **state)
{
	struct profile *p = profile_new();
	struct strbuf sb = STRBUF_INIT;
	struct name_tree t;
	uint32_t node;

	(void)state;
	node = profile_child(p, profile_child(p, profile_child(p, 0, frame(p, "main", 0)), frame(p, "x;y", 0)), frame(p, "f 12", 0));
	profile_finish(p);
	name_tree_init(&t, p, "[none]", no_marks, false, false);
	assert_false(name_tree_text(&t, t.of[node], UINT64_MAX, &sb));
	assert_string_equal(sb.s, "main;x\\u{3b}y;f 12");
	assert_false(name_tree_text(&t, t.of[0], UINT64_MAX, &sb));
	assert_string_equal(sb.s, "[none]");
	name_tree_fini(&t);
	name_tree_init(&t, p, "[none]", no_marks, true, true);
	assert_false(name_tree_text(&t, t.of[node], UINT64_MAX, &sb));
	assert_string_equal(sb.s, "f 12;x\\u{3b}y;main");
	name_tree_fini(&t);
	strbuf_fini(&sb);
	profile_free(p);
}

static void long_lines(void **state)
{
	struct profile *p = profile_new();
	struct strbuf sb = STRBUF_INIT;
	struct name_tree t;
	uint32_t node = 0, huge;
	char name[16], *long_name = malloc(100001);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "f%03d", i);
		node = profile_child(p, node, frame(p, name, 0));
	}
	memset(long_name, 'x', 100000);
	long_name[100000] = '\0';
	huge = profile_child(p, node, frame(p, long_name, 0));
	profile_finish(p);
	name_tree_init(&t, p, "[none]", no_marks, false, false);
	assert_int_equal(t.nodes[t.of[node]].bytes, 5000);
	assert_false(name_tree_text(&t, t.of[node], 5000, &sb));
	assert_int_equal(sb.len, 4999);
	assert_true(name_tree_text(&t, t.of[node], 100, &sb));
	assert_string_equal(sb.s, "f000;f001;f002;f003;f004;f005;f006;f007;f008;f009;[frames_left_out];"
				  "f990;f991;f992;f993;f994;f995;f996;f997;f998;f999");
	/* A leaf that is too long keeps its beginning, and its length. */
	assert_true(name_tree_text(&t, t.of[huge], 4096, &sb));
	assert_true(sb.len < 4096);
	assert_non_null(strstr(sb.s, ";[frames_left_out];xxxx"));
	assert_non_null(strstr(sb.s, "xxx...[100000 bytes, "));
	name_tree_fini(&t);
	strbuf_fini(&sb);
	profile_free(p);
	free(long_name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_that_of_the_text), cmocka_unit_test(lines), cmocka_unit_test(long_lines),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
