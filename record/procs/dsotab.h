/*
 * Binaries known by identity (contrib/doc/identity.md): the build-id; without one mount namespace,
 * device, inode, generation, size, mtime and path together. Opens, proves and pins their files.
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

struct dso {
	struct ev_dso ev;	/* id is 0 until it is in a recording; path: the interner's */
	uint32_t segment;	/* in which it was written last; 0 = not yet */
	uint64_t loads;		/* hash of where its executable segments lie in the file and as svma, and of whether it is
				 * stripped; 0 = unknown */
	bool vdso;
	bool not_elf;		/* the file was opened and is something else */
	bool apart;		/* the file lies in our mount namespace, and not on the file system of "/" */
	uint8_t idle;		/* looks at all processes, the latest, in which none mapped it */
	uint8_t early;		/* captures to let go of it */
	uint8_t pin_tries;	/* failed attempts to get at the file */
	struct pin pin;		/* the file */
	uint64_t held_size;	/* of the file, when it was pinned: ev has those of the first one */
	int64_t held_mtime_ns;
	struct rootpin *root;	/* below which its debug file may lie; NULL = unknown */
	const char *path;	/* where it lies there, the interner's; NULL = not pinned yet */
	struct u64map seen;	/* set of file offsets (vdso: in its image) seen as code, bytes */
	struct u64map leafs;	/* of those, where samples stood: to how many */
	struct slice slice;	/* kept for the next file */
	size_t captured;		/* seen.n when its rows were last captured, in this segment */
	uint32_t index;		/* in the table */
	uint32_t next;		/* chain of equal build-id hashes: index + 1 */
};

struct file_key {
	uint64_t mnt_ns;
	uint64_t dev, ino, gen;
	uint64_t size;
	int64_t mtime_ns;
	uint32_t path;
};

struct file_alias {		/* what was found behind a file_key */
	struct file_key key;
	uint32_t dso;		/* index */
	uint32_t next;		/* chain of equal hashes: index + 1 */
};

struct dsotab {
	struct dso **dsos;	/* owned */
	size_t n, cap;
	struct file_alias *aliases;	/* owned */
	size_t naliases, alias_cap;
	struct u64map by_build_id;	/* hash to index + 1 */
	struct u64map by_file;		/* hash of a key to alias index + 1 */
	struct intern *paths;		/* borrowed */
	struct pins *pins;		/* borrowed */
	struct dso *vdso;		/* NULL until asked for */
	const void *vdso_image;		/* our own: the same in all 64-bit processes; NULL = none */
	size_t vdso_size;		/* bytes */
	struct slices slices;
	uint64_t refused;		/* binaries beyond the cap */
	bool detached;			/* dsotab_detach() */
	int64_t until_ns;
	uint64_t own_mnt_ns;		/* our own mount namespace, which lives as long as we do; 0 = unknown */
	dev_t own_dev;			/* of "/" there, */
	ino_t own_ino;			/* and its inode */
	size_t napart;			/* times that a file apart was held */
};

void dsotab_init(struct dsotab *dt, struct intern *paths, struct pins *pins);
void dsotab_fini(struct dsotab *dt);
/*
 * As proctab_detach(): a file without a build-id the recording tells has to have the device and inode of the mapping, and
 * must not have been written to after @until_ns. @own_vdso: ours is the recorded one.
 */
void dsotab_detach(struct dsotab *dt, int64_t until_ns, bool own_vdso);
/* As proctab_recorded_vdso(). */
void dsotab_recorded_vdso(struct dsotab *dt, const uint8_t *id, size_t len);

/* Where a mapping was seen. */
struct map_user {
	uint32_t pid;			/* 0: gone, only its root may be left */
	uint64_t mnt_ns;		/* 0 = unknown */
	struct rootpin *root;		/* NULL: opened when needed */
};

/*
 * What kind of mapping @path is: as in MMAP2 or /proc/PID/maps, without " (deleted)". A memfd is
 * a file here: it may hold ELF.
 */
enum mapping_kind mapping_kind(const char *path);

/*
 * Find out what is behind @e: sets dso, kind and resolved. @build_id: what the kernel said, @len
 * bytes, 0 when it said nothing; then the file is opened and read. The file is pinned if no other
 * mapping did that.
 */
void dsotab_resolve(struct dsotab *dt, const struct map_user *u, struct map_entry *e,
		    const uint8_t *build_id, size_t len);
/* Is what is held for @d another program by now, written into the same inode? */
bool dsotab_rewritten(const struct dso *d);
/* Was a file with this name and inode seen in that mount namespace? Then resolving can wait. */
bool dsotab_seen_file(const struct dsotab *dt, const struct map_user *u, const struct map_entry *e);
/*
 * Forget all binaries that are not in @live, a set of struct dso *, with their files. Paths move
 * to @paths, which is the table's interner from now on.
 */
void dsotab_forget(struct dsotab *dt, const struct u64map *live, struct intern *paths);
/*
 * An fd of what is mapped at @e, or negative errno: nothing but the file with the inode the kernel
 * told. Where it told none any file at the path; the caller has to compare the build-id.
 */
int dsotab_open(struct dsotab *dt, const struct map_user *u, const struct map_entry *e,
		struct stat *st);
/* Try to pin the file of resolved @e if it is not held. */
void dsotab_pin(struct dsotab *dt, const struct map_user *u, const struct map_entry *e);

#endif
