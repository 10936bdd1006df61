/*
 * The entries of one unit of .debug_info, in the order of the file: where each one is, what it is, and where the next one
 * is (DWARF 5, 7.5; DWARF 2 to 4, 7.5). Of what they say only the code is read, where it is one piece. libdw tells the
 * same and looks at each attribute by itself for it; here each abbreviation is made a plan of once, by which an entry is
 * passed.
 */
#ifndef NSPROF_INLINES_DIES_H
#define NSPROF_INLINES_DIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inline_die {
	uint64_t off;		/* of the entry in .debug_info, as all below */
	uint64_t behind;	/* what lies behind its attributes: its first child, if it has any, else the next entry */
	uint64_t sibling;	/* what DW_AT_sibling leads to, above @off; 0: it is not stated */
	uint32_t tag;		/* DW_TAG_*; 0: the end of a list of siblings */
	bool children;
	bool has_code;		/* it has DW_AT_low_pc or DW_AT_ranges, */
	uint64_t low, high;	/* and is this code if @high is above @low (svma): stated as an address and a length */
};

struct inline_dies_sections {
	const uint8_t *info, *abbrev;	/* .debug_info, .debug_abbrev */
	size_t info_size, abbrev_size;	/* bytes */
};

struct inline_dies;

struct inline_dies *inline_dies_new(void);
void inline_dies_free(struct inline_dies *d);	/* accepts NULL */
/*
 * From now on the unit whose header is at @unit. @secs is borrowed until the next one, and has all of the unit.
 * 0, -EINVAL for what makes no sense, -ENOTSUP for what is not known here (a form, codes in no order).
 */
int inline_dies_unit(struct inline_dies *d, const struct inline_dies_sections *secs, uint64_t unit);
/* The entry at @off. False: there is none, or it does not end within the unit. */
bool inline_dies_read(const struct inline_dies *d, uint64_t off, struct inline_die *out);
/* What comes behind the entry, and behind all below it; 0: damage. */
uint64_t inline_dies_behind(const struct inline_dies *d, const struct inline_die *die);

#endif
