/*
 * Code bytes by address, read in pieces, so that looking at a function does not bring a whole large
 * binary into memory. Does not use libelf, which searches everything it has read for each piece.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "elf/elf_file.h"
#include "elf/elf_file_priv.h"

/*
 * A page. Callers look at a few functions all over the file, and touching fresh memory costs more
 * than the call that reads into it.
 */
#define PIECE 4096u
#define OVERLAP 16	/* keeps an instruction at the end of a piece whole */
#define PIECES_MAX 16384	/* per file */

struct elf_piece {
	size_t size;
	uint8_t bytes[];
};

/* The PT_LOAD with all of @flags that holds @svma, or NULL. */
static const struct elf_load *load_at(const struct elf_file *ef, uint64_t svma, uint32_t flags)
{
	for (size_t i = 0; i < ef->nloads; i++) {
		const struct elf_load *l = &ef->loads[i];

		if ((l->flags & flags) == flags && svma >= l->vaddr && svma - l->vaddr < l->filesz)
			return l;
	}
	return NULL;
}

/* Read @len bytes of the file at @off into @buf, or as many as there are. Returns how many. */
static size_t read_bytes(const struct elf_file *ef, uint64_t off, uint8_t *buf, size_t len)
{
	size_t have = 0;
	ssize_t got = 1;

	while (have < len && got > 0) {
		got = pread(ef->fd, buf + have, len - have, (off_t)(off + have));
		have += got > 0 ? (size_t)got : 0;
	}
	return have;
}

/* The same as a piece; NULL when there are no bytes. */
static struct elf_piece *read_piece(const struct elf_file *ef, uint64_t off, size_t len)
{
	struct elf_piece *p = xmalloc(sizeof(*p) + len);

	p->size = read_bytes(ef, off, p->bytes, len);
	if (p->size)
		return p;
	free(p);
	return NULL;
}

static size_t code_in_memory(const struct elf_file *ef, const struct elf_load *l, uint64_t svma, const uint8_t **data)
{
	const uint64_t off = l->offset + (svma - l->vaddr);

	if (off >= ef->memsize)
		return 0;
	*data = (const uint8_t *)ef->mem + off;
	return MIN(ef->memsize - off, l->filesz - (svma - l->vaddr));
}

size_t elf_file_code(struct elf_file *ef, uint64_t svma, const uint8_t **data)
{
	const struct elf_load *l;
	uint64_t start, *slot;
	bool is_new;

	/* Mostly it is the same piece as last time. */
	if (ef->piece && svma - ef->piece_start < PIECE && svma - ef->piece_start < ef->piece->size)
		goto found;
	l = load_at(ef, svma, PF_X);
	if (!l)
		return 0;
	if (ef->mem)
		return code_in_memory(ef, l, svma, data);
	start = l->vaddr + align_down(svma - l->vaddr, PIECE);
	slot = u64map_put(&ef->pieces, start, &is_new);
	if (is_new && ef->pieces.n <= PIECES_MAX && elf_room_take(ef, ELF_ROOM_CODE, start, PIECE))
		*slot = (uintptr_t)read_piece(ef, l->offset + (start - l->vaddr),
					      MIN(PIECE + OVERLAP, l->filesz - (start - l->vaddr)));
	if (!*slot || svma - start >= ((struct elf_piece *)(uintptr_t)*slot)->size)
		return 0;
	ef->piece = (struct elf_piece *)(uintptr_t)*slot;
	ef->piece_start = start;
found:
	*data = ef->piece->bytes + (svma - ef->piece_start);
	return ef->piece->size - (svma - ef->piece_start);
}

size_t elf_file_bytes(const struct elf_file *ef, uint64_t svma, void *buf, size_t size)
{
	const struct elf_load *l = load_at(ef, svma, 0);
	uint64_t off;

	if (!l)
		return 0;
	off = l->offset + (svma - l->vaddr);
	size = MIN(size, l->filesz - (svma - l->vaddr));
	if (!ef->mem)
		return read_bytes(ef, off, buf, size);
	if (off >= ef->memsize)
		return 0;
	size = MIN(size, ef->memsize - off);
	memcpy(buf, (const uint8_t *)ef->mem + off, size);
	return size;
}

void elf_code_free(struct elf_file *ef)
{
	uint64_t start, piece;
	size_t it = 0;

	while (u64map_next(&ef->pieces, &it, &start, &piece))
		free((struct elf_piece *)(uintptr_t)piece);
	u64map_fini(&ef->pieces);
}
