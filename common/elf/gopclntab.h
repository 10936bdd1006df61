/*
 * .gopclntab: the table that the Go runtime itself uses to unwind and to name functions. Every Go
 * program has it, stripped or not. Layouts of Go 1.18 and later (src/runtime/symtab.go and
 * src/cmd/link/internal/ld/pcln.go of the Go distribution). Input is untrusted.
 */
#ifndef NSPROF_GOPCLNTAB_H
#define NSPROF_GOPCLNTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gopclntab {
	const uint8_t *data;	/* borrowed */
	size_t size;		/* bytes */
	uint64_t text;		/* svma that function offsets are relative to */
	uint32_t nfunc;
	uint32_t names, pctab, funcs;	/* byte offsets in @data */
	uint8_t quantum;	/* bytes; addresses advance by multiples of it */
	uint8_t func_tail;	/* byte offset of funcID in a function's record */
};

struct go_func {
	uint64_t start, end;	/* svma range [start, end) */
	const char *name;	/* borrowed from the table; NULL when invalid */
	bool top;		/* has no caller: goexit, rt0_go, mstart */
	bool switches;		/* it moves the stack pointer to another stack */
	/* runtime.cgocallback: C calls it, on top of the goroutine that called C. */
	bool callback;
	uint32_t pcsp;		/* for gopclntab_frame() */
};

/*
 * @text: svma that functions are relative to, for a table that does not state it. 0, or -EINVAL for
 * anything but a table of these versions with 64-bit addresses.
 */
int gopclntab_init(struct gopclntab *gt, const void *data, size_t size, uint64_t text);
/* Might a table begin with these 8 bytes? For callers that have to search for it. */
bool gopclntab_begins(const void *data);
/* The function that holds @svma, or number @i in the order of addresses. 0, -ENOENT. */
int gopclntab_find(const struct gopclntab *gt, uint64_t svma, struct go_func *fn);
int gopclntab_nth(const struct gopclntab *gt, size_t i, struct go_func *fn);
/*
 * *@bytes: distance from the stack pointer up to the return address, before the instruction at
 * @svma of @fn runs. *@end: svma up to which it holds. 0, -EINVAL.
 */
int gopclntab_frame(const struct gopclntab *gt, const struct go_func *fn, uint64_t svma,
		    uint32_t *bytes, uint64_t *end);

#endif
