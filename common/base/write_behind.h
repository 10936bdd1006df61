/* Much text for a descriptor: a thread writes one piece while the next one is put together. */
#ifndef NSPROF_WRITE_BEHIND_H
#define NSPROF_WRITE_BEHIND_H

#include <stdbool.h>
#include <stdio.h>

struct write_behind;

/*
 * What is written to *@stream (write_behind_end() closes it) goes to @fd, which is borrowed, in large pieces and in
 * order. @beside: by a thread, once there are some MiB and if there is a CPU for it. After the first error nothing more
 * is written: the stream fails. What a write can raise (SIGPIPE) it raises as in the caller.
 * NULL without memory for a stream.
 */
struct write_behind *write_behind_new(int fd, bool beside, FILE **stream);
/* All is written when it returns. 0, or the negative errno of the first write that failed. Frees @wb. */
int write_behind_end(struct write_behind *wb);

#endif
