/* The walk through frames of the common shape (rules.h), which nearly all frames have. */
#ifndef NSPROF_WALK_FAST_H
#define NSPROF_WALK_FAST_H

#include "unwind/walk.h"

/*
 * From the last frame of @out on, which is at @wm, as far as rules are at hand, of the common shape,
 * and lead to callers in mappings that are at hand: what walk_stack() would push is pushed, and @regs
 * are those of the last frame. Returns the mapping it is at. Whatever is special about a frame is left
 * to walk_stack(). Does nothing without w->rules.
 *
 * NULL: the rest is the thread's last stack's (w->reuse), and @out is whole. *@taken is the index of the
 * frame from which on it is, else not touched.
 */
const struct walk_map *walk_fast(struct walker *w, const struct unwind_input *in,
				 struct unwind_result *out, const struct walk_map *wm,
				 struct uregs *regs, uint32_t *taken);

#endif
