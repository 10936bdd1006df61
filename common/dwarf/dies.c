#include "dwarf/dies.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "base/util.h"
#include "base/xalloc.h"

enum step_op {
	STEP_FIXED,	/* @n bytes */
	STEP_LEB,
	STEP_STRING,	/* up to its NUL */
	STEP_BLOCK,	/* a length of @n bytes, 0: LEB128; then as many bytes */
	STEP_INDIRECT,	/* a form, then its value */
	/* Numbers of @n bytes, 0: LEB128. */
	STEP_SIBLING,	/* DW_AT_sibling */
	STEP_LOW,	/* DW_AT_low_pc */
	STEP_HIGH,	/* DW_AT_high_pc, as a length */
	STEP_END,	/* DW_AT_high_pc, as an address */
};

struct step {
	uint8_t op, n;
};

/* How to skip an entry with a given abbreviation. */
struct plan {
	uint32_t tag, first, n;	/* of the steps */
	bool children, has_code;
	bool low, high;		/* has STEP_LOW, STEP_HIGH */
	uint32_t attrs;		/* offset of its attributes and forms from the unit's abbreviations */
};

struct dies {
	struct dies_sections secs;
	uint64_t unit, end;	/* of the unit in .debug_info, header included */
	uint64_t top;		/* of its first entry */
	uint64_t parsed;	/* see dies_parsed() */
	uint8_t addr_size, off_size;
	uint16_t version;
	uint64_t abbrev;	/* offset of the abbreviations that the plans are for */
	const uint8_t *abbrev_of;	/* their section; NULL: there are no plans */
	uint8_t plans_addr, plans_off;	/* sizes that the plans are for */
	uint16_t plans_version;
	struct plan *plans;	/* owned; for codes 1, 2, 3 ... */
	size_t nplans, plans_cap;
	struct step *steps;	/* owned */
	size_t nsteps, steps_cap;
};

struct dies *dies_new(void)
{
	return xcalloc(1, sizeof(struct dies));
}

void dies_free(struct dies *d)
{
	if (!d)
		return;
	free(d->plans);
	free(d->steps);
	free(d);
}

static void skip_leb(struct cursor *c)
{
	while (cursor_u8(c) & 0x80)
		;
}

/* ---- plans ---- */

/* How to skip @form (DWARF 5, 7.5.6, and GNU's). False: unknown form. */
static bool form_step(const struct dies *d, uint64_t form, struct step *s)
{
	*s = (struct step){ STEP_FIXED, 0 };
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return true;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		s->n = 1;
		return true;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		s->n = 2;
		return true;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		s->n = 3;
		return true;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		s->n = 4;
		return true;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		s->n = 8;
		return true;
	case DW_FORM_data16:
		s->n = 16;
		return true;
	case DW_FORM_addr:
		s->n = d->addr_size;
		return true;
	case DW_FORM_ref_addr:
		/* In DWARF 2 it is as long as an address. */
		s->n = d->version == 2 ? d->addr_size : d->off_size;
		return true;
	case DW_FORM_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		s->n = d->off_size;
		return true;
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		s->op = STEP_LEB;
		return true;
	case DW_FORM_string:
		s->op = STEP_STRING;
		return true;
	case DW_FORM_block1:
		*s = (struct step){ STEP_BLOCK, 1 };
		return true;
	case DW_FORM_block2:
		*s = (struct step){ STEP_BLOCK, 2 };
		return true;
	case DW_FORM_block4:
		*s = (struct step){ STEP_BLOCK, 4 };
		return true;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		s->op = STEP_BLOCK;
		return true;
	case DW_FORM_indirect:
		s->op = STEP_INDIRECT;
		return true;
	default:
		return false;
	}
}

/* The step for @form of @attr if its value is used; otherwise @pass, which skips it. */
static uint8_t use_of(uint64_t attr, uint64_t form, uint8_t pass)
{
	switch (form) {
	case DW_FORM_addr:
		return attr == DW_AT_low_pc ? STEP_LOW : attr == DW_AT_high_pc ? STEP_END : pass;
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
		return attr == DW_AT_high_pc ? STEP_HIGH : pass;
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return attr == DW_AT_sibling ? STEP_SIBLING : pass;
	default:
		return pass;
	}
}

/*
 * Adds the step for an attribute to plan @p. Adjacent attributes of fixed size share a step. False:
 * unknown form.
 */
static bool add_step(struct dies *d, struct plan *p, uint64_t attr, uint64_t form)
{
	struct step s, *before = p->n ? &d->steps[d->nsteps - 1] : NULL;

	if (!form_step(d, form, &s))
		return false;
	p->has_code |= attr == DW_AT_low_pc || attr == DW_AT_ranges;
	s.op = use_of(attr, form, s.op);
	if (attr == DW_AT_sibling && s.op != STEP_SIBLING)
		return false;
	p->low |= s.op == STEP_LOW;
	p->high |= s.op == STEP_HIGH;
	if (s.op == STEP_FIXED && before && before->op == STEP_FIXED && before->n <= UINT8_MAX - s.n) {
		before->n = (uint8_t)(before->n + s.n);
		return true;
	}
	XGROW(d->steps, d->nsteps, d->steps_cap);
	d->steps[d->nsteps++] = s;
	p->n++;
	return true;
}

