/*
 * Large sections, in memory that can be freed before the file is closed; libelf keeps what it has
 * read. Getting pages from the kernel takes longer than filling them. So of two sections read in
 * turn, the second should reuse the memory of the first.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "elf/elf_file_priv.h"

struct elf_large {
	struct elf_large *next;
	uint64_t off;		/* of the section in the file */
	size_t size;		/* bytes */
	uint8_t data[];
};

static bool fill(struct elf_large *l, int fd)
{
	size_t at = 0;

	while (at < l->size) {
		ssize_t n = pread(fd, l->data + at, l->size - at, (off_t)(l->off + at));

		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

/*
 * NULL: the file does not have all of it. Headers may state any size: nothing is allocated for
 * missing bytes.
 */
static struct elf_large *read_section(const struct elf_file *ef, const GElf_Shdr *sh)
{
	struct elf_large *l;
	struct stat st;

	if (fstat(ef->fd, &st) || sh->sh_offset > (uint64_t)st.st_size ||
	    sh->sh_size > (uint64_t)st.st_size - sh->sh_offset)
		return NULL;
	l = malloc(sizeof(*l) + sh->sh_size);
	if (!l)
		return NULL;
	*l = (struct elf_large){ .off = sh->sh_offset, .size = sh->sh_size };
	if (fill(l, ef->fd))
		return l;
	free(l);
	return NULL;
}

int elf_large_section(struct elf_file *ef, const GElf_Shdr *sh, const uint8_t **data, size_t *size)
{
	struct elf_large *l = ef->large;

	while (l && (l->off != sh->sh_offset || l->size != sh->sh_size))
		l = l->next;
	if (!l) {
		l = read_section(ef, sh);
		if (!l)
			return -EINVAL;
		l->next = ef->large;
		ef->large = l;
	}
	*data = l->data;
	*size = l->size;
	return 0;
}

void elf_file_give_back(struct elf_file *ef, const uint8_t *data)
{
	struct elf_large **at = &ef->large, *l;

	while (*at && (*at)->data != data)
		at = &(*at)->next;
	l = *at;
	if (!l)
		return;
	*at = l->next;
	free(l);
}

void elf_large_free(struct elf_file *ef)
{
	while (ef->large)
		elf_file_give_back(ef, ef->large->data);
}
