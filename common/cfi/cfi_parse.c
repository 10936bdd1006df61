/*
 * CIEs and FDEs: LSB 5.0 Core, 10.6.1 (.eh_frame) and DWARF 5, 6.4.1 (.debug_frame). They differ in
 * the CIE's id, in how an FDE refers to its CIE, and in the encoding of addresses.
 */
#include "cfi/cfi_priv.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"

/* Real ones are at most "zPLRSB" long. */
#define AUGMENTATION_MAX 16

/* Reads a LEB128 number (DWARF 5, 7.6): *@bits is the number of its bits, *@last its last byte. */
static inline uint64_t leb(struct cursor *c, unsigned int *bits, uint8_t *last)
{
	uint64_t v = 0;

	*bits = 0;
	do {
		*last = cursor_u8(c);
		if (*bits < 64)
			v |= (uint64_t)(*last & 0x7f) << *bits;
		*bits += 7;
	} while ((*last & 0x80) && cursor_ok(c));
	return v;
}

uint64_t cfi_uleb(struct cursor *c)
{
	unsigned int bits;
	uint8_t last;

	return leb(c, &bits, &last);
}

int64_t cfi_sleb(struct cursor *c)
{
	unsigned int bits;
	uint8_t last;
	uint64_t v = leb(c, &bits, &last);

	if ((last & 0x40) && bits < 64)
		v |= ~0ull << bits;
	return (int64_t)v;
}

static uint64_t read_address(struct cursor *c, uint8_t addr_size)
{
	return addr_size == 8 ? cursor_u64(c) : cursor_u32(c);
}

/* Reads the format part of an encoded pointer. */
static int read_format(struct cursor *c, uint8_t enc, uint8_t addr_size, uint64_t *out)
{
	switch (enc & 0x0f) {
	case DW_EH_PE_absptr:
		*out = read_address(c, addr_size);
		break;
	case DW_EH_PE_signed:
		*out = addr_size == 8 ? cursor_u64(c) : (uint64_t)(int64_t)(int32_t)cursor_u32(c);
		break;
	case DW_EH_PE_uleb128:
		*out = cfi_uleb(c);
		break;
	case DW_EH_PE_sleb128:
		*out = (uint64_t)cfi_sleb(c);
		break;
	case DW_EH_PE_udata2:
		*out = cursor_u16(c);
		break;
	case DW_EH_PE_sdata2:
		*out = (uint64_t)(int64_t)(int16_t)cursor_u16(c);
		break;
	case DW_EH_PE_udata4:
		*out = cursor_u32(c);
		break;
	case DW_EH_PE_sdata4:
		*out = (uint64_t)(int64_t)(int32_t)cursor_u32(c);
		break;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		*out = cursor_u64(c);
		break;
	default:
		return -EINVAL;
	}
	return cursor_ok(c) ? 0 : -EINVAL;
}

int cfi_pointer(const struct cfi *cfi, struct cursor *c, uint8_t enc, uint8_t addr_size,
		uint64_t svma, uint64_t *out)
{
	uint64_t at = svma + c->pos;
	int err;

	/*
	 * An indirect pointer would need the process's memory, and only personalities are indirect.
	 */
	if (enc == DW_EH_PE_omit || (enc & DW_EH_PE_indirect))
		return -EINVAL;
	err = read_format(c, enc, addr_size, out);
	if (err)
		return err;
	switch (enc & 0x70) {
	case 0:
		break;
	case DW_EH_PE_pcrel:
		*out += at;
		break;
	case DW_EH_PE_textrel:
		*out += cfi->secs.text_svma;
		break;
	case DW_EH_PE_datarel:
		*out += cfi->secs.data_svma;
		break;
	/* funcrel: we are reading the function's start itself. aligned: never seen */
	default:
		return -EINVAL;
	}
	if (addr_size == 4)
		*out &= 0xffffffff;
	return 0;
}

