/* Debug info of a binary: inlined functions, functions and lines. libdw reads some of it. */
#include "../fuzz.h"
#include "base/strbuf.h"
#include "debuginfo/debugsource.h"
#include "debuginfo/inlines.h"
#include "elf/elf_file.h"

static const struct svma at[] = { { 0x0 }, { 0x310 }, { 0x350 }, { 0x1000 }, { 0x1110 }, { 0x1139 }, { 0x1160 }, { 0x1190 }, { 0x401136 } };

static void look_up(struct inline_index *ix)
{
	struct strbuf path = STRBUF_INIT;
	struct source_line lines[8];
	const char *names[8];
	struct symbol sym;
	uint32_t line;
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		n = inlines_lookup(ix, at[i], names, ARRAY_SIZE(names));
		for (size_t k = 0; k < n; k++)
			fuzz_read_text(names[k]);
		n = inlines_lines(ix, at[i], lines, ARRAY_SIZE(lines));
		for (size_t k = 0; k < n; k++)
			fuzz_read_text(lines[k].file);
		if (!inlines_symbol(ix, at[i], &sym))
			fuzz_read_text(sym.name);
		inlines_source(ix, at[i], &path, &line);
	}
	strbuf_fini(&path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = fuzz_copy(data, size);
	struct debug_files files = { 0 };
	struct inline_index *ix;
	struct elf_file *ef;
	int err;

	ef = elf_file_open_mem(copy, size, &err);
	if (ef) {
		ix = inlines_new(ef, &files, "/app/x", NULL);
		look_up(ix);
		inlines_none(ix);
		inlines_free(ix);
		debugsource_fini(&files);
	}
	elf_file_close(ef);
	free(copy);
	return 0;
}
