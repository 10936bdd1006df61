/* The messages for a filter that leaves no sample. */
#ifndef NSPROF_FILTER_HINT_H
#define NSPROF_FILTER_HINT_H

#include <stddef.h>

struct container_names;
struct filter;
struct rec_reader;

/*
 * Reads the recording again and reports, as errors, the conditions that no sample matches, each
 * with values that exist, the most similar first; or that no sample matches all conditions. @names:
 * names of containers that the recording names only after their samples.
 */
void filter_hint_tell(const struct filter *f, const struct container_names *names, struct rec_reader *r);
/*
 * Distance of a text from a glob, for sorting: 0 for texts that contain all literal characters of
 * the glob, otherwise the number of characters to change.
 */
size_t filter_hint_distance(const char *glob, const char *text);

#endif
