/*
 * Chooses the code of a binary to capture. Unlike rows, code hardly compresses and is rarely
 * needed, so it has a budget: whole functions, those with most samples first.
 */
#include "capture/capture_code.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "cfi/cfi.h"
#include "code/code_pack.h"

/*
 * Symbols below an address that are examined for one that contains it; a container's table may be
 * hostile.
 */
#define LOOK_MAX 64

struct sym {
	uint64_t start, end;	/* svma */
};

/* The samples of one function. */
struct func {
	uint64_t start, end;	/* svma */
	uint64_t samples;
	size_t first, n;	/* its leafs */
	bool known;		/* its end is known */
};

struct chooser {
	struct elf_file *ef;
	struct sym *syms;	/* owned; sorted by start, then end */
	uint64_t *reach;	/* owned; furthest end of a symbol and all before it */
	size_t nsyms, cap_syms;
	struct cfi *cfi;	/* owned; NULL until needed */
	struct leaf *leafs;	/* owned; svma, sorted */
	size_t nleafs;
	struct func *funcs;	/* owned */
	size_t nfuncs, cap_funcs;
	/* owned; in the order of choice, finally sorted by address */
	struct code_range *ranges;
	size_t nranges, cap_ranges;
};

/* ---- functions ---- */

static int add_sym(void *ctx, const struct elf_sym *s)
{
	struct chooser *ch = ctx;

	if (!s->size || s->size > UINT64_MAX - s->svma)
		return 0;
	XGROW(ch->syms, ch->nsyms, ch->cap_syms);
	ch->syms[ch->nsyms++] = (struct sym){ s->svma, s->svma + s->size };
	return 0;
}

