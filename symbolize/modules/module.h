/*
 * A binary as the symbolizer uses it: one object for each ev_dso identity, shared by all processes
 * that map it. Finds the bytes (process's own file, verified host file, captured rows) once,
 * lazily.
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

struct cache;
struct inline_index;
struct slice;

struct module {
	uint32_t id;			/* ev_dso.id */
	struct ev_dso dso;		/* path owned by the module */
	enum module_source source;
	const char *why;		/* for MODULE_NONE: "file has another build-id"; static */
	struct elf_file *elf;		/* the whole file; NULL when there is only @captured */
	struct debug_files files;	/* with its debug info */
	struct elf_file *captured;	/* the recording's slice, NULL when none; with @elf there, by module_captured()
					 * alone, and what @elf has no name for is named by module_slice_names() */
	struct slice *slice;		/* what it will be made of; NULL: nothing more */
	struct cfi *cfi;		/* rows of @elf, then of @debug; NULL until asked */
	struct cfi_sections cfi_secs;	/* what @cfi reads */
	bool cfi_cut;			/* @cfi is @captured's: of parts of functions, some made */
	struct made_rows *made;		/* of @elf; NULL until asked */
	struct {			/* start-up code, walk_map.c */
		uint64_t svma;		/* 0: none whose stack ends there */
		uint32_t len;		/* bytes, at most MADE_ENTRY_MAX */
		bool known;
	} entry;
	struct symtab *symtab;		/* module_symbols.c; NULL until asked */
	struct symtab *few;		/* the same, of what module_symbols_expect() told; NULL: nothing, or not worth it */
	struct inline_index *inlines;	/* module_inlines(); NULL until asked */
	const struct cache *cache;	/* borrowed; NULL: none */
	bool inlined;			/* debug info will be asked: it may be unpacked meanwhile */
	bool vdso;
	bool not_elf;			/* a file that proved to be the mapped one is not an ELF file */
	/* bookkeeping for opening: pids (with start_ticks) that were seen to map it */
	struct module_user *users;
	uint32_t nusers;
	/*
	 * Why each source in turn gave nothing, by enum module_source; static text, NULL when it
	 * was not needed. For --stats.
	 */
	const char *why_not[MODULE_SOURCE_MAX];
};

struct modules;		/* the table of all modules */

struct modules *modules_new(void);
void modules_free(struct modules *ms);
/* What is read from modules added from now on is kept there. Borrowed. */
void modules_use_cache(struct modules *ms, const struct cache *cache);
/*
 * What takes long may be done in the background from now on; @inlined: with inlined functions, which will be
 * asked for.
 */
void modules_work_ahead(struct modules *ms, bool inlined);
/* Binaries and debug files are looked for below @dir instead of on this host. Borrowed; once, before any is. */
void modules_use_root(const char *dir);
/* ev_dso.id to module; NULL for 0 or unknown ids. Borrowed. */
struct module *modules_get(struct modules *ms, uint32_t dso_id);
int modules_add(struct modules *ms, const struct ev_dso *dso);
/* A process was seen to map @m from file offset @pgoff on at @start..@end: a way to its bytes while it lives. */
void modules_add_user(struct module *m, uint32_t pid, uint64_t start_ticks, uint64_t start,
		      uint64_t end, uint64_t pgoff);
/* A slice of what @dso_id names, copied. */
void modules_add_capture(struct modules *ms, uint32_t dso_id, const void *data, size_t size);
/* The same, of a packed one. */
void modules_add_slice(struct modules *ms, const struct capture *cap);

/*
 * A module outside of the table, with nothing but rows as captured ones (ELF file @data, borrowed).
 * NULL when they are damaged. Own with module_drop().
 */
struct module *module_of_rows(uint32_t id, const char *name, const void *data, size_t size);
void module_drop(struct module *m);	/* accepts NULL */

/* Open the bytes if that was not tried yet. After it source/why/elf are set. */
void module_load(struct module *m);
/*
 * Ask the processes that were seen since module_load(), if it found no whole file: for naming,
 * after the pass. Rows that an unwinder holds stay valid.
 */
void module_retry(struct module *m);
/*
 * The root in which @m's whole file was found: O_PATH, owned. Negative errno when there is no such file, or the processes that
 * have that root are gone by now.
 */
int module_open_root(const struct module *m);
/* The recording's slice, NULL when there is none. Waits until it is unpacked. Only after that @m->captured is set. */
struct elf_file *module_captured(struct module *m);
/*
 * The same as a handle of its own, owned, which may lack the rows: for symbols, which are soon unpacked. @slice is
 * @m->slice as it was at some time. By any thread, where another one may call module_captured().
 */
struct elf_file *module_slice_names(const struct module *m, struct slice *slice);
/* Never NULL; empty when there is no CFI. */
struct cfi *module_cfi(struct module *m);
/* All stacks are unwound: the memory of call frame information is given back. Whoever asks for some has it read again. */
void modules_unwound(struct modules *ms);
/* What its debug info says of inlined functions and lines, for inlines.h. Never NULL; made when it is first asked for. */
struct inline_index *module_inlines(struct module *m);
/* NULL when there is no whole file to make rows from. */
struct made_rows *module_made(struct module *m);
/* Display name: base name of the path. */
const char *module_name(const struct module *m);
/* All modules, for statistics: start with *@it = 0; NULL at the end. */
struct module *modules_next(const struct modules *ms, size_t *it);

#endif
