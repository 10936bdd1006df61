#include "samples/reg_codec.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "event.h"
#include "samples/sample_ctx.h"

/* Registers in the order of coding; ip and sp come before. */
static const uint8_t reg_order[] = {
	UREG_BP, UREG_BX, UREG_R12, UREG_R13, UREG_R14, UREG_R15, UREG_AX, UREG_CX,
	UREG_DX, UREG_SI, UREG_DI, UREG_R8, UREG_R9, UREG_R10, UREG_R11,
};
static_assert(ARRAY_SIZE(reg_order) == REG_CODED, "each once");

/* Most bytes between sp and a register that is coded relative to it. */
#define SP_REACH (16 << 20)

/*
 * A register is expected to hold what it held the last time at the same ip or, if that is unknown,
 * in the thread's last sample. One symbol tells which registers of a group do not.
 */
#define GROUP 4u

/* Symbols under CTX_REG: what a register holds instead. */
enum reg_op {
	REG_SAME,	/* as in the thread's last sample with registers */
	REG_ZERO,
	REG_SP,		/* sp plus a number of words */
	REG_SEEN,	/* an address met on the stack */
	REG_CODE, REG_NEW,
	REG_RAW,	/* a recent such value, or old value XOR new value */
};

enum reg_kind { REG_KIND_ABS, REG_KIND_SP, REG_KIND_SEEN };

/* ---- predictions, shared by encoder and decoder ---- */

static struct reg_row *row_of(struct reg_model *m, uint64_t ip)
{
	return &m->row[hash_u64(ip) >> (64 - REG_ROW_BITS)];
}

/* What register @i held at the row's ip, translated to this sample; false if that is impossible. */
static bool row_guess(const struct word_seen *seen, const struct reg_row *row, uint32_t i,
		      uint64_t sp, uint64_t *val)
{
	*val = row->val[i];
	switch (row->kind[i]) {
	case REG_KIND_SP:
		*val += sp;
		return true;
	case REG_KIND_SEEN:
		if (row->val[i] >= seen->n)
			return false;
		*val = word_seen_at(seen, row->val[i]);
		return true;
	default:
		return true;
	}
}

/* Index of @val among the recent raw values, or their number. */
static uint32_t raw_rank(const struct reg_model *m, uint64_t val)
{
	uint32_t i = 0;

	while (i < REG_RECENT && m->raw[i] != val)
		i++;
	return i;
}

static void raw_note(struct reg_model *m, uint64_t val, uint32_t rank)
{
	memmove(m->raw + 1, m->raw, MIN(rank, REG_RECENT - 1) * sizeof(*m->raw));
	m->raw[0] = val;
}

static void row_note(const struct word_seen *seen, struct reg_row *row, uint32_t i, uint64_t sp,
		     uint64_t val)
{
	int64_t rel = (int64_t)(val - sp);
	/* Most are masked, so 0, which is not an address here. */
	uint32_t rank = val ? word_seen_rank(seen, val) : seen->n;

	row->val[i] = val;
	row->kind[i] = REG_KIND_ABS;
	if (rank < seen->n) {
		row->val[i] = rank;
		row->kind[i] = REG_KIND_SEEN;
	} else if (rel > -SP_REACH && rel < SP_REACH) {
		row->val[i] = (uint64_t)rel;
		row->kind[i] = REG_KIND_SP;
	}
}

/* What the registers of a group are expected to hold. */
struct expected {
	bool have[GROUP];	/* the expectation comes from the ip */
	uint64_t val[GROUP];
};

/*
 * Registers @i to @i + @n. @last: the thread's previous registers; @row: NULL unless it is of this
 * ip.
 */
static void expect(struct expected *x, const struct word_seen *seen, const struct reg_row *row, uint32_t i,
		   uint32_t n, const uint64_t *last)
{
	for (uint32_t k = 0; k < n; k++) {
		x->have[k] = row && row_guess(seen, row, i + k, last[UREG_SP], &x->val[k]);
		if (!x->have[k])
			x->val[k] = last[reg_order[i + k]];
	}
}

/* Context of a group's symbol: the previous group's symbol, and whether the ip is known. */
static uint32_t group_ctx(uint32_t i, bool known, uint32_t before)
{
	return CTX_REG_OTHER + (i / GROUP << 5 | (uint32_t)known << 4 | before);
}

/*
 * Context of an unexpected register @i: how the previous such register was coded, and what is known
 * of this one.
 */
static uint32_t reg_ctx(uint32_t i, uint32_t prev, bool have, bool same)
{
	return CTX_REG + (i << 5 | prev << 2 | (uint32_t)have << 1 | same);
}

/* ---- encoder ---- */

struct enc {
	struct reg_model *m;
	const struct word_seen *seen;
	struct code_enc *dict;
	const uint64_t *regs, *last;
	bool unmasked;
	struct strbuf *out;
};

/*
 * Codes register @i when neither the thread's last sample nor the row predicts it. Returns its op.
 */
