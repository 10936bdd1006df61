/* What the sink keeps of samples: only code and addresses of the stack, and nothing without mappings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/log.h"
#include "drain_rig.h"

/* Of words and registers only code and stack stay, and of a chain only code. */
static void masked(void **state)
{
	struct sample_spec s = {
		.time = 1, .pid = PID, .misc = 2, .abi = 2, .sp = 0x7ffd00001000, .ip = 0x401000, .room = 64, .copied = 64,
	};
	struct rig *r = rig_new(CALLGRAPH_DWARF);
	struct result res;

	(void)state;
	put_sample(r, 0, &s);
	s.time = 2, s.sp += 4;	/* no stack pointer */
	put_sample(r, 0, &s);
	s.time = 3, s.abi = 0, s.room = 0, s.nchain = 3;	/* 0x402000 is the end of its code */
	s.chain[0] = (uint64_t)-512, s.chain[1] = 0x401010, s.chain[2] = 0x402000;
	put_sample(r, 0, &s);
	s.time = 4, s.chain[2] = 0x402001;
	put_sample(r, 0, &s);
	s.time = 5, s.chain[1] = 0x402001;
	put_sample(r, 0, &s);
	s.time = 6, s.chain[1] = 0x401010, s.chain[2] = 0;	/* the kernel's end of a chain */
	put_sample(r, 0, &s);
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	assert_int_equal(r->ledger.l.kept, 6);
	assert_int_equal(r->ledger.l.withheld + r->ledger.l.maps_unknown, 0);
	rig_end(r, &res);
	for (int i = 0; i < 2; i++) {
		assert_true(res.s[i].has_regs && !res.s[i].unmasked);
		assert_int_equal(res.s[i].ip, 0x401000);
		assert_int_equal(res.s[i].bp, 0);
		assert_int_equal(res.s[i].r15, 0);
		assert_int_equal(res.s[i].lo, 0x7ffd00001000 + (i ? 8 : 0));
		assert_int_equal(res.s[i].first, 0);
		assert_int_equal(res.s[i].last, 0);
	}
	assert_int_equal(res.s[0].second, 0x2222);
	assert_int_equal(res.s[2].nchain, 3);
	assert_int_equal(res.s[2].chain[2], 0x402000);
	assert_int_equal(res.s[3].nchain, 3);
	assert_int_equal(res.s[3].chain[1], 0x401010);
	assert_int_equal(res.s[3].chain[2], CHAIN_UNMAPPED);
	assert_int_equal(res.s[4].nchain, 3);
	assert_int_equal(res.s[4].chain[1], CHAIN_UNMAPPED);
	assert_int_equal(res.s[4].chain[2], CHAIN_UNMAPPED);
	assert_int_equal(res.s[5].nchain, 3);
	assert_int_equal(res.s[5].chain[2], 0);
}

/* Without mappings nothing of the user part stays. It is counted. */
static void withheld(void **state)
{
	const struct sample_spec base = {
		.pid = STRANGER, .misc = 2, .abi = 2, .sp = 0x7ffd00001000, .ip = 0x401000, .room = 64, .copied = 64,
	};
	const uint32_t lengths[] = { 2, 3, 3, 4, 2, 2 };
	struct rig *r = rig_new(CALLGRAPH_DWARF);
	struct sample_spec s = base;
	struct result res;

	(void)state;
	s.time = 1;		/* 0: of an unknown process */
	put_sample(r, 0, &s);
	s.time = 2, s.pid = PID, s.ip = 0x403000;	/* 1: outside of all mappings */
	put_sample(r, 0, &s);
	s = base, s.time = 3;	/* 2: in the kernel */
	s.misc = 1, s.nchain = 2, s.chain[0] = (uint64_t)-128, s.chain[1] = 0xffffffff81000010;
	put_sample(r, 0, &s);
	s.time = 4, s.copied = 0;	/* 3: the same without a stack, as in an exec */
	put_sample(r, 0, &s);
	s = base, s.time = 5;	/* 4: a callchain */
	s.abi = 0, s.room = 0, s.nchain = 3;
	s.chain[0] = (uint64_t)-512, s.chain[1] = 0x401010, s.chain[2] = 0x401020;
	put_sample(r, 0, &s);
	s.time = 6, s.pid = 0, s.nchain = 2;	/* 5: of a process that we cannot see at all */
	put_sample(r, 0, &s);
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	assert_int_equal(r->ledger.l.kept, 6);
	assert_int_equal(r->ledger.l.withheld, 4);
	assert_int_equal(r->ledger.l.maps_unknown, 0);
	rig_end(r, &res);
	assert_int_equal(res.n, 6);
	for (int i = 0; i < 6; i++) {
		assert_false(res.s[i].has_regs || res.s[i].unmasked || res.s[i].copy_full);
		assert_int_equal(res.s[i].lo, res.s[i].hi);
		assert_int_equal(res.s[i].chain[res.s[i].nchain - 1], i == 3 || i == 5 ? CHAIN_UNMAPPED : CHAIN_WITHHELD);
		assert_int_equal(res.s[i].nchain, lengths[i]);
	}
	assert_int_equal(res.s[1].chain[1], CHAIN_UNMAPPED);
	assert_int_equal(res.s[3].chain[2], (uint64_t)-512);
	assert_int_equal(res.s[2].chain[1], 0xffffffff81000010);
	assert_int_equal(res.s[4].chain[0], (uint64_t)-512);
}

/* With --stacks=full, a sample without mappings keeps all. */
static void kept_in_full(void **state)
{
	const struct sample_spec s = {
		.time = 1, .pid = STRANGER, .misc = 2, .abi = 2, .sp = 0x7ffd00001000, .ip = 0x401000, .room = 64, .copied = 64,
	};
	struct rig *r = rig_new(CALLGRAPH_DWARF);
	struct result res;

	(void)state;
	r->o.full_stacks = true;
	put_sample(r, 0, &s);
	drain_round(&r->drain, DRAIN_ALL, r->sink);
	assert_int_equal(r->ledger.l.maps_unknown, 1);
	assert_int_equal(r->ledger.l.withheld, 0);
	rig_end(r, &res);
	assert_true(res.s[0].has_regs && res.s[0].unmasked);
	assert_int_equal(res.s[0].last, 0x8888);
	assert_int_equal(res.s[0].r15, 116);
}

static int with_helpers(void **state)
{
	(void)state;
	helpers = 3;
	return 0;
}

int main(void)
{
	/* The second time with threads that mask, from the setup of the first test on. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(masked),
		cmocka_unit_test(withheld),
		cmocka_unit_test(kept_in_full),
		cmocka_unit_test_setup(masked, with_helpers),
		cmocka_unit_test(withheld),
		cmocka_unit_test(kept_in_full),
	};

	log_init("test");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
