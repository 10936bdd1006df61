/* Sorting numbers. */
#ifndef NSPROF_SORT_U64_H
#define NSPROF_SORT_U64_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sorts the @n numbers of @v in ascending order. They are mostly addresses, which differ in few
 * bytes: several times as fast as qsort(3).
 */
void sort_u64(uint64_t *v, size_t n);

#endif
