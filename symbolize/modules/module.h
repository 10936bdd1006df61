/*
 * A binary as the symbolizer uses it: one object per ev_dso identity, shared by all processes that
 * map it. It finds its bytes once, on demand: in the process's own file, a verified host file, or
 * the captured rows.
 */
#ifndef NSPROF_MODULE_H
#define NSPROF_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "cfi/cfi.h"
#include "code/made_rows.h"
#include "debuginfo/debugsource.h"
#include "elf/elf_file.h"
#include "event.h"

/* Where the bytes came from: printed by --stats. */
enum module_source {
	MODULE_UNTRIED,
	MODULE_NONE,		/* nothing proven: see why */
	MODULE_PROCESS,		/* through the live process's root or map_files */
	MODULE_HOST,		/* host file with the same build-id */
	MODULE_CAPTURED,	/* rows in the recording */
	MODULE_SOURCE_MAX,
};

/* Why a source gave no bytes. */
enum module_want {
	MODULE_ABSENT,		/* there is none, or it cannot be looked at */
	MODULE_REFUSED,		/* there is one, and it is not the recorded one, or damaged */
};

struct module_why {
	const char *text;	/* static; NULL: the source was not needed */
	enum module_want want;
};

struct cache;
struct inline_index;
struct slice;

struct module {
	uint32_t id;			/* ev_dso.id */
	struct ev_dso dso;		/* path owned by the module */
	enum module_source source;
	const char *why;		/* for MODULE_NONE: "file has another build-id"; static */
	struct elf_file *elf;		/* the whole file; NULL when there is only @captured */
	struct debug_files files;	/* files with its debug info */
	/*
	 * The recording's slice, NULL when none. If @elf is set, only module_captured() sets it,
	 * and module_slice_names() gives the names that @elf lacks.
	 */
	struct elf_file *captured;
	struct slice *slice;		/* packed slice for @captured; NULL: none left */
	struct cfi *cfi;		/* rows of @elf, then of @debug; NULL until needed */
	struct cfi_sections cfi_secs;	/* sections that @cfi reads */
	bool cfi_cut;			/* @cfi is of @captured: parts of functions, some made */
	struct made_rows *made;		/* of @elf; NULL until needed */
	struct {			/* start-up code, walk_map.c */
		uint64_t svma;		/* 0: no stack ends there */
		uint32_t len;		/* bytes, at most MADE_ENTRY_MAX */
		bool known;
	} entry;
	struct symtab *symtab;		/* module_symbols.c; NULL until needed */
	struct symtab *few;		/* for module_symbols_expect(); NULL: not worth it */
	struct inline_index *inlines;	/* module_inlines(); NULL until needed */
	const struct cache *cache;	/* borrowed; NULL: none */
	bool inlined;			/* debug info will be needed: unpack it in the background */
	bool vdso;
	bool not_elf;			/* the file is proven to be the right one, but is not ELF */
	/* for opening: pids (with start_ticks) that were seen to map it */
	struct module_user *users;
	uint32_t nusers;
	struct module_why why_not[MODULE_SOURCE_MAX];	/* why each source gave nothing */
};

struct modules;		/* the table of all modules */

struct modules *modules_new(void);
void modules_free(struct modules *ms);
/* Caches what is read from modules that are added from now on. Borrowed. */
void modules_use_cache(struct modules *ms, const struct cache *cache);
/*
 * From now on, slow work may be done in the background. @inlined: inlined functions will be looked
 * up, too.
 */
void modules_work_ahead(struct modules *ms, bool inlined);
/*
 * Looks for binaries and debug files below @dir instead of on this host. Borrowed. Call it once,
 * before any file is looked for.
 */
void modules_use_root(const char *dir);
/* ev_dso.id to module; NULL for 0 or unknown ids. Borrowed. */
struct module *modules_get(struct modules *ms, uint32_t dso_id);
int modules_add(struct modules *ms, const struct ev_dso *dso);
/*
 * A process was seen to map @m from file offset @pgoff at @start..@end. While it lives, its file
 * can be read.
 */
void modules_add_user(struct module *m, uint32_t pid, uint64_t start_ticks, uint64_t start,
		      uint64_t end, uint64_t pgoff);
/* A shared library can have thousands of users; this many of the last ones are kept. */
#define MODULE_USERS_MAX 32
/* One of the processes that were seen to map @m: *@pid, and its start time. False: there is no @i. */
bool module_user(const struct module *m, uint32_t i, uint32_t *pid, uint64_t *start_ticks);
/* Adds a slice of the binary @dso_id; @data is copied. */
void modules_add_capture(struct modules *ms, uint32_t dso_id, const void *data, size_t size);
/* The same for a packed slice. */
void modules_add_slice(struct modules *ms, const struct capture *cap);

/*
 * A module outside the table that has nothing but rows in the format of captured ones (ELF file
 * @data, borrowed). NULL if they are damaged. Free it with module_drop().
 */
struct module *module_of_rows(uint32_t id, const char *name, const void *data, size_t size);
void module_drop(struct module *m);	/* accepts NULL */

/* Opens the bytes if that was not tried yet. Sets source, why and elf. */
void module_load(struct module *m);
/*
 * If module_load() found no whole file, tries the processes that were seen since. Used for naming,
 * after the pass. Rows that an unwinder holds stay valid.
 */
void module_retry(struct module *m);
/*
 * Opens the root in which @m's whole file was found: O_PATH, owned. Negative errno if there is no
 * such file, or if all processes with that root are gone.
 */
int module_open_root(const struct module *m);
/* The recording's slice, NULL if there is none. Waits until it is unpacked. Sets @m->captured. */
struct elf_file *module_captured(struct module *m);
/*
 * The slice as an owned handle that may lack the rows: for symbols, which unpack fast. @slice:
 * @m->slice, read at any earlier time. Any thread may call it, even while another calls
 * module_captured().
 */
struct elf_file *module_slice_names(const struct module *m, struct slice *slice);
/* Never NULL; empty if there is no CFI. */
struct cfi *module_cfi(struct module *m);
/*
 * All stacks are unwound: frees the memory of call frame information. It is read again if needed.
 */
void modules_unwound(struct modules *ms);
/* Inlined functions and lines from the debug info, for inlines.h. Never NULL; made on first use. */
struct inline_index *module_inlines(struct module *m);
/* NULL if there is no whole file to make rows from. */
struct made_rows *module_made(struct module *m);
/*
 * Why a binary that was found is not used as @m's, although none better was found. Static; NULL:
 * none was refused.
 */
const char *module_refused(const struct module *m);
/* Display name: base name of the path. */
const char *module_name(const struct module *m);
/* All modules, for statistics: start with *@it = 0; NULL at the end. */
struct module *modules_next(const struct modules *ms, size_t *it);

#endif
