/*
 * Names of JIT code: the perf maps of a process, its own while it lives and the captured lines of
 * it.
 */
#ifndef NSPROF_PERFMAP_SOURCE_H
#define NSPROF_PERFMAP_SOURCE_H

#include <stdbool.h>

#include "addr.h"
#include "replay/replay.h"

struct perfmap_source;

struct perfmap_source *perfmap_source_new(const struct replay *rp);	/* borrowed */
void perfmap_source_free(struct perfmap_source *ps);
/*
 * Name of JIT code at runtime address @addr of @img: from the captured lines, then from the living
 * process's /tmp/perf-PID.map (in its root, by its innermost pid first), then the same of the image
 * it was forked from. False on a miss. Borrowed.
 */
bool perfmap_source_lookup(struct perfmap_source *ps, const struct image *img, struct avma addr,
		       const char **name);

#endif
