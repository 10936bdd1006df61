/*
 * Which symbols it takes to name some addresses as the whole table would. A large binary has tens of thousands, and to sort
 * all of them takes longer than to look at each one twice:
 *
 * first all are measured, then symbols_wanted_keeps() says which ones symtab.h can decide by. These are, of each address, all that
 * begin at the nearest place below it where any symbol begins, which may be unsized; all that begin where a sized one does that holds the address;
 * the first ones above it, where an unsized one ends at the latest; and one that reaches over that nearest place, inside of which an
 * unsized one is but a label.
 */
#ifndef NSPROF_SYMBOLS_WANTED_H
#define NSPROF_SYMBOLS_WANTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

struct symbols_wanted;

/* @at: @n addresses, at least one, in any order, copied. Own with symbols_wanted_free(). */
struct symbols_wanted *symbols_wanted_new(const struct svma *at, size_t n);
void symbols_wanted_free(struct symbols_wanted *sw);	/* accepts NULL */
bool symbols_wanted_has(const struct symbols_wanted *sw, struct svma at);

/* Does a symbol of @size bytes at @svma tell anything that is not known yet? If it is one that counts, symbols_wanted_measure() it. */
bool symbols_wanted_matters(const struct symbols_wanted *sw, uint64_t svma, uint64_t size);
void symbols_wanted_measure(struct symbols_wanted *sw, uint64_t svma, uint64_t size);
/* All were measured. */
void symbols_wanted_settle(struct symbols_wanted *sw);
/* Are symbols at @svma among those? */
bool symbols_wanted_keeps(const struct symbols_wanted *sw, uint64_t svma);

#endif
