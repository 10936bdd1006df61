/* Long names of many nodes, against the limit that is set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/longname.h"
#include "profile/profile.h"
#include "profile/profile_names.h"

/* A function whose name is @len times @c. */
static uint32_t frame(struct profile *p, char c, size_t len)
{
	char *text = malloc(len + 1);
	struct profile_frame f = { 0 };
	uint32_t id;

	memset(text, c, len);
	text[len] = '\0';
	f.name = profile_string(p, text);
	id = profile_frame(p, &f);
	free(text);
	return id;
}

static size_t name_len(const struct profile *p, uint32_t frame)
{
	return strlen(profile_text(p, p->frames[frame].name));
}

/* Recursion of two functions, and a third. */
static struct profile *recursion(size_t len, int n)
{
	struct profile *p = profile_new();
	const uint32_t a = frame(p, 'a', len), b = frame(p, 'b', len), c = frame(p, 'c', 600);
	uint32_t node = profile_child(p, 0, c);

	for (int i = 0; i < n; i++)
		node = profile_child(p, node, i % 2 ? a : b);
	profile_count(p, &(struct profile_count){ .node = node, .samples = 1 });
	profile_finish(p);
	return p;
}

static void long_names(void **state)
{
	struct profile *p = recursion(10000, 1000);

	(void)state;
	assert_int_equal(profile_bound_names(p, (struct fair_limit){ 1000000, 0 }, "x"), 2);
	/* 256 bytes of each name are free, and the limit is for what exceeds them. */
	assert_true(name_len(p, 1) <= LONGNAME_BRIEF + 1000000 / 1000);
	assert_true(name_len(p, 1) >= 1000000 / 1000);
	assert_non_null(strstr(profile_text(p, p->frames[1].name), "...[10000 bytes, "));
	assert_true(p->frames[1].name != p->frames[2].name);
	/* A shorter one stays. */
	assert_int_equal(name_len(p, 3), 600);
	assert_non_null(strstr(profile_meta(p, "note"), "2 long names are cut to "));
	profile_free(p);
}

static void enough_room(void **state)
{
	struct profile *p = recursion(10000, 1000);

	(void)state;
	assert_int_equal(profile_bound_names(p, (struct fair_limit){ 0, 10000 }, "x"), 0);
	assert_int_equal(profile_bound_names(p, (struct fair_limit){ 10000000, 0 }, "x"), 0);
	assert_int_equal(name_len(p, 1), 10000);
	assert_null(profile_meta(p, "note"));
	profile_free(p);
	/* The longest name known, in a program of a million nodes with names of a kilobyte. */
	p = recursion(24000, 2000);
	assert_int_equal(profile_bound_names(p, PROFILE_NAMES_LIMIT, "x"), 0);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(long_names), cmocka_unit_test(enough_room) };

	log_init("test_profile_names");
	log_set_verbosity(-1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
