/*
 * Two passes over the symbols. The first finds the nearest symbol start on either side of each
 * wanted address. The second keeps
 * - every symbol at the nearest start below an address, even if it ends before the address: so a
 *   search for the nearest symbol finds the same one as in the complete table;
 * - every sized symbol that contains an address (functions around labels, overlapping symbols).
 */
#include "capture/capture_syms.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "base/pcset.h"
#include "code/made_rows.h"

/*
 * The input is a container's: a table may have a million aliases for each address, with names of 64
 * KiB.
 */
#define SYMS_MAX (1u << 19)
#define NAME_BYTES_MAX (16u << 20)

/*
 * Symbols that are never shown: assembler locals, annobin's marks. They do not end another symbol,
 * either.
 */
static bool is_noise(const struct elf_sym *s)
{
	return !s->svma || strncmp(s->name, ".L", 2) == 0 || strncmp(s->name, ".annobin_", 9) == 0;
}

static int measure(void *ctx, const struct elf_sym *s)
{
	struct capture_syms *cs = ctx;
	const size_t i = pcset_from(cs->pcs, s->svma);
	const bool below = i < cs->pcs->n && (s->svma > cs->pred[i] || s->svma + s->size > cs->cover[i]);
	const bool above = i > 0 && s->svma < cs->succ[i - 1];

	/* Names are scattered in memory, so they are checked last. */
	if ((!below && !above) || is_noise(s))
		return 0;
	if (below) {
		cs->pred[i] = MAX(cs->pred[i], s->svma);
		cs->cover[i] = MAX(cs->cover[i], s->svma + s->size);
	}
	if (above)
		cs->succ[i - 1] = s->svma;
	return 0;
}

/* What was found at one pc also holds for the pcs after it (or before it). */
static void spread(struct capture_syms *cs)
{
	size_t n = cs->pcs->n;

	for (size_t i = 1; i < n; i++) {
		cs->pred[i] = MAX(cs->pred[i], cs->pred[i - 1]);
		cs->cover[i] = MAX(cs->cover[i], cs->cover[i - 1]);
		cs->succ[n - 1 - i] = MIN(cs->succ[n - 1 - i], cs->succ[n - i]);
	}
}

static int keep(void *ctx, const struct elf_sym *s)
{
	struct capture_syms *cs = ctx;
	size_t i, len;

	i = pcset_from(cs->pcs, s->svma);
	if (i == cs->pcs->n || (cs->pred[i] != s->svma && s->svma + s->size <= cs->pcs->v[i]) || is_noise(s))
		return 0;
	len = strlen(s->name) + 1;
	if (cs->n == SYMS_MAX || cs->name_bytes + len > NAME_BYTES_MAX)
		return 1;
	cs->name_bytes += len;
	XGROW(cs->v, cs->n, cs->cap);
	cs->v[cs->n++] = *s;
	return 0;
}

static int sym_cmp(const void *a, const void *b)
{
	const struct elf_sym *x = a, *y = b;
	int d;

	if (x->svma != y->svma)
		return x->svma < y->svma ? -1 : 1;
	d = strcmp(x->name, y->name);
	if (d)
		return d;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	if (x->type != y->type)
		return x->type - y->type;
	return x->bind - y->bind;
}

/* .dynsym repeats symbols of .symtab. */
static void drop_repetitions(struct capture_syms *cs)
{
	size_t n = 0;

	if (cs->n)
		qsort(cs->v, cs->n, sizeof(*cs->v), sym_cmp);
	for (size_t i = 0; i < cs->n; i++) {
		if (!n || sym_cmp(&cs->v[n - 1], &cs->v[i]))
			cs->v[n++] = cs->v[i];
	}
	cs->n = n;
}

/*
 * Sets the size of symbols without one. A slice contains neither the next symbol nor code, so its
 * reader could not find out. If an alias has a size, the symbol stays as it is, since the alias
 * tells. Inside a sized symbol, it is a label of that function and is dropped.
 */
static void resolve_sizes(struct capture_syms *cs, const struct elf_file *where, struct made_rows *made,
			  struct cfi *cfi)
{
	size_t n = 0;