const struct cfi_section *cfi_section_of(const struct cfi *cfi, bool debug_frame)
{
	return debug_frame ? &cfi->secs.debug_frame : &cfi->secs.eh_frame;
}

int cfi_record_at(const struct cfi *cfi, bool debug_frame, uint64_t off, struct cfi_record *rec)
{
	const struct cfi_section *sec = cfi_section_of(cfi, debug_frame);
	bool dwarf64 = false;
	size_t id_pos, end;
	uint64_t len, id;

	if (!sec->data || off >= sec->size || sec->size - off < 4)
		return -ENOENT;
	cursor_init(&rec->c, sec->data, sec->size);
	rec->c.pos = off;
	len = cursor_u32(&rec->c);
	rec->terminator = !len;
	rec->next = rec->c.pos;
	if (!len)
		return 0;
	if (len == 0xffffffff) {
		dwarf64 = true;
		len = cursor_u64(&rec->c);
	}
	if (!cursor_ok(&rec->c) || len > cursor_left(&rec->c))
		return -EINVAL;
	id_pos = rec->c.pos;
	end = id_pos + len;
	rec->next = end;
	rec->c.size = end;
	/* The id in .eh_frame has 4 bytes in the 64-bit format too. */
	if (dwarf64 && debug_frame) {
		id = cursor_u64(&rec->c);
		rec->is_cie = id == UINT64_MAX;
	} else {
		id = cursor_u32(&rec->c);
		rec->is_cie = debug_frame ? id == 0xffffffff : id == 0;
	}
	if (!cursor_ok(&rec->c))
		return -EINVAL;
	if (!debug_frame && id > id_pos)
		return -EINVAL;
	rec->cie = debug_frame ? id : id_pos - id;
	return 0;
}

/*
 * Parses the augmentation data announced by 'z'. Stops at unknown letters, whose data the length
 * covers.
 */
static int parse_augmentation(struct cursor *c, const char *aug, struct cfi_cie *cie)
{
	uint64_t len = cfi_uleb(c), ptr;
	size_t end;

	if (!cursor_ok(c) || len > cursor_left(c))
		return -EINVAL;
	end = c->pos + len;
	for (; *aug; aug++) {
		uint8_t enc;

		if (*aug == 'S') {
			cie->signal_frame = true;
		} else if (*aug == 'L') {
			cursor_u8(c);
		} else if (*aug == 'R') {
			cie->fde_enc = cursor_u8(c);
		} else if (*aug == 'P') {
			/* Only its length matters. */
			enc = cursor_u8(c);
			if (enc != DW_EH_PE_omit && read_format(c, enc, cie->addr_size, &ptr))
				return -EINVAL;
		} else if (*aug != 'B') {	/* 'B': pointer authentication key B, no data */
			break;
		}
	}
	if (!cursor_ok(c) || c->pos > end)
		return -EINVAL;
	c->pos = end;
	return 0;
}

