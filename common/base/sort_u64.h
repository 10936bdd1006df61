/* Numbers in order. */
#ifndef NSPROF_SORT_U64_H
#define NSPROF_SORT_U64_H

#include <stddef.h>
#include <stdint.h>

/* @v of @n, the smallest first. Addresses mostly, of which few bytes differ: several times as fast as qsort(3). */
void sort_u64(uint64_t *v, size_t n);

#endif
