/*
 * Reads the entries of one unit of .debug_info in file order: where each one is, what it is, and
 * where the next one is (DWARF 5, 7.5; DWARF 2 to 4, 7.5). The only attribute that is read is the
 * code, where it is in one piece. libdw can do the same, but looks at each attribute separately.
 * Here each abbreviation is turned into a plan once, and the plan is used to skip entries.
 */
#ifndef NSPROF_INLINES_DIES_H
#define NSPROF_INLINES_DIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inline_die {
	uint64_t off;		/* of the entry in .debug_info, like all offsets here */
	uint64_t behind;	/* end of its attributes: first child if any, or next entry */
	uint64_t sibling;	/* target of DW_AT_sibling, above @off; 0: not stated */
	uint32_t tag;		/* DW_TAG_*; 0: the end of a list of siblings */
	bool children;
	bool has_code;		/* it has DW_AT_low_pc or DW_AT_ranges */
	uint64_t low, high;	/* svmas, if stated as address and length; valid if @high > @low */
};

struct inline_dies_sections {
	const uint8_t *info, *abbrev;	/* .debug_info, .debug_abbrev */
	size_t info_size, abbrev_size;	/* bytes */
};

struct inline_dies;

struct inline_dies *inline_dies_new(void);
void inline_dies_free(struct inline_dies *d);	/* accepts NULL */
/*
 * Selects the unit with the header at @unit. @secs is borrowed until the next call, and contains
 * the whole unit. 0; -EINVAL: invalid data; -ENOTSUP: not supported here (a form, or codes that are
 * not in order).
 */
int inline_dies_unit(struct inline_dies *d, const struct inline_dies_sections *secs, uint64_t unit);
/* Reads the entry at @off. False if there is none, or if it does not end within the unit. */
bool inline_dies_read(const struct inline_dies *d, uint64_t off, struct inline_die *out);
/* Offset of the entry after @die and all its children; 0: damaged. */
uint64_t inline_dies_behind(const struct inline_dies *d, const struct inline_die *die);

#endif
