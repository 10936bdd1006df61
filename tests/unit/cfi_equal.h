/* For tests: whether two rows of call frame information mean the same. */
#ifndef NSPROF_TEST_CFI_EQUAL_H
#define NSPROF_TEST_CFI_EQUAL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "cfi/cfi.h"

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

/*
 * Whether @row, which is complete, has the shape of a plain row and means the same as @plain
 * (cfi.h).
 */
static inline bool cfi_is_plain(const struct cfi_row *row, const struct cfi_plain *plain)
{
	static const uint8_t reg_of[] = { 3, 6, 12, 13, 14, 15 };

	if (row->signal_frame || row->made || row->ra_reg != CFI_REG_RA || row->cfa_how != CFI_REGISTER ||
	    row->cfa.reg != (plain->bp ? CFI_REG_BP : CFI_REG_SP) || row->cfa.off != plain->off ||
	    row->regs[CFI_REG_RA].how != CFI_OFFSET || row->regs[CFI_REG_RA].off != -8)
		return false;
	for (int r = 0; r < CFI_REG_RA; r++) {
		const struct cfi_rule *rule = &row->regs[r];
		int64_t k = 0;

		for (int f = 0; f < 6; f++)
			if (reg_of[f] == r)
				k = plain->saved >> 5 * f & 31;
		if (k ? rule->how != CFI_OFFSET || rule->off != -8 * k : rule->how != CFI_UNSPEC)
			return false;
	}
	return true;
}

#endif
