/* The samples of a saved profile that conditions are about ("--filter"). */
#ifndef NSPROF_SELECT_H
#define NSPROF_SELECT_H

#include "profile/filter.h"
#include "profile/profile.h"

/*
 * Of the counts of @p, finished, those that meet the conditions of @f stay. A block of time
 * is in or out as a whole, by its beginning, which @f->start is not asked for. p->samples, period and nblocks are those of what stays;
 * the conditions are added to what is said of the profile. 0; -ENODATA when nothing stays or -EINVAL when @p does not know what a condition is
 * about, after a message that names @name.
 */
int select_counts(struct profile *p, const struct filter *f, const char *name);
/*
 * The same by where samples were: in code of @dsos and in the functions @symbols, as tables count what is a function's own, so
 * that one inlined is a function. Each is NULL for any, or names with commas between (those in brackets belong to a name): globs or the very
 * text, of files the path as mapped or its last part. As select_counts().
 */
int select_places(struct profile *p, const char *dsos, const char *symbols, const char *name);

#endif