static int parse_cie(const struct cfi *cfi, bool debug_frame, uint64_t off, struct cfi_cie *cie)
{
	struct cfi_record rec;
	struct cursor *c = &rec.c;
	uint8_t version;
	const char *aug;
	size_t len;
	uint64_t ra;
	int err;

	err = cfi_record_at(cfi, debug_frame, off, &rec);
	if (err || rec.terminator || !rec.is_cie)
		return -EINVAL;
	/* Not all of it: the initial row is large, and cfi_initial() fills it when needed. */
	memset(cie, 0, offsetof(struct cfi_cie, init));
	cie->off = off;
	cie->debug_frame = debug_frame;
	cie->addr_size = cfi->secs.is64 ? 8 : 4;
	version = cursor_u8(c);
	if (version != 1 && version != 3 && version != 4)
		return -EINVAL;
	aug = (const char *)c->base + c->pos;
	len = strnlen(aug, MIN(cursor_left(c), (size_t)AUGMENTATION_MAX));
	if (len == MIN(cursor_left(c), (size_t)AUGMENTATION_MAX))
		return -EINVAL;
	cursor_skip(c, len + 1);
	/* gcc 2: a word for its own use comes first. */
	if (strcmp(aug, "eh") == 0) {
		cursor_skip(c, cie->addr_size);
		aug += 2;
	}
	if (version == 4) {
		cie->addr_size = cursor_u8(c);
		if ((cie->addr_size != 4 && cie->addr_size != 8) || cursor_u8(c) != 0)
			return -EINVAL;
	}
	cie->code_align = cfi_uleb(c);
	cie->data_align = cfi_sleb(c);
	ra = version == 1 ? cursor_u8(c) : cfi_uleb(c);
	if (!cursor_ok(c) || ra >= CFI_NREGS)
		return -EINVAL;
	cie->ra_reg = (uint8_t)ra;
	if (*aug == 'z') {
		cie->sized_aug = true;
		err = parse_augmentation(c, aug + 1, cie);
		if (err)
			return err;
	} else if (*aug) {
		/* Without a length, augmentation data cannot be told from instructions. */
		return -EINVAL;
	}
	if (cursor_left(c) > CFI_PROGRAM_MAX)
		return -EINVAL;
	cie->prog.svma = cfi_section_of(cfi, debug_frame)->svma + c->pos;
	cursor_init(&cie->prog.c, c->base + c->pos, cursor_left(c));
	cie->used = true;
	return 0;
}

static int get_cie(struct cfi *cfi, bool debug_frame, uint64_t off, struct cfi_cie **out)
{
	/* CIEs are at least 16 bytes apart, so mix in higher bits. */
	uint64_t h = (off >> 3) ^ (off >> 6) ^ (off >> 11);
	struct cfi_cie *slot = &cfi->cies[h & (CFI_CIE_CACHE - 1)];
	int err;

	if (!slot->used || slot->off != off || slot->debug_frame != debug_frame) {
		slot->used = false;
		err = parse_cie(cfi, debug_frame, off, slot);
		if (err)
			return err;
	}
	*out = slot;
	return 0;
}

int cfi_fde_at(struct cfi *cfi, bool debug_frame, uint64_t off, struct cfi_entry *e)
{
	uint64_t svma = cfi_section_of(cfi, debug_frame)->svma, start, range, len;
	struct cfi_record rec;
	struct cfi_cie *cie;
	int err;

	if (cfi->has_last && cfi->last.fde.off == off && cfi->last.fde.debug_frame == debug_frame) {
		*e = cfi->last;
		return 0;
	}
	/* Another FDE's CIE may replace its CIE in the cache. */
	cfi->has_last = false;
	err = cfi_record_at(cfi, debug_frame, off, &rec);
	if (err)
		return err;
	if (rec.terminator || rec.is_cie)
		return -ENOENT;
	err = get_cie(cfi, debug_frame, rec.cie, &cie);
	if (err)
		return err;
	err = cfi_pointer(cfi, &rec.c, cie->fde_enc, cie->addr_size, svma, &start);
	if (!err)
		err = read_format(&rec.c, cie->fde_enc, cie->addr_size, &range);
	if (err)
		return err;
	/* The linker leaves ranges of 0 for discarded functions. */
	if (!range || start + range < start)
		return -EINVAL;
	if (cie->sized_aug) {
		len = cfi_uleb(&rec.c);
		if (len > cursor_left(&rec.c))
			return -EINVAL;
		cursor_skip(&rec.c, len);
	}
	if (!cursor_ok(&rec.c) || cursor_left(&rec.c) > CFI_PROGRAM_MAX)
		return -EINVAL;
	e->fde = (struct cfi_fde){ start, start + range, off, debug_frame };
	e->cie = cie;
	e->prog.svma = svma + rec.c.pos;
	cursor_init(&e->prog.c, rec.c.base + rec.c.pos, cursor_left(&rec.c));
	cfi->last = *e;
	cfi->has_last = true;
	return 0;
}

