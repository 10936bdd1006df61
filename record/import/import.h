/* perf.data into a recording of ours: masked and coded as nsprof record does it, with the rows its addresses need. */
#ifndef NSPROF_IMPORT_H
#define NSPROF_IMPORT_H

#include <stdbool.h>

struct import_opts {
	const char *input;	/* "-" = standard input */
	const char *name;	/* of it in messages, with quotes; NULL = as it is */
	const char *output;	/* NULL = the default name, or standard output when that is a pipe */
	const char *event;	/* NULL = the first that has samples */
	bool full_stacks;	/* --stacks=full */
};

/* 0; 1 when it was cut and all before that is in; negative errno after a message. */
int import_run(const struct import_opts *o);

#endif
