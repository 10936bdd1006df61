/*
 * What was read from large binaries, kept from run to run: $XDG_CACHE_HOME/nsprof, else
 * ~/.cache/nsprof. A file is used only for the very bytes that it was made of (contrib/doc/cache.md). Any
 * number of processes may use one directory at a time. Nothing here fails: what cannot be
 * read or written is as if it had never been there.
 */
#ifndef NSPROF_CACHE_H
#define NSPROF_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

#define CACHE_FILES_MAX 3

/* What an entry was made of. Zeroed, then filled by cache_key_add() alone: compared bytewise. */
struct cache_key {
	uint8_t build_id[20];		/* of the first file */
	uint32_t build_id_len;
	uint32_t nfiles;
	uint32_t unknown;		/* 1: a file without a sure identity is among them: not cached */
	struct elf_identity files[CACHE_FILES_MAX];
};

struct cache;

/*
 * The user's own cache, or NULL: there is no place for it, or it is not ours alone. @limit: bytes of
 * all its files, 0 for the default.
 */
struct cache *cache_open(uint64_t limit);
void cache_close(struct cache *c);	/* accepts NULL */

void cache_key_add(struct cache_key *key, const struct elf_file *ef);

/*
 * Contents of the entry of @kind (a few letters, part of the file name) in format @version for @key;
 * NULL when there is none that is whole. Owned by the caller. By any thread; @c may be NULL.
 */
void *cache_read(const struct cache *c, const struct cache_key *key, const char *kind,
		 uint32_t version, size_t *size);

/* Writes an entry, in place of an older one, and removes the least used ones beyond the limit. */
void cache_write(const struct cache *c, const struct cache_key *key, const char *kind,
		 uint32_t version, const void *data, size_t size);

#endif
