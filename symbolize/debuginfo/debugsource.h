/* Looks for the debug info of a binary. Each file must prove that it belongs to the binary. */
#ifndef NSPROF_DEBUGSOURCE_H
#define NSPROF_DEBUGSOURCE_H

#include <stdbool.h>
#include <stddef.h>

struct elf_file;

/*
 * --debug-dir: adds a folder of this host, searched after /usr/lib/debug. 0, or negative errno
 * after a message.
 */
int debugsource_add_dir(const char *dir);
/*
 * Finds out whether they exist, and their absolute paths. Call it once, after opener_start(): they may be
 * on a file system that hangs. 0, or negative errno after a message.
 */
int debugsource_find_dirs(void);

/* What identifies a binary. All borrowed. */
struct debug_binary {
	const char *path;		/* as its processes see it */
	struct elf_file *elf;		/* the whole file; NULL: only @captured */
	struct elf_file *captured;	/* the recording's slice; NULL: none */
	bool held;			/* debug_files.debug may be in use and must stay open */
};

/* The files found for a binary. All zero: nothing was looked for yet. */
struct debug_files {
	struct elf_file *debug;	/* separate debug file, NULL if none; owned, like the next two */
	struct elf_file *alt;	/* file into which dwz(1) moved debug info; NULL if none */
	struct elf_file *dwp;	/* package of split debug info; NULL if none */
	bool dwp_tried, have_root;
	bool refused;		/* there is one, and @why says why it is not used */
	int rootfd;		/* with have_root: O_PATH, root of the binary; owned */
	const char *why;	/* why there is no @debug; static, NULL if none was needed */
	/* Why there is no @alt, or a split file is not used; static, NULL: no such file was refused. */
	const char *alt_why, *split_why;
};

/*
 * Fills in what @d lacks, from the usual places below @rootfd (a container's root, or the host's).
 * Does nothing if @rootfd is negative.
 */
void debugsource_look(struct debug_files *d, const struct debug_binary *of, int rootfd);

/* The same from the folders of --debug-dir (@rootfd: the host's root), then from debuginfod. */
void debugsource_look_further(struct debug_files *d, const struct debug_binary *of, int rootfd);

/*
 * Opens candidate @i (from 0) for the split debug file @name of a unit that was compiled in
 * @comp_dir (may be NULL), of the binary at @path. An owned fd; -ERANGE: no more candidates; other
 * errors are those of nsopen_file(): try the next one. The caller must verify the unit in it.
 */
int debugsource_dwo(const struct debug_files *d, const char *path, const char *comp_dir, const char *name, unsigned int i);
/* Why a file with debug info is not used, and none in its place. Static; NULL: none was refused. */
const char *debugsource_refused(const struct debug_files *d);
/*
 * The package BINARY.dwp next to the binary at @path or in a --debug-dir; NULL if there is none.
 * Borrowed.
 */
struct elf_file *debugsource_dwp(struct debug_files *d, const char *path);

void debugsource_fini(struct debug_files *d);

#endif
