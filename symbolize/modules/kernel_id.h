/* Which kernel a recording's addresses belong to. */
#ifndef NSPROF_KERNEL_ID_H
#define NSPROF_KERNEL_ID_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"

struct kallsyms;

/*
 * The kernel's build-id into @id; returns its length in bytes. A recording does not tell it: in the boot it was made in
 * (alive_same_boot()) this kernel is asked. Else it is made of the captured symbols @ks (NULL: none), so that no reader takes another
 * kernel's names for this one's.
 */
size_t kernel_id(const struct kallsyms *ks, uint8_t id[BUILD_ID_MAX]);

#endif
