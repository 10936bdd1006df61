/* The name of an address, where the name comes from, and its line in the source. */
#ifndef NSPROF_SYMBOL_H
#define NSPROF_SYMBOL_H

#include <stdint.h>

enum name_source {
	NAME_NONE,
	NAME_SYMTAB, NAME_DYNSYM, NAME_DEBUGFILE, NAME_MINIDEBUG, NAME_GOPCLNTAB, NAME_CAPTURED,
	NAME_PERFMAP, NAME_JITDUMP, NAME_KALLSYMS, NAME_INLINE, NAME_DWARF /* the debug info of the function itself */,
	NAME_SOURCE_MAX,
};

struct symbol {
	const char *name;	/* raw (mangled), borrowed from the table */
	uint64_t start, end;	/* the symbol's own svma range; inner symbols may cover parts */
	enum name_source source;
};

struct source_line {
	const char *file;	/* base name; NULL: unknown. Borrowed. */
	uint32_t line;		/* 0: unknown, or code that the compiler generated */
};

#endif
