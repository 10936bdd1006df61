/* Where the debug info of a binary is looked for. Each file has to prove that it belongs to it. */
#ifndef NSPROF_DEBUGSOURCE_H
#define NSPROF_DEBUGSOURCE_H

#include <stdbool.h>
#include <stddef.h>

struct elf_file;

/*
 * --debug-dir: one more folder of this host, behind /usr/lib/debug. 0, or negative errno after a
 * message.
 */
int debugsource_add_dir(const char *dir);

/* A binary, by whom it is known. All borrowed. */
struct debug_binary {
	const char *path;		/* as its processes name it */
	struct elf_file *elf;		/* the whole file; NULL: only @captured */
	struct elf_file *captured;	/* the recording's slice; NULL: none */
	bool held;			/* somebody may hold on to bytes of debug_files.debug: it stays */
};

/* What was found for one. All zero: nothing was looked for yet. */
struct debug_files {
	struct elf_file *debug;	/* separate debug file, NULL when none; owned, as the next two */
	struct elf_file *alt;	/* what dwz(1) moved out of the debug info; NULL when none */
	struct elf_file *dwp;	/* package of split debug info; NULL when none */
	bool dwp_tried, have_root;
	int rootfd;		/* with have_root: O_PATH, where the binary was found; owned */
	const char *why;	/* why there is no @debug; static, NULL when that was not needed */
};

/*
 * Fills @d as far as it is not known, from the places that binaries below @rootfd have (a container's
 * root, or the host's). Negative @rootfd: does nothing.
 */
void debugsource_look(struct debug_files *d, const struct debug_binary *of, int rootfd);

/* The same in the folders of --debug-dir (@rootfd: the host's root), then from debuginfod. */
void debugsource_look_further(struct debug_files *d, const struct debug_binary *of, int rootfd);

/*
 * Split debug info. Candidate @i (from 0) for the file @name of a unit that was compiled in @comp_dir
 * (may be NULL), of the binary at @path: an owned fd; -ENOENT: it is not there, the next may be; -ERANGE: no more. The unit in
 * it has to be proven by the caller.
 */
int debugsource_dwo(const struct debug_files *d, const char *path, const char *comp_dir, const char *name, unsigned int i);
/* The package BINARY.dwp beside the binary at @path or in a --debug-dir; NULL when there is none. Borrowed. */
struct elf_file *debugsource_dwp(struct debug_files *d, const char *path);

void debugsource_fini(struct debug_files *d);

#endif
