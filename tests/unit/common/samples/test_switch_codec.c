/* Switches and marks of a block: each comes back, in the order of time, and damage ends decoding. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "event.h"
#include "random.h"
#include "recording.h"
#include "samples/nibble_codec.h"
#include "samples/switch_codec.h"

#define CPUS 70u

static uint64_t rnd;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(random_next(&rnd) >> 20) % n;
}

/*
 * @n switches of @threads threads on @cpus CPUs, each at a time of its own, some of those that leave
 * behind marks, unless @wild: then anything, as when records were lost.
 */
static void make(struct ev_switch *sw, size_t n, uint32_t cpus, uint32_t threads, bool wild)
{
	uint32_t on[CPUS] = { 0 };	/* thread + 1 */
	uint64_t now = 1ull << 50;

	for (size_t i = 0; i < n; i++) {
		uint32_t cpu = below(cpus), thread = on[cpu] ? on[cpu] - 1 : below(threads);

		now += wild ? below(3) : 1 + below(3000);
		sw[i] = (struct ev_switch){
			.time = now, .pid = 100 + thread / 3, .tid = 100 + thread, .cpu = cpu == 1 ? UINT32_MAX : 5 * cpu,
			.out = on[cpu], .preempted = on[cpu] && !below(4),
		};
		if (on[cpu] && below(4)) {
			sw[i].out = sw[i].preempted = false;
			sw[i].mark = true;
			continue;
		}
		on[cpu] = on[cpu] ? 0 : thread + 1;
		if (!wild || below(20))
			continue;
		sw[i].time = random_next(&rnd) >> below(64);
		sw[i].pid = (uint32_t)random_next(&rnd);
		sw[i].tid = (uint32_t)random_next(&rnd);
		sw[i].mark = !below(3);
		sw[i].out = !sw[i].mark && below(2);
		sw[i].preempted = sw[i].out && below(2);
	}
}

/* A block of switches, packed. */
struct packed {
	struct strbuf syms, code, bits;
};

static void encode(const struct ev_switch *sw, size_t n, struct packed *p, bool plain)
{
	struct switch_enc *e = switch_enc_new();
	struct nibble_enc *nibbles = nibble_enc_new();

	*p = (struct packed){ 0 };
	switch_encode(e, sw, n, &p->syms, &p->bits);
	if (plain)
		nibble_plain(&p->syms, &p->code);
	else
		nibble_enc_pack(nibbles, &p->syms, &p->code);
	nibble_enc_free(nibbles);
	switch_enc_free(e);
}

static void packed_fini(struct packed *p)
{
	strbuf_fini(&p->syms);
	strbuf_fini(&p->code);
	strbuf_fini(&p->bits);
}

static int decode(struct switch_dec *d, const struct packed *p, bool plain)
{
	struct switch_block b = { .symbols = p->syms.len / REC_SYMBOL, .plain = plain, .marks = true };

	cursor_init(&b.code, p->code.s, p->code.len);
	cursor_init(&b.bits, p->bits.s, p->bits.len);
	return switch_decode(d, &b);
}

/*
 * The switch that comes next, by trying all: the oldest first one of a CPU. If @marks, the mark that
 * comes next, whatever its CPU.
 */
static size_t next_of(const struct ev_switch *sw, const bool *taken, size_t n, bool marks)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++) {
		bool first = !taken[i] && sw[i].mark == marks;

		for (size_t k = 0; k < i && first && !marks; k++)
			first = taken[k] || sw[k].mark || sw[k].cpu != sw[i].cpu;
		if (first && (best == n || sw[i].time < sw[best].time || (sw[i].time == sw[best].time && sw[i].cpu < sw[best].cpu)))
			best = i;
	}
	return best;
}

static void same(const struct ev_switch *a, const struct ev_switch *b)
{
	assert_true(a->time == b->time);
	assert_int_equal(a->pid, b->pid);
	assert_int_equal(a->tid, b->tid);
	assert_int_equal(a->cpu, b->cpu);
	assert_int_equal(a->out, b->out);
	assert_int_equal(a->preempted, b->preempted);
	assert_int_equal(a->mark, b->mark);
}

