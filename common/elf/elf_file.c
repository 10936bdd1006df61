/* Closing an ELF file with all its parts, handles for libdw, build-id. elf_core.c opens files. */
#include "elf/elf_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "elf/elf_file_priv.h"

#define ELF_NOTES_MAX (1u << 20)	/* bytes, of all together */

void elf_file_close(struct elf_file *ef)
{
	if (!ef)
		return;
	elf_syms_free(ef);
	elf_plt_free(ef);
	elf_code_free(ef);
	for (size_t i = 0; i < ELF_HANDLES_MAX; i++)
		if (ef->lent[i])
			elf_end(ef->lent[i]);
	elf_copy_free(ef);
	elf_later_free(ef);
	elf_image_free(ef);
	elf_plain_free(ef);
	elf_large_free(ef);
	free(ef->go);
	elf_core_close(ef);
}

void *elf_file_handle_of(struct elf_file *ef, unsigned int i)
{
	uint8_t *image;
	size_t size;

	/*
	 * Separate handles: we decompress sections in ours, and libdw would then consider a
	 * .zdebug_ section damaged. libelf takes char *, but does not write.
	 */
	if (i >= ELF_HANDLES_MAX || ef->lent[i])
		return i < ELF_HANDLES_MAX ? ef->lent[i] : NULL;
	if (ef->mem)
		ef->lent[i] = elf_memory((char *)(uintptr_t)ef->mem, ef->memsize);
	else if (elf_image_get(ef, &image, &size))
		ef->lent[i] = elf_memory((char *)image, size);
	else if (elf_copy_load(ef) && (i == 0 || !ef->one_handle))
		ef->lent[i] = elf_memory((char *)ef->copy, ef->copy_size);
	else if (i == 0)
		ef->lent[i] = elf_begin(ef->fd, ELF_C_READ, NULL);
	return ef->lent[i];
}

void *elf_file_handle(struct elf_file *ef)
{
	return elf_file_handle_of(ef, 0);
}

/* ---- build-id: a note of owner "GNU", type NT_GNU_BUILD_ID ---- */

static size_t build_id_in(Elf_Data *data, uint8_t out[20])
{
	size_t off = 0, name, desc;
	GElf_Nhdr nh;

	if (!data || !data->d_buf)
		return 0;
	while ((off = gelf_getnote(data, off, &nh, &name, &desc)) > 0) {
		size_t len = MIN(nh.n_descsz, 20u);

		if (nh.n_type != NT_GNU_BUILD_ID || nh.n_namesz != sizeof("GNU") || !len ||
		    memcmp((const char *)data->d_buf + name, "GNU", sizeof("GNU")) != 0)
			continue;
		memcpy(out, (const char *)data->d_buf + desc, len);
		return len;
	}
	return 0;
}

size_t elf_file_build_id(const struct elf_file *ef, uint8_t out[20])
{
	size_t phnum = 0, len, left = ELF_NOTES_MAX;
	Elf_Scn *scn = NULL;
	Elf_Data *note;
	Elf_Type type;

	if (elf_getphdrnum(ef->elf, &phnum))
		phnum = 0;
	phnum = MIN(phnum, (size_t)ELF_PHDRS_MAX);
	for (size_t i = 0; i < phnum; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(ef->elf, (int)i, &ph) || ph.p_type != PT_NOTE || !ph.p_filesz ||
		    ph.p_filesz > left)
			continue;
		/* libelf keeps each chunk. */
		left -= ph.p_filesz;
		type = ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
		note = elf_getdata_rawchunk(ef->elf, (int64_t)ph.p_offset, ph.p_filesz, type);
		len = build_id_in(note, out);
		if (len)
			return len;
	}
	while (ef->shnum && (scn = elf_nextscn(ef->elf, scn))) {
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_NOTE || sh.sh_size > left)
			continue;
		left -= sh.sh_size;
		len = build_id_in(elf_getdata(scn, NULL), out);
		if (len)
			return len;
	}
	return 0;
}
