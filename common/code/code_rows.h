/*
 * Unwind rows read off the code itself, for functions without call frame information: musl, assembly.
 * From an instruction all ways on are followed to where they return. There the stack pointer says
 * where the return address lay from the beginning, and the registers that a callee has to keep must
 * have their caller's values again: out of the stack, or never changed. That is what the calling
 * convention says (psABI 1.0, 3.2.1), so nothing is guessed; where two ways disagree, or one needs
 * what cannot be told, there is no row. Where a function is known to begin, the ways from there to the
 * instruction have to say the same; for one that does not return they are all there is.
 *
 * Where nothing but exit(2) follows a call, a thread or the program began. What runs into rt_sigreturn(2)
 * is the frame that the kernel built for a signal.
 */
#ifndef NSPROF_CODE_ROWS_H
#define NSPROF_CODE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/cfi.h"

struct code_rows;

struct code_source {
	void *ctx;
	/* Code from @svma on: bytes at *@data, borrowed; how many, 0 when there is no code. */
	size_t (*read)(void *ctx, uint64_t svma, const uint8_t **data);
	/*
	 * The nearest place at or below @svma where a function or a part of one is known to begin, 0 when
	 * there is none. *@entry: it is called there, with nothing on the stack but the return address.
	 */
	uint64_t (*start_of)(void *ctx, uint64_t svma, bool *entry);
	/* Whether the function at @svma, here or through a PLT, is known by its name not to return. */
	bool (*noreturn)(void *ctx, uint64_t svma);
	/* Whether it is known by its name to return once more, to where an endbr64 stands: setjmp(). NULL: none is. */
	bool (*twice)(void *ctx, uint64_t svma);
	/* Whether a function that is called begins at @svma, as stacks have shown. NULL: of none. */
	bool (*called)(void *ctx, uint64_t svma);
	/* Up to @size bytes of what lies at @svma into @buf; how many. NULL: jump tables are not followed. */
	size_t (*data)(void *ctx, uint64_t svma, void *buf, size_t size);
};

struct code_rows *code_rows_new(const struct code_source *src);
void code_rows_free(struct code_rows *cr);

/*
 * The row in force before the instruction at @svma is executed; it holds for [svma, svma + 1). @after_call:
 * @svma is the last byte of a call instead, and the row that of its return. 0, or -ENOENT. Bounded:
 * some thousand instructions are looked at.
 */
int code_row(struct code_rows *cr, uint64_t svma, bool after_call, struct cfi_row *row);

/*
 * The same by the ways from @start, an svma before it: where no function is known to begin, but something calls it. 0, or -ENOENT: they
 * do not lead there, or do not say where the frame is.
 */
int code_row_from(struct code_rows *cr, uint64_t start, uint64_t svma, bool after_call, struct cfi_row *row);

/*
 * How far the function goes that begins at @svma: up to the first byte that no way from there comes to, padding
 * aside, at most to @limit. Calls that do not return, or may not, end a way, and so does what cannot be decoded: what is in
 * it is the function's, but not all of it need be.
 */
uint64_t code_extent(struct code_rows *cr, uint64_t svma, uint64_t limit);

/*
 * Whether @svma can be a return address: a call ends there, or code begins that calls rt_sigreturn(2), to
 * which signal handlers return.
 */
bool code_is_return(struct code_rows *cr, uint64_t svma);
/* Whether a call ends at @svma; *@target: svma of what it calls, 0 where a register or a table entry says what. */
bool code_call_target(struct code_rows *cr, uint64_t svma, uint64_t *target);
/* Whether ways from @start lead to an instruction in [lo, hi], svma. */
bool code_leads_into(struct code_rows *cr, uint64_t start, uint64_t lo, uint64_t hi);
/* Whether a program that stands at @svma has just made a system call, or been made by one. */
bool code_after_syscall(struct code_rows *cr, uint64_t svma);
bool code_is_restorer(struct code_rows *cr, uint64_t svma);
/* Whether a program that stands at @svma is about to call it, or has. */
bool code_in_restorer(struct code_rows *cr, uint64_t svma);

#endif
