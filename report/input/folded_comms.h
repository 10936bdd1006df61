/* Folded text beside recordings: its stacks may begin with the name of the thread, which is no function. */
#ifndef NSPROF_FOLDED_COMMS_H
#define NSPROF_FOLDED_COMMS_H

#include <stddef.h>

struct profile;

/*
 * @p, finished, that of folded text, without its stacks' first frames, where one of @n @others has a thread called so and none a function, and
 * where they stand nowhere else: stackcollapse-perf.pl and nsprof symbolize begin a stack so. It is @p itself where that is of
 * none, or else a new profile, and @p is freed. @others that know no threads do not count, @p may be among them.
 */
struct profile *folded_comms(struct profile *p, struct profile *const *others, size_t n);

#endif
