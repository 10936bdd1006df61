/*
 * Stacks as the tables of a processed profile of the Firefox Profiler, version 60: what all its threads share. Rows refer to each other by
 * number. Source of the form: src/types/profile.ts and docs-developer/CHANGELOG-formats.md of github.com/firefox-devtools/profiler.
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
	int64_t prefix;		/* a row before this one; FIREFOX_NULL: a root */
};

struct firefox_frame {
	int64_t address;	/* from where its file begins in memory, unrelocated; -1: not known */
	int64_t depth;		/* 0: the function whose code it is, 1 and up: inlined there */
	int64_t category, subcategory;
	int64_t func;
	int64_t symbol;		/* FIREFOX_NULL: not known */
	int64_t line;		/* FIREFOX_NULL: not known */
};

struct firefox_func {
	int64_t name, resource, source;	/* -1: no resource; FIREFOX_NULL: no source */
};

struct firefox_symbol {
	int64_t lib, address, name, size;	/* address as firefox_frame's, size in bytes */
};

struct firefox_lib {
	int64_t path, name;		/* strings: as mapped, or "[vdso]" and the like; what is behind the last '/' */
	const struct module *mod;	/* borrowed; NULL: no binary */
};

struct firefox_tables {
	struct intern *strings;		/* owned */
	struct firefox_stack *stacks;	/* owned, as all arrays */
	struct firefox_frame *frames;
	struct firefox_func *funcs;
	struct firefox_symbol *symbols;
	struct firefox_lib *libs;	/* each is a resource of the same number */
	int64_t *sources;		/* strings: names of source files */
	size_t nstacks, stacks_cap, nframes, frames_cap, nfuncs, funcs_cap, nsymbols, symbols_cap, nlibs, libs_cap, nsources,
		sources_cap;
	struct u64map places;		/* resource + 1 << 32 | source + 1 -> a number of the pair */
	struct u64map func_index;	/* that number << 32 | name -> func */
	struct u64map addresses;	/* address of a symbol -> a number */
	struct u64map symbol_index;	/* that number << 32 | lib -> symbol */
	struct u64map lib_index, source_index;
};

/*
 * Rows for the @n stacks at @nodes (of col->tree); their numbers are put in place of those, FIREFOX_NO_STACK of the root. @nm: with
 * opts.detail. Of a file whose whole binary is at hand frames have addresses.
 */
void firefox_tables_init(struct firefox_tables *ft, const struct collect *col, const struct naming *nm, uint32_t *nodes,
			 size_t n);
void firefox_tables_fini(struct firefox_tables *ft);
/* meta.categories. */
void firefox_put_categories(struct json *j);
/* "libs" and "shared". @arch: "x86_64". */
void firefox_put_tables(struct json *j, const struct firefox_tables *ft, const char *arch);

#endif
