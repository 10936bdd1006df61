/*
 * Opens an ELF file and reads its headers and segments; all elf_*.c files use it. It calls none of
 * them but elf_fetch.c, elf_identity.c and elf_room.c. Formats: gABI 4.2 chapters 4 and 5.
 *
 * The file belongs to a container, which may truncate or rewrite it at any time. So it is never
 * mapped: access to a truncated mapping raises SIGBUS. libelf reads the requested bytes with
 * pread(2) into its own memory, and a file that shrank gives an error.
 */
#include "elf/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "elf/elf_fetch.h"
#include "elf/elf_file_priv.h"
#include "host/nsopen.h"
#include "host/pages.h"

#define ELF_SIZE_MAX (4ull << 30)
/* A file whose file system may not answer is copied. */
#define COPY_MAX (512ull << 20)

void elf_core_close(struct elf_file *ef)
{
	if (!ef)
		return;
	if (ef->elf)
		elf_end(ef->elf);
	if (ef->fd >= 0)
		close(ef->fd);
	free(ef->loads);
	free(ef->code);
	elf_room_fini(ef);
	free(ef);
}

static int range_cmp(const void *a, const void *b)
{
	const struct elf_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void read_loads(struct elf_file *ef)
{
	size_t phnum = 0, cap = 0;

	if (elf_getphdrnum(ef->elf, &phnum))
		return;
	phnum = MIN(phnum, (size_t)ELF_PHDRS_MAX);
	for (size_t i = 0; i < phnum; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(ef->elf, (int)i, &ph))
			return;
		/* Ranges that wrap would break every later comparison. */
		if (ph.p_type != PT_LOAD || ph.p_vaddr + ph.p_memsz < ph.p_vaddr ||
		    ph.p_offset + ph.p_filesz < ph.p_offset)
			continue;
		XGROW(ef->loads, ef->nloads, cap);
		ef->loads[ef->nloads++] = (struct elf_load){
			.offset = ph.p_offset, .filesz = ph.p_filesz,
			.vaddr = ph.p_vaddr, .memsz = ph.p_memsz, .flags = ph.p_flags,
		};
	}
}

static void read_sections(struct elf_file *ef)
{
	Elf_Scn *scn = NULL;
	size_t cap = 0;

	if (elf_getshdrnum(ef->elf, &ef->shnum) || elf_getshdrstrndx(ef->elf, &ef->shstrndx))
		ef->shnum = 0;
	if (!ef->shnum)
		return;
	while ((scn = elf_nextscn(ef->elf, scn))) {
		const char *name;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR) ||
		    !(sh.sh_flags & SHF_ALLOC) || sh.sh_addr + sh.sh_size <= sh.sh_addr)
			continue;
		name = elf_strptr(ef->elf, ef->shstrndx, sh.sh_name);
		XGROW(ef->code, ef->ncode, cap);
		ef->code[ef->ncode++] = (struct elf_range){
			sh.sh_addr, sh.sh_addr + sh.sh_size,
			name && (!strcmp(name, ".plt") || !strncmp(name, ".plt.", 5)),
		};
	}
	if (ef->ncode)
		qsort(ef->code, ef->ncode, sizeof(*ef->code), range_cmp);
}

/* Takes @ef with fd or mem set; frees it on failure. */
static struct elf_file *open_common(struct elf_file *ef, int *err)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		goto bad;
	if (ef->mem)	/* libelf takes char *, but opens it for reading and never writes to it */
		ef->elf = elf_memory((char *)(uintptr_t)ef->mem, ef->memsize);
	else if (elf_headers_fit(ef->fd))
		ef->elf = elf_begin(ef->fd, ELF_C_READ, NULL);
	if (!ef->elf || elf_kind(ef->elf) != ELF_K_ELF || !gelf_getehdr(ef->elf, &ef->ehdr))
		goto bad;
	/* All code on x86-64 is little endian, and later parsers rely on it. */
	if (ef->ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		goto bad;
	read_loads(ef);
	read_sections(ef);
	return ef;
bad:
	elf_core_close(ef);
	*err = -ENOEXEC;
	return NULL;
}

struct elf_file *elf_file_open_fd(int fd, int *err)
{
	struct elf_file *ef;
	struct stat st;
	bool part;
	int own;

	*err = nsopen_stat(fd, &st);
	if (*err)
		return NULL;
	if (!S_ISREG(st.st_mode)) {
		*err = -EINVAL;
		return NULL;
	}
	if ((uint64_t)st.st_size > ELF_SIZE_MAX) {
		*err = -EFBIG;
		return NULL;
	}
	own = elf_fetch(fd, COPY_MAX, &part);
	if (own < 0) {
		*err = own;
		return NULL;
	}
	ef = xcalloc(1, sizeof(*ef));
	ef->fd = own;
	elf_room_init(ef);
	/* A copy in memory has an identity of its own, which no other file has. */
	if (!nsopen_is_remote(fd))
		elf_identity_take(ef);
	return open_common(ef, err);
}

