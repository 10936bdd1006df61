/* Which cgroups -G patterns, --container, --pod and --cgroup-of choose. */
#ifndef NSPROF_SELECTION_H
#define NSPROF_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "containers/cgroup.h"
#include "containers/containers.h"
#include "events/record_opts.h"

/* Any of them is given. Plain names for -G are not a choice: they are opened as they are. */
bool selection_asked(const struct record_opts *o);

/* What is chosen may become more: all but --cgroup-of. */
bool selection_grows(const struct record_opts *o);

/* @name is a pattern for -G: it has one of * ? [ in it. */
bool selection_is_pattern(const char *name);

/*
 * Calls @fn with the path below the hierarchy of each cgroup that is chosen now, and what a user would call
 * it. A path may come twice. 0, or negative errno after a message: -ENOENT and -ENOTUNIQ when one of the options chooses
 * nothing or not clearly, -EINVAL when it makes no sense; with @later, for selection_grows(), the first two are no error and
 * have no message.
 */
int selection_each(const struct record_opts *o, const struct cgroup_fs *fs, struct containers *cs,
		   bool later, void (*fn)(void *ctx, const char *path, const char *name), void *ctx);

#endif
