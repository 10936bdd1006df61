/* A line table, and .debug_aranges. Lengths of .debug_line and .debug_line_str, then those, then .debug_str. */
#include <elf.h>

#include "../fuzz.h"
#include "base/strbuf.h"
#include "dwarf/aranges.h"
#include "debuginfo/linetable.h"
#include "elf/elf_file.h"
#include "base/ranges.h"

/* A binary with code at 0x1000 to 0x11000: rows elsewhere are of code that the linker dropped. */
static const struct {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
} code = {
	.eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_ehsize = sizeof(Elf64_Ehdr),
		.e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
	},
	.ph = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0x1000, .p_memsz = 0x10000, .p_filesz = sizeof(code) },
};

static void table(const struct linetable_sections *secs, uint64_t offset)
{
	size_t rows_left = 100000;
	struct linetable *lt = linetable_new(secs, offset, &rows_left);
	struct strbuf path = STRBUF_INIT;
	uint64_t file;
	uint32_t line;

	for (uint64_t svma = 0x1000; svma < 0x1100; svma += 5)
		if (linetable_find(lt, svma, &file, &line)) {
			fuzz_read_text(linetable_file(lt, file));
			linetable_path(lt, file, "/src", &path);
		}
	for (file = 0; file < 4; file++)
		if (linetable_path(lt, file, NULL, &path))
			fuzz_read_text(path.s);
	strbuf_fini(&path);
	linetable_free(lt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = { data, size }, part;
	size_t lens[3] = { feed_bytes(&f, 2), feed_bytes(&f, 1), SIZE_MAX };
	struct linetable_sections secs = { 0 };
	struct linetable_bytes *to[] = { &secs.line, &secs.line_str, &secs.str };
	uint64_t offset = feed_u8(&f);
	struct ranges ranges = RANGES_INIT;
	struct elf_file *ef;
	int err;

	ef = elf_file_open_mem(&code, sizeof(code), &err);
	if (!ef)
		abort();
	secs.code = ef;

	for (int i = 0; i < 3; i++) {
		part = feed_part(&f, lens[i]);
		if (part.left)
			*to[i] = (struct linetable_bytes){ fuzz_copy(part.p, part.left), part.left };
	}
	table(&secs, offset);
	if (secs.line.data)
		aranges_read(secs.line.data, secs.line.size, 1000, &ranges);
	ranges_fini(&ranges);
	for (int i = 0; i < 3; i++)
		free((void *)to[i]->data);
	elf_file_close(ef);
	return 0;
}
