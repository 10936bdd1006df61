/*
 * Section contents by name, and the sections that hold call frame information. Compression: gABI
 * "Section Compression" (SHF_COMPRESSED), and the older GNU form (.zdebug_NAME, "ZLIB", 8 bytes of
 * size in big endian).
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "elf/elf_file.h"
#include "elf/elf_file_priv.h"

#define GNU_ZHDR 12	/* "ZLIB" and the size */

/* ".zdebug_frame" for ".debug_frame". */
static bool is_zdebug_of(const char *have, const char *name)
{
	return name[0] == '.' && name[1] == 'd' && have[0] == '.' && have[1] == 'z' &&
	       strcmp(have + 2, name + 1) == 0;
}

/* The next one after @scn; NULL: the first. */
static Elf_Scn *next_section(struct elf_file *ef, Elf_Scn *scn, const char *name, GElf_Shdr *sh, bool *zdebug)
{
	while (ef->shnum && (scn = elf_nextscn(ef->elf, scn))) {
		const char *have;

		if (!gelf_getshdr(scn, sh) || sh->sh_type == SHT_NOBITS)
			continue;
		have = elf_strptr(ef->elf, ef->shstrndx, sh->sh_name);
		if (!have)
			continue;
		*zdebug = is_zdebug_of(have, name);
		if (*zdebug || strcmp(have, name) == 0)
			return scn;
	}
	return NULL;
}

static Elf_Scn *find_section(struct elf_file *ef, const char *name, GElf_Shdr *sh, bool *zdebug)
{
	return next_section(ef, NULL, name, sh, zdebug);
}

/* Unpacked size that a section in GNU's form states; 0: it is damaged, or was unpacked before. */
static uint64_t zdebug_size(const Elf_Data *raw)
{
	uint64_t size = 0;

	if (!raw || !raw->d_buf || raw->d_size < GNU_ZHDR || memcmp(raw->d_buf, "ZLIB", 4) != 0)
		return 0;
	for (int i = 4; i < GNU_ZHDR; i++)
		size = size << 8 | ((const uint8_t *)raw->d_buf)[i];
	return size;
}

static int decompress_gnu(struct elf_file *ef, Elf_Scn *scn)
{
	Elf_Data *raw = elf_rawdata(scn, NULL);
	const uint64_t size = zdebug_size(raw);

	if (!raw || !raw->d_buf || raw->d_size < GNU_ZHDR)
		return -EINVAL;
	/* No longer compressed: an earlier call did it. */
	if (memcmp(raw->d_buf, "ZLIB", 4) != 0)
		return 0;
	if (size > ELF_PIECE_MAX || !elf_room_take(ef, ELF_ROOM_UNPACKED, elf_ndxscn(scn), size))
		return -EINVAL;
	return elf_compress_gnu(scn, 0, 0) == 1 ? 0 : -EINVAL;
}

static int contents(struct elf_file *ef, Elf_Scn *scn, const GElf_Shdr *sh, bool zdebug, const uint8_t **data,
		    size_t *size)
{
	Elf_Data *raw;
	int err = 0;

	if (!elf_room_take(ef, ELF_ROOM_SECTION, elf_ndxscn(scn), sh->sh_size))
		return -EINVAL;
	if (sh->sh_flags & SHF_COMPRESSED)
		return elf_plain_section(ef, scn, data, size);
	if (zdebug)
		err = decompress_gnu(ef, scn);
	else if (sh->sh_size > ELF_PIECE_MAX)
		err = -EINVAL;
	if (err)
		return err;
	if (!zdebug && ef->fd >= 0 && sh->sh_size >= ELF_LARGE)
		return elf_large_section(ef, sh, data, size);
	raw = elf_rawdata(scn, NULL);
	if (!raw || (raw->d_size && !raw->d_buf))
		return -EINVAL;
	*data = raw->d_buf;
	*size = raw->d_size;
	return 0;
}

int elf_file_section(struct elf_file *ef, const char *name, const uint8_t **data, size_t *size,
		     uint64_t *svma)
{
	GElf_Shdr sh;
	bool zdebug;
	Elf_Scn *scn = find_section(ef, name, &sh, &zdebug);

	if (!scn)
		return -ENOENT;
	if (svma)
		*svma = sh.sh_addr;
	return contents(ef, scn, &sh, zdebug, data, size);
}

int elf_file_section_that(struct elf_file *ef, const char *name, bool (*fits)(const uint8_t *data, size_t size),
			  const uint8_t **data, size_t *size)
{
	uint64_t unpacked = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	bool zdebug;

	/*
	 * All unpacked sections stay in memory, so many small, highly compressed ones are limited.
	 */
	while (unpacked <= ELF_PIECE_MAX && (scn = next_section(ef, scn, name, &sh, &zdebug))) {
		if (contents(ef, scn, &sh, zdebug, data, size))
			continue;
		if (fits(*data, *size))
			return 0;
		unpacked += *size;
	}
	return -ENOENT;
}

bool elf_file_has_section(struct elf_file *ef, const char *name)
{
	GElf_Shdr sh;
	bool zdebug;

	return find_section(ef, name, &sh, &zdebug) != NULL;
}

