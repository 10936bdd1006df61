/* Which cgroups -G patterns, --container, --pod and --cgroup-of select. */
#ifndef NSPROF_SELECTION_H
#define NSPROF_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "containers/cgroup.h"
#include "containers/containers.h"
#include "events/record_opts.h"

/* Is any of them given? Plain names for -G do not count, since they are opened directly. */
bool selection_asked(const struct record_opts *o);

/* Can the selection grow? True for all but --cgroup-of. */
bool selection_grows(const struct record_opts *o);

/* Is @name a pattern for -G: does it contain * ? or [? */
bool selection_is_pattern(const char *name);

/*
 * Calls @fn for each cgroup that is selected now, with its path below the hierarchy and the name a
 * user would give it. A path may come twice. 0, or negative errno after a message. -ENOENT: an
 * option selects nothing; -ENOTUNIQ: it is ambiguous; -EINVAL: it is invalid. With @later, for
 * selection_grows(), the first two are not errors and print no message.
 */
int selection_each(const struct record_opts *o, const struct cgroup_fs *fs, struct containers *cs,
		   bool later, void (*fn)(void *ctx, const char *path, const char *name), void *ctx);

#endif
