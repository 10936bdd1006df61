/* Sets of addresses, compared with a bit for each address of a small space. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "random.h"
#include "procs/addrset.h"

#define SPACE 5000

static void against_bits(void **state)
{
	static const uint64_t bases[] = { 0, 0x555555554000, 0xffffffffffffffffull - SPACE + 1 };
	uint64_t seed = 1;

	(void)state;
	for (size_t b = 0; b < sizeof(bases) / sizeof(*bases); b++) {
		struct addrset s = { .n = 0 };

		for (int round = 0; round < 2; round++) {
			bool in[SPACE] = { false };
			size_t n = 0, k = 0;
			uint64_t *all;

			for (int i = 0; i < SPACE / 2; i++) {
				const uint64_t at = random_next(&seed) % SPACE;

				assert_int_equal(addrset_has(&s, bases[b] + at), in[at]);
				addrset_add(&s, bases[b] + at);
				n += !in[at];
				in[at] = true;
				assert_int_equal(s.n, n);
			}
			all = addrset_sorted(&s);
			for (uint64_t at = 0; at < SPACE; at++) {
				assert_int_equal(addrset_has(&s, bases[b] + at), in[at]);
				if (in[at])
					assert_int_equal(all[k++], bases[b] + at);
			}
			assert_int_equal(k, n);
			free(all);
			addrset_clear(&s);
			assert_int_equal(s.n, 0);
		}
		addrset_fini(&s);
	}
}

/* 100,000 addresses, four in each 64 bytes, take at most 1 MiB. One slot each would take 4 MiB. */
static void takes_little(void **state)
{
	struct addrset s = { .n = 0 };

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		addrset_add(&s, 0xffffffff81000000ull + i * 16);
	assert_int_equal(s.n, 100000);
	assert_true(s.chunks.cap * sizeof(*s.chunks.slots) <= 1 << 20);
	addrset_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_bits),
		cmocka_unit_test(takes_little),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
