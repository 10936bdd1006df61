/* A packed slice of a binary: its coded part, and what it unpacks to. */
#include "../fuzz.h"
#include "base/strbuf.h"
#include "slice/slice_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice_dec *d = slice_dec_new();
	struct strbuf out = STRBUF_INIT;
	struct feed f = { data, size };
	uint64_t want = feed_bytes(&f, 3);
	uint8_t *bytes = fuzz_copy(f.p, f.left);

	slice_unpack(d, bytes, f.left, want, &out);
	fuzz_read(out.s, out.len);
	strbuf_reset(&out);
	slice_unpack_names(d, bytes, f.left, want, &out);
	fuzz_read(out.s, out.len);
	strbuf_fini(&out);
	slice_dec_free(d);
	free(bytes);
	return 0;
}
