/*
 * .debug_info of a copy (elf_copy.c), read as it is asked for. Of a C library or an interpreter it is the most by
 * far, and a profile is in few of its units: to clear and fill memory for all of it takes longer than all that is
 * done with it.
 */
#include <pthread.h>
#include <stdlib.h>

#include "cursor.h"
#include "elf_file_priv.h"
#include "util.h"
#include "xalloc.h"

/* Bytes; a larger one is a program's own, of which most is wanted: it is read in one go, into huge pages. */
#define LATER_MAX	(32u << 20)
#define PIECE		4096u
/* Bytes; DWARF 5, 7.5.1: no header of a unit is longer, and the code of its first entry is behind it. */
#define UNIT_HEADER_MAX	(40u + 10)

struct elf_later {
	uint64_t at, size;	/* of the section in the file, bytes */
	pthread_mutex_t lock;	/* for what follows */
	uint8_t *have;		/* owned; a bit for each piece */
	uint64_t headers;	/* of units that begin below this offset */
	bool all;
};

/* Bytes [@start, @end) of the section, which end in it. */
static void have_pieces(struct elf_file *ef, struct elf_later *l, uint64_t start, uint64_t end)
{
	uint64_t i = start / PIECE, n = (end + PIECE - 1) / PIECE, from;

	while (i < n) {
		for (from = i; i < n && !(l->have[i / 8] >> i % 8 & 1); i++)
			l->have[i / 8] |= (uint8_t)(1u << i % 8);
		if (i > from)
			elf_copy_read(ef, l->at + from * PIECE, MIN(i * PIECE, l->size) - from * PIECE);
		else
			i++;
	}
}

/*
 * The headers of units from l->headers on up to @end: libdw comes to a unit by those before it. Of units older than
 * DWARF 5 it reads more than the header. False: then all has to be there.
 */
static bool have_headers(struct elf_file *ef, struct elf_later *l, uint64_t end)
{
	while (l->headers < end) {
		uint64_t left = l->size - l->headers, len;
		struct cursor c;
		bool wide;

		have_pieces(ef, l, l->headers, l->headers + MIN(left, UNIT_HEADER_MAX));
		cursor_init(&c, ef->copy + l->at + l->headers, left);
		len = cursor_u32(&c);
		wide = len == UINT32_MAX;
		if (wide)
			len = cursor_u64(&c);
		if (cursor_u16(&c) < 5 || !cursor_ok(&c) || len > left - (wide ? 12 : 4))
			return false;
		l->headers += len + (wide ? 12 : 4);
	}
	return true;
}

bool elf_later_is(struct elf_file *ef, const GElf_Shdr *sh)
{
	/* Of several sections of that name the first one is read. */
	if (ef->later)
		return ef->later->at == sh->sh_offset && ef->later->size == sh->sh_size;
	if (sh->sh_type != SHT_PROGBITS || sh->sh_flags & SHF_COMPRESSED ||
	    sh->sh_size < PIECE || sh->sh_size > LATER_MAX || sh->sh_offset > ef->copy_size ||
	    sh->sh_size > ef->copy_size - sh->sh_offset)
		return false;
	ef->later = xcalloc(1, sizeof(*ef->later));
	ef->later->at = sh->sh_offset;
	ef->later->size = sh->sh_size;
	ef->later->have = xcalloc(sh->sh_size / PIECE / 8 + 1, 1);
	pthread_mutex_init(&ef->later->lock, NULL);
	return true;
}

void elf_later_need(struct elf_file *ef, uint64_t start, uint64_t end)
{
	struct elf_later *l = ef->later;

	if (!l || !ef->copy)
		return;
	pthread_mutex_lock(&l->lock);
	end = MIN(end, l->size);
	if (!l->all && (end - start == l->size || !have_headers(ef, l, end))) {
		have_pieces(ef, l, 0, l->size);
		l->all = true;
	} else if (!l->all && start < end) {
		have_pieces(ef, l, start, end);
	}
	pthread_mutex_unlock(&l->lock);
}

void elf_later_free(struct elf_file *ef)
{
	if (!ef->later)
		return;
	pthread_mutex_destroy(&ef->later->lock);
	free(ef->later->have);
	free(ef->later);
	ef->later = NULL;
}