	for (size_t i = 0, next; i < cs->n; i = next) {
		uint64_t start = cs->v[i].svma, size = 0, end;
		bool inside;
		size_t pc;

		for (next = i; next < cs->n && cs->v[next].svma == start; next++)
			size = MAX(size, cs->v[next].size);
		pc = pcset_from(cs->pcs, start);
		inside = cs->cover[pc] > start;
		end = MIN(cs->succ[pc], elf_file_code_end(where, start));
		if (!size && !inside && end > start)
			end = made_rows_reach(made, cfi, start, end);
		for (size_t k = i; k < next; k++) {
			if (!size && inside)
				continue;
			if (!size)
				cs->v[k].size = end > start ? end - start : 1;
			cs->reach[pc] = MAX(cs->reach[pc], start + MAX(size, cs->v[k].size));
			cs->v[n++] = cs->v[k];
		}
	}
	cs->n = n;
	for (size_t i = 1; i < cs->pcs->n; i++)
		cs->reach[i] = MAX(cs->reach[i], cs->reach[i - 1]);
}

void capture_syms_choose(struct capture_syms *cs, struct elf_file *const *files, size_t nfiles,
			 struct made_rows *made, struct cfi *cfi, const struct pcset *pcs)
{
	memset(cs, 0, sizeof(*cs));
	cs->pcs = pcs;
	if (!pcs->n)
		return;
	cs->pred = xcalloc(pcs->n, sizeof(*cs->pred));
	cs->succ = xcalloc(pcs->n, sizeof(*cs->succ));
	cs->cover = xcalloc(pcs->n, sizeof(*cs->cover));
	cs->reach = xcalloc(pcs->n, sizeof(*cs->reach));
	memset(cs->succ, 0xff, pcs->n * sizeof(*cs->succ));
	for (size_t i = 0; i < nfiles; i++) {
		if (files[i])
			elf_file_symbols(files[i], measure, cs);
	}
	spread(cs);
	for (size_t i = 0; i < nfiles; i++) {
		if (files[i] && elf_file_symbols(files[i], keep, cs))
			break;
	}
	drop_repetitions(cs);
	resolve_sizes(cs, files[0], made, cfi);
}

/* Adds @s at the @i-th pc, cut to what lies between its neighbours. *@end: of the one added before. */
static bool add(struct capture_syms *cs, size_t i, const struct elf_sym *s, uint64_t *end)
{
	const uint64_t start = MAX(s->svma, MAX(cs->reach[i], *end));
	const size_t len = strlen(s->name) + 1, first = pcset_from(cs->pcs, start);

	if (is_noise(s) || cs->n == SYMS_MAX || cs->name_bytes + len > NAME_BYTES_MAX)
		return false;
	*end = MIN(s->svma + s->size, cs->succ[i]);
	cs->name_bytes += len;
	XGROW(cs->v, cs->n, cs->cap);
	cs->v[cs->n] = *s;
	cs->v[cs->n].svma = start;
	cs->v[cs->n++].size = *end - start;
	for (size_t k = first; k < cs->pcs->n && cs->pcs->v[k] < *end; k++) {
		cs->pred[k] = start;
		cs->reach[k] = *end;
	}
	if (first)
		cs->succ[first - 1] = MIN(cs->succ[first - 1], start);
	return true;
}

void capture_syms_more(struct capture_syms *cs, bool (*find)(void *ctx, uint64_t svma, struct elf_sym *out), void *ctx)
{
	const size_t had = cs->n, n = cs->pcs->n;
	uint64_t end = 0;
	struct elf_sym s;

	for (size_t i = 0; i < n && find; i++) {
		if (!capture_syms_hit(cs, i) && find(ctx, cs->pcs->v[i], &s))
			add(cs, i, &s, &end);
	}
	if (cs->n > had)
		qsort(cs->v, cs->n, sizeof(*cs->v), sym_cmp);
	for (size_t i = 1; i < n; i++) {
		cs->reach[i] = MAX(cs->reach[i], cs->reach[i - 1]);
		cs->succ[n - 1 - i] = MIN(cs->succ[n - 1 - i], cs->succ[n - i]);
	}
	/* What is true of one address without a name says nothing about others. */
	for (size_t i = 0; i < n; i++) {
		if (!capture_syms_hit(cs, i)) {
			cs->pred[i] = cs->pcs->v[i];
			cs->succ[i] = cs->pcs->v[i] + 1;
		}
	}
}

bool capture_syms_hit(const struct capture_syms *cs, size_t i)
{
	return cs->reach[i] > cs->pcs->v[i];
}

void capture_syms_fini(struct capture_syms *cs)
{
	free(cs->v);
	free(cs->pred);
	free(cs->succ);
	free(cs->cover);
	free(cs->reach);
}
