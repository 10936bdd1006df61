/* Addresses to names: the chain of symbol sources. Each hit says where it came from, each miss why. */
#ifndef NSPROF_NAMES_H
#define NSPROF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "module.h"

enum name_source {
	NAME_NONE,
	NAME_SYMTAB, NAME_DYNSYM, NAME_DEBUGFILE, NAME_MINIDEBUG, NAME_GOPCLNTAB, NAME_CAPTURED,
	NAME_PERFMAP, NAME_JITDUMP, NAME_KALLSYMS, NAME_INLINE, NAME_DWARF /* the debug info of the function itself */,
	NAME_SOURCE_MAX,
};

/* ---- symtab.c: one sorted table for each module ---- */
struct symtab;

struct symbol {
	const char *name;	/* raw (mangled), borrowed from the table */
	uint64_t start, end;	/* the symbol's own svma range; an inner symbol may hold a part of it */
	enum name_source source;
};

/* Builds the table on first use from module's elf, debug file, .gnu_debugdata and captured slice, in that
 * order of preference for an address. 0 or -ENOENT. How far zero-sized symbols reach is
 * made_rows_reach()'s to tell; among several at one address: FUNC before NOTYPE, global before weak before local, sized
 * before unsized, no leading underscore before one, then the shorter, then the bytewise smaller. */
int symtab_lookup(struct module *m, struct svma addr, struct symbol *out);
void symtab_free(struct symtab *st);
/*
 * @at will be looked up, and mostly nothing else: where that is less work, the table that is asked for them has only
 * the symbols it takes. The names are the same. Before the first lookup.
 */
void symtab_expect(struct module *m, const struct svma *at, size_t n);

/* ---- inlines.c: inlined frames from debug info, one pass over a compilation unit ---- */
struct inline_index;
struct strbuf;

/*
 * Names of the functions inlined at @addr, innermost first, into @names (at most @max); the last entry
 * is NOT the concrete function (that name comes from symtab_lookup). How many; 0 when there are none or
 * no debug info. Names are linkage names where the debug info has them, else plain names; borrowed.
 */
size_t inlines_lookup(struct module *m, struct svma addr, const char **names, size_t max);

/*
 * As symtab_lookup(), of the debug info: the concrete function at @addr, by its linkage name if it has one, and its piece of
 * code there. For addresses that no symbol covers (functions of GHC, a debug file without .symtab).
 */
int inlines_symbol(struct module *m, struct svma addr, struct symbol *out);

struct source_line {
	const char *file;	/* base name; NULL: not known. Borrowed. */
	uint32_t line;		/* 0: not known, or code that the compiler made up */
};

/*
 * Where the frames at @addr stand in the source: those of inlines_lookup(), innermost first, and
 * behind them the concrete function. What the innermost one executes comes from the line table, what
 * each other one does from the call that was inlined there. How many of @max were filled; the
 * last one is always the concrete function's.
 */
size_t inlines_lines(struct module *m, struct svma addr, struct source_line *out, size_t max);
/*
 * The source line of the instruction at @addr, which may be an inlined function's: its file as the compiler was told,
 * with the folder, in @path, whose contents go. False when there is none; a *@line of 0: the compiler made this code up.
 */
bool inlines_source(struct module *m, struct svma addr, struct strbuf *path, uint32_t *line);
/*
 * Before the first lookup, while others use the module as well: unpack its debug info in the background, if
 * that takes long and there is a CPU to spare.
 */
void inlines_ahead(struct module *m);
/* Inlined functions will be looked up at @off, an offset in the module's file. By the thread that called inlines_ahead(). */
void inlines_expected(struct module *m, uint64_t off);
/*
 * Before the first lookup: share the module out among threads, part i for the addresses from starts[i]
 * up to starts[i + 1], ascending; starts[0] counts as 0. Each part may then be asked by one thread at
 * a time. How many of the @n parts there are: 1 where that is not possible or does not pay. @lines: they will be
 * asked for lines, too.
 */
unsigned int inlines_split(struct module *m, const struct svma *starts, unsigned int n, bool lines);
/* Has the module no debug info, so that none of these has an answer? */
bool inlines_none(struct module *m);
/* Can that be told without a look at the debug info, from what an earlier run left in the cache? */
bool inlines_known(struct module *m, struct svma addr);
/* Write what was found to the module's cache. After the last lookup. */
void inlines_keep(struct module *m);
void inlines_free(struct inline_index *ix);

/* ---- perfmap.c: perf-PID.map and the captured lines of one ---- */
struct perfmap;

/* @text is copied. Last entry wins on overlap; a partial last line and malformed lines are skipped. */
struct perfmap *perfmap_new(const char *text, size_t len);
void perfmap_free(struct perfmap *pm);
/* Runtime address to name; false on a miss. Borrowed. */
bool perfmap_lookup(const struct perfmap *pm, struct avma addr, const char **name);
/* Of a captured one: others write to the file it is from, so that nothing else there is certain. */
bool perfmap_shared(const struct perfmap *pm);

/* ---- kallsyms.c ---- */
struct kallsyms;

/* @text: lines of /proc/kallsyms, whole or captured. NULL when all addresses are 0 (kptr_restrict). */
struct kallsyms *kallsyms_new(const char *text, size_t len);
void kallsyms_free(struct kallsyms *ks);
/* *@module_name is NULL for the kernel proper, else "nf_conntrack", "bpf". */
bool kallsyms_lookup(const struct kallsyms *ks, struct avma addr, const char **name, const char **module_name);
struct kallsym {
	uint64_t start, end;		/* kernel addresses; how far it reaches at most */
	const char *name, *module;	/* as above; borrowed */
};
/* All code by address: start with *@it = 0; false at the end. */
bool kallsyms_next(const struct kallsyms *ks, size_t *it, struct kallsym *out);

/* ---- demangle.c ---- */
/* Owned copy: demangled (C++, Rust v0 and legacy, D), or the name itself. @raw: no demangling. */
char *demangle(const char *name);
/* ---- demangle_java.c ---- */
/* Owned copy of what a JIT compiler's name says: a method as a Java agent writes it, readable; any other one as it is. */
char *demangle_java(const char *name);

#endif
