/* Which event of inputs with several is compared. Events match by name. */
#ifndef NSPROF_DIFF_EVENTS_H
#define NSPROF_DIFF_EVENTS_H

#include <stddef.h>

#include "diff/diff.h"

/*
 * Leaves one event in each of the @n profiles: the first one of the first profile that all have, or,
 * if there is none, the first one of each. Says which one that is, which others could be compared,
 * and which ones are not in all inputs. Does nothing if no profile has several events. Profiles
 * without a named event (folded text) have any.
 */
void diff_events(struct profile **profiles, const struct diff_input *in, size_t n);

#endif