static int sym_cmp(const void *a, const void *b)
{
	const struct sym *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static void read_syms(struct chooser *ch, const void *rows, size_t size)
{
	struct elf_file *slice;
	int err;

	slice = elf_file_open_mem(rows, size, &err);
	if (!slice)
		return;
	elf_file_symbols(slice, add_sym, ch);
	elf_file_close(slice);
	if (ch->nsyms)
		qsort(ch->syms, ch->nsyms, sizeof(*ch->syms), sym_cmp);
	ch->reach = xcalloc(ch->nsyms + 1, sizeof(*ch->reach));
	for (size_t i = 0; i < ch->nsyms; i++)
		ch->reach[i] = MAX(i ? ch->reach[i - 1] : 0, ch->syms[i].end);
}

/*
 * Returns the last to begin of the symbols that contain @svma; among equal ones the largest. NULL:
 * none.
 */
static const struct sym *sym_at(const struct chooser *ch, uint64_t svma)
{
	size_t i = BISECT(ch->nsyms, k, ch->syms[k].start <= svma);

	for (unsigned int looked = 0; i-- > 0 && ch->reach[i] > svma && looked < LOOK_MAX; looked++) {
		if (ch->syms[i].end > svma)
			return &ch->syms[i];
	}
	return NULL;
}

static bool fde_at(struct chooser *ch, uint64_t svma, struct cfi_fde *fde)
{
	struct cfi_sections secs;

	if (!ch->cfi) {
		elf_file_cfi_sections(ch->ef, &secs);
		ch->cfi = cfi_new(&secs);
	}
	return cfi_find(ch->cfi, svma, fde) == 0;
}

/*
 * The function at @svma, without its samples. Not @known: its code continues at least to the end
 * given.
 */
static struct func func_at(struct chooser *ch, uint64_t svma)
{
	const struct sym *sym = sym_at(ch, svma);
	struct func f = { .start = svma, .end = svma + 1 };
	uint64_t code_end = elf_file_code_end(ch->ef, svma);
	struct cfi_fde fde;

	if (sym)
		f = (struct func){ .start = sym->start, .end = sym->end, .known = true };
	else if (fde_at(ch, svma, &fde))
		f = (struct func){ .start = fde.start, .end = fde.end, .known = true };
	else
		f.end = svma + CODE_PART;
	if (code_end > svma)
		f.end = MIN(f.end, code_end);
	return f;
}

static void read_leafs(struct chooser *ch, const struct leaf_counts *leafs)
{
	ch->leafs = xmalloc((leafs->n + 1) * sizeof(*ch->leafs));
	for (size_t i = 0; i < leafs->n; i++) {
		struct leaf *to = &ch->leafs[ch->nleafs];
		const uint8_t *code;

		to->samples = leafs->v[i].samples;
		if (elf_file_off_to_svma(ch->ef, leafs->v[i].addr, &to->addr) &&
		    elf_file_code(ch->ef, to->addr, &code))
			ch->nleafs++;
	}
	leaf_counts_sort(ch->leafs, ch->nleafs);
}

static void find_funcs(struct chooser *ch)
{
	struct func *f = NULL;

	for (size_t i = 0; i < ch->nleafs; i++) {
		const struct leaf *leaf = &ch->leafs[i];

		if (!f || leaf->addr >= f->end) {
			XGROW(ch->funcs, ch->nfuncs, ch->cap_funcs);
			f = &ch->funcs[ch->nfuncs++];
			*f = func_at(ch, leaf->addr);
			f->first = i;
		}
		f->n++;
		f->samples += leaf->samples;
	}
}

/* ---- choosing code ---- */

static void choose(struct chooser *ch, uint64_t start, uint64_t end)
{
	XGROW(ch->ranges, ch->nranges, ch->cap_ranges);
	ch->ranges[ch->nranges++] = (struct code_range){ start, end - start };
}

static bool is_as_hot(const struct leaf *l, const struct leaf *least)
{
	return l->samples > least->samples || (l->samples == least->samples && l->addr <= least->addr);
}

/*
 * The parts of @f that begin at its leafs at least as hot as @least. Parts begin at sampled
 * addresses: few other addresses in a function are known to begin an instruction. @take: chooses
 * them. Returns their bytes.
 */
static uint64_t parts(struct chooser *ch, const struct func *f, const struct leaf *least, bool take)
{
	uint64_t start = 0, end = 0, bytes = 0;

	for (size_t i = f->first; i < f->first + f->n; i++) {
		const struct leaf *leaf = &ch->leafs[i];
		const uint64_t to = MIN(leaf->addr + CODE_PART, f->end);

		if (!is_as_hot(leaf, least))
			continue;
		if (leaf->addr > end || start == end) {
			if (take && start < end)
				choose(ch, start, end);
			start = end = leaf->addr;
		}
		bytes += to - end;
		end = to;
	}
	if (take && start < end)
		choose(ch, start, end);
	return bytes;
}

static int by_heat(const void *a, const void *b)
{
	const struct leaf *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Chooses the hottest parts of @f, at most @max bytes. Returns their bytes. */
static uint64_t choose_parts(struct chooser *ch, const struct func *f, uint64_t max)
{
	struct leaf *hot = xmalloc(f->n * sizeof(*hot));
	uint64_t bytes = 0;
	size_t n;

	for (size_t i = 0; i < f->n; i++)
		hot[i] = ch->leafs[f->first + i];
	qsort(hot, f->n, sizeof(*hot), by_heat);
	n = BISECT(f->n, i, parts(ch, f, &hot[i], false) <= max);
	if (n)
		bytes = parts(ch, f, &hot[n - 1], true);
	free(hot);
	return bytes;
}

static int by_samples(const void *a, const void *b)
{
	const struct func *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int by_svma(const void *a, const void *b)
{
	const struct code_range *x = a, *y = b;

	return x->svma < y->svma ? -1 : x->svma > y->svma;
}

static void choose_ranges(struct chooser *ch, uint64_t max, uint64_t samples)
{
	uint64_t left = max;
	size_t n = 0;

	qsort(ch->funcs, ch->nfuncs, sizeof(*ch->funcs), by_samples);
	for (size_t i = 0; i < ch->nfuncs; i++) {
		const struct func *f = &ch->funcs[i];
		/* A function with most of the samples may take as much of the room. */
		const uint64_t fair = MAX(max / 2, max * f->samples / samples);
		const uint64_t limit = MIN(fair, (uint64_t)CODE_FUNCTION_MAX), size = f->end - f->start;

		if (size > limit || !f->known) {
			left -= choose_parts(ch, f, MIN(limit, left / 2));
		} else if (size <= left) {
			choose(ch, f->start, f->end);
			left -= size;
		}
	}
	if (ch->nranges)
		qsort(ch->ranges, ch->nranges, sizeof(*ch->ranges), by_svma);
	for (size_t i = 0; i < ch->nranges; i++) {
		const struct code_range r = ch->ranges[i];
		struct code_range *last = n ? &ch->ranges[n - 1] : NULL;

		/*
		 * Merges overlapping functions. Adjacent ones stay separate, so that both starts
		 * are known.
		 */
		if (last && r.svma < last->svma + last->len)
			last->len = MAX(last->len, r.svma + r.len - last->svma);
		else
			ch->ranges[n++] = r;
	}
	ch->nranges = n;
}

/* ---- reading code ---- */

/* Reads as much of @r as the file has. */
static uint64_t read_range(struct elf_file *ef, const struct code_range *r, struct strbuf *out)
{
	uint64_t got = 0;
	const uint8_t *code;
	size_t n;

	while (got < r->len && (n = elf_file_code(ef, r->svma + got, &code))) {
		n = MIN(n, r->len - got);
		strbuf_add(out, code, n);
		got += n;
	}
	return got;
}

static void read_ranges(struct chooser *ch, struct strbuf *bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < ch->nranges; i++) {
		struct code_range r = ch->ranges[i];

		r.len = read_range(ch->ef, &r, bytes);
		if (r.len)
			ch->ranges[n++] = r;
	}
	ch->nranges = n;
}

static bool has(const struct chooser *ch, uint64_t svma)
{
	const size_t i = BISECT(ch->nranges, k, ch->ranges[k].svma + ch->ranges[k].len <= svma);

	return i < ch->nranges && ch->ranges[i].svma <= svma;
}

static struct code_counts count(const struct chooser *ch)
{
	struct code_counts counts = { 0 };

	for (size_t i = 0; i < ch->nfuncs; i++) {
		const struct func *f = &ch->funcs[i];
		uint64_t missed = 0;

		for (size_t k = f->first; k < f->first + f->n; k++)
			missed += has(ch, ch->leafs[k].addr) ? 0 : ch->leafs[k].samples;
		counts.samples += f->samples;
		counts.missed += missed;
		counts.missed_functions += missed > 0;
	}
	return counts;
}

uint64_t capture_code(struct elf_file *ef, const void *rows, size_t size, const struct leaf_counts *leafs,
		      uint64_t max, struct strbuf *out)
{
	struct chooser ch = { .ef = ef };
	struct strbuf bytes = STRBUF_INIT;
	uint64_t used;

	read_leafs(&ch, leafs);
	if (ch.nleafs) {
		struct code_counts counts;

		read_syms(&ch, rows, size);
		find_funcs(&ch);
		choose_ranges(&ch, max, leafs->samples);
		read_ranges(&ch, &bytes);
		counts = count(&ch);
		code_pack_write(ch.ranges, ch.nranges, bytes.s, &counts, out);
	}
	used = bytes.len;
	strbuf_fini(&bytes);
	cfi_free(ch.cfi);
	free(ch.syms);
	free(ch.reach);
	free(ch.leafs);
	free(ch.funcs);
	free(ch.ranges);
	return used;
}
