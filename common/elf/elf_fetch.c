/*
 * What names, rows and code come from in a file that is too large to be copied. Most of such a file
 * is debug info. In the copy such a section has no bytes, so that zeros are not mistaken for
 * entries.
 */
#include "elf/elf_fetch.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "host/nsopen.h"

/* Most files have all that comes before their code there. */
#define FIRST_BYTES 65536
#define NAME_MAX_BYTES 16

struct part {
	uint64_t from, to;	/* bytes of the file */
};

struct fetch {
	unsigned int stage;
	Elf64_Ehdr eh;
	Elf64_Phdr *ph;		/* owned, eh.e_phnum; NULL = not read */
	Elf64_Shdr *sh;		/* owned, eh.e_shnum; NULL = not read */
	struct part *v;		/* owned: to be copied */
	size_t n, done;
};

static bool read_at(int fd, void *buf, size_t size, uint64_t at)
{
	return pread(fd, buf, size, (off_t)at) == (ssize_t)size;
}

static void add(struct fetch *f, uint64_t from, uint64_t size)
{
	if (!size || size > INT64_MAX || from > INT64_MAX)
		return;
	f->v = xrealloc(f->v, (f->n + 1) * sizeof(*f->v));
	f->v[f->n++] = (struct part){ from, from + size };
}

static bool add_headers(struct fetch *f, int copy)
{
	if (!read_at(copy, &f->eh, sizeof(f->eh), 0) || memcmp(f->eh.e_ident, ELFMAG, SELFMAG) ||
	    f->eh.e_ident[EI_CLASS] != ELFCLASS64 || f->eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    f->eh.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	add(f, f->eh.e_phoff, f->eh.e_phnum * sizeof(Elf64_Phdr));
	if (f->eh.e_shentsize == sizeof(Elf64_Shdr))
		add(f, f->eh.e_shoff, f->eh.e_shnum * sizeof(Elf64_Shdr));
	return true;
}

/* @n headers of @size bytes at @at; NULL if they are not there. Owned. */
static void *headers(int copy, size_t n, size_t size, uint64_t at)
{
	void *v = n ? xmalloc(n * size) : NULL;

	if (v && read_at(copy, v, n * size, at))
		return v;
	free(v);
	return NULL;
}

static void add_loads(struct fetch *f, int copy)
{
	f->ph = headers(copy, f->eh.e_phnum, sizeof(*f->ph), f->eh.e_phoff);
	for (size_t i = 0; f->ph && i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_LOAD || f->ph[i].p_type == PT_NOTE)
			add(f, f->ph[i].p_offset, f->ph[i].p_filesz);
	if (f->eh.e_shentsize == sizeof(*f->sh))
		f->sh = headers(copy, f->eh.e_shnum, sizeof(*f->sh), f->eh.e_shoff);
	if (f->sh && f->eh.e_shstrndx < f->eh.e_shnum)
		add(f, f->sh[f->eh.e_shstrndx].sh_offset, f->sh[f->eh.e_shstrndx].sh_size);
}

static bool is_debug(const struct fetch *f, int copy, const Elf64_Shdr *s)
{
	char name[NAME_MAX_BYTES] = "";

	if (f->eh.e_shstrndx >= f->eh.e_shnum ||
	    pread(copy, name, sizeof(name) - 1, (off_t)(f->sh[f->eh.e_shstrndx].sh_offset + s->sh_name)) <= 0)
		return false;
	return !strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8);
}

static bool add_sections(struct fetch *f, int copy)
{
	for (size_t i = 0; f->sh && i < f->eh.e_shnum; i++) {
		Elf64_Shdr *s = &f->sh[i];

		/* Loaded sections came with their segment. */
		if (s->sh_type == SHT_NOBITS || s->sh_type == SHT_NULL || (f->ph && s->sh_flags & SHF_ALLOC))
			continue;
		if (!is_debug(f, copy, s)) {
			add(f, s->sh_offset, s->sh_size);
			continue;
		}
		s->sh_type = SHT_NOBITS;
		s->sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
		if (pwrite(copy, s, sizeof(*s), (off_t)(f->eh.e_shoff + i * sizeof(*s))) != sizeof(*s))
			return false;
	}
	return true;
}

static bool next_part(void *ctx, int copy, uint64_t *from, uint64_t *to)
{
	struct fetch *f = ctx;

	while (f->done == f->n) {
		switch (f->stage++) {
		case 0:
			if (!add_headers(f, copy))
				return false;
			break;
		case 1:
			add_loads(f, copy);
			break;
		case 2:
			if (!add_sections(f, copy))
				return false;
			break;
		default:
			return false;
		}
	}
	*from = f->v[f->done].from;
	*to = f->v[f->done++].to;
	return true;
}

int elf_fetch(int fd, uint64_t max, bool *part)
{
	struct fetch f = { 0 };
	int copy = nsopen_copy(fd, max);

	*part = copy == -EFBIG;
	if (!*part)
		return copy;
	copy = nsopen_copy_parts(fd, max, FIRST_BYTES, next_part, &f);
	/* Not a file that this code knows. */
	if (copy >= 0 && f.stage < 3) {
		close(copy);
		copy = -EFBIG;
	}
	free(f.ph);
	free(f.sh);
	free(f.v);
	return copy;
}
