/* The kernel's symbols by address. */
#ifndef NSPROF_KALLSYMS_H
#define NSPROF_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

struct kallsyms;

/* @text: lines of /proc/kallsyms, whole or captured. NULL when all addresses are 0 (kptr_restrict). */
struct kallsyms *kallsyms_new(const char *text, size_t len);
void kallsyms_free(struct kallsyms *ks);
/* *@module_name is NULL for the kernel proper, else "nf_conntrack", "bpf". */
bool kallsyms_lookup(const struct kallsyms *ks, struct avma addr, const char **name, const char **module_name);
struct kallsym {
	uint64_t start, end;		/* kernel addresses; how far it reaches at most */
	const char *name, *module;	/* as above; borrowed */
};
/* All code by address: start with *@it = 0; false at the end. */
bool kallsyms_next(const struct kallsyms *ks, size_t *it, struct kallsym *out);

#endif
