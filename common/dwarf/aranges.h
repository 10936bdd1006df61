/* Finds the compilation unit of an address, by .debug_aranges. */
#ifndef NSPROF_ARANGES_H
#define NSPROF_ARANGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/ranges.h"

/*
 * Reads @data, the section of a file with @info_size bytes of .debug_info (at most 4 GiB). Fills
 * @out, which is empty, with flattened ranges: svma to the unit's offset in .debug_info. If several
 * units claim an address, the first one wins: when many objects have the same function, the linker
 * keeps the first one's code and points the debug info of all to it. 0, or -EINVAL with nothing in
 * @out: damage in one place makes all of it useless.
 */
int aranges_read(const uint8_t *data, size_t size, uint64_t info_size, struct ranges *out);

#endif
