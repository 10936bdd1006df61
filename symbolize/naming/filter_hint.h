/* What to say when a filter leaves no sample. */
#ifndef NSPROF_FILTER_HINT_H
#define NSPROF_FILTER_HINT_H

#include <stddef.h>

struct container_names;
struct filter;
struct rec_reader;

/*
 * Goes through the recording again and tells, as errors, which of the conditions no sample meets and what there
 * is instead, the nearest first; or that no sample meets all of them. @names: of containers that the recording names behind samples.
 */
void filter_hint_tell(const struct filter *f, const struct container_names *names, struct rec_reader *r);
/*
 * How far a text is from a glob, for such an order: texts that hold all of what the glob says in plain come first, others by
 * the number of characters to change.
 */
size_t filter_hint_distance(const char *glob, const char *text);

#endif
