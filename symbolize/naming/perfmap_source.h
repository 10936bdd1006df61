/* Names of JIT code from perf maps: that of the living process, and captured lines. */
#ifndef NSPROF_PERFMAP_SOURCE_H
#define NSPROF_PERFMAP_SOURCE_H

#include <stdbool.h>

#include "addr.h"
#include "replay/replay.h"

struct perfmap_source;

struct perfmap_source *perfmap_source_new(const struct replay *rp);	/* borrowed */
void perfmap_source_free(struct perfmap_source *ps);
/*
 * Looks up JIT code at runtime address @addr of @img: in the captured lines, then in the living
 * process's /tmp/perf-PID.map (in its root, innermost pid first), then in the same of the image it
 * was forked from. False if there is no name. Borrowed.
 */
bool perfmap_source_lookup(struct perfmap_source *ps, const struct image *img, struct avma addr,
		       const char **name);

#endif
