/*
 * Reads the bytes of a function: from its binary or, if that is not available, from the recording.
 */
#ifndef NSPROF_CODESOURCE_H
#define NSPROF_CODESOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codesource;
struct module;
struct rec_reader;

enum code_byte {
	CODE_MISSING,
	CODE_THERE,
	CODE_BEGIN,	/* there, and an instruction begins here */
};

/* Only this many bytes of a function are read. */
#define CODE_MAX (4u << 20)

struct code {
	uint64_t start;		/* svma */
	size_t size;		/* bytes, at most CODE_MAX */
	uint8_t *bytes;		/* owned; [0] is at @start */
	uint8_t *what;		/* owned; enum code_byte of each byte */
	bool captured;		/* from the recording */
};

/* @r is borrowed. It is read when code from it is needed for the first time. */
struct codesource *codesource_new(struct rec_reader *r);
void codesource_free(struct codesource *cs);	/* accepts NULL */
/*
 * Reads the code of @m from svma @start up to @end. 0, or -ENOENT if not a single byte is
 * available; then *@out is empty.
 */
int codesource_read(struct codesource *cs, struct module *m, uint64_t start, uint64_t end, struct code *out);
void code_fini(struct code *c);

#endif
