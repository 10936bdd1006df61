/*
 * Stacks that are deeper than their copy. A walk that ran out of the copy may have reached a frame
 * that is also in the thread's last known stack. If it is still the same call, its callers are the
 * known ones. contrib/doc/joining.md has the proof. The first half is checked for each stack: the
 * frame's address, its place and its caller's place are the known ones, no word from its return
 * address to the end of the copy has changed, and no stack since has shown otherwise. The second
 * half is known at the end: no stack shows any of these frames at its place with another caller.
 */
#ifndef NSPROF_STACK_JOIN_H
#define NSPROF_STACK_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/stack_reuse.h"

/*
 * Call after a walk of @in that ended because the word at runtime address @fault lies above the
 * copy. Sets out->joined and out->border if the thread's last stack contains the last frame.
 */
void join_outer(struct reuse *ru, const struct unwind_input *in, struct unwind_result *out,
		const struct walk_step *steps, uint64_t fault);

/* The innermost @n frames of ru->cur are new: records their callers, in process @pid. */
void join_note(struct reuse *ru, uint32_t pid, uint32_t n);

/*
 * Did all of @all, which shared the samples, always see the frame at @border (unwind_result) with
 * one and the same caller, and so on up to the root?
 */
bool join_holds(const struct reuse *const *all, size_t n, uint64_t border);

#endif
