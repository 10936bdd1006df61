/* The walk through frames of the common shape (rules.h), which almost all frames have. */
#ifndef NSPROF_WALK_FAST_H
#define NSPROF_WALK_FAST_H

#include "unwind/walk.h"

/*
 * Walks on from the last frame of @out, which is in @wm, while rules of the common shape are
 * available and lead to callers in available mappings. Pushes what walk_stack() would push; @regs
 * become those of the last frame. Returns the mapping of that frame. Leaves every special frame to
 * walk_stack(). Does nothing without w->rules.
 * Returns NULL if the rest comes from the thread's last stack (w->reuse), and @out is complete.
 * *@taken is then the index of the first frame from there; otherwise it is untouched.
 */
const struct walk_map *walk_fast(struct walker *w, const struct unwind_input *in,
				 struct unwind_result *out, const struct walk_map *wm,
				 struct uregs *regs, uint32_t *taken);

#endif
