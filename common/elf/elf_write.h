/* Writes the small ELF file of captured rows (contrib/doc/capture.md). */
#ifndef NSPROF_ELF_WRITE_H
#define NSPROF_ELF_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "elf/elf_file.h"

/*
 * Contents of the file. All pointers are borrowed for the call; sizes in bytes, 0 = leave it out.
 */
struct elf_slice {
	uint16_t type, machine;		/* ET_DYN, EM_X86_64 */
	uint64_t entry;			/* svma */
	const struct elf_load *loads;
	size_t nloads;
	const uint8_t *build_id;
	size_t build_id_len;
	const void *eh_frame;		/* from cfi_emit() */
	size_t eh_frame_size;
	const struct elf_sym *syms;	/* any order */
	size_t nsyms;
	const void *debuglink;		/* .gnu_debuglink as it was */
	size_t debuglink_size;
	const void *debugdata;		/* .gnu_debugdata as it was */
	size_t debugdata_size;
};

/*
 * Append a 64-bit little-endian ELF file to @out. Its program headers are the original's PT_LOADs
 * with their offsets and sizes, so that file offsets of mappings still translate. The bytes they
 * describe are not in the file. Cannot fail.
 */
void elf_write(const struct elf_slice *slice, struct strbuf *out);

#endif
