/*
 * The addresses to capture rows for: sorted, without duplicates. In any address space of the
 * caller's choice.
 */
#ifndef NSPROF_PCSET_H
#define NSPROF_PCSET_H

#include <stddef.h>
#include <stdint.h>

struct pcset {
	uint64_t *v;	/* owned */
	size_t n;
};

/* @addrs: @n addresses in any order, copied. */
void pcset_init(struct pcset *ps, const uint64_t *addrs, size_t n);
void pcset_fini(struct pcset *ps);
/* Index of the first one at or above @addr; ps->n if there is none. */
size_t pcset_from(const struct pcset *ps, uint64_t addr);

#endif
