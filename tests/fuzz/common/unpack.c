/* Compressed sections: zlib or zstd, in pieces. The first byte says which, the next two how large. */
#include "../fuzz.h"
#include "bytes/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = { data, size };
	const bool zstd = feed_u8(&f) & 1;
	const size_t room = feed_bytes(&f, 2) + 1;
	uint8_t *in = fuzz_copy(f.p, f.left), *out = xmalloc(room);
	const struct unpack_from from = { .mem = in, .size = f.left };
	struct unpack *u = unpack_new(zstd, &from, out, room);

	unpack_upto(u, room / 2);
	while (unpack_some(u))
		;
	fuzz_read(out, unpack_have(u));
	unpack_free(u);
	free(in);
	free(out);
	return 0;
}
