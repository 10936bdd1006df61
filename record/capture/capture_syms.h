/* The symbols that the addresses in a recording need. */
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
	/* internal, one entry per pc, owned */
	uint64_t *pred;		/* nearest symbol start at or below the pc, 0 = none */
	uint64_t *succ;		/* nearest symbol start above the pc, UINT64_MAX = none */
	/* furthest end of the sized symbols that start at or below the pc */
	uint64_t *cover;
	uint64_t *reach;	/* the same for the symbols that were kept */
	size_t name_bytes;
};

/*
 * Chooses symbols from @files (at most @nfiles, skips NULL) so that any search for the nearest or
 * enclosing symbol of a pc finds the same ones as in the complete tables. Symbols without a size
 * get the one that made_rows_reach() computes with the first file's @made and @cfi. Cannot fail.
 * Keeps at most 1 Mi symbols and 32 MiB of names.
 */
void capture_syms_choose(struct capture_syms *cs, struct elf_file *const *files, size_t nfiles,
			 struct made_rows *made, struct cfi *cfi, const struct pcset *pcs);
/*
 * Adds the symbols that @find has for pcs which no symbol contains. Real symbols have priority, so
 * an added one is cut where it overlaps them. Names are borrowed. Afterwards pred and succ of pcs that
 * are still without a symbol enclose only the pc itself. @find may be NULL.
 */
void capture_syms_more(struct capture_syms *cs, bool (*find)(void *ctx, uint64_t svma, struct elf_sym *out), void *ctx);
/* Does a kept symbol contain the @i-th pc? */
bool capture_syms_hit(const struct capture_syms *cs, size_t i);
void capture_syms_fini(struct capture_syms *cs);

#endif
