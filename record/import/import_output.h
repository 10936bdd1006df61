/*
 * The recording that an import writes. In a parser (parser.h), the program that it belongs to opens
 * and names it; after a fault, another parser writes it from its beginning.
 */
#ifndef NSPROF_IMPORT_OUTPUT_H
#define NSPROF_IMPORT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/output.h"

struct import_output {
	struct output out;
	off_t start;		/* where it begins in the open file */
};

/* As output_check(), output_open(), output_commit() and output_undo(). */
int import_output_check(struct import_output *o, const char *path);
int import_output_open(struct import_output *o);
int import_output_commit(struct import_output *o);
void import_output_undo(struct import_output *o);
/* Removes what has no name yet. */
void import_output_fini(struct import_output *o);
/* After opening: could it be written once more? Not a pipe, a device, or a file that is appended to. */
bool import_output_again(const struct import_output *o);

/* In the program: answers a request of the functions above. -ENOSYS: it is none. */
int import_output_serve(struct import_output *o, uint32_t kind, int *fd);

#endif