static void advance(const struct cfi_cie *cie, uint64_t delta, struct cfi_insn *insn)
{
	insn->op = DW_CFA_advance_loc;
	insn->val = delta * cie->code_align;
}

static int64_t scaled(const struct cfi_cie *cie, uint64_t factor)
{
	return (int64_t)(factor * (uint64_t)cie->data_align);
}

static void read_expr(struct cursor *c, struct cfi_insn *insn)
{
	uint64_t len = cfi_uleb(c);

	insn->expr_len = len;
	insn->expr = cursor_bytes(c, len);
}

static int decode_extended(const struct cfi *cfi, const struct cfi_cie *cie, struct cfi_program *p,
			   struct cfi_insn *insn)
{
	struct cursor *c = &p->c;

	switch (insn->op) {
	case DW_CFA_nop:
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
		return 0;
	case DW_CFA_set_loc:
		return cfi_pointer(cfi, c, cie->fde_enc, cie->addr_size, p->svma, &insn->val);
	case DW_CFA_advance_loc1:
		advance(cie, cursor_u8(c), insn);
		return 0;
	case DW_CFA_advance_loc2:
		advance(cie, cursor_u16(c), insn);
		return 0;
	case DW_CFA_advance_loc4:
		advance(cie, cursor_u32(c), insn);
		return 0;
	case DW_CFA_MIPS_advance_loc8:
		advance(cie, cursor_u64(c), insn);
		return 0;
	case DW_CFA_offset_extended:
	case DW_CFA_val_offset:
		insn->reg = cfi_uleb(c);
		insn->off = scaled(cie, cfi_uleb(c));
		return 0;
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset_sf:
	case DW_CFA_def_cfa_sf:
		insn->reg = cfi_uleb(c);
		insn->off = scaled(cie, (uint64_t)cfi_sleb(c));
		return 0;
	case DW_CFA_GNU_negative_offset_extended:
		insn->reg = cfi_uleb(c);
		insn->off = scaled(cie, 0 - cfi_uleb(c));
		return 0;
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_def_cfa_register:
		insn->reg = cfi_uleb(c);
		return 0;
	case DW_CFA_register:
		insn->reg = cfi_uleb(c);
		insn->val = cfi_uleb(c);
		return 0;
	case DW_CFA_def_cfa:
		insn->reg = cfi_uleb(c);
		insn->off = (int64_t)cfi_uleb(c);
		return 0;
	case DW_CFA_def_cfa_offset:
	case DW_CFA_GNU_args_size:
		insn->off = (int64_t)cfi_uleb(c);
		return 0;
	case DW_CFA_def_cfa_offset_sf:
		insn->off = scaled(cie, (uint64_t)cfi_sleb(c));
		return 0;
	case DW_CFA_def_cfa_expression:
		read_expr(c, insn);
		return 0;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		insn->reg = cfi_uleb(c);
		read_expr(c, insn);
		return 0;
	default:
		return -EINVAL;
	}
}

int cfi_insn_next(const struct cfi *cfi, const struct cfi_cie *cie, struct cfi_program *p,
		  struct cfi_insn *insn)
{
	uint8_t byte;
	int err = 0;

	if (!cursor_left(&p->c))
		return cursor_ok(&p->c) ? 0 : -EINVAL;
	byte = cursor_u8(&p->c);
	insn->op = byte & 0xc0 ? byte & 0xc0 : byte;
	switch (insn->op) {
	case DW_CFA_advance_loc:
		advance(cie, byte & 0x3f, insn);
		break;
	case DW_CFA_offset:
		insn->reg = byte & 0x3f;
		insn->off = scaled(cie, cfi_uleb(&p->c));
		break;
	case DW_CFA_restore:
		insn->reg = byte & 0x3f;
		break;
	default:
		/*
		 * Bytes of 0x40 and up never get here, so extended and primary opcodes cannot be
		 * confused.
		 */
		err = decode_extended(cfi, cie, p, insn);
		break;
	}
	if (err || !cursor_ok(&p->c))
		return -EINVAL;
	return 1;
}
