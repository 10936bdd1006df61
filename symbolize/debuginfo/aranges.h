/* Which compilation unit an address is in, by .debug_aranges. */
#ifndef NSPROF_ARANGES_H
#define NSPROF_ARANGES_H

#include <stddef.h>
#include <stdint.h>

#include "support/ranges.h"

/*
 * @data, the section of a file whose .debug_info has @info_size bytes (at most 4 GiB): svma to the unit's
 * offset in .debug_info, into @out, which is empty, and flattened. Of several units that claim an address the first counts: of a
 * function that many objects have, the linker keeps the first one's code, and lets the debug info of all point to it. 0, or -EINVAL and nothing in @out: what is damaged in one place
 * tells nothing.
 */
int aranges_read(const uint8_t *data, size_t size, uint64_t info_size, struct ranges *out);

#endif
