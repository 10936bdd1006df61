/* Selects the samples of a saved profile by conditions ("--filter"). */
#ifndef NSPROF_SELECT_H
#define NSPROF_SELECT_H

#include "profile/filter.h"
#include "profile/profile.h"

/*
 * Keeps those counts of @p, finished, that meet the conditions of @f. A block of time is kept or
 * dropped as a whole, by where it begins; @f->start is not used. p->samples, period and nblocks are
 * updated; the conditions are added to the profile's facts. Returns 0, or, after a message that
 * names @name: -ENODATA if nothing is left, -EINVAL if @p lacks what a condition needs.
 */
int select_counts(struct profile *p, const struct filter *f, const char *name);
/*
 * The same by where samples were: in code of @dsos and in the functions @symbols. As in the self
 * column of tables, an inlined function is a function of its own. Each is NULL (any) or a
 * comma-separated list of globs or exact names; commas in brackets belong to the name. Files match
 * by their mapped path or its last part. Returns as select_counts().
 */
int select_places(struct profile *p, const char *dsos, const char *symbols, const char *name);

#endif
