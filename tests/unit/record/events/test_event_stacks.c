/* How events take stacks: which options and terms decide it, what contradicts, what a sample then has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "events/event_attr.h"
#include "events/event_list.h"
#include "events/event_stacks.h"

static struct evlist list;
static struct strbuf said;

static void parse(const char *text)
{
	const struct event_spec spec = { .text = text };

	evlist_fini(&list);
	assert_int_equal(evlist_parse(&list, &spec, 1, 99, NULL), 0);
}

/* What an event has no term for is as in the options. */
static void terms_and_options(void **state)
{
	static const struct {
		const char *text;
		struct record_opts o;
		struct stack_terms want;
	} want[] = {
		{ "cs", { .callgraph = CALLGRAPH_DWARF, .dump_size = 8192 }, { CALLGRAPH_DWARF, 8192, 0 } },
		{ "cs", { .callgraph = CALLGRAPH_FP, .dump_size = 8192 }, { CALLGRAPH_FP, 0, 0 } },
		{ "cs", { .callgraph = CALLGRAPH_NONE, .dump_size = 8192 }, { CALLGRAPH_NONE, 0, 0 } },
		{ "cs/call-graph=dwarf/", { .callgraph = CALLGRAPH_NONE, .dump_size = 8192 }, { CALLGRAPH_DWARF, 8192, 0 } },
		{ "cs/call-graph=no/", { .callgraph = CALLGRAPH_DWARF, .dump_size = 8192 }, { CALLGRAPH_NONE, 0, 0 } },
		{ "cs/stack-size=64,max-stack=5/", { .callgraph = CALLGRAPH_DWARF, .dump_size = 8192 }, { CALLGRAPH_DWARF, 64, 5 } },
		{ "cs/max-stack=5/", { .callgraph = CALLGRAPH_FP, .dump_size = 8192 }, { CALLGRAPH_FP, 0, 5 } },
		/* Samples without user callchains need no copy. */
		{ "cs/stack-size=64/", { .callgraph = CALLGRAPH_DWARF, .kernel_chains = true }, { CALLGRAPH_FP, 0, 0 } },
		{ "cs/stack-size=64/", { .callgraph = CALLGRAPH_DWARF, .kernel_chains = true, .user_chains = true }, { CALLGRAPH_DWARF, 64, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct stack_terms s;

		parse(want[i].text);
		assert_int_equal(event_stacks_check(&list, &want[i].o), 0);
		s = event_stacks(&list.v[0], &want[i].o);
		assert_int_equal(s.callgraph, want[i].want.callgraph);
		assert_int_equal(s.dump_size, want[i].want.dump_size);
		assert_int_equal(s.max_stack, want[i].want.max_stack);
	}
}

static void contradictions(void **state)
{
	static const struct {
		const char *text;
		enum callgraph callgraph;
		const char *says;
	} want[] = {
		{ "cs/stack-size=64/", CALLGRAPH_FP, "'context-switches': stack-size=" },
		{ "cs/call-graph=no,stack-size=64/", CALLGRAPH_DWARF, "only call-graph=dwarf takes" },
		{ "cs/max-stack=5/", CALLGRAPH_NONE, "it takes none" },
		{ "cpu-clock,cs/max-stack=65535/", CALLGRAPH_FP, "'context-switches': max-stack=65535 is above kernel.perf_event_max_stack" },
		{ "{cs,cs/call-graph=no/}", CALLGRAPH_FP, "'context-switches' and 'context-switches#2' count the same" },
		{ "cs/call-graph=no/u,cs", CALLGRAPH_DWARF, "count the same" },
		{ "cs/call-graph=no/u,cs/call-graph=fp/k", CALLGRAPH_DWARF, NULL },
		{ "cs,faults/call-graph=no/", CALLGRAPH_DWARF, NULL },
		{ "cs/call-graph=no/,cs:u", CALLGRAPH_NONE, NULL },
		/* Each has a timer of its own. */
		{ "cpu-clock,cpu-clock/call-graph=no/", CALLGRAPH_DWARF, NULL },
		/* Members are not sampled, and the stacks are those of the leader. */
		{ "{cpu-clock,cs/call-graph=no/}:S,cs", CALLGRAPH_DWARF, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct record_opts o = { .callgraph = want[i].callgraph, .dump_size = 8192 };
		int err;

		parse(want[i].text);
		strbuf_reset(&said);
		log_divert(&said);
		err = event_stacks_check(&list, &o);
		log_divert(NULL);
		if (err != (want[i].says ? -EINVAL : 0) || (want[i].says && (!said.s || !strstr(said.s, want[i].says))))
			fail_msg("'%s': %d, %s", want[i].text, err, said.s ? said.s : "");
	}
}

/* Each event has its own layout and size. The leader of a group that is read decides for its members. */
static void layouts(void **state)
{
	const struct record_opts o = { .callgraph = CALLGRAPH_DWARF, .dump_size = 8192 };
	struct events ev = { .opts = &o, .target = &(struct target){ .kind = TARGET_ALL, .ncpus = 1, .nall = 1 } };
	struct sample_layout l[5];

	(void)state;
	parse("cpu-clock,minor-faults/call-graph=no/,{cs/call-graph=fp/,major-faults/call-graph=no/}:S,faults/stack-size=64/");
	event_list_init(&ev, list.v, list.n);
	assert_int_equal(ev.n, 5);
	for (size_t i = 0; i < 5; i++)
		event_layout(&ev, i, &l[i]);
	assert_true(l[0].has_stack && !l[0].no_chain);
	assert_true(!l[1].has_stack && l[1].no_chain);
	assert_true(!l[2].has_stack && !l[2].no_chain);
	assert_true(!l[3].has_stack && !l[3].no_chain);
	assert_true(l[4].has_stack);
	assert_int_equal(ev.v[0].record_bytes - ev.v[1].record_bytes, 8192);
	assert_int_equal(ev.v[4].record_bytes - ev.v[1].record_bytes, 64);
	assert_true(ev.v[2].record_bytes > ev.v[1].record_bytes);
	event_list_fini(&ev);
}

/* 250 ms of 999 samples per second, in a power of two: with copies of 64 KiB, and without. */
static void rings(void **state)
{
	const struct record_opts o = { .callgraph = CALLGRAPH_DWARF, .dump_size = DUMP_SIZE_MAX };
	static const struct {
		const char *text;
		uint64_t bytes;
		bool copies, extra;	/* those of 64 KiB are in the data ring, and in one beside it */
	} want[] = {
		{ "cpu-clock/freq=999/", 16 << 20, true, false },
		{ "cpu-clock/freq=999,call-graph=no/", 512 << 10, false, false },
		{ "cpu-clock/freq=999,call-graph=no/,task-clock/freq=999/", 16 << 20, true, false },
		{ "cpu-clock/freq=999,call-graph=no/,task-clock/freq=999,stack-size=4096/", 2 << 20, false, false },
		/* What nothing bounds has another ring. */
		{ "cpu-clock/freq=999,call-graph=no/,cs/period=1/", 512 << 10, false, true },
		{ "cpu-clock/freq=999/,cs/period=1,call-graph=no/", 16 << 20, true, false },
	};

	(void)state;
	if (events_ram() < 1ull << 30)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct events ev = { .opts = &o, .target = &(struct target){ .kind = TARGET_ALL, .ncpus = 1, .nall = 1 } };

		parse(want[i].text);
		event_list_init(&ev, list.v, list.n);
		assert_int_equal(events_plan_data(&ev), want[i].bytes);
		assert_int_equal(events_record(&ev, false) >= DUMP_SIZE_MAX, want[i].copies);
		assert_int_equal(events_record(&ev, true) >= DUMP_SIZE_MAX, want[i].extra);
		event_list_fini(&ev);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terms_and_options),
		cmocka_unit_test(contradictions),
		cmocka_unit_test(layouts),
		cmocka_unit_test(rings),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
