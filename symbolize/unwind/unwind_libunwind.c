/*
 * libunwind as an oracle. Its remote interface does each step; this file provides registers, stack
 * and call frame information. Only this file includes libunwind.
 * libunwind must get exactly the rows that the binary has, wherever they are (.eh_frame with or
 * without a header, .debug_frame, a slice). So each binary gets an image: a binary search table as
 * in .eh_frame_hdr (LSB 5.0 Core, 10.6.2), followed by all FDEs as cfi_emit() writes them. The
 * image lies where no stack can be, below the binary in the binary's own addresses. Every step gets
 * its own cursor with a pc in those addresses, too, so one image serves all processes.
 */
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cfi/cfi.h"
#include "modules/module.h"
#include "stackcopy.h"
#include "unwind/unwind.h"
#include "unwind/walk.h"

/*
 * Exported for unwinders like this one, but not declared in a header (libunwind
 * src/dwarf/Gfind_proc_info-lsb.c).
 */
#define search_unwind_table UNW_ARCH_OBJ(dwarf_search_unwind_table)
int search_unwind_table(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di, unw_proc_info_t *pi,
			int need_unwind_info, void *arg);

/* Distance from the first FDE's code down to the image. Offsets in the table have 32 bits. */
#define IMAGE_BELOW (1ull << 30)
#define IMAGE_MAX (1ull << 29)

struct table_entry { /* of the binary search table: relative to image.segbase */
	int32_t start, fde;
};

struct image {
	uint64_t start, end; /* svma range with FDEs; start is segbase */
	uint64_t base; /* svma of bytes[0] */
	uint8_t *bytes; /* owned; padded to a multiple of 8 */
	size_t size;
	uint64_t *fde_end; /* owned, n entries: svma of the end of each FDE, in the table's order */
	size_t n; /* entries of the table, with which the image begins */
};

struct libunwind {
	struct walker walker;	/* must be first: walk_join_holds() */
	unw_addr_space_t as;
	struct u64map images; /* module id -> struct image * */
	/* the current step */
	const struct walk_at *at;
	struct uregs *regs;
	const struct image *image;
	bool fault, unknown_reg, not_found;
	uint64_t fault_addr;
	bool probing; /* finding out where the next lookup would be */
	uint64_t probed;
};

/* ---- the image of a binary ---- */

static uint32_t get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t get_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

struct emitted {
	uint64_t start, end; /* svma */
	uint64_t off; /* offset in the emitted section */
};

