/*
 * Binaries and their identity (contrib/doc/identity.md): the build-id, or without one the mount
 * namespace, device, inode, generation, size, mtime and path together. Opens their files, checks
 * that they are the mapped ones, and pins them.
 */
#ifndef NSPROF_DSOTAB_H
#define NSPROF_DSOTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/intern.h"
#include "capture/slice_capture.h"
#include "event.h"
#include "procfs/pins.h"
#include "procfs/procmaps.h"
#include "procfs/tenants.h"
#include "procs/addrset.h"
#include "procs/file_aliases.h"

/* Stands for what is beyond a budget: the path of a mapping of no binary. */
#define PATH_LEFT_OUT "[over_budget]"

struct dso {
	struct ev_dso ev;	/* id is 0 until it is in a recording; path is the interner's */
	uint32_t segment;	/* the segment it was last written to; 0 = none yet */
	uint64_t loads;		/* hash over the executable segments (offset, svma) and whether
				 * it is stripped; 0 = unknown */
	bool vdso;
	bool not_elf;		/* the file was opened and is not ELF */
	bool apart;		/* in our mount namespace, but not on the file system of "/" */
	uint8_t idle;		/* latest looks at all processes in which none mapped it */
	uint8_t early;		/* captures made to let go of it */
	uint8_t pin_tries;	/* failed attempts to open the file */
	struct pin pin;		/* the file */
	struct tenant *tenant;	/* met it first; NULL: nobody's */
	uint32_t pid;		/* mapped it when it was pinned */
	uint64_t held_size;	/* of the file when pinned; ev has the first file's */
	int64_t held_mtime_ns;
	struct rootpin *root;	/* its debug file may be below it; NULL = unknown */
	const char *path;	/* its path there, the interner's; NULL = not pinned yet */
	struct addrset seen;	/* file offsets (vdso: in its image) seen as code, bytes */
	struct u64map leafs;	/* those at which samples stood, to the number of samples */
	struct slice slice;	/* kept for the next file */
	size_t captured;		/* seen.n at the latest capture in this segment */
	uint32_t index;		/* in the table */
	uint32_t next;		/* chain of equal build-id hashes: index + 1 */
};

struct dsotab {
	struct dso **dsos;	/* owned */
	size_t n, cap;
	struct u64map by_build_id;	/* hash to index + 1 */
	struct file_aliases aliases;
	struct intern *paths;		/* borrowed */
	struct pins *pins;		/* borrowed */
	struct tenants *tenants;	/* borrowed */
	struct dso *vdso;		/* NULL until needed */
	const void *vdso_image;		/* our own, the same in all 64-bit processes; NULL = none */
	size_t vdso_size;		/* bytes */
	struct slices slices;
	bool detached;			/* dsotab_detach() */
	int64_t until_ns;
	uint64_t own_mnt_ns;		/* our own mount namespace, alive as long as we are; 0 = unknown */
	dev_t own_dev;			/* device of "/" there */
	ino_t own_ino;			/* inode of "/" there */
	size_t napart;			/* times that a file with apart set was held */
};

void dsotab_init(struct dsotab *dt, struct intern *paths, struct pins *pins, struct tenants *tenants);
void dsotab_fini(struct dsotab *dt);
/*
 * As proctab_detach(). A file without a recorded build-id must have the device and inode of the
 * mapping and must not have been written to after @until_ns. @own_vdso: our vdso is the recorded
 * one.
 */
void dsotab_detach(struct dsotab *dt, int64_t until_ns, bool own_vdso);
/* As proctab_recorded_vdso(). */
void dsotab_recorded_vdso(struct dsotab *dt, const uint8_t *id, size_t len);

/* The process that has a mapping. */
struct map_user {
	uint32_t pid;			/* 0: gone; only its root may be left */
	uint64_t mnt_ns;		/* 0 = unknown */
	struct rootpin *root;		/* NULL: opened when needed */
	struct tenant *tenant;		/* answers for a new binary; NULL: nobody */
};

/*
 * The kind of mapping with this @path, as in MMAP2 or /proc/PID/maps, without " (deleted)". A memfd
 * counts as a file here: it may hold ELF.
 */
enum mapping_kind mapping_kind(const char *path);

/*
 * Finds the binary behind @e: sets dso, kind and resolved. @build_id: from the kernel, @len bytes;
 * if @len is 0, the file is opened and read. Pins the file if no other mapping did that. A file
 * without dso is a new binary beyond the tenant's budget.
 */
void dsotab_resolve(struct dsotab *dt, const struct map_user *u, struct map_entry *e,
		    const uint8_t *build_id, size_t len);
/* Has another program been written into the inode that is held for @d? */
bool dsotab_rewritten(const struct dso *d);
/* Was a file with this name and inode seen in that mount namespace? Then resolving can wait. */
bool dsotab_seen_file(struct dsotab *dt, const struct map_user *u, const struct map_entry *e);
/*
 * Forgets all binaries that are not in @live, a set of struct dso *, with their files. Moves paths
 * to @paths, which is the table's interner from now on. Further names of a binary stay only if they
 * are there.
 */
void dsotab_forget(struct dsotab *dt, const struct u64map *live, struct intern *paths);
/*
 * An fd of the file mapped at @e, or negative errno. The file has the inode that the kernel
 * reported. If the kernel reported none, it is any file at the path; the caller has to compare the
 * build-id.
 */
int dsotab_open(struct dsotab *dt, const struct map_user *u, const struct map_entry *e,
		struct stat *st);
/* Tries to pin the file of resolved @e unless it is held. */
void dsotab_pin(struct dsotab *dt, const struct map_user *u, const struct map_entry *e);

#endif
