/*
 * Unwind rows that a binary does not state as call frame information: from Go's function table, and
 * from the code (code_rows.h). Recorder and symbolizer both use them.
 */
#ifndef NSPROF_MADE_ROWS_H
#define NSPROF_MADE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "cfi/cfi.h"
#include "elf/elf_file.h"

struct made_rows;

/* @ef is borrowed for the life of the object. Reads nothing yet. */
struct made_rows *made_rows_new(struct elf_file *ef);
void made_rows_free(struct made_rows *mr);

/*
 * The row for the instruction at @svma or, with @after_call, for the return to @svma + 1, as needed
 * for a frame that waits for its callee. It holds for [row->start, row->end). 0, -ENOENT.
 *
 * Where Go's runtime switches stacks, the caller is on another stack, of which the stack copy has
 * nothing. Such a frame is outermost.
 */
int made_row(struct made_rows *mr, uint64_t svma, bool after_call, struct cfi_row *row);
/*
 * True if made_row() comes before the binary's own call frame information. This holds for all Go
 * code: the linker makes debug information from the same table, but without stack switches and
 * signals.
 */
bool made_rows_first(struct made_rows *mr, uint64_t svma, bool after_call);

/* Does the call that ends at svma @ret call the function that contains @svma? */
enum made_call {
	MADE_CALL_UNKNOWN,	/* the code does not show the callee */
	MADE_CALL_THIS,
	MADE_CALL_OTHER,
};
/*
 * The row for @svma, or with @after_call for the return to @svma + 1, in a function whose beginning
 * is only known as the target of the call that ends at svma @ret. It is valid if the function was
 * called from there, which the stack must show. For functions up to 64 KiB. 0, -ENOENT.
 */
int made_row_called(struct made_rows *mr, uint64_t ret, uint64_t svma, bool after_call, struct cfi_row *row);

/*
 * Start-up code is assembly of a few instructions: 34 bytes in glibc's _start, 22 in musl's, up to
 * 60 in ld.so, whose entry runs into _dl_start_user, 73 in Free Pascal's. If rows cover the entry,
 * code without rows counts up to the smaller limit.
 */
#define MADE_ENTRY_MAX 96
#define MADE_ENTRY_GAP 64
/*
 * Where the code at the file's entry ends (svma): by its rows, otherwise where its paths end, which
 * may lead on into code that it calls.
 */
uint64_t made_rows_entry_end(struct made_rows *mr, struct cfi *cfi);

enum made_call made_rows_calls(struct made_rows *mr, uint64_t ret, uint64_t svma);

/*
 * Does a direct call end at svma @ret? *@target: svma of the callee. A call through a table does
 * not count.
 */
bool made_rows_called(struct made_rows *mr, uint64_t ret, uint64_t *target);

struct call_site {
	uint64_t ret;		/* svma where the call ends */
	uint64_t target;	/* svma of the callee; 0: the code does not show it */
};
/*
 * The calls in the function that begins at svma @start, in address order, at most @max. Returns
 * their number.
 */
size_t made_rows_sites(struct made_rows *mr, struct cfi *cfi, uint64_t start, struct call_site *sites, size_t max);
/*
 * The svma where the function that contains @svma begins, by @cfi (the binary's own) or its
 * symbols; 0: unknown.
 */
uint64_t made_rows_begin(struct made_rows *mr, struct cfi *cfi, uint64_t svma);

/*
 * Is @svma in a PLT entry? Entries jump on before they touch the stack, but not all linkers give
 * them rows: lld gives none, GNU ld none for the indirect functions of a static binary.
 */
bool made_rows_in_plt(struct made_rows *mr, uint64_t svma);
/* Can a frame return to @svma? See code_is_return(). */
bool made_rows_return(struct made_rows *mr, uint64_t svma);
/* See code_after_syscall(). */
bool made_rows_after_syscall(struct made_rows *mr, uint64_t svma);

/*
 * How far a code symbol without a size reaches, at most to @limit, which is the next symbol or the
 * end of its section. Symbol tables are incomplete: a stripped library names only functions that
 * others may call, and hidden ones are between them. So the symbol ends with the call frame
 * information that covers it, which @cfi (the binary's own, NULL: none) has for whole functions.
 * Without it, the code decides (code_extent()), or the next function that has some. Without code to
 * read, as in a debug file, it ends at @limit.
 */
uint64_t made_rows_reach(struct made_rows *mr, struct cfi *cfi, uint64_t svma, uint64_t limit);

/*
 * Writes rows for those of @pcs (@n sorted svma values) that @cfi does not cover or that
 * made_rows_first() takes, as an .eh_frame with absolute pointers to @out. For each address from a
 * stack, @pcs also has the byte before it: if that ends a call, its row is for returns. Returns the
 * number of FDEs.
 */
size_t made_rows_emit(struct made_rows *mr, struct cfi *cfi, const uint64_t *pcs, size_t n,
		      struct strbuf *out);

#endif
