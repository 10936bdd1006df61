/* Identifies the kernel that a recording's addresses belong to. */
#ifndef NSPROF_KERNEL_ID_H
#define NSPROF_KERNEL_ID_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"

struct kallsyms;

/*
 * Writes the kernel's build-id to @id and returns its length in bytes. A recording does not contain
 * it. In the boot of the recording (alive_same_boot()), the running kernel is asked. Otherwise it
 * is a hash of the captured symbols @ks (NULL: none), so that no reader takes another kernel's
 * names for this one's.
 */
size_t kernel_id(const struct kallsyms *ks, uint8_t id[BUILD_ID_MAX]);

#endif
