/* The part of an import that reads what others wrote. It opens nothing by name (parser.h). */
#ifndef NSPROF_IMPORT_PARSE_H
#define NSPROF_IMPORT_PARSE_H

#include "import/import.h"
#include "import/import_output.h"

struct import_files {
	const struct import_opts *o;
	int fd;			/* the input; a folder if perf record --threads wrote it */
	char *name;		/* its name in messages, with quotes; owned */
	struct import_output out;
};

/* 0; 1 if the input was cut and what precedes the cut was imported; negative errno after a message. */
int import_parse(struct import_files *files);

#endif
