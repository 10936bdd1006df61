/*
 * How much memory a file may take. It belongs to a container, and a sparse file of a few KiB can
 * state tables of gigabytes.
 */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "elf/elf_file.h"
#include "elf/elf_file_priv.h"

/* Object files may have more than 65,535 sections, programs have 40. */
#define SHDRS_MAX (1u << 16)

static _Atomic uint64_t room_of_each = UINT64_MAX;

void elf_files_room(uint64_t bytes)
{
	room_of_each = bytes;
}

void elf_room_init(struct elf_file *ef)
{
	ef->room = room_of_each;
}

void elf_room_fini(struct elf_file *ef)
{
	u64map_fini(&ef->taken);
}

bool elf_room_take(struct elf_file *ef, enum elf_room_kind kind, uint64_t id, uint64_t size)
{
	uint64_t *taken;

	if (ef->room == UINT64_MAX || ef->mem)
		return true;
	taken = u64map_put(&ef->taken, id << 2 | kind, NULL);
	if (size <= *taken)
		return true;
	if (size > ef->room) {
		ef->short_of_room = true;
		return false;
	}
	*taken = size;
	ef->room -= size;
	return true;
}

bool elf_file_short_of_room(const struct elf_file *ef)
{
	return ef->short_of_room;
}

static bool read_all(int fd, void *buf, size_t len, uint64_t off)
{
	return pread(fd, buf, len, (off_t)off) == (ssize_t)len;
}

/*
 * gABI 4.2 chapter 4: with more than 65,279 sections, e_shnum is 0 and the first header's sh_size
 * has the number. Files of the other byte order are rejected later.
 */
bool elf_headers_fit(int fd)
{
	uint64_t n;
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr e32;
		Elf64_Ehdr e64;
	} u;

	if (!read_all(fd, &u.e32, sizeof(u.e32), 0) || memcmp(u.ident, ELFMAG, SELFMAG))
		return true;
	if (u.ident[EI_CLASS] == ELFCLASS64) {
		Elf64_Shdr sh;

		if (!read_all(fd, &u.e64, sizeof(u.e64), 0) || u.e64.e_shnum || !u.e64.e_shoff ||
		    !read_all(fd, &sh, sizeof(sh), u.e64.e_shoff))
			return true;
		n = sh.sh_size;
	} else {
		Elf32_Shdr sh;

		if (u.e32.e_shnum || !u.e32.e_shoff || !read_all(fd, &sh, sizeof(sh), u.e32.e_shoff))
			return true;
		n = sh.sh_size;
	}
	return n <= SHDRS_MAX;
}
