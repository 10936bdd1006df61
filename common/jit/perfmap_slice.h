/* The lines of a perf map that some addresses need, for the recorder and the symbolizer. */
#ifndef NSPROF_PERFMAP_SLICE_H
#define NSPROF_PERFMAP_SLICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Bytes that are read of a map, from its end. */
#define PERFMAP_READ_MAX (256ull << 20)

/*
 * Appends to @out the lines of perf map @fd that cover any of @addrs (runtime addresses in any
 * order). If several lines cover an address, only the last one is kept, since it is the valid one.
 * Reads at most the last PERFMAP_READ_MAX bytes, and needs memory for what it keeps only. Names of
 * more than LONGNAME_MAX bytes are cut (longname.h). *@room: bytes that names may have beyond
 * LONGNAME_BRIEF, all together; it is reduced, and names that do not fit are cut to LONGNAME_BRIEF.
 * 0, or negative errno; then @out has what was found before.
 */
int perfmap_slice(int fd, const uint64_t *addrs, size_t n, size_t *room, struct strbuf *out);

#endif
