/* Names of JIT code from perf maps: that of the living process, and captured lines. */
#ifndef NSPROF_PERFMAP_SOURCE_H
#define NSPROF_PERFMAP_SOURCE_H

#include <stdbool.h>

#include "addr.h"
#include "replay/replay.h"

struct locations;
struct name_accounts;
struct perfmap_source;

/* All borrowed. Only addresses of @ls can be looked up. */
struct perfmap_source *perfmap_source_new(const struct replay *rp, const struct locations *ls, struct name_accounts *accounts);
void perfmap_source_free(struct perfmap_source *ps);
/*
 * Why the perf map of @img was not used although there is one, in the container or when it was
 * recorded: static or owned by the replay. NULL: it was used, or there is none.
 */
const char *perfmap_source_refused(const struct perfmap_source *ps, const struct image *img);
/*
 * Looks up JIT code at runtime address @addr of @img: in the captured lines, then in the living
 * process's /tmp/perf-PID.map (in its root, innermost pid first), then in the same of the image it
 * was forked from. False if there is no name. Borrowed.
 */
bool perfmap_source_lookup(struct perfmap_source *ps, const struct image *img, struct avma addr,
		       const char **name);

#endif
