/* Names for completion: of what nsprof record can be pointed at. */
#ifndef NSPROF_PS_NAMES_H
#define NSPROF_PS_NAMES_H

#include <stdio.h>

/*
 * Writes the names of @kind, "containers", "pods" or "cgroups", that run now to @to, a line each and without repetition. Cgroups are
 * relative to the hierarchy. Names that a shell would split or a terminal would obey are left out. @roots as in containers_new().
 * 0; -EINVAL: no such kind; or negative errno where there is no cgroup file system. No message.
 */
int ps_names(const char *kind, const char *roots, FILE *to);

#endif
