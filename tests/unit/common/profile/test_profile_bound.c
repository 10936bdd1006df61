/* Stacks that together are too deep, against the same profile before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "profile/profile.h"
#include "profile/profile_bound.h"

#define DEEP 400

static uint32_t frame(struct profile *p, const char *name)
{
	const struct profile_frame f = { .name = profile_string(p, name) };

	return profile_frame(p, &f);
}

static uint32_t thread(struct profile *p, const char *container, int32_t tid)
{
	const struct profile_thread t = { .container = profile_string(p, container), .pid = 1, .tid = tid, .nspid = -1 };

	return profile_thread(p, &t);
}

static uint32_t depth(const struct profile *p, uint32_t node)
{
	uint32_t n = 0;

	for (; node; node = p->nodes[node].parent)
		n++;
	return n;
}

static const char *name(const struct profile *p, uint32_t node)
{
	return profile_text(p, p->frames[p->nodes[node].frame].name);
}

/* A chain of functions f0, f1 ..., each with a sample of the attacker, and a short stack of another container. */
static struct profile *attack(void)
{
	struct profile *p = profile_new();
	const uint32_t bad = thread(p, "bad", 1), good = thread(p, "good", 2);
	uint32_t node = 0;
	char text[16];

	for (int i = 0; i < DEEP; i++) {
		snprintf(text, sizeof(text), "f%d", i);
		node = profile_child(p, node, frame(p, text));
		profile_count(p, &(struct profile_count){ .thread = bad, .node = node, .samples = 1, .period = 2 });
		if (i == 99)
			profile_count(p, &(struct profile_count){ .thread = good, .node = node, .samples = 7, .period = 3 });
	}
	profile_finish(p);
	return p;
}

static uint64_t all_frames(const struct profile *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->ncounts; i++)
		sum += depth(p, p->counts[i].node);
	return sum;
}

static void deep_stacks(void **state)
{
	static const struct profile_limits limits = { { 20000, 0 }, { UINT64_MAX, 0 } };
	struct profile *p = attack();
	uint64_t cut = 0;

	(void)state;
	assert_int_equal(all_frames(p), DEEP * (DEEP + 1) / 2 + 100);
	profile_bound(p, &limits, "x");
	assert_in_range(all_frames(p), 19000, 20000);
	assert_int_equal(p->samples, DEEP + 7);
	assert_int_equal(p->period, 2 * DEEP + 3);
	assert_int_equal(p->ncounts, DEEP + 1);
	for (size_t i = 0; i < p->ncounts; i++) {
		const struct profile_count *c = &p->counts[i];
		uint32_t at = c->node, n = 0;

		/* Sorted, as after profile_finish(). */
		assert_true(!i || c[-1].thread < c->thread || c[-1].node < c->node);
		if (!strcmp(profile_text(p, p->threads[c->thread].container), "good")) {
			assert_int_equal(depth(p, at), 100);
			assert_string_equal(name(p, at), "f99");
			continue;
		}
		for (; at && strcmp(name(p, at), BOUND_LEFT_OUT); at = p->nodes[at].parent)
			n++;
		if (!at)
			continue;
		cut++;
		/* The leaf and its callers, in their order, and the root of the program. */
		assert_int_equal(n, BOUND_INNERMOST);
		for (uint32_t k = c->node, last = atoi(name(p, c->node) + 1); k != at; k = p->nodes[k].parent)
			assert_int_equal(atoi(name(p, k) + 1), last--);
		assert_int_equal(atoi(name(p, p->nodes[at].parent) + 1), depth(p, p->nodes[at].parent) - 1);
	}
	assert_true(cut > 0);
	/* One line, which names the container and the number. */
	assert_non_null(strstr(profile_meta(p, "note"), "container 'bad': "));
	assert_int_equal(atoi(strchr(profile_meta(p, "note"), ':') + 1), cut);
	profile_free(p);
}

/* Each thread's tree has nodes of its own, even if the profile has them once. */
static void many_threads(void **state)
{
	static const struct profile_limits limits = { { UINT64_MAX, 0 }, { 5000, 0 } };
	struct profile *p = profile_new();
	uint32_t node = 0, f = frame(p, "f");

	(void)state;
	for (int i = 0; i < DEEP; i++)
		node = profile_child(p, node, f);
	for (int i = 0; i < 50; i++)
		profile_count(p, &(struct profile_count){ .thread = thread(p, "bad", i), .node = node, .samples = 1 });
	profile_finish(p);
	profile_bound(p, &limits, "x");
	assert_int_equal(p->ncounts, 50);
	assert_int_equal(depth(p, p->counts[0].node), 100);
	assert_int_equal(p->counts[0].node, p->counts[49].node);
	assert_non_null(strstr(profile_meta(p, "note"), "container 'bad': 50 stacks have"));
	profile_free(p);
	/* Stacks of one thread share its nodes. */
	p = attack();
	profile_bound(p, &limits, "x");
	assert_null(profile_meta(p, "note"));
	assert_int_equal(all_frames(p), DEEP * (DEEP + 1) / 2 + 100);
	profile_free(p);
}

/* With what the programs use, deep recursion stays as it is. */
static void honest(void **state)
{
	static const struct profile_limits limits = PROFILE_LIMITS;
	struct profile *p = profile_new();
	const uint32_t f = frame(p, "f");
	uint32_t node = 0, nnodes;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		node = profile_child(p, node, f);
		if (i >= 19000)
			profile_count(p, &(struct profile_count){ .thread = thread(p, "c", i % 10), .node = node, .samples = 1 });
	}
	profile_finish(p);
	nnodes = p->nnodes;
	profile_bound(p, &limits, "x");
	assert_int_equal(p->nnodes, nnodes);
	assert_null(profile_meta(p, "note"));
	profile_free(p);
}

static void several_events(void **state)
{
	static const struct profile_limits limits = { { 100, 0 }, { 100, 0 } };
	struct profile *p = profile_new();
	uint32_t node = 0, f = frame(p, "f");

	(void)state;
	profile_event(p, &(struct profile_event){ .name = profile_string(p, "a") });
	profile_event(p, &(struct profile_event){ .name = profile_string(p, "b") });
	for (int i = 0; i < DEEP; i++) {
		node = profile_child(p, node, f);
		profile_count(p, &(struct profile_count){ .node = node, .samples = 1, .event = (uint32_t)i % 2 });
	}
	profile_finish(p);
	profile_bound(p, &limits, "x");
	assert_int_equal(p->events[0].samples, DEEP / 2);
	assert_int_equal(p->events[1].samples, DEEP / 2);
	assert_int_equal(p->samples, DEEP);
	profile_free(p);
	p = profile_new();
	profile_finish(p);
	profile_bound(p, &limits, "x");
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deep_stacks), cmocka_unit_test(many_threads), cmocka_unit_test(honest), cmocka_unit_test(several_events),
	};

	log_init("test_profile_bound");
	log_set_verbosity(-1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
