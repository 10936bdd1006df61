/*
 * Which event a sample is of, and what it stands for. Records are put together as the comment at
 * PERF_RECORD_SAMPLE in include/uapi/linux/perf_event.h describes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sink/sampled_events.h"

#define US 1024ull	/* the resolution of an id's time */

enum { CLOCK, CALLS, LEADER, MEMBER, N };

struct rig {
	struct record_opts o;
	struct target t;
	struct rec_event v[N];
	struct events ev;
	struct sampled_events *se;
};

static void rig_open(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	r->o.callgraph = CALLGRAPH_NONE;
	r->t.kind = TARGET_ALL;
	r->t.ncpus = r->t.nall = 2;
	r->ev = (struct events){ .target = &r->t, .opts = &r->o, .v = r->v, .n = N, .feats = FEAT_FORMAT_LOST };
	r->v[CLOCK] = (struct rec_event){ .freq = 99, .sel = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK } };
	r->v[CALLS] = (struct rec_event){ .period = 1, .now = 1, .unbounded = true, .sel = { .type = PERF_TYPE_TRACEPOINT, .every = true } };
	r->v[LEADER] = (struct rec_event){ .period = 100, .now = 100, .unbounded = true, .reads = true };
	r->v[MEMBER] = (struct rec_event){ .member = true };
	for (uint32_t i = 0; i < N; i++) {
		r->v[i].stacks.callgraph = CALLGRAPH_NONE;
		r->v[i].record_bytes = 512;
		r->v[i].sel.leader = i == MEMBER ? (uint32_t)LEADER : i;
		/* Each on two CPUs. */
		event_ids_put(&r->ev.ids, 10 + i, i, 0);
		event_ids_put(&r->ev.ids, 20 + i, i, 0);
	}
	r->se = sampled_events_new(&r->ev, 1);
}

static void rig_close(struct rig *r)
{
	sampled_events_free(r->se);
	event_ids_fini(&r->ev.ids);
}

/* One sample: id, ip, pid and tid, time, cpu, what @more says, and a chain of one. */
static enum sampled parse(struct rig *r, uint64_t id, uint64_t time, const uint64_t *more, size_t nmore, struct raw_sample *raw)
{
	static uint64_t rec[32];
	size_t n = 1;

	rec[n++] = id;
	rec[n++] = 0x401000;
	rec[n++] = 7 | 8ull << 32;
	rec[n++] = time;
	rec[n++] = 1;
	for (size_t i = 0; i < nmore; i++)
		rec[n++] = more[i];
	rec[n++] = 0;	/* chain */
	rec[0] = PERF_RECORD_SAMPLE | 2ull << 32 | n * 8 << 48;
	return sampled_events_parse(r->se, (const void *)rec, raw);
}

static void tells_events_apart(void **state)
{
	const uint64_t period = 12345;
	struct raw_sample raw;
	struct rig r;

	(void)state;
	rig_open(&r);
	assert_int_equal(parse(&r, 10 + CLOCK, 5, &period, 1, &raw), SAMPLED_TAKEN);
	assert_int_equal(raw.in.event, CLOCK);
	assert_int_equal(raw.in.period, 12345);
	assert_int_equal(parse(&r, 20 + CALLS, 5, NULL, 0, &raw), SAMPLED_TAKEN);
	assert_int_equal(raw.in.event, CALLS);
	assert_int_equal(raw.in.period, 1);
	assert_int_equal(raw.in.tid, 8);
	assert_int_equal(parse(&r, 99, 5, NULL, 0, &raw), SAMPLED_BAD);
	assert_int_equal(raw.in.cpu, 1);
	assert_int_equal(raw.in.time, 5);
	/* Its clock's period is missing. */
	assert_int_equal(parse(&r, 10 + CLOCK, 5, NULL, 0, &raw), SAMPLED_BAD);
	assert_true(sampled_events_spare(r.se, CALLS));
	assert_false(sampled_events_spare(r.se, CLOCK));
	rig_close(&r);
}

/* The kernel changed the period on one CPU a little before the other. */
static void dates_periods(void **state)
{
	struct raw_sample raw;
	struct rig r;

	(void)state;
	rig_open(&r);
	event_ids_put(&r.ev.ids, 10 + CALLS, CALLS, 100 * US);
	event_ids_put(&r.ev.ids, 20 + CALLS, CALLS, 110 * US);
	sampled_events_period(r.se, CALLS, 8);
	assert_int_equal(parse(&r, 10 + CALLS, 99 * US, NULL, 0, &raw), SAMPLED_TAKEN);
	assert_int_equal(raw.in.period, 1);
	assert_int_equal(parse(&r, 10 + CALLS, 105 * US, NULL, 0, &raw), SAMPLED_TAKEN);
	assert_int_equal(raw.in.period, 8);
	assert_int_equal(parse(&r, 20 + CALLS, 105 * US, NULL, 0, &raw), SAMPLED_TAKEN);
	assert_int_equal(raw.in.period, 1);
	assert_int_equal(parse(&r, 20 + CALLS, 111 * US, NULL, 0, &raw), SAMPLED_TAKEN);
	assert_int_equal(raw.in.period, 8);
	rig_close(&r);
}

/*
 * The samples that the kernel takes around a change, by the event's count: as many as it says, once.
 * A count that went on by more than a period means that samples were lost.
 */
