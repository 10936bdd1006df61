/* Whether two rows of call frame information say the same, for tests. */
#ifndef NSPROF_TEST_CFI_EQUAL_H
#define NSPROF_TEST_CFI_EQUAL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "cfi.h"

static inline bool cfi_rules_equal(const struct cfi_rule *a, const struct cfi_rule *b)
{
	return a->how == b->how && a->reg == b->reg && a->off == b->off &&
	       a->expr_len == b->expr_len &&
	       (!a->expr_len || memcmp(a->expr, b->expr, a->expr_len) == 0);
}

static inline void assert_rows_equal(const struct cfi_row *a, const struct cfi_row *b)
{
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->ra_reg, b->ra_reg);
	assert_int_equal(a->signal_frame, b->signal_frame);
	assert_true(cfi_rules_equal(&a->cfa, &b->cfa));
	for (int r = 0; r < CFI_NREGS; r++)
		assert_true(cfi_rules_equal(&a->regs[r], &b->regs[r]));
}

#endif