uint64_t elf_file_section_size(struct elf_file *ef, const char *name)
{
	GElf_Shdr sh;
	bool zdebug;

	return find_section(ef, name, &sh, &zdebug) ? sh.sh_size : 0;
}

uint64_t elf_file_section_room(struct elf_file *ef, const char *name)
{
	GElf_Shdr sh;
	GElf_Chdr ch;
	bool zdebug;
	Elf_Scn *scn = find_section(ef, name, &sh, &zdebug);

	if (!scn)
		return 0;
	if (sh.sh_size > ef->room)
		return UINT64_MAX;
	if (!(sh.sh_flags & SHF_COMPRESSED) && !zdebug)
		return sh.sh_size;
	/* To read the header, libelf reads the section. */
	if (!elf_room_take(ef, ELF_ROOM_SECTION, elf_ndxscn(scn), sh.sh_size))
		return UINT64_MAX;
	if (zdebug)
		ch.ch_size = zdebug_size(elf_rawdata(scn, NULL));
	else if (!gelf_getchdr(scn, &ch))
		return UINT64_MAX;
	return ch.ch_size > MIN(ef->room, ELF_PIECE_MAX) ? UINT64_MAX : ch.ch_size + sh.sh_size;
}

bool elf_file_debuglink(struct elf_file *ef, const char **name, uint32_t *crc)
{
	const uint8_t *data;
	size_t size, len;

	if (elf_file_section(ef, ".gnu_debuglink", &data, &size, NULL) || !size)
		return false;
	/* The name, NUL, padding to 4, then the CRC. */
	len = strnlen((const char *)data, size);
	if (!len || len > 255 || align_up(len + 1, 4) + 4 > size)
		return false;
	data += align_up(len + 1, 4);
	*name = (const char *)data - align_up(len + 1, 4);
	*crc = data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
	return true;
}

static void section_into(struct elf_file *ef, const char *name, struct cfi_section *out)
{
	if (elf_file_section(ef, name, &out->data, &out->size, &out->svma))
		memset(out, 0, sizeof(*out));
}

/* Size of an .eh_frame that nothing states: up to its zero terminator. */
static size_t eh_frame_extent(const uint8_t *data, size_t size)
{
	size_t pos = 0;

	while (pos + 4 <= size) {
		uint32_t len;

		memcpy(&len, data + pos, 4);
		if (!len)
			return pos + 4;
			/* Without a section header, the 64-bit form is not worth guessing at. */
		if (len == 0xffffffff || len > size - pos - 4)
			break;
		pos += 4 + len;
	}
	return pos;
}

/*
 * Without section headers, PT_GNU_EH_FRAME locates .eh_frame_hdr, and its first field locates
 * .eh_frame (LSB 5.0 Core, 10.6.2). Linkers write that field as a 4-byte distance from itself.
 */
static void cfi_from_segments(struct elf_file *ef, struct cfi_sections *out)
{
	size_t phnum = 0;

	if (elf_getphdrnum(ef->elf, &phnum))
		return;
	for (size_t i = 0; i < MIN(phnum, (size_t)256); i++) {
		const uint8_t *hdr;
		Elf_Data *d;
		GElf_Phdr ph;
		int32_t delta;

		if (!gelf_getphdr(ef->elf, (int)i, &ph) || ph.p_type != PT_GNU_EH_FRAME)
			continue;
		d = elf_image(ef, ph.p_vaddr, ph.p_memsz, ELF_T_BYTE);
		if (!d || !d->d_buf || d->d_size < 8)
			return;
		hdr = d->d_buf;
		if (hdr[0] != 1 || hdr[1] != 0x1b /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */)
			return;
		out->eh_frame_hdr = (struct cfi_section){ hdr, d->d_size, ph.p_vaddr };
		memcpy(&delta, hdr + 4, 4);
		out->eh_frame.svma = ph.p_vaddr + 4 + (uint64_t)(int64_t)delta;
		d = elf_image(ef, out->eh_frame.svma, SIZE_MAX, ELF_T_BYTE);
		if (!d || !d->d_buf) {
			memset(&out->eh_frame_hdr, 0, sizeof(out->eh_frame_hdr));
			memset(&out->eh_frame, 0, sizeof(out->eh_frame));
			return;
		}
		out->eh_frame.data = d->d_buf;
		out->eh_frame.size = eh_frame_extent(d->d_buf, d->d_size);
		return;
	}
}

void elf_file_cfi_sections(struct elf_file *ef, struct cfi_sections *out)
{
	GElf_Shdr sh;
	bool zdebug;

	memset(out, 0, sizeof(*out));
	out->is64 = elf_file_is64(ef);
	/*
	 * Only if there are no section headers at all: a separate debug file has the binary's
	 * program headers, but not the bytes they point to.
	 */
	if (!ef->shnum) {
		cfi_from_segments(ef, out);
		return;
	}
	section_into(ef, ".eh_frame", &out->eh_frame);
	section_into(ef, ".eh_frame_hdr", &out->eh_frame_hdr);
	section_into(ef, ".debug_frame", &out->debug_frame);
	out->debug_frame.svma = 0;
	if (find_section(ef, ".text", &sh, &zdebug))
		out->text_svma = sh.sh_addr;
	if (find_section(ef, ".got", &sh, &zdebug))
		out->data_svma = sh.sh_addr;
}
