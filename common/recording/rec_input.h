/* Opens a recording: from a file, a pipe, or a perf.data that is imported on the way. */
#ifndef NSPROF_REC_INPUT_H
#define NSPROF_REC_INPUT_H

#include <stdint.h>

/*
 * Returns a descriptor that can be read at any offset, owned by the caller; *@size in bytes. @path
 * "-" is standard input; @shown names it in messages. *@event selects an event of perf.data; NULL:
 * the first one with samples. It is set to NULL once the import has applied it. Negative errno
 * after a message.
 */
int rec_input_open(const char *path, const char *shown, const char **event, uint64_t *size);
/* @path for messages: quoted, or "standard input". Valid until the next call. */
const char *rec_input_shown(const char *path);
/* From now on, perf.data is imported with all rights (--no-sandbox). */
void rec_input_no_sandbox(void);
/*
 * Opens @path (borrowed) for a later rec_input_open() that has no right to do so. 0, or negative
 * errno after a message.
 */
int rec_input_prepare(const char *path, const char *event);

#endif
