/*
 * The debug info of a file, as far as it is read while its program is recorded: entries, their code
 * and their texts. The bytes are untrusted. Memory and time are bounded per file, and what would take
 * more is not read.
 */
#ifndef NSPROF_DWARF_INPUT_H
#define NSPROF_DWARF_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ranges.h"
#include "dwarf/dies.h"

struct elf_file;

enum dwarf_section {
	DWARF_INFO, DWARF_ABBREV, DWARF_ARANGES, DWARF_STR, DWARF_LINE_STR, DWARF_RANGES, DWARF_RNGLISTS, DWARF_NSECTIONS
};

struct dwarf_bytes {
	bool tried;
	const uint8_t *data;	/* borrowed from the file; NULL: none, or too large */
	size_t size;
};

struct dwarf_input {
	struct elf_file *ef;	/* borrowed */
	bool opened;
	bool spent;		/* a limit was reached, so that an attribute was not read */
	struct dwarf_bytes sections[DWARF_NSECTIONS];
	struct dies *dies;	/* owned; NULL: there is nothing to read */
	struct dies_sections secs;
	uint64_t selected;	/* offset of the unit that @dies reads; UINT64_MAX: none */
	struct ranges aranges;	/* svma -> offset of the unit, by .debug_aranges */
	uint64_t room, entries_left;
	size_t ranges_left;
};

/* @ef is borrowed. Reads nothing. */
void dwarf_input_init(struct dwarf_input *in, struct elf_file *ef);
void dwarf_input_fini(struct dwarf_input *in);
/* True if units can be read. The first call reads the sections; the functions below need it. */
bool dwarf_input_open(struct dwarf_input *in);

/* Makes the unit with the header at offset @off of .debug_info the one that @in->dies reads. */
bool dwarf_input_select(struct dwarf_input *in, uint64_t off);
/* Takes @bytes from what may be walked through in all. False if less is left, or if too much was read. */
bool dwarf_input_spend(struct dwarf_input *in, uint64_t bytes);

/* dies_attr() for the entry at @off of the selected unit, unless that would take too long: then @in is spent. */
bool dwarf_input_attr(struct dwarf_input *in, uint64_t off, uint32_t which, struct die_value *out);
/*
 * The text of an attribute, borrowed for the life of the ELF file; NULL if the entry lacks it. False:
 * it is not read here.
 */
bool dwarf_input_text(struct dwarf_input *in, uint64_t off, uint32_t which, const char **out);
/* Adds the code (svma) of entry @e of the selected unit to @out as @id. False: it is not known. */
bool dwarf_input_code(struct dwarf_input *in, const struct die *e, struct ranges *out, uint32_t id);

#endif
