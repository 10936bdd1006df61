/* Names for completion: what nsprof record can sample. */
#ifndef NSPROF_PS_NAMES_H
#define NSPROF_PS_NAMES_H

#include <stdio.h>

/*
 * Writes the present names of @kind, "containers", "pods" or "cgroups", to @to, one per line and
 * without repetition. Cgroups are relative to the hierarchy. Leaves out names that a shell would
 * split or a terminal would obey. @roots as in containers_new(). 0; -EINVAL: unknown kind; or
 * negative errno if there is no cgroup file system. No message.
 */
int ps_names(const char *kind, const char *roots, FILE *to);

#endif
