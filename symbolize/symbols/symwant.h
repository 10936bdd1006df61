/*
 * Which symbols it takes to name some addresses as the whole table would. A large binary has tens of thousands, and to sort
 * all of them takes longer than to look at each one twice:
 *
 * first all are measured, then symwant_keeps() says which ones symtab.h can decide by. These are, of each address, all that
 * begin at the nearest place below it where any symbol begins, which may be unsized; all that begin where a sized one does that holds the address;
 * the first ones above it, where an unsized one ends at the latest; and one that reaches over that nearest place, inside of which an
 * unsized one is but a label.
 */
#ifndef NSPROF_SYMWANT_H
#define NSPROF_SYMWANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

struct symwant;

/* @at: @n addresses, at least one, in any order, copied. Own with symwant_free(). */
struct symwant *symwant_new(const struct svma *at, size_t n);
void symwant_free(struct symwant *sw);	/* accepts NULL */
bool symwant_has(const struct symwant *sw, struct svma at);

/* Does a symbol of @size bytes at @svma tell anything that is not known yet? If it is one that counts, symwant_measure() it. */
bool symwant_matters(const struct symwant *sw, uint64_t svma, uint64_t size);
void symwant_measure(struct symwant *sw, uint64_t svma, uint64_t size);
/* All were measured. */
void symwant_settle(struct symwant *sw);
/* Are symbols at @svma among those? */
bool symwant_keeps(const struct symwant *sw, uint64_t svma);

#endif