static void goes_by_the_count(void **state)
{
	static const struct { uint64_t count, want; } steps[] = {
		/* An interrupt after the third one had the fourth, before the count was read. */
		{ 1, 1 }, { 2, 1 }, { 4, 1 }, { 4, 1 }, /* a longer period: */ { 5, 1 }, { 5, 0 }, { 6, 1 }, { 14, 8 }, { 22, 8 }, { 62, 8 }, { 70, 8 },
	};
	struct raw_sample raw;
	struct rig r;

	(void)state;
	rig_open(&r);
	r.se->v[CALLS].layout.has_count = true;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		/* count, enabled, running, lost */
		const uint64_t read[] = { steps[i].count, 1, 1, 0 };

		if (i == 4) {
			event_ids_put(&r.ev.ids, 10 + CALLS, CALLS, 100 * US);
			sampled_events_period(r.se, CALLS, 8);
		}
		assert_int_equal(parse(&r, 10 + CALLS, (i < 4 ? 1 : 200) * US, read, 4, &raw), steps[i].want ? SAMPLED_TAKEN : SAMPLED_THINNED);
		if (steps[i].want)
			assert_int_equal(raw.in.period, steps[i].want);
	}
	rig_close(&r);
}

/*
 * What the recorder thins itself: the periods of all samples so far are never more than what came, and
 * after each sample they are all of it. Also while it takes fewer and more of them.
 */
static void thins(void **state)
{
	static const struct { int from; uint32_t shift; } changes[] = { { 5, 1 }, { 6, 3 }, { 4000, 2 }, { 4003, 0 }, { 5000, 5 } };
	uint64_t sum = 0, taken = 0;
	struct raw_sample raw;
	struct rig r;
	size_t at = 0;

	(void)state;
	rig_open(&r);
	for (uint64_t i = 0; i < 8000; i++) {
		if (at < sizeof(changes) / sizeof(*changes) && i == (uint64_t)changes[at].from)
			sampled_events_shift(r.se, CALLS, changes[at++].shift);
		if (parse(&r, 10 + CALLS, 5, NULL, 0, &raw) == SAMPLED_THINNED)
			continue;
		taken++;
		sum += raw.in.period;
		assert_int_equal(sum, i + 1);
	}
	/* Each of 5; the only one; of 3,994 one in 8; of 3 one in 4; each of 997; of 3,000 one in 32. */
	assert_int_equal(taken, 5 + 1 + 500 + 1 + 997 + 94);
	rig_close(&r);
}

/* What a member counted since the leader's last sample, on each CPU by itself. */
static void reads_members(void **state)
{
	static const struct { uint64_t id, count, want; } steps[] = {
		{ 10, 50, 50 }, { 20, 7, 7 }, { 10, 50, 0 }, { 10, 80, 30 }, { 20, 8, 1 },
	};
	struct raw_sample raw;
	struct rig r;

	(void)state;
	rig_open(&r);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		/* their number, enabled, running; then for each count, id, lost */
		const uint64_t read[] = { 2, 1, 1, 100 * i, steps[i].id + LEADER, 0, steps[i].count, steps[i].id + MEMBER, 0 };
		uint32_t event = 0;
		uint64_t n = 0;

		assert_int_equal(parse(&r, steps[i].id + LEADER, 5, read, 9, &raw), SAMPLED_TAKEN);
		assert_int_equal(raw.in.period, 100);
		assert_int_equal(raw.nreads, 2);
		assert_false(sampled_events_member(r.se, &raw, 0, &event, &n));
		assert_int_equal(sampled_events_member(r.se, &raw, 1, &event, &n), steps[i].want > 0);
		if (!steps[i].want)
			continue;
		assert_int_equal(event, MEMBER);
		assert_int_equal(n, steps[i].want);
	}
	rig_close(&r);
}

/* A closed id is known as long as its records may be in a ring, and memory does not grow. */
static void forgets_ids(void **state)
{
	struct event_ids ids = { .map = U64MAP_INIT };
	struct event_id found;

	(void)state;
	for (uint64_t i = 1; i <= 20000; i++) {
		event_ids_put(&ids, i, i % 3, 0);
		event_ids_drop(&ids, i, i * 1000000);
		assert_true(event_ids_find(&ids, i, &found));
		assert_int_equal(found.event, i % 3);
	}
	assert_false(event_ids_find(&ids, 10000, &found));
	assert_true(ids.map.n < 3000);
	event_ids_fini(&ids);
}

/* The kernel gave it the id of another recorder's event. */
static void other_id(void **state)
{
	const uint64_t read[] = { 100, 5, 5, 0 };
	struct raw_sample raw;
	struct rig r;

	(void)state;
	rig_open(&r);
	assert_int_equal(parse(&r, 99, 5, NULL, 0, &raw), SAMPLED_BAD);	/* neither clocks nor tracepoints */
	sampled_events_free(r.se);
	r.v[CALLS] = (struct rec_event){ .period = 61, .now = 61, .unbounded = true, .counted = true,
					 .sel = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES, .waits = true, .leader = CALLS } };
	r.se = sampled_events_new(&r.ev, 1);
	assert_int_equal(parse(&r, 99, 5, read, 4, &raw), SAMPLED_TAKEN);
	assert_int_equal(raw.in.event, CALLS);
	assert_int_equal(raw.in.period, 1);
	assert_int_equal(sampled_events_waits(r.se, 99), 0);
	/* Its own count goes on. */
	assert_int_equal(parse(&r, 10 + CALLS, 6, read, 4, &raw), SAMPLED_TAKEN);
	assert_int_equal(raw.in.period, 100);
	sampled_events_free(r.se);
	r.v[CLOCK].sel.config = PERF_COUNT_SW_PAGE_FAULTS;
	r.se = sampled_events_new(&r.ev, 1);
	assert_int_equal(parse(&r, 99, 5, read, 4, &raw), SAMPLED_BAD);	/* it may be of either */
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_events_apart),
		cmocka_unit_test(dates_periods),
		cmocka_unit_test(goes_by_the_count),
		cmocka_unit_test(thins),
		cmocka_unit_test(reads_members),
		cmocka_unit_test(forgets_ids),
		cmocka_unit_test(other_id),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
