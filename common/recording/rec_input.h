/* Where a recording comes from: a file, a pipe, or a perf.data that is imported on the way. */
#ifndef NSPROF_REC_INPUT_H
#define NSPROF_REC_INPUT_H

#include <stdint.h>

/*
 * A descriptor that can be read at any offset, owned by the caller, and the *@size in bytes. @path "-" is standard input;
 * @shown names it in messages. Of perf.data the samples of *@event are read; NULL: the first that has some. *@event becomes NULL where
 * that is done. Negative errno after a message.
 */
int rec_input_open(const char *path, const char *shown, const char **event, uint64_t *size);

#endif
