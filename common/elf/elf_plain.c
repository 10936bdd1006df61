/*
 * Decompresses sections (gABI, "Section Compression": SHF_COMPRESSED, Elf64_Chdr). libelf does
 * zlib; zstd, which libelf supports only from 0.192 on, is unpacked here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "bytes/codec.h"
#include "elf/elf_file.h"
#include "elf/elf_file_priv.h"

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

	if (!gelf_getchdr(scn, &ch) || ch.ch_size > ELF_PIECE_MAX ||
	    !elf_room_take(ef, ELF_ROOM_UNPACKED, elf_ndxscn(scn), ch.ch_size))
		return -EINVAL;
	if (ch.ch_type == ELF_CH_ZSTD)
		return unpack_zstd(ef, scn, &ch, data, size);
	if (ch.ch_type != ELF_CH_ZLIB || elf_compress(scn, 0, 0) != 1)
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
}
