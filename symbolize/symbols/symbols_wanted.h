/*
 * Selects the symbols that are needed to name some addresses exactly as the whole table would. A
 * large binary has tens of thousands of symbols, and sorting them all takes longer than looking at
 * each one twice.
 *
 * First all symbols are measured. Then symbols_wanted_keeps() accepts, for each wanted address:
 *  - all symbols at the nearest start at or below it, which may be unsized;
 *  - all symbols at the start of a sized one that holds the address;
 *  - the first symbols above it, where an unsized one ends at the latest;
 *  - a symbol that reaches over the nearest start: inside it, an unsized symbol is only a label.
 * symtab.h decides among these.
 */
#ifndef NSPROF_SYMBOLS_WANTED_H
#define NSPROF_SYMBOLS_WANTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

struct symbols_wanted;

/* @at: @n wanted addresses, at least one, in any order, copied. Free with symbols_wanted_free(). */
struct symbols_wanted *symbols_wanted_new(const struct svma *at, size_t n);
void symbols_wanted_free(struct symbols_wanted *sw);	/* accepts NULL */
bool symbols_wanted_has(const struct symbols_wanted *sw, struct svma at);

/*
 * Would a symbol of @size bytes at @svma change anything? If so, and if the symbol counts, call
 * symbols_wanted_measure().
 */
bool symbols_wanted_matters(const struct symbols_wanted *sw, uint64_t svma, uint64_t size);
void symbols_wanted_measure(struct symbols_wanted *sw, uint64_t svma, uint64_t size);
/* All symbols were measured. */
void symbols_wanted_settle(struct symbols_wanted *sw);
/* Are the symbols at @svma among those to keep? */
bool symbols_wanted_keeps(const struct symbols_wanted *sw, uint64_t svma);

#endif