static int by_start(const void *a, const void *b)
{
	const struct emitted *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/*
 * Lists the FDEs of a section written by cfi_emit(): absolute 8-byte pointers behind length and CIE
 * pointer.
 */
static struct emitted *list_fdes(const struct strbuf *sec, size_t *n)
{
	const uint8_t *p = (const uint8_t *)sec->s;
	struct emitted *list = NULL;
	size_t cap = 0;

	*n = 0;
	for (uint64_t off = 0; off + 24 <= sec->len;) {
		uint64_t len = get_u32(p + off);

		if (len == 0 || len > sec->len - off - 4)
			break;
		if (get_u32(p + off + 4) != 0 && len >= 20) {
			XGROW(list, *n, cap);
			list[*n].start = get_u64(p + off + 8);
			list[*n].end = list[*n].start + get_u64(p + off + 16);
			list[(*n)++].off = off;
		}
		off += 4 + len;
	}
	if (*n)
		qsort(list, *n, sizeof(*list), by_start);
	return list;
}

static struct strbuf emit_all(struct cfi *cfi)
{
	struct strbuf out = STRBUF_INIT;
	uint64_t *pcs = NULL;
	size_t n = 0, cap = 0;
	struct cfi_fde fde;

	for (size_t i = 0; cfi_nth(cfi, i, &fde) == 0; i++) {
		XGROW(pcs, n, cap);
		pcs[n++] = fde.start;
	}
	if (n)
		cfi_emit(cfi, pcs, n, &out);
	free(pcs);
	return out;
}

static struct image *image_new(struct module *mod)
{
	struct image *im = xcalloc(1, sizeof(*im));
	struct strbuf sec = emit_all(module_cfi(mod));
	struct emitted *fdes = list_fdes(&sec, &im->n);
	size_t table = im->n * sizeof(struct table_entry);

	if (im->n && table + sec.len <= IMAGE_MAX &&
	    fdes[im->n - 1].end - fdes[0].start < IMAGE_BELOW) {
		im->start = fdes[0].start;
		im->base = align_down(im->start, 8) - IMAGE_BELOW;
		im->size = align_up(table + sec.len, 8);
		im->bytes = xcalloc(1, im->size);
		im->fde_end = xmalloc(im->n * sizeof(*im->fde_end));
		memcpy(im->bytes + table, sec.s, sec.len);
		for (size_t i = 0; i < im->n; i++) {
			struct table_entry e = {
				.start = fdes[i].start - im->start,
				.fde = im->base + table + fdes[i].off - im->start,
			};

			memcpy(im->bytes + i * sizeof(e), &e, sizeof(e));
			im->fde_end[i] = fdes[i].end;
			im->end = MAX(im->end, fdes[i].end);
		}
	} else {
		im->n = 0;
	}
	free(fdes);
	strbuf_fini(&sec);
	return im;
}

static void image_free(struct image *im)
{
	free(im->bytes);
	free(im->fde_end);
	free(im);
}

/* Owned by the unwinder until it is destroyed. */
static const struct image *image_of(struct libunwind *lu, struct module *mod)
{
	uint64_t *p = u64map_put(&lu->images, mod->id, NULL);

	if (!*p)
		*p = (uintptr_t)image_new(mod);
	return (const struct image *)(uintptr_t)*p;
}

/* Start of FDE @i, relative to the image's start. */
static uint64_t image_fde_start(const struct image *im, size_t i)
{
	struct table_entry e;

	memcpy(&e, im->bytes + i * sizeof(e), sizeof(e));
	return e.start;
}

/* Does an FDE cover @svma? Without one, unw_step() would guess, which an oracle must not. */
static bool image_covers(const struct image *im, uint64_t svma)
{
	size_t above;

	if (svma < im->start || svma >= im->end)
		return false;
	above = BISECT(im->n, i, im->start + image_fde_start(im, i) <= svma);
	return above && svma < im->fde_end[above - 1];
}

/* ---- callbacks of libunwind ---- */

static int lu_find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need,
			     void *arg)
{
	struct libunwind *lu = arg;
	const struct image *im = lu->image;
	unw_dyn_info_t di;
	int ret;

	if (lu->probing) {
		lu->probed = ip;
		return -UNW_ENOINFO;
	}
	memset(&di, 0, sizeof(di));
	di.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	di.start_ip = im->start;
	di.end_ip = im->end;
	di.u.rti.segbase = im->start;
	di.u.rti.table_data = im->base;
	di.u.rti.table_len = im->n * sizeof(struct table_entry) / sizeof(unw_word_t);
	if (ip < im->start || ip >= im->end)
		ret = -UNW_ENOINFO;
	else
		ret = search_unwind_table(as, ip, &di, pi, need, arg);
	if (ret == -UNW_ENOINFO)
		lu->not_found = true;
	return ret;
}

/* libunwind itself frees what dwarf_search_unwind_table() returns. */
static void lu_put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as;
	(void)pi;
	(void)arg;
}

static int lu_dyn_info(unw_addr_space_t as, unw_word_t *addr, void *arg)
{
	(void)as;
	(void)addr;
	(void)arg;
	return -UNW_ENOINFO;
}

static int lu_access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *val, int write,
			 void *arg)
{
	struct libunwind *lu = arg;
	const struct image *im = lu->image;

	(void)as;
	if (write)
		return -UNW_EINVAL;
	if (addr - im->base < im->size) {
		*val = get_u64(im->bytes + align_down(addr - im->base, 8));
		return 0;
	}
	if (stack_view_read(lu->at->in->stack, addr, val) == 0)
		return 0;
	lu->fault = true;
	lu->fault_addr = addr;
	return -UNW_EINVAL;
}

