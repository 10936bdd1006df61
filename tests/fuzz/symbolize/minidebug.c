/* .gnu_debugdata: the input is its content, in a binary made around it. */
#include <elf.h>

#include "../fuzz.h"
#include "elf/elf_file.h"
#include "symbols/minidebug.h"

static const char names[] = "\0.gnu_debugdata\0.shstrtab";

/* A file with that one section. Owned; *@total bytes. */
static uint8_t *around(const uint8_t *data, size_t size, size_t *total)
{
	const size_t at = sizeof(Elf64_Ehdr), strings = at + size, headers = (strings + sizeof(names) + 7) & ~(size_t)7;
	const Elf64_Ehdr eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_ehsize = sizeof(eh),
		.e_shoff = headers, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3, .e_shstrndx = 2,
	};
	const Elf64_Shdr sh[3] = {
		[1] = { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = at, .sh_size = size, .sh_addralign = 1 },
		[2] = { .sh_name = 16, .sh_type = SHT_STRTAB, .sh_offset = strings, .sh_size = sizeof(names), .sh_addralign = 1 },
	};
	uint8_t *file = xcalloc(1, headers + sizeof(sh));

	memcpy(file, &eh, sizeof(eh));
	if (size)
		memcpy(file + at, data, size);
	memcpy(file + strings, names, sizeof(names));
	memcpy(file + headers, sh, sizeof(sh));
	*total = headers + sizeof(sh);
	return file;
}

static int symbol(void *ctx, const struct elf_sym *sym)
{
	(void)ctx;
	fuzz_read_text(sym->name);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *ef, *inner;
	size_t total;
	uint8_t *file = around(data, size, &total);
	void *mem;
	int err;

	ef = elf_file_open_mem(file, total, &err);
	if (!ef)
		abort();
	if (!minidebug_open(ef, &inner, &mem)) {
		elf_file_symbols(inner, symbol, NULL);
		elf_file_close(inner);
		free(mem);
	}
	elf_file_close(ef);
	free(file);
	return 0;
}
