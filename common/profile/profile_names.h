/*
 * Bounds the text of a profile's names. A tree or table shows a name for each node or row, so a file with
 * one long name and many nodes would be shown as text of the square of its size.
 */
#ifndef NSPROF_PROFILE_NAMES_H
#define NSPROF_PROFILE_NAMES_H

#include "profile/fair_level.h"
#include "profile/profile.h"

/* Bytes of the texts of all nodes' frames beyond LONGNAME_BRIEF; each: per node. */
#define PROFILE_NAMES_LIMIT ((struct fair_limit){ 64u << 20, 1024 })

/*
 * Cuts the longest names, files and source lines of frames of @p, finished, if they exceed @limit, as
 * longname.h does. Warns, and adds a note. @name: of the input. Returns the number of texts.
 */
uint64_t profile_bound_names(struct profile *p, struct fair_limit limit, const char *name);

#endif
