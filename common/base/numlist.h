/* Lists of numbers as typed, or as sysfs writes them: "0,2-4". */
#ifndef NSPROF_NUMLIST_H
#define NSPROF_NUMLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Parses "0,2-4" to numbers: sorted, without duplicates, at most @max. *@out is owned by the caller
 * (NULL on failure). Ranges only with @ranges. 0 or -EINVAL. Pure.
 */
int numlist_parse(const char *text, bool ranges, uint32_t max, uint32_t **out, size_t *n);
/* Sorts @v and removes duplicates. The new number of elements. */
size_t numlist_unique(uint32_t *v, size_t n);

#endif
