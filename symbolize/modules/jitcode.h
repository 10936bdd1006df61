/*
 * The code that a JIT compiler told of in its jitdump: names and call frame information by address
 * and time, since addresses are used again.
 */
#ifndef NSPROF_JITCODE_H
#define NSPROF_JITCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

struct jitcode;
struct module;
struct source_line;

struct jit_func {
	uint64_t start, end;	/* runtime addresses [start, end) */
	uint64_t time;		/* ns, CLOCK_MONOTONIC: there from then on; 0 = always */
	const char *name;	/* as the producer wrote it; lives as long as the jitcode */
};

/*
 * @slice: what jitdump_slice() gave, untrusted, copied. NULL when it holds no function. *@next_id:
 * numbers for the modules of its functions, counted on up to @last_id; no rows for those beyond.
 */
struct jitcode *jitcode_new(const void *slice, size_t size, uint32_t *next_id, uint32_t last_id);
void jitcode_free(struct jitcode *jc);	/* accepts NULL */

/*
 * The function at @addr at @time: the newest that was loaded before or, since producers may be late
 * with their records, the first one after. NULL when there never was one. Borrowed.
 */
const struct jit_func *jitcode_find(const struct jitcode *jc, struct avma addr, uint64_t time);

/*
 * How many functions were loaded up to @time, of which *@n are known to have been: what find() says
 * changes only where this does. Goes on from *@n, so that going through a recording is cheap.
 */
void jitcode_advance(const struct jitcode *jc, size_t *n, uint64_t time);

/*
 * Where in the source the code at runtime address @addr of @func comes from, into *@out. False when the
 * producer did not say.
 */
bool jitcode_line(const struct jit_func *func, uint64_t addr, struct source_line *out);

/*
 * @func as a binary of its own for unwinders: its svma is the runtime address less *@bias. NULL when
 * it came without call frame information. Borrowed.
 */
struct module *jitcode_module(const struct jit_func *func, uint64_t *bias);

#endif
