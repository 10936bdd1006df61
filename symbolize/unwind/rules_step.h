/*
 * A step from a frame to its caller by compiled rules. The default unwinder uses it, and all
 * unwinders for made rows.
 */
#ifndef NSPROF_RULES_STEP_H
#define NSPROF_RULES_STEP_H

#include "unwind/rules.h"
#include "unwind/walk.h"

/* As walk_step_fn. */
enum step_end rules_step(struct rules *rs, struct walk_at *at, struct uregs *regs);

#endif
