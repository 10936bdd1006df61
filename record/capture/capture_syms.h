/* The symbols that addresses in a recording can ask for. */
#ifndef NSPROF_CAPTURE_SYMS_H
#define NSPROF_CAPTURE_SYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

struct cfi;
struct made_rows;
struct pcset;

struct capture_syms {
	const struct pcset *pcs;	/* svma values; borrowed */
	struct elf_sym *v;	/* owned; names borrowed from the files; sorted by address */
	size_t n, cap;
	/* bookkeeping, one entry for each pc, owned */
	uint64_t *pred;		/* nearest symbol start at or below it, 0 = none */
	uint64_t *succ;		/* nearest symbol start above it, UINT64_MAX = none */
	uint64_t *cover;	/* furthest end of the sized symbols that start at or below it */
	uint64_t *reach;	/* the same of the symbols that were kept */
	size_t name_bytes;
};

/*
 * Choose from @files (at most @nfiles, NULL entries skipped) so that any search for the nearest or
 * the enclosing symbol of a pc ends at the same symbols as in the whole tables. Symbols without a
 * size get the one that made_rows_reach() tells with the first file's @made and @cfi. Cannot fail; at
 * most 1 Mi symbols and 32 MiB of names are kept.
 */
void capture_syms_choose(struct capture_syms *cs, struct elf_file *const *files, size_t nfiles,
			 struct made_rows *made, struct cfi *cfi, const struct pcset *pcs);
/* Whether a kept symbol holds pc number @i. */
bool capture_syms_hit(const struct capture_syms *cs, size_t i);
void capture_syms_fini(struct capture_syms *cs);

#endif
