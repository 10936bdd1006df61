/* Compiles CFI rows to rules and caches them (rules.h). */
#include "unwind/rules.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "code/made_rows.h"
#include "host/pages.h"

static_assert(RULE_SAVED_MAX == CFI_PLAIN_SAVED_MAX, "the fields of struct cfi_plain");

#define L1_MIN 1024u	/* slots: a few pages */
#define L1_MAX 65536u	/* 1 MiB */

/* Registers that a RULE_COMMON can hold, in the order of its fields: all callee-saved registers. */
static const uint8_t saved_reg[RULE_NSAVED] = { 3, 6, 12, 13, 14, 15 };

static size_t l1_bytes(const struct rules *rs)
{
	return (rs->l1_mask + 1) * sizeof(*rs->l1);
}

static void make_l1(struct rules *rs, uint64_t slots)
{
	rs->l1_mask = slots - 1;
	rs->l1 = xpages(l1_bytes(rs));
	/* All of its pages will be needed; xtouch() explains why they are populated now. */
	pages_populate(rs->l1, l1_bytes(rs));
}

/* Doubles the slots. */
static void grow_l1(struct rules *rs)
{
	const struct rules old = *rs;

	make_l1(rs, 2 * (old.l1_mask + 1));
	for (uint64_t i = 0; i <= old.l1_mask; i++)
		if (old.l1[i].key)
			rs->l1[rule_slot_of(old.l1[i].key, rs->l1_mask)] = old.l1[i];
	xpages_free(old.l1, l1_bytes(&old));
}

struct rules *rules_new(enum rules_from from)
{
	struct rules *rs = xcalloc(1, sizeof(*rs));

	rs->from = from;
	make_l1(rs, L1_MIN);
	return rs;
}

void rules_free(struct rules *rs)
{
	if (!rs)
		return;
	for (size_t i = 0; i < rs->ngeneral; i++)
		free(rs->general[i]);
	free(rs->general);
	u64map_fini(&rs->all);
	u64map_fini(&rs->by_content);
	xpages_free(rs->l1, l1_bytes(rs));
	free(rs);
}

/*
 * A register without a rule keeps its value. For callee-saved registers the ABI says so. For the
 * others, other unwinders assume it, and assembly with its own calling conventions relies on it.
 */
static bool keeps_value(const struct cfi_rule *r)
{
	return r->how == CFI_UNSPEC || r->how == CFI_SAME;
}

/* An explicit rule "the caller's stack pointer is the CFA" is still the default. */
static bool is_default_sp(const struct cfi_row *row, unsigned int reg)
{
	const struct cfi_rule *r = &row->regs[reg];

	return reg == CFI_REG_SP && r->how == CFI_VAL_OFFSET && r->off == 0;
}

/* Number of the field of RULE_COMMON that holds register @reg, or -1. */
static int saved_field(unsigned int reg)
{
	for (int i = 0; i < RULE_NSAVED; i++)
		if (saved_reg[i] == reg)
			return i;
	return -1;
}

/* Returns true and sets *@out if @row has the common shape. */
static bool compile_common(const struct cfi_row *row, rule_t *out)
{
	const struct cfi_rule *ra = &row->regs[CFI_REG_RA];
	rule_t r = RULE_COMMON;

	if (row->signal_frame || row->ra_reg != CFI_REG_RA || row->cfa_how != CFI_REGISTER)
		return false;
	if (row->cfa.reg == CFI_REG_BP)
		r |= 1u << 3;
	else if (row->cfa.reg != CFI_REG_SP)
		return false;
	if (row->cfa.off < 0 || row->cfa.off % 8 || row->cfa.off >> 33)
		return false;
	if (ra->how != CFI_OFFSET || ra->off != -8)
		return false;
	r |= (uint64_t)row->cfa.off >> 3 << RULE_OFF_SHIFT;

	for (unsigned int reg = 0; reg < CFI_REG_RA; reg++) {
		const struct cfi_rule *rule = &row->regs[reg];
		int field;

		if (keeps_value(rule) || is_default_sp(row, reg))
			continue;
		field = saved_field(reg);
		if (field < 0 || rule->how != CFI_OFFSET || rule->off % 8 || rule->off > -8 ||
		    rule->off < -8 * RULE_SAVED_MAX)
			return false;
		/* See save_is_stale() in uregs.h; with %rbp, the registers are needed to decide. */
		if (row->cfa.reg == CFI_REG_SP && -rule->off > row->cfa.off)
			continue;
		r |= (uint64_t)(-rule->off / 8) << (RULE_SAVED_SHIFT + 5 * field);
	}
	*out = r;
	return true;
}

/* Fields without meaning for the kind of rule are 0, so that equal rules have equal bytes. */
static void set_rule(struct cfi_rule *dst, const struct cfi_rule *src, uint8_t how)
{
	dst->how = how;
	switch (how) {
	case CFI_OFFSET:
	case CFI_VAL_OFFSET: dst->off = src->off; break;
	case CFI_REGISTER:
		dst->reg = src->reg;
		dst->off = src->off;
		break;
	case CFI_EXPR:
	case CFI_VAL_EXPR:
		dst->expr = src->expr;
		dst->expr_len = src->expr_len;
		break;
	default: break;
	}
}

