/* Slices of binaries in a recording, unpacked while something else is done. */
#ifndef NSPROF_SLICE_UNPACK_H
#define NSPROF_SLICE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "event.h"

struct slices;
struct slice;

/*
 * @ahead: once the first was waited for, by a thread, in the order they are added; else each when it is asked for.
 */
struct slices *slices_new(bool ahead);
void slices_free(struct slices *s);	/* accepts NULL */
/* @cap, packed, is copied. @before is the binary's slice so far, or NULL. Borrowed for the life of @s. */
struct slice *slices_add(struct slices *s, const struct capture *cap, struct slice *before);
/*
 * The file, *@size bytes, borrowed for the life of the slices; NULL when it is damaged. Waits until it is
 * unpacked. By any thread.
 */
const void *slices_wait(struct slice *sl, size_t *size);
/*
 * The same of a file that may lack its call frame information: of a slice that nobody has waited for, only the rest
 * is unpacked, which is soon done. By one thread at a time.
 */
const void *slices_names(struct slice *sl, size_t *size);
/* Of all slices of @sl's binary, whole ones are not wanted, as far as is known: unless it is waited for. */
void slices_leave(struct slice *sl);
struct slice *slices_before(const struct slice *sl);

#endif
