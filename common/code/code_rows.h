/*
 * Unwind rows read off the code itself, for functions without call frame information: musl,
 * assembly. All paths from an instruction are followed until they return. There the stack pointer
 * shows where the return address was at the start, and callee-saved registers must have their
 * caller's values again: loaded from the stack, or never changed. The calling convention requires
 * this (psABI 1.0, 3.2.1), so nothing is guessed. If two paths disagree, or one needs an unknown
 * value, there is no row. If the function's beginning is known, the paths from there to the
 * instruction must agree as well; for a function that does not return they are the only source.
 *
 * If only exit(2) follows a call, a thread or the program began there. Code that runs into
 * rt_sigreturn(2) is the frame that the kernel built for a signal.
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
	/*
	 * Code from @svma on: bytes at *@data, borrowed. Returns their number; 0 if there is no
	 * code.
	 */
	size_t (*read)(void *ctx, uint64_t svma, const uint8_t **data);
	/*
	 * The nearest place at or below @svma where a function or a part of one is known to begin;
	 * 0 if there is none. *@entry: it is called there, with only the return address on the
	 * stack.
	 */
	uint64_t (*start_of)(void *ctx, uint64_t svma, bool *entry);
	/*
	 * Is the function at @svma, called directly or through a PLT, known by name not to return?
	 */
	bool (*noreturn)(void *ctx, uint64_t svma);
	/*
	 * Is it known by name to return a second time, to an endbr64 (setjmp())? NULL: no function
	 * is.
	 */
	bool (*twice)(void *ctx, uint64_t svma);
	/*
	 * Have stacks shown that a function which begins at @svma is called? NULL: unknown for all.
	 */
	bool (*called)(void *ctx, uint64_t svma);
	/*
	 * Copies up to @size bytes at @svma into @buf and returns their number. NULL: jump tables
	 * are not followed.
	 */
	size_t (*data)(void *ctx, uint64_t svma, void *buf, size_t size);
};

struct code_rows *code_rows_new(const struct code_source *src);
void code_rows_free(struct code_rows *cr);

/*
 * The row that holds before the instruction at @svma is executed, valid for [svma, svma + 1).
 * @after_call: @svma is the last byte of a call, and the row is for its return. 0, or -ENOENT.
 * Bounded: reads at most some thousand instructions.
 */
int code_row(struct code_rows *cr, uint64_t svma, bool after_call, struct cfi_row *row);

/*
 * The same, from the paths that begin at @start, an svma below @svma. For functions that are called
 * but not known to begin there. 0, or -ENOENT: the paths do not lead to @svma, or do not show where
 * the frame is.
 */
int code_row_from(struct code_rows *cr, uint64_t start, uint64_t svma, bool after_call, struct cfi_row *row);

/*
 * How far the function that begins at @svma extends: up to the first byte that no path from there
 * reaches, ignoring padding, at most to @limit. A path ends at a call that does not return or may
 * not return, and at code that cannot be decoded. So all of the range belongs to the function, but
 * it may be too short.
 */
uint64_t code_extent(struct code_rows *cr, uint64_t svma, uint64_t limit);

/*
 * Can @svma be a return address? A call ends there, or code begins there that calls
 * rt_sigreturn(2), to which signal handlers return.
 */
bool code_is_return(struct code_rows *cr, uint64_t svma);
/*
 * Does a call end at @svma? *@target: svma of the callee; 0 if a register or table entry determines
 * it.
 */
bool code_call_target(struct code_rows *cr, uint64_t svma, uint64_t *target);
/* Do paths from @start lead to an instruction in [lo, hi] (svma)? */
bool code_leads_into(struct code_rows *cr, uint64_t start, uint64_t lo, uint64_t hi);
/*
 * code_after_syscall(): has a program at @svma just returned from a system call, or begun as the
 * child of one? code_is_restorer(): does code at @svma call rt_sigreturn(2)?
 */
bool code_after_syscall(struct code_rows *cr, uint64_t svma);
bool code_is_restorer(struct code_rows *cr, uint64_t svma);
/* Is a program at @svma about to call rt_sigreturn(2), or has it just called it? */
bool code_in_restorer(struct code_rows *cr, uint64_t svma);

#endif
