/*
 * Split DWARF: the parts of debug info that the linker never saw (DWARF 5, 7.3.2 and 7.3.5; GNU's
 * form of it for DWARF 4). This file knows bytes; what is in the entries is read by others.
 */
#ifndef NSPROF_DWO_H
#define NSPROF_DWO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/strbuf.h"

struct elf_file;

/* One unit's parts, taken from a .dwo file or a .dwp package. Borrowed from that file. */
enum dwo_part {
	DWO_INFO, DWO_ABBREV, DWO_STR, DWO_STR_OFFSETS, DWO_RNGLISTS,
	DWO_ADDR,	/* of the program: .debug_addr from the unit's base on */
	DWO_PARTS,
};

struct dwo_bytes {
	const uint8_t *data;	/* NULL: not there */
	size_t size;
};

struct dwo_unit {
	struct dwo_bytes part[DWO_PARTS];
};

/* All of a .dwo file. False when it has no .debug_info.dwo. */
bool dwo_from_file(struct elf_file *dwo, struct dwo_unit *out);
/* The unit with signature @id of a package, by its .debug_cu_index. False when it is not in it. */
bool dwo_from_package(struct elf_file *dwp, uint64_t id, struct dwo_unit *out);

/*
 * Appends a 64-bit ELF file to @out in which the parts are ordinary sections (".debug_info"), so that
 * a reader of ordinary debug info reads them; base values of the unit are 0 in it.
 */
void dwo_write_elf(const struct dwo_unit *unit, struct strbuf *out);

/*
 * Code ranges of list number @index in the unit's .debug_rnglists (DWARF 5, 2.17.3), calls @fn with
 * each. @base: low_pc of the unit in the program. Stops at what is not sound, and after @max.
 */
void dwo_ranges(const struct dwo_unit *unit, uint64_t index, uint64_t base, size_t max,
		void (*fn)(void *ctx, uint64_t start, uint64_t end), void *ctx);

#endif