/* Stores each different rule once: for example, all entries of a PLT share one expression. */
static rule_t compile_general(struct rules *rs, const struct cfi_row *row)
{
	struct general_rule *g;
	uint64_t *num;
	uint8_t n = 0;
	size_t size;
	bool is_new;

	for (unsigned int reg = 0; reg < CFI_NREGS; reg++)
		if (reg != row->ra_reg && !keeps_value(&row->regs[reg]))
			n++;
	size = sizeof(*g) + n * sizeof(g->regs[0]);
	g = xcalloc(1, size);
	g->cfa_how = row->cfa_how;
	g->signal_frame = row->signal_frame;
	set_rule(&g->cfa, &row->cfa, row->cfa_how);
	set_rule(&g->ra, &row->regs[row->ra_reg], row->regs[row->ra_reg].how);
	for (unsigned int reg = 0; reg < CFI_NREGS; reg++) {
		const struct cfi_rule *rule = &row->regs[reg];

		if (reg == row->ra_reg || keeps_value(rule))
			continue;
		if (reg == CFI_REG_SP && !is_default_sp(row, reg))
			g->own_sp = true;
		g->regs[g->n].reg = reg;
		set_rule(&g->regs[g->n++].rule, rule, rule->how);
	}

	num = u64map_put(&rs->by_content, hash_bytes(g, size), &is_new);
	if (!is_new) {
		const struct general_rule *old = rs->general[*num];

		if (old->n == g->n && memcmp(old, g, size) == 0) {
			free(g);
			return RULE_GENERAL | *num << 32;
		}
	}
	*num = rs->ngeneral;
	XGROW(rs->general, rs->ngeneral, rs->general_cap);
	rs->general[rs->ngeneral] = g;
	return RULE_GENERAL | (uint64_t)rs->ngeneral++ << 32;
}

/*
 * Does the binary's CFI have rows for @svma? For a binary without any, the slice is checked for
 * rows of a debug file that is gone; it also holds the made rows.
 */
static bool is_stated(struct module *mod, uint64_t svma)
{
	struct cfi *cfi = module_cfi(mod);
	struct cfi_fde fde;
	struct cfi_row row;

	return !cfi_find(cfi, svma, &fde) && (!mod->cfi_cut || cfi_row(cfi, &fde, svma, &row) || !row.made);
}

static int find_row(const struct rules *rs, struct module *mod, uint64_t svma, struct cfi_row *row)
{
	struct made_rows *made = rs->from == RULES_CFI ? NULL : module_made(mod);
	struct cfi_fde fde;
	struct cfi *cfi;
	int err;

	/* A slice has rows of both kinds. */
	if (!made) {
		cfi = module_cfi(mod);
		err = cfi_find(cfi, svma, &fde) ? -ENOENT : cfi_row(cfi, &fde, svma, row);
		return err || row->made == (rs->from != RULES_CFI) ? err : -ENOENT;
	}
	if (!made_rows_first(made, svma, rs->from == RULES_MADE_RETURN) && is_stated(mod, svma))
		return -ENOENT;
	return made_row(made, svma, rs->from == RULES_MADE_RETURN, row);
}

/* compile_common() for a plain row. */
static bool compile_plain(const struct cfi_plain *row, rule_t *out)
{
	uint32_t saved = row->saved;

	if (row->off % 8)
		return false;
	/* See save_is_stale(). */
	for (uint32_t field = 0; !row->bp && field < RULE_NSAVED; field++)
		if (8 * (saved >> 5 * field & RULE_SAVED_MAX) > row->off)
			saved &= ~((uint32_t)RULE_SAVED_MAX << 5 * field);
	*out = RULE_COMMON | (uint64_t)row->bp << 3 | (uint64_t)saved << RULE_SAVED_SHIFT | (uint64_t)row->off >> 3 << RULE_OFF_SHIFT;
	return true;
}

/* Most CFI rows can be compiled without building the whole row. */
static bool is_plain(struct rules *rs, struct module *mod, uint64_t svma, rule_t *out)
{
	struct cfi_plain row;
	struct cfi_fde fde;

	return rs->from == RULES_CFI && !cfi_find(module_cfi(mod), svma, &fde) &&
	       cfi_plain_row(module_cfi(mod), &fde, svma, &row) && compile_plain(&row, out);
}

static rule_t compile(struct rules *rs, struct module *mod, uint64_t svma)
{
	struct cfi_row row;
	rule_t r;

	if (is_plain(rs, mod, svma, &r))
		return r;
	if (find_row(rs, mod, svma, &row))
		return RULE_NO_ROWS;
	if (row.ra_reg >= CFI_NREGS || keeps_value(&row.regs[row.ra_reg]))
		return RULE_NO_ROWS;
	if (row.regs[row.ra_reg].how == CFI_UNDEF)
		return RULE_OUTERMOST;
	if (compile_common(&row, &r))
		return r;
	/* The number has 32 bits; a recording that needs more rules is fabricated. */
	if (rs->ngeneral >= UINT32_MAX)
		return RULE_NO_ROWS;
	return compile_general(rs, &row);
}

rule_t rules_fill(struct rules *rs, struct module *mod, uint64_t svma)
{
	uint64_t key = rule_key(mod, svma);
	struct rule_slot *slot;
	uint64_t *known;
	bool is_new;

	if (svma >> RULE_SVMA_BITS || mod->id == 0 || mod->id > RULE_ID_MAX)
		return compile(rs, mod, svma);
	known = u64map_put(&rs->all, key, &is_new);
	if (is_new) {
		*known = compile(rs, mod, svma);
		if (rs->all.n > rs->l1_mask && rs->l1_mask + 1 < L1_MAX)
			grow_l1(rs);
	}
	slot = &rs->l1[rule_slot_of(key, rs->l1_mask)];
	slot->key = key;
	slot->rule = *known;
	return slot->rule;
}