struct elf_file *elf_file_open_mem(const void *data, size_t size, int *err)
{
	struct elf_file *ef;

	if (size < EI_NIDENT) {
		*err = -ENOEXEC;
		return NULL;
	}
	ef = xcalloc(1, sizeof(*ef));
	ef->fd = -1;
	ef->mem = data;
	ef->memsize = size;
	return open_common(ef, err);
}

struct elf_file *elf_file_open_again(const struct elf_file *ef)
{
	int err;

	return ef->mem ? elf_file_open_mem(ef->mem, ef->memsize, &err) :
			 elf_file_open_fd(ef->fd, &err);
}

uint16_t elf_file_machine(const struct elf_file *ef)
{
	return ef->ehdr.e_machine;
}

uint16_t elf_file_type(const struct elf_file *ef)
{
	return ef->ehdr.e_type;
}

uint64_t elf_file_entry(const struct elf_file *ef)
{
	return ef->ehdr.e_entry;
}

bool elf_file_is64(const struct elf_file *ef)
{
	return ef->ehdr.e_ident[EI_CLASS] == ELFCLASS64;
}

size_t elf_file_loads(const struct elf_file *ef, const struct elf_load **loads)
{
	*loads = ef->loads;
	return ef->nloads;
}

bool elf_file_off_to_svma(const struct elf_file *ef, uint64_t off, uint64_t *svma)
{
	/*
	 * Linkers may let two segments share file bytes (a page that is mapped twice). Callers ask
	 * about code, so executable segments come first.
	 */
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < ef->nloads; i++) {
			const struct elf_load *l = &ef->loads[i];

			if (pass == 0 && !(l->flags & PF_X))
				continue;
			if (off >= l->offset && off - l->offset < l->filesz) {
				*svma = l->vaddr + (off - l->offset);
				return true;
			}
		}
	}
	return false;
}

uint64_t elf_file_code_end(const struct elf_file *ef, uint64_t svma)
{
	size_t above = BISECT(ef->ncode, i, ef->code[i].start <= svma);

	if (above && svma < ef->code[above - 1].end)
		return ef->code[above - 1].end;
	for (size_t i = 0; i < ef->nloads; i++) {
		const struct elf_load *l = &ef->loads[i];

		if ((l->flags & PF_X) && svma >= l->vaddr && svma - l->vaddr < l->memsz)
			return l->vaddr + l->memsz;
	}
	return 0;
}

bool elf_file_in_plt(const struct elf_file *ef, uint64_t svma)
{
	size_t above = BISECT(ef->ncode, i, ef->code[i].start <= svma);

	return above && svma < ef->code[above - 1].end && ef->code[above - 1].plt;
}

Elf_Data *elf_image(struct elf_file *ef, uint64_t svma, size_t want, Elf_Type type)
{
	uint64_t max = MIN((uint64_t)want, ELF_PIECE_MAX);

	for (size_t i = 0; i < ef->nloads; i++) {
		const struct elf_load *l = &ef->loads[i];
		uint64_t skip = svma - l->vaddr;

		if (svma < l->vaddr || skip >= l->filesz)
			continue;
		max = MIN(max, l->filesz - skip);
		if (!elf_room_take(ef, ELF_ROOM_BYTES, l->offset + skip, max))
			return NULL;
		return elf_getdata_rawchunk(ef->elf, (int64_t)(l->offset + skip), max, type);
	}
	return NULL;
}

Elf_Data *elf_scn_data(struct elf_file *ef, Elf_Scn *scn)
{
	Elf_Data *data;
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS ||
	    sh.sh_size > ELF_PIECE_MAX || !elf_room_take(ef, ELF_ROOM_SECTION, elf_ndxscn(scn), sh.sh_size))
		return NULL;
	data = elf_getdata(scn, NULL);
	return data && data->d_buf ? data : NULL;
}

void elf_copy_read(const struct elf_file *ef, uint64_t off, uint64_t len)
{
	if (off < ef->copy_size)
		pages_populate(ef->copy + off, MIN(len, ef->copy_size - off));
	while (len && off < ef->copy_size) {
		ssize_t n = pread(ef->fd, ef->copy + off, MIN(len, ef->copy_size - off), (off_t)off);

		if (n <= 0)
			return;
		off += (uint64_t)n;
		len -= (uint64_t)n;
	}
}