static void round_trip(struct switch_dec *d, size_t n, uint32_t cpus, uint32_t threads, bool wild, bool plain)
{
	struct ev_switch *sw = calloc(n + 1, sizeof(*sw));
	struct packed p;
	bool *taken = calloc(n + 1, sizeof(*taken));
	const struct ev_switch *mark;
	size_t nmarks;

	make(sw, n, cpus, threads, wild);
	encode(sw, n, &p, plain);
	assert_int_equal(decode(d, &p, plain), 0);
	mark = switch_dec_marks(d, &nmarks);
	for (size_t i = 0; i < n; i++) {
		const bool is_mark = sw[i].mark;
		const struct ev_switch *got = is_mark ? mark++ : switch_dec_peek(d);
		/* Looking for it takes n^2. */
		size_t want = wild ? next_of(sw, taken, n, is_mark) : i;

		assert_true(got && (!is_mark || nmarks--));
		same(got, &sw[want]);
		taken[want] = true;
		if (!is_mark)
			switch_dec_take(d);
	}
	assert_null(switch_dec_peek(d));
	assert_int_equal(nmarks, 0);
	packed_fini(&p);
	free(taken);
	free(sw);
}

static void test_round_trips(void **state)
{
	struct switch_dec *d = switch_dec_new();

	(void)state;
	rnd = 1;
	round_trip(d, 0, 1, 1, false, false);
	round_trip(d, 1, 1, 1, false, false);
	for (int plain = 0; plain < 2; plain++) {
		round_trip(d, 5000, 1, 2, false, plain);
		round_trip(d, 5000, 2, 5, false, plain);
		round_trip(d, 5000, CPUS, 1000, false, plain);
		round_trip(d, 300, 3, 40, true, plain);
		round_trip(d, 300, CPUS, 40, true, plain);
	}
	switch_dec_free(d);
}

/* A block that says it has no marks has none. */
static void test_no_marks(void **state)
{
	struct ev_switch sw[] = { { .time = 5, .tid = 1 }, { .time = 6, .tid = 1, .mark = true }, { .time = 7, .tid = 1, .out = true } };
	struct switch_dec *d = switch_dec_new();
	struct switch_block b = { 0 };
	struct packed p;
	size_t n;

	(void)state;
	for (int marks = 0; marks < 2; marks++) {
		sw[1].mark = marks;
		encode(sw, 3, &p, false);
		b.symbols = p.syms.len / REC_SYMBOL;
		cursor_init(&b.code, p.code.s, p.code.len);
		cursor_init(&b.bits, p.bits.s, p.bits.len);
		assert_int_equal(switch_decode(d, &b), marks ? -EINVAL : 0);
		switch_dec_marks(d, &n);
		assert_int_equal(n, 0);
		packed_fini(&p);
	}
	switch_dec_free(d);
}

/* Damage ends decoding, and then nothing is delivered. */
static void test_hostile(void **state)
{
	struct ev_switch sw[200];
	struct packed p[4];
	struct switch_dec *d = switch_dec_new();
	unsigned int failed = 0;

	(void)state;
	rnd = 7;
	for (int i = 0; i < 4; i++) {
		make(sw, 200, 4, 20, i / 2);
		encode(sw, 200, &p[i], i % 2);
	}
	for (int round = 0; round < 20000; round++) {
		size_t nmarks;
		struct packed *now = &p[round % 4];
		/* Bits are never wrong, but there may be too few or too many of them. */
		struct strbuf *c = round % 100 < 4 ? &now->bits : &now->code;
		const size_t bits = now->bits.len;
		uint32_t at = below((uint32_t)c->len), n = 0;
		char old = c->s[at];

		c->s[at] = (char)(old ^ (1 + below(255)));
		if (c == &now->bits)
			c->len = below((uint32_t)c->len);
		failed += decode(d, now, round % 2) != 0;
		c->s[at] = old;
		now->bits.len = bits;
		/* Plain symbols can be others that are as good. */
		for (; switch_dec_peek(d); n++) {
			assert_true(switch_dec_peek(d)->out || !switch_dec_peek(d)->preempted);
			switch_dec_take(d);
		}
		switch_dec_marks(d, &nmarks);
		assert_true(n + nmarks <= now->syms.len / REC_SYMBOL / 2);
	}
	assert_true(failed > 10000);
	for (int i = 0; i < 4; i++)
		packed_fini(&p[i]);
	switch_dec_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_no_marks),
		cmocka_unit_test(test_hostile),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
