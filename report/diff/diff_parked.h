/* Joins the waits of threads that are idle, for all profiles of a comparison alike. */
#ifndef NSPROF_DIFF_PARKED_H
#define NSPROF_DIFF_PARKED_H

#include <stddef.h>

struct diff_opts;
struct profile;

/*
 * Puts [parked] and the reason in place of stacks at which a thread was for 90 % of the time or more,
 * as nsprof-symbolize does for one recording (contrib/doc/off-cpu.md). If that is so in one of the @n
 * profiles, it is done in all of them, for threads of the same name: a thread that is just below the
 * limit on one side would otherwise look like a change. Time before a thread first ran belongs to
 * the place where it is parked. Replaces changed profiles in @profiles, which were loaded with
 * load_opts.keep_parked and have one event.
 */
void diff_parked(struct profile **profiles, size_t n, const struct diff_opts *opts);

#endif
