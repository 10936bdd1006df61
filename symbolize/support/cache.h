/*
 * A cache for what was read from large binaries, kept between runs in $XDG_CACHE_HOME/nsprof or
 * ~/.cache/nsprof. An entry is used only for the very bytes it was made from
 * (contrib/doc/cache.md). Any number of processes may share one directory. Nothing here fails: an
 * entry that cannot be read or written counts as missing.
 */
#ifndef NSPROF_CACHE_H
#define NSPROF_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

#define CACHE_FILES_MAX 3

/*
 * Identifies the files an entry was made from. Zeroed, then filled by cache_key_add() alone: keys
 * are compared bytewise.
 */
struct cache_key {
	uint8_t build_id[20];		/* of the first file */
	uint32_t build_id_len;
	uint32_t nfiles;
	uint32_t unknown;		/* 1: a file has no reliable identity; do not cache */
	struct elf_identity files[CACHE_FILES_MAX];
};

struct cache;

/*
 * Opens the user's cache. NULL if there is no place for it, or if the directory is not the user's
 * alone. @limit: bytes of all files together, 0 for the default.
 */
struct cache *cache_open(uint64_t limit);
void cache_close(struct cache *c);	/* accepts NULL */

void cache_key_add(struct cache_key *key, const struct elf_file *ef);

/*
 * Returns the contents of the entry of @kind (a few letters, part of the file name) in format
 * @version for @key, owned by the caller. NULL if there is no intact entry. Any thread may call it;
 * @c may be NULL.
 */
void *cache_read(const struct cache *c, const struct cache_key *key, const char *kind,
		 uint32_t version, size_t *size);

/*
 * Writes an entry, replacing an older one, and removes the least recently used entries beyond the
 * limit.
 */
void cache_write(const struct cache *c, const struct cache_key *key, const char *kind,
		 uint32_t version, const void *data, size_t size);

/*
 * Answers a request that a parser's cache_read() or cache_write() makes (struct parser in
 * host/parser.h). @c: NULL = no cache.
 */
int cache_serve(const struct cache *c, uint32_t kind, const char *name, int *fd);

#endif