static int lu_access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *val, int write,
			 void *arg)
{
	struct libunwind *lu = arg;

	(void)as;
	if (write)
		return -UNW_EREADONLYREG;
	if (reg == UNW_X86_64_RIP) {
		*val = lu->at->svma;
		return 0;
	}
	/* libunwind numbers registers as DWARF does. */
	if (reg >= 0 && uregs_get(lu->regs, reg, lu->at->in->stack, val))
		return 0;
	lu->unknown_reg = true;
	return -UNW_EBADREG;
}

static int lu_access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *val, int write,
			   void *arg)
{
	(void)as;
	(void)reg;
	(void)val;
	(void)write;
	(void)arg;
	return -UNW_EBADREG;
}

static int lu_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as;
	(void)cursor;
	(void)arg;
	return -UNW_EINVAL;
}

/* ---- a step ---- */

/*
 * libunwind has no call that tells whether the frame just left was a signal frame, if only the CIE
 * says so. But after a signal frame it looks up the rows of the current frame at the pc itself,
 * otherwise one below.
 */
static bool left_signal_frame(struct libunwind *lu, unw_cursor_t *cursor, uint64_t pc)
{
	unw_proc_info_t pi;

	lu->probing = true;
	lu->probed = 0;
	unw_get_proc_info(cursor, &pi);
	lu->probing = false;
	return lu->probed == pc;
}

/* Fills in the row that the step from @at uses; a row without rules if there is none. */
static void row_at(const struct walk_at *at, struct cfi_row *row)
{
	struct cfi *cfi = module_cfi(at->mod);
	struct cfi_fde fde;

	if (cfi_find(cfi, at->svma, &fde) || cfi_row(cfi, &fde, at->svma, row))
		memset(row, 0, sizeof(*row));
}

/*
 * unw_get_save_loc() reports three things as a location in memory: where a register is saved, a
 * computed value and, since libunwind 1.7, the CFA as the default for the stack pointer. The rule
 * tells which one it is.
 */
static bool in_memory(const struct cfi_rule *rule)
{
	return rule->how == CFI_OFFSET || rule->how == CFI_EXPR;
}

static bool is_computed(const struct cfi_rule *rule)
{
	return rule->how == CFI_VAL_OFFSET || rule->how == CFI_VAL_EXPR;
}

/*
 * Reads the caller's register @reg from the place that its @rule gives. unw_get_reg() fails in two
 * cases. Up to libunwind 1.6 it takes the CFA for the stack pointer even if there is a rule for it
 * (longjmp, setcontext). And it has no pc once libunwind considers a frame the last one.
 */
static bool by_location(struct libunwind *lu, unw_cursor_t *cursor, int reg, const struct cfi_rule *rule,
			uint64_t *val)
{
	const struct stack_view *sv = lu->at->in->stack;
	unw_save_loc_t loc;

	if (rule->how == CFI_UNSPEC || rule->how == CFI_SAME || unw_get_save_loc(cursor, reg, &loc))
		return false;
	if (loc.type == UNW_SLT_MEMORY && is_computed(rule)) {
		*val = loc.u.addr;
		return true;
	}
	if (loc.type == UNW_SLT_MEMORY)
		return stack_view_read(sv, loc.u.addr, val) == 0;
	return loc.type == UNW_SLT_REG && loc.u.regnum != reg && loc.u.regnum >= 0 &&
	       uregs_get(lu->regs, loc.u.regnum, sv, val);
}

static bool kept_in_register(const struct libunwind *lu, unw_cursor_t *cursor, int reg,
			     const struct cfi_rule *rule, uint64_t cfa)
{
	unw_save_loc_t loc;

	return in_memory(rule) && unw_get_save_loc(cursor, reg, &loc) == 0 && loc.type == UNW_SLT_MEMORY &&
	       save_is_stale(lu->regs->v[CFI_REG_SP], cfa, loc.u.addr);
}

static enum step_end lu_step(void *priv, struct walk_at *at, struct uregs *regs)
{
	struct uregs to = { .known = 0 };
	struct libunwind *lu = priv;
	struct cfi_row row;
	unw_cursor_t cursor;
	unw_word_t val, cfa;
	uint64_t ra, sp;
	bool own_sp;
	int ret;

