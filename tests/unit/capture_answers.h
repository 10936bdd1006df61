/*
 * Helpers for tests of captured rows: what an ELF file answers about an address, found the slow and
 * obvious way, and addresses in it to query.
 */
#ifndef NSPROF_TEST_CAPTURE_ANSWERS_H
#define NSPROF_TEST_CAPTURE_ANSWERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "cfi/cfi.h"
#include "cfi_equal.h"
#include "elf/elf_file.h"
#include "random.h"
#include "toolrun.h"

/* A program with functions that are only in a symbol table. */
static const char c_source[] =
	"static int __attribute__((noinline)) hidden_leaf(int n) { return n * 3 + 1; }\n"
	"static int __attribute__((noinline)) hidden_mid(int n) { return hidden_leaf(n) + hidden_leaf(n + 1); }\n"
	"int main(int c, char **v) { (void)v; return hidden_mid(c) & 1; }\n";

struct sym_list {
	struct elf_sym *v;
	size_t n, cap;
};

static inline int add_sym(void *ctx, const struct elf_sym *s)
{
	struct sym_list *l = ctx;

	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 1024;
		l->v = realloc(l->v, l->cap * sizeof(*l->v));
		assert_non_null(l->v);
	}
	l->v[l->n++] = *s;
	return 0;
}

static inline int name_cmp(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
 * The names for @pc as one text, sorted, each once: those of the sized symbols that hold it. If
 * there are none, the names of all symbols at the nearest start at or below @pc, unless a sized
 * symbol holds that start.
 */
static inline void names_at(const struct sym_list *l, const struct elf_file *ef, uint64_t pc,
			    struct strbuf *out)
{
	const char *names[256];
	uint64_t nearest = 0;
	size_t n = 0;
	bool sized_there = false;

	for (size_t i = 0; i < l->n && n < 256; i++) {
		if (l->v[i].svma <= pc && pc - l->v[i].svma < l->v[i].size)
			names[n++] = l->v[i].name;
		if (l->v[i].svma <= pc && l->v[i].svma > nearest)
			nearest = l->v[i].svma;
	}
	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].svma <= nearest && nearest - l->v[i].svma < l->v[i].size)
			sized_there = true;
	}
	for (size_t i = 0; i < l->n && !n && nearest && pc < elf_file_code_end(ef, nearest); i++) {
		if (l->v[i].svma == nearest && !sized_there)
			names[n++] = l->v[i].name;
	}
	qsort(names, n, sizeof(*names), name_cmp);
	strbuf_reset(out);
	for (size_t i = 0; i < n; i++) {
		if (!i || strcmp(names[i - 1], names[i]))
			strbuf_addf(out, "%s\n", names[i]);
	}
}

/*
 * Slice @b must give the same row for @pc as @a. Its FDE may cover less of the function, except for
 * the start-up code, which is recognized by its extent. Unless @wanted, it may also give none.
 */
static inline void compare_rows(struct cfi *a, struct cfi *b, uint64_t pc, uint64_t entry,
				bool wanted)
{
	struct cfi_fde fa, fb;
	struct cfi_row ra, rb;
	int ea = cfi_find(a, pc, &fa), eb = cfi_find(b, pc, &fb);

	/* Where the file has no row, the slice's was derived from the code (test_code_rows.c). */
	if (ea || (eb && !wanted))
		return;
	assert_int_equal(ea, eb);
	assert_true(fb.start >= fa.start && fb.end <= fa.end && pc >= fb.start && pc < fb.end);
	if (entry >= fa.start && entry < fa.end) {
		assert_int_equal(fa.start, fb.start);
		assert_int_equal(fa.end, fb.end);
	}
	ea = cfi_row(a, &fa, pc, &ra);
	eb = cfi_row(b, &fb, pc, &rb);
	assert_int_equal(ea, eb);
	if (ea)
		return;
	assert_rows_equal(&ra, &rb);
}

struct answers {
	struct elf_file *ef;
	struct sym_list syms;
	struct cfi *cfi;
};

static inline void answers_init(struct answers *a, struct elf_file *ef,
				struct elf_file *debug)
{
	struct cfi_sections secs, other;

	memset(a, 0, sizeof(*a));
	a->ef = ef;
	elf_file_symbols(ef, add_sym, &a->syms);
	elf_file_cfi_sections(ef, &secs);
	if (debug) {
		elf_file_symbols(debug, add_sym, &a->syms);
		elf_file_cfi_sections(debug, &other);
		if (!secs.debug_frame.data)
			secs.debug_frame = other.debug_frame;
	}
	a->cfi = cfi_new(&secs);
}

static inline void answers_fini(struct answers *a)
{
	cfi_free(a->cfi);
	free(a->syms.v);
}

static inline int off_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The byte that is loaded at @svma. */
static inline uint64_t load_off(const struct elf_file *ef, uint64_t svma)
{
	const struct elf_load *loads;
	size_t n = elf_file_loads(ef, &loads);

	for (size_t i = 0; i < n; i++)
		if (svma >= loads[i].vaddr && svma - loads[i].vaddr < loads[i].filesz)
			return svma - loads[i].vaddr + loads[i].offset;
	fail();
	return 0;
}

/* @n random byte offsets in executable segments. */
static inline void random_offs(const struct elf_file *ef, uint64_t *offs, size_t n, uint64_t seed)
{
	const struct elf_load *loads;
	size_t nloads = elf_file_loads(ef, &loads), nx = 0, x[16];

	for (size_t i = 0; i < nloads && nx < 16; i++) {
		if ((loads[i].flags & PF_X) && loads[i].filesz)
			x[nx++] = i;
	}
	assert_true(nx > 0);
	for (size_t i = 0; i < n; i++) {
		const struct elf_load *l = &loads[x[random_next(&seed) % nx]];

		offs[i] = l->offset + random_next(&seed) % l->filesz;
	}
	qsort(offs, n, sizeof(*offs), off_cmp);
}

#endif
