/*
 * .debug_info and .debug_str of a copy (elf_copy.c), read on demand. They are by far the largest
 * sections of a C library or an interpreter, while a profile needs few units and shows few names.
 * Clearing and filling memory for all of it would take longer than all the work on it.
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
/* Bytes; DWARF 5, 7.5.1: no unit header is longer, with the code of its first entry behind it. */
#define UNIT_HEADER_MAX	(40u + 10)

/* States of a piece; it only moves forward. */
enum { MISSING, COMING /* a thread reads it */, THERE };

/*
 * A section. Its pieces are the file's pages, cut at the section's ends, so that each is a page of
 * the copy.
 */
struct part {
	uint64_t at, size;	/* of the section in the file, bytes */
	uint8_t *state;		/* owned; of each piece; NULL: not read on demand */
	bool met;		/* a section of that name was seen; only the first counts */
};

struct elf_later {
	pthread_mutex_t lock;	/* for the members below; not held while reading */
	pthread_cond_t there;	/* a piece has arrived */
	struct part info, str;
	uint64_t headers;	/* unit headers below this offset have been read */
	bool all;		/* all of .debug_info was read */
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
 * Read bytes [@start, @end) of the section, which end in it. Nothing is read twice: the file may
 * have changed, and others rely on what they saw.
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
 * Read the headers of units from l->headers up to @end: libdw reaches a unit through those before
 * it. From units older than DWARF 5 it reads more than the header. False: then everything must be
 * read.
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
 * Do the bytes of @sh belong to it alone? Other parts have been read and checked before. If they
 * were read again, the file might have changed.
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
 * Scattered reads fill no huge pages. Huge pages would not make reading all of it faster either: in
 * a virtual machine, small pages are mostly recycled, while huge ones come from the host and are
 * cleared by both (122 MB: 0.18 s instead of 0.43 s of kernel time).
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
	/* Read its last NUL: libdw may look for it, and accepts no string behind it. */
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
	/* A string of another section, or of the dwz file. */
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
