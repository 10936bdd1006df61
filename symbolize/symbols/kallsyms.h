/* The kernel's symbols by address. */
#ifndef NSPROF_KALLSYMS_H
#define NSPROF_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

struct kallsyms;

/*
 * @text: lines of /proc/kallsyms, complete or captured. NULL if all addresses are 0
 * (kptr_restrict).
 */
struct kallsyms *kallsyms_new(const char *text, size_t len);
void kallsyms_free(struct kallsyms *ks);
/* *@module_name: NULL for the kernel proper, otherwise for example "nf_conntrack" or "bpf". */
bool kallsyms_lookup(const struct kallsyms *ks, struct avma addr, const char **name, const char **module_name);
struct kallsym {
	uint64_t start, end;		/* kernel addresses; @end is an upper limit */
	const char *name, *module;	/* as above; borrowed */
};
/* Iterates over all code by address: start with *@it = 0; false at the end. */
bool kallsyms_next(const struct kallsyms *ks, size_t *it, struct kallsym *out);

#endif
