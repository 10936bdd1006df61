/*
 * A fast path for rows of the plain shape (struct cfi_plain), which nearly all rows have. It needs
 * little memory and a few operations per instruction. Anything that is not plain, and any damage,
 * is left to cfi_row().
 */
#include "base/util.h"
#include "cfi/cfi_priv.h"

/* Compilers nest remember_state once or twice (shrink-wrapped epilogues). */
#define STATE_DEPTH 4
#define CODE_ALIGN_MAX 16u	/* no machine has larger code units */

/* For register R: the index of its field in struct cfi_plain, plus 1; 0: none. */
static const uint8_t field_of[CFI_NREGS] = { [3] = 1, [CFI_REG_BP] = 2, [12] = 3, [13] = 4, [14] = 5, [15] = 6 };

/* True if the CIE's initial row is plain and no register is saved. */
static bool initial_is_plain(const struct cfi_cie *cie, struct cfi_plain *out)
{
	const struct cfi_row *row = &cie->init;

	if (row->signal_frame || row->made || row->ra_reg != CFI_REG_RA || cie->data_align != -8 || row->cfa_how != CFI_REGISTER ||
	    (row->cfa.reg != CFI_REG_SP && row->cfa.reg != CFI_REG_BP) || row->cfa.off < 0 || row->cfa.off > UINT32_MAX ||
	    cie->code_align > CODE_ALIGN_MAX)
		return false;
	for (unsigned int reg = 0; reg < CFI_REG_RA; reg++)
		if (row->regs[reg].how != CFI_UNSPEC)
			return false;
	*out = (struct cfi_plain){ .off = (uint32_t)row->cfa.off, .bp = row->cfa.reg == CFI_REG_BP };
	return row->regs[CFI_REG_RA].how == CFI_OFFSET && row->regs[CFI_REG_RA].off == -8;
}

/* Reads a number of at most four bytes. False: it is longer or truncated. */
static inline bool get_uleb(const uint8_t **at, const uint8_t *end, uint32_t *out)
{
	const uint8_t *p = *at;
	unsigned int shift = 0;

	for (*out = 0; p < end && shift < 28; shift += 7) {
		*out |= (*p & 0x7fu) << shift;
		if (!(*p++ & 0x80)) {
			*at = p;
			return true;
		}
	}
	return false;
}

/* Reads a number of @n bytes. */
static inline bool get_fixed(const uint8_t **at, const uint8_t *end, unsigned int n, uint32_t *out)
{
	if ((size_t)(end - *at) < n)
		return false;
	*out = 0;
	for (unsigned int i = 0; i < n; i++)
		*out |= (uint32_t)(*at)[i] << 8 * i;
	*at += n;
	return true;
}

static inline bool set_base(struct cfi_plain *row, uint32_t reg)
{
	row->bp = reg == CFI_REG_BP;
	return reg == CFI_REG_BP || reg == CFI_REG_SP;
}

/* Sets register @reg as saved at CFA - 8 * @k. */
static inline bool set_saved(struct cfi_plain *row, unsigned int reg, uint32_t k)
{
	unsigned int field = reg < CFI_NREGS ? field_of[reg] : 0;

	/* Rules for vector registers are never needed. */
	if (!field)
		return reg >= CFI_NREGS || (reg == CFI_REG_RA && k == 1);
	row->saved = (row->saved & ~(CFI_PLAIN_SAVED_MAX << 5 * (field - 1))) | k << 5 * (field - 1);
	return k && k <= CFI_PLAIN_SAVED_MAX;
}

/* Restores the initial rule: the register keeps its value. */
static inline void restore_initial(struct cfi_plain *row, unsigned int reg)
{
	unsigned int field = reg < CFI_NREGS ? field_of[reg] : 0;

	if (field)
		row->saved &= ~(CFI_PLAIN_SAVED_MAX << 5 * (field - 1));
}

struct machine {
	struct cfi_plain row, saved[STATE_DEPTH];	/* saved: the first @depth are in use */
	unsigned int depth;
	const uint8_t *at, *end;	/* the rest of the program */
};

/*
 * Runs an instruction without an operand in its first byte. *@delta is how far it advances; most
 * leave it at 0. False: it is not plain.
 */
static bool run_low(struct machine *m, uint8_t op, uint32_t *delta)
{
	struct cfi_plain *row = &m->row;
	uint32_t reg, v;

	switch (op) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_advance_loc1:
		return get_fixed(&m->at, m->end, 1, delta);
	case DW_CFA_advance_loc2:
		return get_fixed(&m->at, m->end, 2, delta);
	case DW_CFA_advance_loc4:
		return get_fixed(&m->at, m->end, 4, delta);
	case DW_CFA_def_cfa_offset:
		return get_uleb(&m->at, m->end, &row->off);
	case DW_CFA_def_cfa_register:
		return get_uleb(&m->at, m->end, &reg) && set_base(row, reg);
	case DW_CFA_def_cfa:
		return get_uleb(&m->at, m->end, &reg) && set_base(row, reg) && get_uleb(&m->at, m->end, &row->off);
	case DW_CFA_GNU_args_size:
		return get_uleb(&m->at, m->end, &v);
	case DW_CFA_remember_state:
		if (m->depth == STATE_DEPTH)
			return false;
		m->saved[m->depth++] = *row;
		return true;
	case DW_CFA_restore_state:
		if (!m->depth)
			return false;
		*row = m->saved[--m->depth];
		return true;
	default:
		return false;
	}
}

/* Runs from address @loc until the row holds for @svma. */
static bool run(struct machine *m, uint64_t loc, uint64_t svma, uint64_t code_align)
{
	while (m->at < m->end) {
		const uint8_t op = *m->at++, low = op & 0x3f;
		uint32_t delta = 0, k;
		bool plain = true;

		if ((op & 0xc0) == DW_CFA_advance_loc)
			delta = low;
		else if ((op & 0xc0) == DW_CFA_offset)
			plain = get_uleb(&m->at, m->end, &k) && set_saved(&m->row, low, k);
		else if ((op & 0xc0) == DW_CFA_restore)
			restore_initial(&m->row, low);
		else
			plain = run_low(m, op, &delta);
		if (!plain || loc + delta * code_align < loc)
			return false;
		loc += delta * code_align;
		if (loc > svma)
			break;
	}
	return true;
}

bool cfi_plain_row(struct cfi *cfi, const struct cfi_fde *fde, uint64_t svma, struct cfi_plain *row)
{
	struct cfi_entry e;
	struct machine m;

	if (svma < fde->start || svma >= fde->end || cfi_fde_at(cfi, fde->debug_frame, fde->off, &e))
		return false;
	if (!e.cie->plain_state)
		e.cie->plain_state = cfi_initial(cfi, e.cie) == 0 && initial_is_plain(e.cie, &e.cie->plain) ? 1 : -1;
	if (e.cie->plain_state < 0)
		return false;
	m.row = e.cie->plain;
	m.depth = 0;
	m.at = e.prog.c.base;
	m.end = m.at + e.prog.c.size;
	if (!run(&m, fde->start, svma, e.cie->code_align))
		return false;
	*row = m.row;
	return true;
}
