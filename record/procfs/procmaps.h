/*
 * The executable mappings of a process image: sorted, disjoint, and shared by forked processes
 * until one of them changes.
 */
#ifndef NSPROF_PROCMAPS_H
#define NSPROF_PROCMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mask/maskset.h"

struct dso;

enum mapping_kind {
	MAPPING_FILE,	/* a file, or what looks like one: see dso */
	MAPPING_JIT,	/* no file: anonymous memory, memfd without ELF, shared memory */
	MAPPING_VDSO,
	MAPPING_SPECIAL,	/* the kernel's own, nothing to capture: [vsyscall], [uprobes] */
};

/* "7f5c8e200000-7f5c8e228000 r-xp 00028000 fe:00 1234   /usr/lib/x.so" */
struct map_entry {
	uint64_t start, end;		/* runtime addresses 0x7f5c8e200000, 0x7f5c8e228000 */
	uint64_t pgoff;			/* byte offset 0x28000 */
	uint32_t prot, flags;		/* PROT_*, MAP_* */
	uint32_t dev_major, dev_minor;	/* 0xfe, 0; all four are 0 if there is a build-id instead */
	uint64_t ino, ino_gen;		/* 1234, 0 */
	uint64_t since;			/* ns, clock_mono_ns(): it was mapped then or before; 0 = unknown */
	uint32_t path;			/* id in the interner, without " (deleted)" */
	uint8_t kind;			/* enum mapping_kind */
	bool deleted;
	bool resolved;			/* dso was looked up */
	bool moved;			/* memory with a copy of the file's code: proc_moved.c */
	bool over_file;			/* memory where a file was mapped before */
	struct dso *dso;		/* borrowed from the dso table; NULL = none */
};

struct mapset {
	uint32_t refs;
	uint32_t n;
	uint32_t cap;
	uint64_t gen;			/* new with every change, never the same in two sets */
	struct map_entry *maps;		/* owned, sorted by start, disjoint */
	struct range *ranges;		/* owned: start and end of each, for the masker */
};

/*
 * The kernel allows 65,530 mappings of all kinds (vm.max_map_count). Executable ones are a few
 * hundred, or a few thousand with jitted code. A new one moves those above it: with 65,536 from the
 * top down, as mmap(2) places them, a process cost the drain 45 us for each.
 */
#define MAPSET_MAX 16384

/* Empty, one reference, owned by the caller. */
struct mapset *mapset_new(void);
struct mapset *mapset_get(struct mapset *ms);	/* one more reference; returns @ms */
void mapset_put(struct mapset *ms);		/* accepts NULL */

/*
 * Adds @e to *@ms, which is cloned first if others share it. Cuts what @e overlaps. 1 if that
 * changed something; 0 if the same mapping was there; -EINVAL for an empty range; -ENOSPC if there
 * are MAPSET_MAX already.
 */
int mapset_add(struct mapset **ms, const struct map_entry *e);

/* The index of the first mapping that ends above runtime address @addr; their number: none does. */
uint32_t mapset_first(const struct mapset *ms, uint64_t addr);

/* The mapping that holds runtime address @addr, or NULL. Borrowed until the next change. */
struct map_entry *mapset_find(const struct mapset *ms, uint64_t addr);
/* The first one of that kind, or NULL; borrowed in the same way. */
const struct map_entry *mapset_of_kind(const struct mapset *ms, enum mapping_kind kind);

#endif
