/*
 * Turns perf.data into a recording: masked and coded as by nsprof record, with the rows its
 * addresses need.
 */
#ifndef NSPROF_IMPORT_H
#define NSPROF_IMPORT_H

#include <stdbool.h>

#include "events/record_opts.h"

struct import_opts {
	const char *input;	/* "-" = standard input */
	const char *name;	/* its name in messages, with quotes; NULL = @input */
	const char *output;	/* NULL = the default name, or standard output if that is a pipe */
	const char *event;	/* NULL = all */
	enum payloads payloads;	/* --fields */
	bool full_stacks;	/* --stacks=full */
	bool no_sandbox;	/* parse with all rights */
};

/*
 * Parses in a parser (parser.h), unless @o says otherwise. Exit status: 0; 1 after a message, also if
 * the input was cut and everything before the cut was imported.
 */
int import_run(const struct import_opts *o);

#endif
