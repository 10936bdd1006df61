/*
 * Which binary a file was, by what the kernel and stat(2) report about it. Only a hint, since
 * neither is unique over time: one that is gone costs another look at the file.
 *
 * Each mount namespace has its own keys, so containers that come and go add keys without end. Those
 * that nobody asked for lately are forgotten.
 */
#ifndef NSPROF_FILE_ALIASES_H
#define NSPROF_FILE_ALIASES_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct file_key {
	uint64_t mnt_ns;
	uint64_t dev, ino, gen;
	uint64_t size;
	int64_t mtime_ns;
	uint32_t path;
};

struct file_alias {		/* the binary that a file_key led to */
	struct file_key key;
	uint32_t dso;		/* index in the dsotab */
	uint32_t next;		/* chain of equal hashes: index + 1 */
	uint32_t round;		/* in which it was last asked for */
};

struct file_aliases {
	struct file_alias *v;	/* owned */
	size_t n, cap;
	size_t limit;		/* when @n gets there, the round ends; 0 = the least */
	uint32_t round;
	size_t reused;		/* keys of earlier rounds that were asked for in this one */
	struct u64map by_key;	/* hash of a key to index + 1 */
};

/* Index of the binary that @k led to; UINT32_MAX: none is known. */
uint32_t file_aliases_get(struct file_aliases *fa, const struct file_key *k);
/*
 * @k leads to binary @dso from now on. May end a round, which forgets the keys that were neither
 * stored nor asked for in it.
 */
void file_aliases_put(struct file_aliases *fa, const struct file_key *k, uint32_t dso);
/* Leaves @fa empty. */
void file_aliases_fini(struct file_aliases *fa);

#endif
