/* perf-PID.map, and the captured lines of one. */
#ifndef NSPROF_PERFMAP_H
#define NSPROF_PERFMAP_H

#include <stdbool.h>
#include <stddef.h>

#include "addr.h"

struct perfmap;

/*
 * @text is copied. The last entry wins on overlap. A partial last line and malformed lines are
 * skipped.
 */
struct perfmap *perfmap_new(const char *text, size_t len);
void perfmap_free(struct perfmap *pm);
/* Runtime address to name; false on a miss. Borrowed. */
bool perfmap_lookup(const struct perfmap *pm, struct avma addr, const char **name);
/*
 * For captured lines: other processes write to the same file, so its other entries prove nothing.
 */
bool perfmap_shared(const struct perfmap *pm);
/* For captured lines: why the recorder did not use a map that was there, printable; else NULL. */
const char *perfmap_refused(const struct perfmap *pm);

#endif
