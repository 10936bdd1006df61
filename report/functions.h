/* The table people read first: functions by self and total share. */
#ifndef NSPROF_FUNCTIONS_H
#define NSPROF_FUNCTIONS_H

#include <stdint.h>
#include <stdio.h>

struct calltree;

/*
 * Print at most @limit functions (0 = all) with at least @min_percent of the samples in self or total, by self,
 * then total, then name. A recursive function counts once in a stack. Leading frames are left out.
 */
void functions_print(const struct calltree *t, FILE *to, uint64_t limit, double min_percent);

#endif
