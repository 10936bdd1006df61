/*
 * Names from debug info, for functions without a symbol: GHC gives its local functions none. The
 * symbolizer names them by inlines_symbol() as long as the binary is there, and these are the same
 * names and ranges. The bytes are untrusted, so libdw has no part in it, and memory and time are
 * bounded.
 */
#ifndef NSPROF_DWARF_NAMES_H
#define NSPROF_DWARF_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct elf_file;
struct elf_sym;
struct dwarf_names;

/* @ef is borrowed. Reads nothing. */
struct dwarf_names *dwarf_names_new(struct elf_file *ef);
/*
 * The function at @svma and its range of code there. The name is borrowed for the life of the ELF
 * file. False if there is none, or if debug info says it in a way that is not read here: in .dwo or
 * dwz files, in other units, by indexes (as clang writes DWARF 5), or in too many bytes.
 */
bool dwarf_names_find(void *dwarf_names, uint64_t svma, struct elf_sym *out);
void dwarf_names_free(struct dwarf_names *dn);	/* accepts NULL */

#endif
