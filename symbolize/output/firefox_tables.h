/*
 * Stacks as the tables of a processed profile of the Firefox Profiler, version 60, which all its
 * threads share. Rows refer to each other by number. Format: src/types/profile.ts and
 * docs-developer/CHANGELOG-formats.md of github.com/firefox-devtools/profiler.
 */
#ifndef NSPROF_FIREFOX_TABLES_H
#define NSPROF_FIREFOX_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct collect;
struct intern;
struct json;
struct module;
struct naming;

#define FIREFOX_NULL INT64_MIN	/* null in the file */
#define FIREFOX_NO_STACK UINT32_MAX

struct firefox_stack {
	int64_t frame;
	int64_t prefix;		/* an earlier row; FIREFOX_NULL: a root */
};

struct firefox_frame {
	int64_t address;	/* relative to the start of the file in memory, unrelocated; -1:
				 * unknown */
	int64_t depth;		/* 0: the function that owns the code; 1 and up: inlined there */
	int64_t category, subcategory;
	int64_t func;
	int64_t symbol;		/* FIREFOX_NULL: unknown */
	int64_t line;		/* FIREFOX_NULL: unknown */
};

struct firefox_func {
	int64_t name, resource, source;	/* -1: no resource; FIREFOX_NULL: no source */
};

struct firefox_symbol {
	int64_t lib, address, name, size;	/* address as in firefox_frame, size in bytes */
};

struct firefox_lib {
	int64_t path, name;		/* strings: path as mapped, or "[vdso]" and the like; name:
					 * after the last '/' */
	const struct module *mod;	/* borrowed; NULL: no binary */
};

struct firefox_tables {
	struct intern *strings;		/* owned */
	struct firefox_stack *stacks;	/* owned, as all arrays */
	struct firefox_frame *frames;
	struct firefox_func *funcs;
	struct firefox_symbol *symbols;
	struct firefox_lib *libs;	/* each is the resource with the same number */
	int64_t *sources;		/* strings: names of source files */
	size_t nstacks, stacks_cap, nframes, frames_cap, nfuncs, funcs_cap, nsymbols, symbols_cap, nlibs, libs_cap, nsources,
		sources_cap;
	struct u64map places;		/* resource + 1 << 32 | source + 1 -> number of the pair */
	struct u64map func_index;	/* that number << 32 | name -> func */
	struct u64map addresses;	/* address of a symbol -> number */
	struct u64map symbol_index;	/* that number << 32 | lib -> symbol */
	struct u64map lib_index, source_index;
};

/*
 * Creates rows for the @n stacks at @nodes (of col->tree) and replaces @nodes by the row numbers,
 * FIREFOX_NO_STACK for the root. @nm: with opts.detail. Frames have addresses only if the whole
 * binary is available.
 */
void firefox_tables_init(struct firefox_tables *ft, const struct collect *col, const struct naming *nm, uint32_t *nodes,
			 size_t n);
void firefox_tables_fini(struct firefox_tables *ft);
/* Writes meta.categories. */
void firefox_put_categories(struct json *j);
/* Writes "libs" and "shared". @arch: "x86_64". */
void firefox_put_tables(struct json *j, const struct firefox_tables *ft, const char *arch);

#endif
