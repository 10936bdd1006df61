/*
 * Unwind rows that a binary does not state as call frame information: from Go's function table, and
 * from the code (code_rows.h). Recorder and symbolizer both ask here.
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
 * The row for the instruction at @svma, or with @after_call for the return to @svma + 1, where a frame
 * that waits for its callee is looked up. It holds for [row->start, row->end). 0, -ENOENT.
 *
 * Where Go's runtime changes stacks, what called lies on another one, of which a copy of this one has
 * nothing: such a frame is an outermost one.
 */
int made_row(struct made_rows *mr, uint64_t svma, bool after_call, struct cfi_row *row);
/*
 * True when made_row() is to be asked before the binary's own call frame information: all Go code, since
 * what the linker makes of the same table for debuggers says nothing of changed stacks and signals.
 */
bool made_rows_first(struct made_rows *mr, uint64_t svma, bool after_call);

/* Does the call that ends at svma @ret call the function that @svma is in? */
enum made_call {
	MADE_CALL_UNKNOWN,	/* its code does not say what it calls */
	MADE_CALL_THIS,
	MADE_CALL_OTHER,
};
/*
 * The row for @svma, or with @after_call for the return to @svma + 1, of a function whose beginning only the call tells that ends
 * at svma @ret. It holds for that function: whether it was called from there the stack has to tell. Functions of up to 64 KiB. 0, -ENOENT.
 */
int made_row_called(struct made_rows *mr, uint64_t ret, uint64_t svma, bool after_call, struct cfi_row *row);

/*
 * Start-up code is assembly of a few instructions: 34 bytes in glibc's _start, 22 in musl's, up to 60 in ld.so, whose entry
 * runs into _dl_start_user, 73 in Free Pascal's. Where rows cover the entry, code without rows counts up to the smaller one.
 */
#define MADE_ENTRY_MAX 96
#define MADE_ENTRY_GAP 64
/* Where the code at the file's entry ends, an svma: by rows, else by where its ways lead, which may be on into what it calls. */
uint64_t made_rows_entry_end(struct made_rows *mr, struct cfi *cfi);

enum made_call made_rows_calls(struct made_rows *mr, uint64_t ret, uint64_t svma);

/* Does a direct call end at svma @ret? *@target: what it calls, an svma; a call through a table is none. */
bool made_rows_called(struct made_rows *mr, uint64_t ret, uint64_t *target);

struct call_site {
	uint64_t ret;		/* svma where the call ends */
	uint64_t target;	/* svma of what it calls; 0: the code does not say */
};
/* The calls of the function that begins at svma @start, up to @max of them, by address. How many. */
size_t made_rows_sites(struct made_rows *mr, struct cfi *cfi, uint64_t start, struct call_site *sites, size_t max);
/* Where the function begins that @svma is in, by @cfi (the binary's own) or its symbols, svma; 0: nothing tells. */
uint64_t made_rows_begin(struct made_rows *mr, struct cfi *cfi, uint64_t svma);

/*
 * Whether @svma is in an entry of a PLT. These jump on before they touch the stack, but not all linkers give them rows: lld gives
 * none, GNU ld none for the indirect functions of a static binary.
 */
bool made_rows_in_plt(struct made_rows *mr, uint64_t svma);
/* Whether a frame can return to @svma: code_is_return(). */
bool made_rows_return(struct made_rows *mr, uint64_t svma);
/* code_after_syscall(). */
bool made_rows_after_syscall(struct made_rows *mr, uint64_t svma);

/*
 * How far a symbol of code reaches that has no size, at most to @limit, where the next symbol or its section's end
 * is. Symbol tables are not complete: a stripped library has names only for what others may call, and between two
 * of these lies what is hidden. So it ends with the call frame information that covers it, which @cfi (the
 * binary's own, NULL: it has none) has for a function as a whole; else where the code says so (code_extent()), or another function
 * has some. Where there is no code to read, as in a debug file, at @limit.
 */
uint64_t made_rows_reach(struct made_rows *mr, struct cfi *cfi, uint64_t svma, uint64_t limit);

/*
 * Rows for those of @pcs (sorted svma values, @n of them) that @cfi has none for or that are asked here
 * first, as an .eh_frame with absolute pointers in @out. Of each address that a stack held, @pcs has the
 * byte before as well: where that ends a call, it is for returns. How many FDEs.
 */
size_t made_rows_emit(struct made_rows *mr, struct cfi *cfi, const uint64_t *pcs, size_t n,
		      struct strbuf *out);

#endif
