/*
 * Names that are too long to keep. A name keeps its beginning and gets a mark with its length and a
 * hash of all of it: "std::vector<...[20971520 bytes, 0123456789abcdef]". So names that differ stay
 * different, and the same name is cut to the same text everywhere.
 */
#ifndef NSPROF_LONGNAME_H
#define NSPROF_LONGNAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * Bytes of a name as in its source. perf keeps a name's length in 16 bits; no compiler or linker
 * is known to write more, and the longest names in clang, libxul and Boost have some 10 KiB.
 */
#define LONGNAME_MAX	((size_t)64 << 10)
/* Bytes of a name when its owner has used up its room for long ones; most names are shorter. */
#define LONGNAME_BRIEF	((size_t)256)
/* For longname_hash(): bytes of a name in one piece. */
#define LONGNAME_PIECE	((size_t)64 << 10)

/*
 * Appends @name, @len bytes, to @out: at most @max bytes (LONGNAME_BRIEF or more), and unchanged if
 * it has no more. UTF-8 characters stay whole.
 */
void longname_add(struct strbuf *out, const char *name, size_t len, size_t max);
/*
 * The same for a name of which only the first @have bytes are in memory, with a hash that
 * longname_hash() made of its pieces in turn, beginning with 0.
 */
void longname_add_part(struct strbuf *out, const char *name, size_t have, uint64_t len, uint64_t hash, size_t max);
/* @len: LONGNAME_PIECE, or less at the end. */
uint64_t longname_hash(uint64_t hash, const char *piece, size_t len);

#endif