static uint32_t enc_reg(const struct enc *e, uint32_t ctx, uint32_t i)
{
	uint64_t val = e->regs[reg_order[i]];
	int64_t rel = (int64_t)(val - e->regs[UREG_SP]);
	uint32_t rank = word_seen_rank(e->seen, val), id;
	enum reg_op op;

	if (!val) {
		nibble_put(e->out, ctx, op = REG_ZERO);
	} else if (rank < e->seen->n) {
		nibble_put(e->out, ctx, op = REG_SEEN);
		nibble_put(e->out, CTX_REG_SEEN + i, rank);
	} else if (rel % 8 == 0 && rel > -SP_REACH && rel < SP_REACH) {
		nibble_put(e->out, ctx, op = REG_SP);
		nibble_put_snum(e->out, CTX_REG_SP, rel / 8);
	} else if (code_enc_find(e->dict, val, &id)) {
		nibble_put(e->out, ctx, op = REG_CODE);
		nibble_put_id(e->out, CTX_CODE, id, e->dict->n);
	} else if (!e->unmasked && reg_order[i] != UREG_BP) {
		/* bp is never masked and may hold anything: it must not fill the dictionary. */
		nibble_put(e->out, ctx, op = REG_NEW);
		code_enc_add(e->dict, e->out, val);
	} else {
		nibble_put(e->out, ctx, op = REG_RAW);
		rank = raw_rank(e->m, val);
		nibble_put(e->out, CTX_REG_RECENT, rank);
		if (rank == REG_RECENT)
			nibble_put_num(e->out, CTX_REG_RAW, e->last[reg_order[i]] ^ val);
		raw_note(e->m, val, rank);
	}
	return op;
}

void regs_encode(struct reg_model *m, const struct word_seen *seen, struct code_enc *dict,
		 const uint64_t *regs, bool unmasked, uint64_t ip_guess, uint64_t *last, struct strbuf *out)
{
	struct enc e = { m, seen, dict, regs, last, unmasked, out };
	uint64_t sp = regs[UREG_SP], ip = regs[UREG_IP];
	struct reg_row *row = row_of(m, ip), *known = row->ip == ip ? row : NULL;
	uint32_t op = REG_SAME, others = 0;

	if (ip_guess && ip == ip_guess)
		nibble_put(out, CTX_IP_NEW, CODE_GUESS);
	else
		code_enc_put(dict, out, CTX_IP_NEW, CTX_IP, ip);
	last[UREG_IP] = ip;
	for (uint32_t i = 0; i < REG_CODED; i += GROUP) {
		uint32_t n = MIN(GROUP, REG_CODED - i), ctx = group_ctx(i, known, others);
		struct expected x;

		expect(&x, seen, known, i, n, last);
		others = 0;
		for (uint32_t k = 0; k < n; k++)
			others |= (uint32_t)(regs[reg_order[i + k]] != x.val[k]) << k;
		nibble_put(out, ctx, others);
		for (uint32_t k = 0; k < n; k++) {
			uint64_t val = regs[reg_order[i + k]], *old = &last[reg_order[i + k]];

			ctx = reg_ctx(i + k, op, x.have[k], x.val[k] == *old);
			if (others >> k & 1 && val == *old)
				nibble_put(out, ctx, op = REG_SAME);
			else if (others >> k & 1)
				op = enc_reg(&e, ctx, i + k);
			row_note(seen, row, i + k, sp, val);
			*old = val;
		}
	}
	row->ip = ip;
}

/* ---- decoder ---- */

struct dec {
	struct reg_model *m;
	const struct word_seen *seen;
	struct code_dec *dict;
	struct nibble_dec *in;
	uint64_t *last;
};

/* Decodes register @i, which is not as expected. */
static int dec_reg(const struct dec *d, uint32_t op, uint32_t i)
{
	uint64_t *val = &d->last[reg_order[i]];
	uint32_t rank;

	switch (op) {
	case REG_SAME:
		return 0;
	case REG_ZERO:
		*val = 0;
		return 0;
	case REG_SP:
		*val = d->last[UREG_SP] + 8 * (uint64_t)nibble_get_snum(d->in, CTX_REG_SP);
		return 0;
	case REG_SEEN:
		rank = nibble_get(d->in, CTX_REG_SEEN + i);
		if (rank >= d->seen->n)
			return -EINVAL;
		*val = word_seen_at(d->seen, rank);
		return 0;
	case REG_CODE:
		return code_dec_find(d->dict, nibble_get_id(d->in, CTX_CODE, d->dict->n), val);
	case REG_NEW:
		return code_dec_add(d->dict, d->in, val);
	case REG_RAW:
		rank = nibble_get(d->in, CTX_REG_RECENT);
		*val = rank < REG_RECENT ? d->m->raw[rank]
					 : *val ^ nibble_get_num(d->in, CTX_REG_RAW);
		raw_note(d->m, *val, rank);
		return 0;
	default:
		return -EINVAL;
	}
}

int regs_decode(struct reg_model *m, const struct word_seen *seen, struct code_dec *dict,
		struct nibble_dec *in, uint64_t ip_guess, uint64_t *last)
{
	struct dec d = { m, seen, dict, in, last };
	uint64_t sp = last[UREG_SP], *ip = &last[UREG_IP];
	uint32_t op = REG_SAME, others = 0;
	struct reg_row *row, *known;

	if (code_dec_get(dict, in, CTX_IP_NEW, CTX_IP, ip_guess, ip))
		return -EINVAL;
	row = row_of(m, *ip);
	known = row->ip == *ip ? row : NULL;
	for (uint32_t i = 0; i < REG_CODED; i += GROUP) {
		uint32_t n = MIN(GROUP, REG_CODED - i);
		struct expected x;

		expect(&x, seen, known, i, n, last);
		others = nibble_get(in, group_ctx(i, known, others));
		if (others >> n)
			return -EINVAL;
		for (uint32_t k = 0; k < n; k++) {
			uint64_t *val = &last[reg_order[i + k]];

			if (others >> k & 1) {
				op = nibble_get(in, reg_ctx(i + k, op, x.have[k], x.val[k] == *val));
				if (dec_reg(&d, op, i + k))
					return -EINVAL;
			} else {
				*val = x.val[k];
			}
			row_note(seen, row, i + k, sp, *val);
		}
	}
	row->ip = *ip;
	return 0;
}
