/*
 * Bytes of code by address, read in pieces, so that a look at a function does not bring all of a
 * large binary into memory.
 */
#include <stdlib.h>

#include "elf_file.h"
#include "elf_file_priv.h"
#include "util.h"
#include "xalloc.h"

#define PIECE (64u << 10)
#define OVERLAP 16	/* an instruction at the end of a piece is whole */
#define PIECES_MAX 1024	/* of one file */

/* The executable PT_LOAD that holds @svma, or NULL. */
static const struct elf_load *code_load(const struct elf_file *ef, uint64_t svma)
{
	for (size_t i = 0; i < ef->nloads; i++) {
		const struct elf_load *l = &ef->loads[i];

		if ((l->flags & PF_X) && svma >= l->vaddr && svma - l->vaddr < l->filesz)
			return l;
	}
	return NULL;
}

size_t elf_file_code(struct elf_file *ef, uint64_t svma, const uint8_t **data)
{
	const struct elf_load *l;
	uint64_t start, *slot;
	Elf_Data *d;
	bool is_new;

	/* Mostly it is the piece of the last time. */
	if (ef->piece && svma - ef->piece_start < PIECE &&
	    svma - ef->piece_start < ef->piece->d_size)
		goto found;
	l = code_load(ef, svma);
	if (!l)
		return 0;
	start = l->vaddr + align_down(svma - l->vaddr, PIECE);
	slot = u64map_put(&ef->pieces, start, &is_new);
	if (is_new && ef->pieces.n <= PIECES_MAX) {
		d = elf_image(ef, start, PIECE + OVERLAP, ELF_T_BYTE);
		*slot = d && d->d_buf ? (uintptr_t)d : 0;
	}
	d = (Elf_Data *)(uintptr_t)*slot;
	if (!d || svma - start >= d->d_size)
		return 0;
	ef->piece = d;
	ef->piece_start = start;
found:
	*data = (const uint8_t *)ef->piece->d_buf + (svma - ef->piece_start);
	return ef->piece->d_size - (svma - ef->piece_start);
}
