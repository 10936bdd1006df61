/*
 * .debug_info and .debug_str of a copy (elf_copy.c), read as they are asked for. Of a C library or an interpreter they
 * are the most by far, and a profile is in few of its units and shows few of its names: to clear and fill memory for
 * all of it takes longer than all that is done with it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cursor.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "elf/elf_file_priv.h"

#define PIECE		4096u
/* Bytes; DWARF 5, 7.5.1: no header of a unit is longer, and the code of its first entry is behind it. */
#define UNIT_HEADER_MAX	(40u + 10)

/* Of a piece; from one to the next, and never back. */
enum { MISSING, COMING /* a thread reads it */, THERE };

/* A section. Its pieces are the file's, cut where it begins and ends, so that each is a page of the copy. */
struct part {
	uint64_t at, size;	/* of the section in the file, bytes */
	uint8_t *state;		/* owned; of each piece; NULL: it is not read so */
	bool met;		/* a section of that name was; of several the first one is read */
};

struct elf_later {
	pthread_mutex_t lock;	/* for what follows; nobody holds it while he reads */
	pthread_cond_t there;	/* a piece */
	struct part info, str;
	uint64_t headers;	/* of units that begin below this offset */
	bool all;		/* of .debug_info */
};

static uint64_t piece_of(const struct part *p, uint64_t off)
{
	return (p->at + off) / PIECE - p->at / PIECE;
}

/* Where piece @i begins, as an offset in the section. */
static uint64_t piece_start(const struct part *p, uint64_t i)
{
	return i ? MIN(i * PIECE - p->at % PIECE, p->size) : 0;
}

/*
 * Bytes [@start, @end) of the section, which end in it. Nothing is read a second time: it may have changed, and there are
 * those who looked at it and go by what they saw.
 */
static void have_pieces(struct elf_file *ef, struct part *p, uint64_t start, uint64_t end)
{
	uint64_t first = piece_of(p, start), n = end > start ? piece_of(p, end - 1) + 1 : first, from, i = first;

	while (i < n) {
		for (from = i; i < n && p->state[i] == MISSING; i++)
			p->state[i] = COMING;
		if (i == from) {
			i++;
			continue;
		}
		pthread_mutex_unlock(&ef->later->lock);
		elf_copy_read(ef, p->at + piece_start(p, from), piece_start(p, i) - piece_start(p, from));
		pthread_mutex_lock(&ef->later->lock);
		memset(p->state + from, THERE, i - from);
		pthread_cond_broadcast(&ef->later->there);
	}
	for (i = first; i < n; i++)
		while (p->state[i] != THERE)
			pthread_cond_wait(&ef->later->there, &ef->later->lock);
}

/*
 * The headers of units from l->headers on up to @end: libdw comes to a unit by those before it. Of units older than
 * DWARF 5 it reads more than the header. False: then all has to be there.
 */
static bool have_headers(struct elf_file *ef, struct elf_later *l, uint64_t end)
{
	while (l->headers < end) {
		uint64_t at = l->headers, left = l->info.size - at, len;
		struct cursor c;
		bool wide;

		have_pieces(ef, &l->info, at, at + MIN(left, UNIT_HEADER_MAX));
		cursor_init(&c, ef->copy + l->info.at + at, left);
		len = cursor_u32(&c);
		wide = len == UINT32_MAX;
		if (wide)
			len = cursor_u64(&c);
		if (cursor_u16(&c) < 5 || !cursor_ok(&c) || len > left - (wide ? 12 : 4))
			return false;
		l->headers = MAX(l->headers, at + len + (wide ? 12 : 4));
	}
	return true;
}

static bool overlap(const GElf_Shdr *sh, uint64_t off, uint64_t len)
{
	return off < sh->sh_offset ? sh->sh_offset - off < len : len && off - sh->sh_offset < sh->sh_size;
}

/*
 * Do the bytes of @sh belong to it alone? Others have been read and checked before, and the file may be another one when
 * it is looked at again.
 */
static bool is_alone(struct elf_file *ef, const GElf_Shdr *sh)
{
	size_t entry = elf_file_is64(ef) ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	unsigned int same = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr other;

	if (overlap(sh, 0, ef->ehdr.e_ehsize) || overlap(sh, ef->ehdr.e_shoff, ef->shnum * entry) ||
	    overlap(sh, ef->ehdr.e_phoff, (uint64_t)ef->ehdr.e_phnum * ef->ehdr.e_phentsize))
		return false;
	while ((scn = elf_nextscn(ef->elf, scn)))
		same += gelf_getshdr(scn, &other) && other.sh_type != SHT_NOBITS &&
			overlap(sh, other.sh_offset, other.sh_size);
	return same == 1;
}

