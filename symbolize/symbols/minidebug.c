/*
 * .gnu_debugdata: an xz-compressed ELF file with the symbols that .dynsym lacks ("MiniDebugInfo" in
 * the GDB manual, "Debugging Information in Separate Files"). Fedora and RHEL write it for all
 * packages.
 */
#include "symbols/minidebug.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "elf/elf_file.h"

/*
 * xz can expand zeroes by four orders of magnitude, and the bytes come from inside a container.
 * Real sections unpack to less than 10 MiB, 3 to 5 times their size; xz -9 needs 65 MiB to unpack.
 */
#define OUT_MAX		(128u << 20)
#define OUT_SMALL	(1u << 20)	/* a small section may be unusual */
#define RATIO_MAX	32
#define DECODER_MAX	(72u << 20)

static size_t out_max(size_t size)
{
	return size > OUT_MAX / RATIO_MAX ? OUT_MAX : MAX(size * RATIO_MAX, (size_t)OUT_SMALL);
}

static int unpack(const uint8_t *data, size_t size, uint8_t **out, size_t *out_size)
{
	lzma_stream strm = LZMA_STREAM_INIT;
	/* Real ratios are 3 to 5, so the buffer grows once at most. */
	size_t cap = MIN(MAX(size, 4096u), OUT_MAX / 4) * 4;
	const size_t most = out_max(size);
	uint8_t *buf;
	lzma_ret ret;

	if (lzma_stream_decoder(&strm, DECODER_MAX, LZMA_CONCATENATED) != LZMA_OK)
		return -EFBIG;
	buf = xmalloc(cap);
	strm.next_in = data;
	strm.avail_in = size;
	strm.next_out = buf;
	strm.avail_out = cap;
	while ((ret = lzma_code(&strm, LZMA_FINISH)) == LZMA_OK) {
		if (strm.avail_out)
			continue;
		if (cap >= most) {
			ret = LZMA_MEMLIMIT_ERROR;
			break;
		}
		strm.avail_out = MIN(cap, most - cap);
		cap += strm.avail_out;
		buf = xrealloc(buf, cap);
		strm.next_out = buf + strm.total_out;
	}
	*out_size = strm.total_out;
	lzma_end(&strm);
	if (ret != LZMA_STREAM_END) {
		free(buf);
		return ret == LZMA_MEMLIMIT_ERROR ? -EFBIG : -EBADMSG;
	}
	*out = buf;
	return 0;
}

int minidebug_open(struct elf_file *ef, struct elf_file **out, void **mem)
{
	const uint8_t *data;
	uint8_t *buf;
	size_t size;
	int err;

	err = elf_file_section(ef, ".gnu_debugdata", &data, &size, NULL);
	if (err)
		return -ENOENT;
	err = unpack(data, size, &buf, &size);
	if (err)
		return err;
	*out = elf_file_open_mem(buf, size, &err);
	if (!*out) {
		free(buf);
		return -EBADMSG;
	}
	*mem = buf;
	return 0;
}
