/*
 * Large text output to a descriptor: a thread writes one piece while the caller formats the next.
 */
#ifndef NSPROF_WRITE_BEHIND_H
#define NSPROF_WRITE_BEHIND_H

#include <stdbool.h>
#include <stdio.h>

struct write_behind;

/*
 * Text written to *@stream goes to @fd (borrowed), in large pieces and in order. write_behind_end()
 * closes the stream. @beside: use a thread once there are some MiB of text, if a CPU is free for
 * it. After the first error the stream fails and nothing more is written. Signals of a write
 * (SIGPIPE) are raised as if the caller had written. NULL: no memory for a stream.
 */
struct write_behind *write_behind_new(int fd, bool beside, FILE **stream);
/* On return all text is written. 0, or the negative errno of the first failed write. Frees @wb. */
int write_behind_end(struct write_behind *wb);

#endif
