/* The file of the recording. Nothing there is touched before the recording is sure to start. */
#ifndef NSPROF_OUTPUT_H
#define NSPROF_OUTPUT_H

#include <stdbool.h>

#define OUTPUT_DEFAULT "nsprof.data"

struct output {
	const char *name;	/* "-" = standard output; borrowed */
	int fd;			/* owned unless it is standard output; -1 = not open */
};

/*
 * @path NULL: the default name, or standard output when that is a pipe (perf's habit). Looks
 * whether writing will be possible; creates and changes nothing. 0, or negative errno after a
 * message (-EINVAL: a terminal).
 */
int output_check(struct output *out, const char *path);

/*
 * Now: an existing, non-empty regular file becomes FILE.old; mode 0600. 0 or negative errno after a
 * message.
 */
int output_open(struct output *out);
/* The name for messages: "standard output" for "-". */
const char *output_shown(const struct output *out);

/* 0, or negative errno of close(2); no message. */
int output_close(struct output *out);

#endif
