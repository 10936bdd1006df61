/*
 * Writes a new .eh_frame with only the needed FDEs (LSB 5.0 Core, 10.6.1). Addresses become
 * absolute, so that the section may be placed anywhere. Data that only exception handling needs
 * (personality, LSDA, argument sizes) is dropped. The instructions are copied byte by byte, except
 * DW_CFA_set_loc, which contains an address.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cfi/cfi.h"
#include "cfi/cfi_priv.h"

/*
 * Twice the .eh_frame of libLLVM, which is large, and only parts of it are needed. The size of the input does not limit the
 * output: a hostile table may lead each address to an FDE of its own within the same bytes.
 */
#define EMIT_MAX (16u << 20)

struct emitter {
	struct cfi *cfi;	/* index of the current FDE */
	struct cfi *from[2];	/* the second one is searched first; NULL = none */
	struct strbuf *out;
	size_t base;		/* where the section begins in @out */
	struct u64map by_off;	/* old offset of a CIE -> new offset + 1 */
	struct u64map by_bytes;	/* hash of a new CIE's bytes -> new offset + 1 */
	struct strbuf tmp;	/* the record being built, without length and id */
	struct strbuf prog;
	const uint64_t *pcs;	/* addresses whose rows are needed; NULL: FDEs stay whole */
	size_t npcs;
	uint64_t whole;		/* svma; the FDE that contains it stays whole */
};

static void add_address(struct strbuf *sb, const struct cfi *cfi, uint64_t v)
{
	if (cfi->secs.is64)
		strbuf_add_u64(sb, v);
	else
		strbuf_add_u32(sb, (uint32_t)v);
}

/* False if the program is damaged, which cfi_row() could not use either. */
static bool add_program(struct emitter *em, const struct cfi_cie *cie, struct cfi_program p)
{
	struct cfi_insn insn;
	size_t from = p.c.pos;
	int ret;

	while ((ret = cfi_insn_next(em->cfi, cie, &p, &insn)) > 0) {
		if (insn.op == DW_CFA_set_loc) {
			strbuf_addc(&em->tmp, DW_CFA_set_loc);
			add_address(&em->tmp, em->cfi, insn.val);
		} else if (insn.op != DW_CFA_nop && insn.op != DW_CFA_GNU_args_size) {
			strbuf_add(&em->tmp, p.c.base + from, p.c.pos - from);
		}
		from = p.c.pos;
	}
	return ret == 0;
}

/* Length, id and em->tmp, padded with DW_CFA_nop (0) so that the next record is aligned. */
static void add_record(struct emitter *em, uint32_t id)
{
	static const char nops[8];
	size_t align = em->cfi->secs.is64 ? 8 : 4;
	size_t len = align_up(4 + 4 + em->tmp.len, align) - 4;

	strbuf_add_u32(em->out, (uint32_t)len);
	strbuf_add_u32(em->out, id);
	strbuf_add(em->out, em->tmp.s, em->tmp.len);
	strbuf_add(em->out, nops, len - 4 - em->tmp.len);
}

/* Does the CIE at new offset @at have the bytes of em->tmp, ignoring padding (nops)? */
static bool same_record(const struct emitter *em, size_t at)
{
	const char *rec = em->out->s + em->base + at;
	uint32_t len;

	memcpy(&len, rec, 4);
	return len - 4 >= em->tmp.len && len - 4 - em->tmp.len < 8 &&
	       memcmp(rec + 8, em->tmp.s, em->tmp.len) == 0;
}

/* New offset of @cie, which is written if needed. False if it is damaged. */
static bool put_cie(struct emitter *em, const struct cfi_cie *cie, size_t *at)
{
	uint64_t key = cie->off << 2 | cie->debug_frame << 1 | (em->cfi == em->from[1]);
	uint64_t *known = u64map_put(&em->by_off, key, NULL);
	uint64_t *twin;

	if (*known) {
		*at = *known - 1;
		return true;
	}
	strbuf_reset(&em->tmp);
	strbuf_addc(&em->tmp, 1);
	strbuf_add(&em->tmp, cie->signal_frame ? "zRS" : "zR", cie->signal_frame ? 4 : 3);
	strbuf_add_varint(&em->tmp, cie->code_align);
	strbuf_add_sleb(&em->tmp, cie->data_align);
	strbuf_addc(&em->tmp, (char)cie->ra_reg);
	strbuf_addc(&em->tmp, 1);
	strbuf_addc(&em->tmp, DW_EH_PE_absptr);
	if (!add_program(em, cie, cie->prog))
		return false;
	/* .debug_frame has a CIE for each compilation unit, and they are all the same. */
	twin = u64map_put(&em->by_bytes, hash_bytes(em->tmp.s, em->tmp.len), NULL);
	if (*twin && same_record(em, *twin - 1)) {
		*at = *twin - 1;
	} else {
		*at = em->out->len - em->base;
		*twin = *at + 1;
		add_record(em, 0);
	}
	*known = *at + 1;
	return true;
}