bool elf_later_is(struct elf_file *ef, const char *name, const GElf_Shdr *sh)
{
	bool info = !strcmp(name, ".debug_info");
	struct part *p;

	if (!info && strcmp(name, ".debug_str") != 0)
		return false;
	if (!ef->later) {
		ef->later = xcalloc(1, sizeof(*ef->later));
		pthread_mutex_init(&ef->later->lock, NULL);
		pthread_cond_init(&ef->later->there, NULL);
	}
	p = info ? &ef->later->info : &ef->later->str;
	if (p->met)
		return p->state && p->at == sh->sh_offset && p->size == sh->sh_size;
	p->met = true;
	if (sh->sh_type != SHT_PROGBITS || sh->sh_flags & SHF_COMPRESSED || sh->sh_size < PIECE ||
	    sh->sh_offset > ef->copy_size || sh->sh_size > ef->copy_size - sh->sh_offset || !is_alone(ef, sh))
		return false;
	p->at = sh->sh_offset;
	p->size = sh->sh_size;
	p->state = xcalloc(piece_of(p, p->size) + 1, 1);
	return true;
}

/*
 * What is read here and there fills no huge pages. Nor would all of it be had faster: in a virtual machine small ones are
 * mostly in use again, where huge ones are the host's, to be cleared by both (122 MB: 0.18 s for 0.43 s of the kernel's time).
 */
static void small_pages(struct elf_file *ef, const struct part *p)
{
	uint64_t start = p->at & ~(uint64_t)(PIECE - 1);

	if (p->state)
		madvise(ef->copy + start, p->at + p->size - start, MADV_NOHUGEPAGE);
}

void elf_later_begin(struct elf_file *ef)
{
	struct part *p = ef->later ? &ef->later->str : NULL;
	uint64_t start, end;

	if (!p)
		return;
	small_pages(ef, &ef->later->info);
	small_pages(ef, p);
	if (!p->state)
		return;
	/* Its last NUL: libdw may look for that, and takes no string behind it. */
	for (end = p->size; end; end = start) {
		start = piece_start(p, piece_of(p, end - 1));
		pthread_mutex_lock(&ef->later->lock);
		have_pieces(ef, p, start, end);
		pthread_mutex_unlock(&ef->later->lock);
		if (memrchr(ef->copy + p->at + start, 0, end - start))
			return;
	}
}

void elf_later_need(struct elf_file *ef, uint64_t start, uint64_t end)
{
	struct elf_later *l = ef->later;

	if (!l || !l->info.state || !ef->copy)
		return;
	pthread_mutex_lock(&l->lock);
	end = MIN(end, l->info.size);
	start = MIN(start, end);
	if (!l->all && (end - start == l->info.size || !have_headers(ef, l, end))) {
		have_pieces(ef, &l->info, 0, l->info.size);
		l->all = true;
	} else if (!l->all && start < end) {
		have_pieces(ef, &l->info, start, end);
	}
	pthread_mutex_unlock(&l->lock);
}

const char *elf_file_text(struct elf_file *ef, const char *s)
{
	struct elf_later *l = ef->later;
	struct part *p = l ? &l->str : NULL;
	uint64_t off, end;

	if (!s || !p || !p->state || !ef->copy)
		return s;
	/* Of another section, or of the dwz file. */
	off = (uintptr_t)s - (uintptr_t)(ef->copy + p->at);
	if (off >= p->size)
		return s;
	pthread_mutex_lock(&l->lock);
	do {
		end = piece_start(p, piece_of(p, off) + 1);
		have_pieces(ef, p, off, end);
		if (memchr(ef->copy + p->at + off, 0, end - off))
			break;
		off = end;
	} while (off < p->size);
	pthread_mutex_unlock(&l->lock);
	return s;
}

void elf_later_free(struct elf_file *ef)
{
	if (!ef->later)
		return;
	pthread_mutex_destroy(&ef->later->lock);
	pthread_cond_destroy(&ef->later->there);
	free(ef->later->info.state);
	free(ef->later->str.state);
	free(ef->later);
	ef->later = NULL;
}
