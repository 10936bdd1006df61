/* The switches of a block, coded (nibble_codec) or plain: the first byte says which. */
#include "../fuzz.h"
#include "samples/switch_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct switch_dec *d = switch_dec_new();
	struct feed f = { data, size };
	bool plain = feed_u8(&f) & 1;
	uint64_t symbols = feed_bytes(&f, 3);
	uint8_t *code = fuzz_copy(f.p, f.left);
	struct cursor c;

	cursor_init(&c, code, f.left);
	switch_decode(d, &c, symbols, plain);
	while (switch_dec_peek(d)) {
		fuzz_read(switch_dec_peek(d), sizeof(struct ev_switch));
		switch_dec_take(d);
	}
	switch_dec_free(d);
	free(code);
	return 0;
}
