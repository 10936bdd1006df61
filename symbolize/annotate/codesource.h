/* The bytes of a function: from its binary or, where that is not found, from the code in the recording. */
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
	CODE_BEGIN,	/* the same; an instruction begins here */
};

/* More of a function is not looked at; its first bytes are. */
#define CODE_MAX (4u << 20)

struct code {
	uint64_t start;		/* svma */
	size_t size;		/* bytes, at most CODE_MAX */
	uint8_t *bytes;		/* owned; [0] is at @start */
	uint8_t *what;		/* owned; of each, enum code_byte */
	bool captured;		/* from the recording */
};

/* @r is borrowed; it is read when the first function wants code from it. */
struct codesource *codesource_new(struct rec_reader *r);
void codesource_free(struct codesource *cs);	/* accepts NULL */
/* Code of @m at svma @start up to @end. 0, or -ENOENT when there is no byte of it; then *@out is empty. */
int codesource_read(struct codesource *cs, struct module *m, uint64_t start, uint64_t end, struct code *out);
void code_fini(struct code *c);

#endif
