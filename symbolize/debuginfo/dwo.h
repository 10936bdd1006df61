/*
 * Split DWARF: debug info that the linker never saw (DWARF 5, 7.3.2 and 7.3.5; GNU's variant for
 * DWARF 4). This file handles sections as bytes; others read the entries in them.
 */
#ifndef NSPROF_DWO_H
#define NSPROF_DWO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/strbuf.h"

struct elf_file;

/* The parts of one unit, from a .dwo file or a .dwp package. Borrowed from that file. */
enum dwo_part {
	DWO_INFO, DWO_ABBREV, DWO_STR, DWO_STR_OFFSETS, DWO_RNGLISTS,
	DWO_ADDR,	/* from the program: .debug_addr, from the unit's base on */
	DWO_PARTS,
};

struct dwo_bytes {
	const uint8_t *data;	/* NULL: missing */
	size_t size;
};

struct dwo_unit {
	struct dwo_bytes part[DWO_PARTS];
};

/* Takes the parts of a .dwo file. False if it has no .debug_info.dwo. */
bool dwo_from_file(struct elf_file *dwo, struct dwo_unit *out);
/*
 * Takes the unit with signature @id from a package, by its .debug_cu_index. False if it is not
 * there.
 */
bool dwo_from_package(struct elf_file *dwp, uint64_t id, struct dwo_unit *out);

/*
 * Appends a 64-bit ELF file to @out that has the parts as ordinary sections (".debug_info"), so
 * that ordinary DWARF readers can read them. The unit's base values are 0 in it.
 */
void dwo_write_elf(const struct dwo_unit *unit, struct strbuf *out);

/*
 * Calls @fn with each code range of list number @index in the unit's .debug_rnglists (DWARF 5,
 * 2.17.3). @base: low_pc of the unit in the program. Stops at invalid data and after @max ranges.
 */
void dwo_ranges(const struct dwo_unit *unit, uint64_t index, uint64_t base, size_t max,
		void (*fn)(void *ctx, uint64_t start, uint64_t end), void *ctx);

#endif