/*
 * Makes plans for the abbreviations that @c holds, from its beginning (DWARF 5, 7.5.3). 0, -EINVAL,
 * -ENOTSUP.
 */
static int make_plans(struct dies *d, struct cursor *c)
{
	uint64_t code, attr, form;

	d->nplans = d->nsteps = 0;
	while ((code = cursor_varint(c))) {
		uint64_t tag = cursor_varint(c);
		struct plan p = { .tag = (uint32_t)tag, .first = (uint32_t)d->nsteps };

		p.children = cursor_u8(c) != DW_CHILDREN_no;
		if (!cursor_ok(c) || !tag || tag > UINT32_MAX || d->nsteps > UINT32_MAX)
			return -EINVAL;
		if (code != d->nplans + 1 || c->pos > UINT32_MAX)
			return -ENOTSUP;
		p.attrs = (uint32_t)c->pos;
		for (;;) {
			attr = cursor_varint(c);
			form = cursor_varint(c);
			if (form == DW_FORM_implicit_const)
				skip_leb(c);
			if (!cursor_ok(c))
				return -EINVAL;
			if (!attr && !form)
				break;
			if (!add_step(d, &p, attr, form))
				return -ENOTSUP;
		}
		XGROW(d->plans, d->nplans, d->plans_cap);
		d->plans[d->nplans++] = p;
	}
	return cursor_ok(c) ? 0 : -EINVAL;
}

/* ---- the unit ---- */

static uint64_t offset(struct cursor *c, bool wide)
{
	return wide ? cursor_u64(c) : cursor_u32(c);
}

/* Reads the unit header (DWARF 5, 7.5.1). 0, -EINVAL, -ENOTSUP. */
static int read_header(struct dies *d, uint64_t *abbrev)
{
	uint8_t type = DW_UT_compile;
	struct cursor c;
	uint64_t len;
	bool wide;

	cursor_init(&c, d->secs.info, d->secs.info_size);
	cursor_skip(&c, d->unit);
	len = cursor_u32(&c);
	wide = len == UINT32_MAX;
	if (wide)
		len = cursor_u64(&c);
	if (len > cursor_left(&c))
		return -EINVAL;
	d->end = c.pos + len;
	d->off_size = wide ? 8 : 4;
	d->version = cursor_u16(&c);
	if (d->version >= 5) {
		type = cursor_u8(&c);
		d->addr_size = cursor_u8(&c);
	}
	*abbrev = offset(&c, wide);
	if (d->version < 5)
		d->addr_size = cursor_u8(&c);
	if (!cursor_ok(&c) || c.pos > d->end)
		return -EINVAL;
	d->top = c.pos;
	if (d->version < 2 || d->version > 5 || (d->addr_size != 4 && d->addr_size != 8))
		return -ENOTSUP;
	return type == DW_UT_compile || type == DW_UT_partial ? 0 : -ENOTSUP;
}

int dies_unit(struct dies *d, const struct dies_sections *secs, uint64_t unit)
{
	struct cursor c;
	uint64_t abbrev;
	int err;

	d->secs = *secs;
	d->unit = unit;
	d->end = 0;
	if (unit > secs->info_size)
		return -EINVAL;
	err = read_header(d, &abbrev);
	if (err)
		return err;
	/*
	 * Most units have abbreviations of their own; with LTO, the units of one link share them.
	 */
	if (d->abbrev_of == secs->abbrev && d->abbrev == abbrev && d->plans_addr == d->addr_size &&
	    d->plans_off == d->off_size && d->plans_version == d->version)
		return 0;
	d->abbrev_of = NULL;
	if (abbrev >= secs->abbrev_size)
		return -EINVAL;
	cursor_init(&c, secs->abbrev + abbrev, secs->abbrev_size - abbrev);
	err = make_plans(d, &c);
	d->parsed += c.pos;
	if (err)
		return err;
	d->abbrev_of = secs->abbrev;
	d->abbrev = abbrev;
	d->plans_addr = d->addr_size;
	d->plans_off = d->off_size;
	d->plans_version = d->version;
	return 0;
}

uint64_t dies_top(const struct dies *d)
{
	return d->top;
}

uint64_t dies_end(const struct dies *d)
{
	return d->end;
}

unsigned int dies_version(const struct dies *d)
{
	return d->version;
}

uint8_t dies_addr_size(const struct dies *d)
{
	return d->addr_size;
}

uint64_t dies_parsed(const struct dies *d)
{
	return d->parsed;
}

/* ---- entries ---- */

static uint64_t sized(struct cursor *c, unsigned int n)
{
	switch (n) {
	case 0:
		return cursor_varint(c);
	case 1:
		return cursor_u8(c);
	case 2:
		return cursor_u16(c);
	case 4:
		return cursor_u32(c);
	default:
		return cursor_u64(c);
	}
}

