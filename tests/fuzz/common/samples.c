/*
 * The samples of one KEY block, coded (nibble_codec) or plain, of one event or several, with marks or
 * not: the first byte says which.
 */
#include "../fuzz.h"
#include "samples/sample_codec.h"

#define MARKS 500u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sample_dec *d = sample_dec_new();
	struct feed f = { data, size };
	uint8_t how = feed_u8(&f);
	struct ev_switch mark[MARKS];
	struct sample_block block = { .plain = how & 1, .has_marks = how & 4, .marks = mark, .nmarks = how & 4 ? MARKS : 0 };
	uint8_t *code;
	struct ev_sample ev;
	uint64_t val;

	block.symbols = feed_bytes(&f, 3);
	code = fuzz_copy(f.p, f.left);
	cursor_init(&block.code, code, f.left);
	if (how & 2)
		sample_dec_events(d);
	for (uint32_t i = 0; i < MARKS; i++)
		mark[i] = (struct ev_switch){ .time = 1000 * i, .pid = i % 7 / 3, .tid = i % 7, .cpu = i % 3, .mark = true };
	sample_dec_key(d);
	sample_dec_block(d, &block);
	while (!sample_dec_next(d, &ev)) {
		fuzz_read(ev.chain, ev.nchain * sizeof(*ev.chain));
		fuzz_read(ev.payload, ev.payload_len);
		for (uint64_t a = ev.stack.lo; a < ev.stack.hi; a += 8)
			stack_view_read(&ev.stack, a, &val);
		if (ev.stack.shadow) {
			stack_view_page(&ev.stack, ev.stack.hi);
			stack_view_hole(&ev.stack, ev.stack.hi);
		}
	}
	sample_dec_done(d);
	sample_dec_free(d);
	free(code);
	return 0;
}
