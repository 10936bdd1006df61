/*
 * What the recorder, usually as root, takes from files of containers: a slice of a binary, whole
 * functions of it, code, and lines of a perf map. The slice is a file that can be opened again.
 */
#include "../fuzz.h"
#include "base/strbuf.h"
#include "capture/capture.h"
#include "elf/elf_file.h"
#include "jit/perfmap_slice.h"

static int symbol(void *ctx, const struct elf_sym *sym)
{
	(void)ctx;
	fuzz_read_text(sym->name);
	return 0;
}

static void again(const struct strbuf *slice)
{
	int err;
	struct elf_file *ef = elf_file_open_mem(slice->s, slice->len, &err);

	if (!ef)
		abort();
	elf_file_symbols(ef, symbol, NULL);
	elf_file_close(ef);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addrs[] = { 0x0, 0x1000, 0x7f0000001000 };
	static const uint64_t offs[] = { 0x0, 0x40, 0x78, 0x110, 0x139, 0x160, 0x178, 0x190, 0x310, 0x350, 0x1000, 0x1139, 0x2000 };
	struct strbuf out = STRBUF_INIT, spans = STRBUF_INIT;
	size_t room = 1u << 16;
	char path[32];
	int fd = fuzz_file(data, size, path);

	if (!capture_elf(fd, -1, "/app/x", offs, ARRAY_SIZE(offs), &out, NULL))
		again(&out);
	strbuf_reset(&out);
	if (!capture_elf_mem(data, size, offs, ARRAY_SIZE(offs), &out, &spans))
		again(&out);
	strbuf_reset(&out);
	perfmap_slice(fd, addrs, ARRAY_SIZE(addrs), &room, &out);
	fuzz_read(out.s, out.len);
	strbuf_fini(&out);
	strbuf_fini(&spans);
	close(fd);
	return 0;
}
