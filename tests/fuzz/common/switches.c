/* The switches of a block, coded (nibble_codec) or plain: the first byte says which. */
#include "../fuzz.h"
#include "samples/switch_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct switch_dec *d = switch_dec_new();
	struct feed f = { data, size }, bits;
	struct switch_block b = { .plain = feed_u8(&f) & 1 };
	uint8_t *code, *more;

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
	switch_dec_free(d);
	free(code);
	free(more);
	return 0;
}
