/*
 * Folded text beside recordings: its stacks may begin with a thread name, which is not a function.
 */
#ifndef NSPROF_FOLDED_COMMS_H
#define NSPROF_FOLDED_COMMS_H

#include <stddef.h>

struct profile;

/*
 * stackcollapse-perf.pl and nsprof symbolize begin each stack with the thread name. Removes those
 * first frames of @p (finished folded text) that are the name of a thread and of no function in one
 * of the @n @others, and that occur nowhere else in @p. Returns @p itself if there are none;
 * otherwise a new profile, and @p is freed. @others without threads are ignored; @p may be among
 * them.
 */
struct profile *folded_comms(struct profile *p, struct profile *const *others, size_t n);

#endif
