/* The switches of a block, coded (nibble_codec) or plain, with marks or not: the first byte says which. */
#include "../fuzz.h"
#include "samples/switch_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct switch_dec *d = switch_dec_new();
	struct feed f = { data, size }, bits;
	uint8_t how = feed_u8(&f);
	struct switch_block b = { .plain = how & 1, .marks = how & 2 };
	const struct ev_switch *marks;
	uint8_t *code, *more;
	size_t n;

	b.symbols = feed_bytes(&f, 3);
	bits = feed_part(&f, feed_bytes(&f, 2));
	more = fuzz_copy(bits.p, bits.left);
	code = fuzz_copy(f.p, f.left);
	cursor_init(&b.bits, more, bits.left);
	cursor_init(&b.code, code, f.left);
	switch_decode(d, &b);
	while (switch_dec_peek(d)) {
		fuzz_read(switch_dec_peek(d), sizeof(struct ev_switch));
		switch_dec_take(d);
	}
	marks = switch_dec_marks(d, &n);
	if (n)
		fuzz_read(marks, n * sizeof(*marks));
	switch_dec_free(d);
	free(code);
	free(more);
	return 0;
}