static void pass(const struct dies *d, struct cursor *c, struct step s)
{
	switch (s.op) {
	case STEP_FIXED:
		cursor_skip(c, s.n);
		break;
	case STEP_LEB:
		skip_leb(c);
		break;
	case STEP_STRING:
		cursor_cstr(c);
		break;
	case STEP_BLOCK:
		cursor_skip(c, sized(c, s.n));
		break;
	default:
		/* STEP_INDIRECT; two in a row are invalid. */
		if (form_step(d, cursor_varint(c), &s) && s.op != STEP_INDIRECT)
			pass(d, c, s);
		else
			c->bad = true;
		break;
	}
}

/* Must lead forward from the entry at @off: otherwise few entries could form a huge tree. */
static uint64_t sibling(const struct dies *d, uint64_t off, struct cursor *c, unsigned int n)
{
	uint64_t to = sized(c, n);

	if (to <= off - d->unit || to > d->end - d->unit)
		c->bad = true;
	return d->unit + to;
}

bool dies_read(const struct dies *d, uint64_t off, struct die *out)
{
	const struct plan *p;
	uint64_t code, len = 0, end = 0;
	struct cursor c;

	*out = (struct die){ .off = off };
	if (off < d->unit || off >= d->end)
		return false;
	cursor_init(&c, d->secs.info + d->unit, d->end - d->unit);
	cursor_skip(&c, off - d->unit);
	code = cursor_varint(&c);
	if (code) {
		if (code > d->nplans)
			return false;
		p = &d->plans[code - 1];
		out->tag = p->tag;
		out->children = p->children;
		out->has_code = p->has_code;
		for (uint32_t i = p->first; i < p->first + p->n; i++) {
			const struct step *s = &d->steps[i];

			if (s->op == STEP_SIBLING)
				out->sibling = sibling(d, off, &c, s->n);
			else if (s->op == STEP_LOW)
				out->low = sized(&c, s->n);
			else if (s->op == STEP_HIGH)
				len = sized(&c, s->n);
			else if (s->op == STEP_END)
				end = sized(&c, s->n);
			else
				pass(d, &c, *s);
		}
		if (p->low)
			out->high = p->high ? out->low + len : end;
	}
	out->behind = d->unit + c.pos;
	return cursor_ok(&c);
}

uint64_t dies_behind(const struct dies *d, const struct die *die)
{
	uint64_t at = die->behind, level = 1;
	struct die e;

	if (die->sibling)
		return die->sibling;
	if (!die->children)
		return at;
	while (level) {
		if (!dies_read(d, at, &e))
			return 0;
		at = e.sibling ? e.sibling : e.behind;
		if (!e.tag)
			level--;
		else if (!e.sibling)
			level += e.children;
	}
	return at;
}

/* ---- attributes ---- */

static bool is_local_ref(uint32_t form)
{
	return form == DW_FORM_ref1 || form == DW_FORM_ref2 || form == DW_FORM_ref4 || form == DW_FORM_ref8 ||
	       form == DW_FORM_ref_udata;
}

static bool read_value(const struct dies *d, struct cursor *c, uint64_t form, struct die_value *out)
{
	struct step s;

	*out = (struct die_value){ .form = (uint32_t)form };
	if (!form_step(d, form, &s))
		return false;
	if (s.op == STEP_STRING)
		out->text = cursor_cstr(c);
	else if (s.op == STEP_LEB && form != DW_FORM_sdata)
		out->num = cursor_varint(c);
	else if (s.op == STEP_FIXED && (s.n == 1 || s.n == 2 || s.n == 4 || s.n == 8))
		out->num = sized(c, s.n);
	out->local_ref = is_local_ref(out->form);
	if (out->local_ref)
		out->num = out->num < d->end - d->unit ? d->unit + out->num : 0;
	return cursor_ok(c);
}

bool dies_attr(struct dies *d, uint64_t off, uint32_t attr, struct die_value *out)
{
	struct cursor c, attrs;
	bool found = false;
	uint64_t code;
	struct step s;

	if (!d->abbrev_of || off < d->unit || off >= d->end)
		return false;
	cursor_init(&c, d->secs.info + d->unit, d->end - d->unit);
	cursor_skip(&c, off - d->unit);
	code = cursor_varint(&c);
	if (!code || code > d->nplans)
		return false;
	cursor_init(&attrs, d->secs.abbrev + d->abbrev, d->secs.abbrev_size - d->abbrev);
	cursor_skip(&attrs, d->plans[code - 1].attrs);
	d->parsed -= attrs.pos + c.pos;
	for (;;) {
		uint64_t at = cursor_varint(&attrs), form = cursor_varint(&attrs), known = 0;

		if (form == DW_FORM_implicit_const)
			known = (uint64_t)cursor_svarint(&attrs);
		if (!cursor_ok(&attrs) || (!at && !form))
			break;
		if (at == attr) {
			found = read_value(d, &c, form, out);
			out->num |= known;
			break;
		}
		if (!form_step(d, form, &s))
			break;
		pass(d, &c, s);
	}
	d->parsed += attrs.pos + (cursor_ok(&c) ? c.pos : d->end - d->unit);
	return found;
}
