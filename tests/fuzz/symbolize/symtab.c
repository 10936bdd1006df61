/* The symbol tables of a binary, for all its addresses and for a few. */
#include "../fuzz.h"
#include "elf/elf_file.h"
#include "symbols/symtab.h"

static uint64_t reach(void *ctx, uint64_t start, uint64_t end)
{
	(void)ctx;
	return start + (end - start) / 2;
}

static const struct svma at[] = { { 0x0 }, { 0x310 }, { 0x350 }, { 0x1000 }, { 0x1110 }, { 0x1139 }, { 0x1160 }, { 0x1190 }, { 0x401136 } };

static void look_up(struct symtab *st)
{
	struct symbol sym;

	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		if (!symtab_lookup(st, at[i], reach, NULL, &sym))
			fuzz_read_text(sym.name);
	symtab_free(st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = fuzz_copy(data, size);
	struct symtab_files files = { .path = "/app/x" };
	int err;

	files.elf = elf_file_open_mem(copy, size, &err);
	if (files.elf) {
		look_up(symtab_new(&files));
		look_up(symtab_new_few(&files, at, ARRAY_SIZE(at)));
	}
	elf_file_close(files.elf);
	free(copy);
	return 0;
}