/* Index of the first of @pcs at or above @svma. */
static size_t first_pc(const uint64_t *pcs, size_t n, uint64_t svma)
{
	return BISECT(n, i, pcs[i] < svma);
}

/* Writes the needed rows of @fde to em->prog. */
static bool cut_rows(struct emitter *em, const struct cfi_fde *fde, struct cfi_fde *cut)
{
	size_t from, to;

	if (!em->pcs || (em->whole >= fde->start && em->whole < fde->end))
		return false;
	from = first_pc(em->pcs, em->npcs, fde->start);
	to = first_pc(em->pcs, em->npcs, fde->end);
	strbuf_reset(&em->prog);
	return cfi_cut(em->cfi, fde, em->pcs + from, to - from, &em->prog, cut);
}

static bool put_fde(struct emitter *em, const struct cfi_fde *fde)
{
	struct cfi_fde cut = *fde;
	struct cfi_entry e;
	size_t cie;
	bool is_cut;

	if (cfi_fde_at(em->cfi, fde->debug_frame, fde->off, &e) || !put_cie(em, e.cie, &cie))
		return false;
	is_cut = cut_rows(em, fde, &cut);
	/* cut_rows() may have evicted the CIE from the cache. */
	if (cfi_fde_at(em->cfi, fde->debug_frame, fde->off, &e))
		return false;
	strbuf_reset(&em->tmp);
	add_address(&em->tmp, em->cfi, cut.start);
	add_address(&em->tmp, em->cfi, cut.end - cut.start);
	strbuf_addc(&em->tmp, 0);	/* no augmentation data */
	if (is_cut)
		strbuf_add(&em->tmp, em->prog.s, em->prog.len);
	else if (!add_program(em, e.cie, e.prog))
		return false;
	/* The id is the distance from its own position back to the CIE. */
	add_record(em, (uint32_t)(em->out->len - em->base + 4 - cie));
	return true;
}

struct wanted {
	struct cfi_fde fde;
	uint8_t from;		/* index in emitter.from */
};

static int wanted_cmp(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	if (x->fde.start != y->fde.start)
		return x->fde.start < y->fde.start ? -1 : 1;
	if (x->from != y->from)
		return x->from - y->from;
	if (x->fde.debug_frame != y->fde.debug_frame)
		return x->fde.debug_frame - y->fde.debug_frame;
	return x->fde.off < y->fde.off ? -1 : x->fde.off > y->fde.off;
}

static bool find_wanted(const struct emitter *em, uint64_t svma, struct wanted *w)
{
	w->from = 1;
	if (em->from[1] && !cfi_find(em->from[1], svma, &w->fde))
		return true;
	w->from = 0;
	return !cfi_find(em->from[0], svma, &w->fde);
}

/* The FDEs of @pcs without duplicates. Owned by the caller. */
static struct wanted *wanted_fdes(struct emitter *em, const uint64_t *pcs, size_t n, size_t *nfdes)
{
	struct wanted *v = NULL, w = { .from = 0 };
	size_t nv = 0, cap = 0, uniq = 0;
	bool have = false;

	for (size_t i = 0; i < n; i++) {
		/* Neighbours often share an FDE. */
		if (have && !em->from[1] && pcs[i] >= w.fde.start && pcs[i] < w.fde.end)
			continue;
		have = find_wanted(em, pcs[i], &w);
		if (!have)
			continue;
		XGROW(v, nv, cap);
		v[nv++] = w;
	}
	if (nv)
		qsort(v, nv, sizeof(*v), wanted_cmp);
	for (size_t i = 0; i < nv; i++) {
		if (!uniq || wanted_cmp(&v[uniq - 1], &v[i]))
			v[uniq++] = v[i];
	}
	*nfdes = uniq;
	return v;
}

static size_t emit(struct emitter *em, const uint64_t *pcs, size_t n)
{
	size_t nfdes, done = 0;
	struct wanted *v = wanted_fdes(em, pcs, n, &nfdes);

	em->base = em->out->len;
	for (size_t i = 0; i < nfdes && em->out->len - em->base < EMIT_MAX; i++) {
		em->cfi = em->from[v[i].from];
		done += put_fde(em, &v[i].fde);
	}
	strbuf_add_u32(em->out, 0);
	u64map_fini(&em->by_off);
	u64map_fini(&em->by_bytes);
	strbuf_fini(&em->tmp);
	strbuf_fini(&em->prog);
	free(v);
	return done;
}

size_t cfi_emit(struct cfi *cfi, const uint64_t *pcs, size_t n, struct strbuf *out)
{
	struct emitter em = { .from = { cfi }, .out = out };

	return emit(&em, pcs, n);
}

size_t cfi_emit_rows(struct cfi *cfi, struct cfi *first, const uint64_t *pcs, size_t n,
		     uint64_t whole, struct strbuf *out)
{
	struct emitter em = {
		.from = { cfi, first }, .out = out, .pcs = pcs, .npcs = n, .whole = whole
	};

	return emit(&em, pcs, n);
}
