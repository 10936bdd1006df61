/* The samples of a saved profile that conditions are about ("--filter"). */
#ifndef NSPROF_SELECT_H
#define NSPROF_SELECT_H

#include "filter.h"
#include "profile.h"

/*
 * Of the counts of @p, finished, those that meet the conditions of @f stay. A block of time
 * is in or out as a whole, by its beginning, which @f->start is not asked for. p->samples, period and nblocks are those of what stays;
 * the conditions are added to what is said of the profile. 0; -ENODATA when nothing stays or -EINVAL when @p does not know what a condition is
 * about, after a message that names @name.
 */
int select_counts(struct profile *p, const struct filter *f, const char *name);

#endif