	lu->at = at;
	lu->regs = regs;
	lu->image = image_of(lu, at->mod);
	lu->fault = lu->unknown_reg = lu->not_found = false;
	if (!image_covers(lu->image, at->svma))
		return STEP_NO_ROWS;
	if (unw_init_remote(&cursor, lu->as, lu))
		return STEP_NO_ROWS;
	ret = unw_step(&cursor);
	if (lu->not_found)
		return STEP_NO_ROWS;
	row_at(at, &row);
	/*
	 * libunwind also ends at a frame whose caller's %rbp is unavailable, which the ABI does not
	 * say.
	 */
	if (ret == 0 && !by_location(lu, &cursor, UNW_X86_64_RIP, &row.regs[CFI_REG_RA], &ra))
		return STEP_OUTERMOST;
	if (ret < 0 && lu->unknown_reg)
		return STEP_UNKNOWN_REG;
	if (ret < 0 && lu->fault) {
		at->fault = lu->fault_addr;
		return STEP_FAULT;
	}
	if (ret < 0)
		return STEP_NO_ROWS;

	if (unw_get_reg(&cursor, UNW_X86_64_CFA, &cfa))
		return STEP_NO_ROWS;
	own_sp = by_location(lu, &cursor, UNW_X86_64_RSP, &row.regs[CFI_REG_SP], &sp);
	for (int reg = 0; reg < CFI_NREGS; reg++) {
		if (reg < CFI_REG_RA && !own_sp && kept_in_register(lu, &cursor, reg, &row.regs[reg], cfa)) {
			if (uregs_get(regs, reg, at->in->stack, &val))
				uregs_set(&to, reg, val);
		} else if (unw_get_reg(&cursor, reg, &val) == 0) {
			uregs_set(&to, reg, val);
		}
	}
	if (ret == 0)
		uregs_set(&to, CFI_REG_RA, ra);
	if (own_sp)
		uregs_set(&to, CFI_REG_SP, sp);
	if (!(to.known >> CFI_REG_RA & 1) || !(to.known >> CFI_REG_SP & 1))
		return STEP_UNKNOWN_REG;
	at->signal = to.v[CFI_REG_RA] ? left_signal_frame(lu, &cursor, to.v[CFI_REG_RA]) : row.signal_frame;
	*regs = to;
	return STEP_CALLER;
}

static void *lu_create(void)
{
	static unw_accessors_t accessors = {
		.find_proc_info = lu_find_proc_info,
		.put_unwind_info = lu_put_unwind_info,
		.get_dyn_info_list_addr = lu_dyn_info,
		.access_mem = lu_access_mem,
		.access_reg = lu_access_reg,
		.access_fpreg = lu_access_fpreg,
		.resume = lu_resume,
	};
	struct libunwind *lu = xcalloc(1, sizeof(*lu));

	lu->as = unw_create_addr_space(&accessors, 0);
	/*
	 * Its cache is keyed by pc, but here the same pc can mean another binary at the next step.
	 */
	unw_set_caching_policy(lu->as, UNW_CACHE_NONE);
	walker_init(&lu->walker, lu_step, lu);
	return lu;
}

static void lu_destroy(void *priv)
{
	struct libunwind *lu = priv;
	uint64_t id, image;
	size_t it = 0;

	while (u64map_next(&lu->images, &it, &id, &image))
		image_free((struct image *)(uintptr_t)image);
	u64map_fini(&lu->images);
	unw_destroy_addr_space(lu->as);
	walker_fini(&lu->walker);
	free(lu);
}

static void lu_unwind(void *priv, const struct unwind_input *in, struct unwind_result *out)
{
	struct libunwind *lu = priv;

	walk_stack(&lu->walker, in, out);
}

static void lu_forget(void *priv, uint32_t tid)
{
	struct libunwind *lu = priv;

	walk_forget(&lu->walker, tid);
}

const struct unwinder_ops unwind_libunwind = {
	.name = "libunwind",
	.create = lu_create,
	.destroy = lu_destroy,
	.unwind = lu_unwind,
	.forget = lu_forget,
	.join_holds = walk_join_holds,
};
