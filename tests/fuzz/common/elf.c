/* A binary: everything that elf_file reads from it, from memory and from a file. */
#include "../fuzz.h"
#include "elf/elf_file.h"
#include "elf/gopclntab.h"

static int symbol(void *ctx, const struct elf_sym *sym)
{
	(void)ctx;
	fuzz_read_text(sym->name);
	return 0;
}

static void section(struct elf_file *ef, const char *name)
{
	const uint8_t *bytes;
	uint64_t svma;
	size_t size;

	elf_file_section_size(ef, name);
	if (elf_file_section(ef, name, &bytes, &size, &svma))
		return;
	fuzz_read(bytes, size);
	elf_file_give_back(ef, bytes);
}

static void read_all(struct elf_file *ef)
{
	static const char *const names[] = {
		".text", ".symtab", ".debug_info", ".debug_line", ".debug_str", ".gnu_debugdata", ".note.gnu.build-id",
	};
	const struct elf_load *loads;
	struct cfi_sections cfi;
	struct go_func fn;
	const struct gopclntab *go;
	const uint8_t *code;
	uint8_t id[20], buf[64];
	const char *link;
	uint64_t svma = elf_file_entry(ef);
	uint32_t crc;
	size_t n;

	n = elf_file_loads(ef, &loads);
	for (size_t i = 0; i < n && i < 16; i++) {
		elf_file_off_to_svma(ef, loads[i].offset, &svma);
		fuzz_read(buf, elf_file_bytes(ef, loads[i].vaddr, buf, sizeof(buf)));
		n = elf_file_code(ef, loads[i].vaddr, &code);
		fuzz_read(code, n);
		n = elf_file_loads(ef, &loads);
	}
	n = elf_file_code(ef, svma, &code);
	fuzz_read(code, n);
	elf_file_code_end(ef, svma);
	elf_file_in_plt(ef, svma);
	elf_file_build_id(ef, id);
	if (elf_file_debuglink(ef, &link, &crc))
		fuzz_read_text(link);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		section(ef, names[i]);
	elf_file_cfi_sections(ef, &cfi);
	fuzz_read(cfi.eh_frame.data, cfi.eh_frame.size);
	fuzz_read(cfi.eh_frame_hdr.data, cfi.eh_frame_hdr.size);
	fuzz_read(cfi.debug_frame.data, cfi.debug_frame.size);
	elf_file_symbols(ef, symbol, NULL);
	go = elf_file_gopclntab(ef);
	for (size_t i = 0; go && i < 64 && !gopclntab_nth(go, i, &fn); i++)
		fuzz_read_text(fn.name);
	elf_file_go_lost(ef);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = fuzz_copy(data, size);
	struct elf_file *ef;
	char path[32];
	int fd, err;

	ef = elf_file_open_mem(copy, size, &err);
	if (ef)
		read_all(ef);
	elf_file_close(ef);
	fd = fuzz_file(data, size, path);
	ef = elf_file_open_fd(fd, &err);
	if (ef) {
		elf_file_remember_symbols(ef);
		read_all(ef);
	}
	elf_file_close(ef);
	close(fd);
	free(copy);
	return 0;
}
