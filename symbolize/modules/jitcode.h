/*
 * The code that a JIT compiler described in its jitdump: names and call frame information by
 * address and time, since addresses are reused.
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
	uint64_t time;		/* ns, CLOCK_MONOTONIC: loaded at this time; 0 = always there */
	const char *name;	/* as the producer wrote it; lives as long as the jitcode */
};

/*
 * @slice: output of jitdump_slice(), untrusted, copied. NULL if it holds no function. *@next_id:
 * next module id for a function, counted up to @last_id; functions beyond that get no rows.
 */
struct jitcode *jitcode_new(const void *slice, size_t size, uint32_t *next_id, uint32_t last_id);
void jitcode_free(struct jitcode *jc);	/* accepts NULL */

/*
 * The function at @addr at @time: the newest one loaded by then. Since producers may write records
 * late, otherwise the first one loaded after. NULL if there never was one. Borrowed.
 */
const struct jit_func *jitcode_find(const struct jitcode *jc, struct avma addr, uint64_t time);

/*
 * Advances *@n, the number of functions loaded so far, to @time. Results of jitcode_find() change
 * only when it does. It continues from the old *@n, so calling it along a recording is cheap.
 */
void jitcode_advance(const struct jitcode *jc, size_t *n, uint64_t time);

/*
 * Gets the source line of the code at runtime address @addr of @func into *@out. False if the
 * producer wrote none.
 */
bool jitcode_line(const struct jit_func *func, uint64_t addr, struct source_line *out);

/*
 * @func as a module of its own for unwinders: its svma is the runtime address minus *@bias. NULL if
 * it has no call frame information. Borrowed.
 */
struct module *jitcode_module(const struct jit_func *func, uint64_t *bias);

#endif
