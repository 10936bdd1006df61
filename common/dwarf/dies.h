/*
 * Reads the entries of one unit of .debug_info in file order: where each one is, what it is, and
 * where the next one is (DWARF 5, 7.5; DWARF 2 to 4, 7.5). The only attribute that is read with each
 * entry is the code, where it is in one piece. libdw can do the same, but looks at each attribute
 * separately. Here each abbreviation is turned into a plan once, and the plan is used to skip entries.
 */
#ifndef NSPROF_DIES_H
#define NSPROF_DIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct die {
	uint64_t off;		/* of the entry in .debug_info, like all offsets here */
	uint64_t behind;	/* end of its attributes: first child if any, or next entry */
	uint64_t sibling;	/* target of DW_AT_sibling, above @off; 0: not stated */
	uint32_t tag;		/* DW_TAG_*; 0: the end of a list of siblings */
	bool children;
	bool has_code;		/* it has DW_AT_low_pc or DW_AT_ranges */
	uint64_t low, high;	/* svmas, if stated as such or as a length; valid if @high > @low */
};

struct dies_sections {
	const uint8_t *info, *abbrev;	/* .debug_info, .debug_abbrev */
	size_t info_size, abbrev_size;	/* bytes */
};

struct dies;

struct dies *dies_new(void);
void dies_free(struct dies *d);	/* accepts NULL */
/*
 * Selects the unit with the header at @unit. @secs is borrowed until the next call, and contains
 * the whole unit. 0; -EINVAL: invalid data; -ENOTSUP: not supported here (a form, or codes that are
 * not in order).
 */
int dies_unit(struct dies *d, const struct dies_sections *secs, uint64_t unit);
/* Reads the entry at @off. False if there is none, or if it does not end within the unit. */
bool dies_read(const struct dies *d, uint64_t off, struct die *out);
/* Offset of the entry after @die and all its children; 0: damaged. */
uint64_t dies_behind(const struct dies *d, const struct die *die);

/* The selected unit: offset of its first entry, where it ends, and DWARF's version. */
uint64_t dies_top(const struct dies *d);
uint64_t dies_end(const struct dies *d);	/* 0 if the header is damaged; set if it is not supported */
unsigned int dies_version(const struct dies *d);
uint8_t dies_addr_size(const struct dies *d);	/* 4 or 8 */

struct die_value {
	uint32_t form;		/* DW_FORM_* */
	bool local_ref;		/* refers to an entry of this unit */
	/*
	 * A number, an address, an index, an offset in a section or, with @local_ref, the offset of
	 * the entry. 0 for all others.
	 */
	uint64_t num;
	const char *text;	/* for DW_FORM_string, borrowed from the section; otherwise NULL */
};

/*
 * Reads one attribute (DW_AT_*) of the entry at @off. Reads the abbreviation again, so this is for
 * few entries. False if the entry lacks it or is damaged.
 */
bool dies_attr(struct dies *d, uint64_t off, uint32_t attr, struct die_value *out);
/*
 * Bytes that dies_unit() and dies_attr() have read so far, most of them in abbreviations. A hostile
 * file can have the same ones read again for each unit and entry.
 */
uint64_t dies_parsed(const struct dies *d);

#endif
