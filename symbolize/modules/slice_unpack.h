/* Unpacks the slices of binaries in a recording, in the background if wanted. */
#ifndef NSPROF_SLICE_UNPACK_H
#define NSPROF_SLICE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

#include "event.h"

struct slices;
struct slice;

/*
 * @ahead: after the first wait, a thread unpacks all slices in the order they were added. Otherwise
 * each one is unpacked when it is needed.
 */
struct slices *slices_new(bool ahead);
void slices_free(struct slices *s);	/* accepts NULL */
/*
 * Adds the packed slice @cap, which is copied. @before: the binary's previous slice, or NULL.
 * Borrowed for the life of @s.
 */
struct slice *slices_add(struct slices *s, const struct capture *cap, struct slice *before);
/*
 * Returns the unpacked file, *@size bytes, borrowed for the life of the slices; NULL if it is
 * damaged. Waits until it is unpacked. Any thread may call it.
 */
const void *slices_wait(struct slice *sl, size_t *size);
/*
 * The same, but the file may lack its call frame information. If nobody waited for the slice yet,
 * only the rest is unpacked, which is fast. One thread at a time.
 */
const void *slices_names(struct slice *sl, size_t *size);
/*
 * The whole slices of @sl's binary are probably not needed: the thread skips them. slices_wait()
 * still works.
 */
void slices_leave(struct slice *sl);
struct slice *slices_before(const struct slice *sl);

#endif
