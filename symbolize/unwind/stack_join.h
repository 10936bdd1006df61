/*
 * Stacks that are deeper than their copy. A walk that ran out of the copy may have come to a frame that the
 * thread's last known stack has, too: if it is still the same call, its callers are the ones known.
 *
 * What proves that: see contrib/doc/joining.md. The first half is looked at with each stack: the
 * frame's address, its place and its caller's place are those known, no word from its return address up to the
 * end of the copy is another, and no stack since has shown otherwise. The second half, that no stack shows any of these
 * frames at its place with another caller, is known at the end.
 */
#ifndef NSPROF_STACK_JOIN_H
#define NSPROF_STACK_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/stack_reuse.h"

/*
 * After a walk of @in that ended because the word at runtime address @fault lies above the copy: fills in
 * out->joined and out->border if the thread's last stack has the last frame.
 */
void join_outer(struct reuse *ru, const struct unwind_input *in, struct unwind_result *out,
		const struct walk_step *steps, uint64_t fault);

/* The innermost @n frames of ru->cur are new: note who called them, in process @pid. */
void join_note(struct reuse *ru, uint32_t pid, uint32_t n);

/*
 * Was the frame at @border (unwind_result) always seen with one caller, and that one, up to the root? By any of
 * @all, which have shared the samples.
 */
bool join_holds(const struct reuse *const *all, size_t n, uint64_t border);

#endif
