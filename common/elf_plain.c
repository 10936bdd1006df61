/*
 * Compressed sections made plain (gABI, "Section Compression": SHF_COMPRESSED, Elf64_Chdr). zlib is
 * left to libelf; zstd, which libelf knows from 0.192 on only, is unpacked here. And a copy of a
 * whole file's debug info without compression, for libdw, which can do no better than its libelf.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec.h"
#include "elf_file.h"
#include "elf_file_priv.h"
#include "util.h"
#include "xalloc.h"

#define CH_ZLIB	1
#define CH_ZSTD	2

/* Of one image: more is not worth its memory. */
#define PLAIN_MAX (2ull << 30)
#define ALIGN 16	/* of what is in an image; nothing in debug info wants more than 8 */

struct elf_plain {
	struct elf_plain *next;
	size_t index;		/* of the section */
	size_t size;		/* bytes */
	uint8_t data[];
};

static int unpack_zstd(struct elf_file *ef, Elf_Scn *scn, const GElf_Chdr *ch, const uint8_t **data,
		       size_t *size)
{
	size_t header = elf_file_is64(ef) ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	Elf_Data *raw = elf_rawdata(scn, NULL);
	struct codec_dec *dec;
	struct elf_plain *p;
	int err;

	for (p = ef->plain; p; p = p->next)
		if (p->index == elf_ndxscn(scn))
			goto done;
	if (!raw || !raw->d_buf || raw->d_size < header)
		return -EINVAL;
	p = malloc(sizeof(*p) + ch->ch_size);
	if (!p)
		return -EINVAL;
	dec = codec_dec_new();
	err = codec_decompress(dec, p->data, ch->ch_size, (const uint8_t *)raw->d_buf + header,
			       raw->d_size - header);
	codec_dec_free(dec);
	if (err) {
		free(p);
		return err;
	}
	p->index = elf_ndxscn(scn);
	p->size = ch->ch_size;
	p->next = ef->plain;
	ef->plain = p;
done:
	*data = p->data;
	*size = p->size;
	return 0;
}

int elf_plain_section(struct elf_file *ef, Elf_Scn *scn, const uint8_t **data, size_t *size)
{
	Elf_Data *raw;
	GElf_Chdr ch;

	if (!gelf_getchdr(scn, &ch) || ch.ch_size > ELF_PIECE_MAX)
		return -EINVAL;
	if (ch.ch_type == CH_ZSTD)
		return unpack_zstd(ef, scn, &ch, data, size);
	if (ch.ch_type != CH_ZLIB || elf_compress(scn, 0, 0) != 1)
		return -EINVAL;
	raw = elf_rawdata(scn, NULL);
	if (!raw || (raw->d_size && !raw->d_buf))
		return -EINVAL;
	*data = raw->d_buf;
	*size = raw->d_size;
	return 0;
}

void elf_plain_free(struct elf_file *ef)
{
	while (ef->plain) {
		struct elf_plain *next = ef->plain->next;

		free(ef->plain);
		ef->plain = next;
	}
	free(ef->image);
}

/* ---- a file of plain sections ---- */

static bool is_debug(const char *name)
{
	return !strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8) ||
	       !strncmp(name, ".eh_frame", 9) || !strncmp(name, ".gnu_debug", 10);
}

static bool has_compressed(struct elf_file *ef)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (ef->shnum && (scn = elf_nextscn(ef->elf, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_COMPRESSED))
			return true;
	return false;
}

/* A second handle, so that what libelf unpacks goes away with it. */
static struct elf_file *open_again(const struct elf_file *ef)
{
	int err;

	return ef->mem ? elf_file_open_mem(ef->mem, ef->memsize, &err) :
			 elf_file_open_fd(ef->fd, &err);
}

static bool append(uint8_t **image, size_t *size, const uint8_t *data, size_t len, uint64_t *at)
{
	size_t off = align_up(*size, ALIGN);
	uint8_t *p;

	if (len > PLAIN_MAX || off + len > PLAIN_MAX)
		return false;
	p = realloc(*image, off + len);
	if (!p)
		return false;
	memset(p + *size, 0, off - *size);
	if (len)
		memcpy(p + off, data, len);
	*image = p;
	*size = off + len;
	*at = off;
	return true;
}

/* The header of @scn as it is in the image; its contents are put there. */
static bool copy_section(struct elf_file *from, Elf_Scn *scn, Elf64_Shdr *out, uint8_t **image,
			 size_t *size)
{
	const char *name;
	const uint8_t *data = NULL;
	Elf_Data *raw;
	size_t len = 0;
	GElf_Shdr sh;

	if (!gelf_getshdr(scn, &sh))
		return false;
	*out = sh;
	name = elf_strptr(from->elf, from->shstrndx, sh.sh_name);
	if (sh.sh_type == SHT_NOBITS || !name ||
	    (!is_debug(name) && elf_ndxscn(scn) != from->shstrndx)) {
		out->sh_type = SHT_NOBITS;
		out->sh_offset = *size;
		return true;
	}
	if (sh.sh_flags & SHF_COMPRESSED) {
		if (elf_plain_section(from, scn, &data, &len)) {
			/* One that cannot be read must not hide the others. */
			out->sh_type = SHT_NOBITS;
			return true;
		}
		out->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	} else {
		raw = sh.sh_size <= ELF_PIECE_MAX ? elf_rawdata(scn, NULL) : NULL;
		data = raw ? raw->d_buf : NULL;
		len = data ? raw->d_size : 0;
	}
	out->sh_size = len;
	return append(image, size, data, len, &out->sh_offset);
}

/* Elf64_Ehdr at the start, the section headers last. */
static bool build(struct elf_file *from, uint8_t **image, size_t *size)
{
	Elf64_Shdr *shdrs = xcalloc(from->shnum, sizeof(*shdrs));
	Elf64_Ehdr eh = from->ehdr;
	Elf_Scn *scn = NULL;
	bool ok;
	uint64_t at;

	ok = append(image, size, (const uint8_t *)&eh, sizeof(eh), &at);
	while (ok && (scn = elf_nextscn(from->elf, scn)))
		ok = copy_section(from, scn, &shdrs[elf_ndxscn(scn)], image, size);
	ok = ok && append(image, size, (const uint8_t *)shdrs, from->shnum * sizeof(*shdrs),
			  &eh.e_shoff);
	free(shdrs);
	if (!ok)
		return false;
	eh.e_phoff = 0;
	eh.e_phnum = 0;
	memcpy(*image, &eh, sizeof(eh));
	return true;
}

bool elf_plain_image(struct elf_file *ef)
{
	struct elf_file *from;

	if (ef->image)
		return true;
	/* Section numbers beyond 16 bits are in no program, and 32-bit ones are left to libelf. */
	if (!elf_file_is64(ef) || ef->shnum >= SHN_LORESERVE || !has_compressed(ef))
		return false;
	from = open_again(ef);
	if (!from)
		return false;
	if (from->shnum != ef->shnum || !build(from, &ef->image, &ef->image_size)) {
		free(ef->image);
		ef->image = NULL;
		ef->image_size = 0;
	}
	elf_file_close(from);
	return ef->image != NULL;
}
