/* Call frame information: rows, slices of it and expressions. Two lengths, then three sections. */
#include "../fuzz.h"
#include "base/strbuf.h"
#include "cfi/cfi.h"

#define FDES 200	/* looked at per input */

static int reg(void *ctx, unsigned int number, uint64_t *val)
{
	(void)ctx;
	*val = number * 0x1001;
	return 0;
}

static int mem(void *ctx, uint64_t addr, uint64_t *val)
{
	(void)ctx;
	*val = addr ^ 0x5555;
	return addr & 1 ? -1 : 0;
}

static const struct cfi_expr_env env = { .reg = reg, .mem = mem, .bias = 0x1000 };

static void rule(const struct cfi_rule *r)
{
	uint64_t result;

	if (r->how == CFI_EXPR || r->how == CFI_VAL_EXPR)
		cfi_expr_eval(r->expr, r->expr_len, &env, true, 0x7fff0000, &result);
}

static void look_at(struct cfi *cfi, const struct cfi_fde *fde, uint64_t svma)
{
	struct cfi_plain plain;
	struct cfi_row row;

	cfi_plain_row(cfi, fde, svma, &plain);
	if (cfi_row(cfi, fde, svma, &row))
		return;
	rule(&row.cfa);
	for (size_t i = 0; i < CFI_NREGS; i++)
		rule(&row.regs[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = { data, size }, part;
	size_t lens[2] = { feed_bytes(&f, 2), feed_bytes(&f, 2) };
	struct cfi_sections secs = { .is64 = feed_u8(&f) & 1, .text_svma = 0x1000, .data_svma = 0x3000 };
	struct cfi_section *to[] = { &secs.eh_frame, &secs.eh_frame_hdr, &secs.debug_frame };
	struct strbuf out = STRBUF_INIT;
	uint64_t pcs[FDES];
	struct cfi_fde fde;
	struct cfi *cfi;
	size_t n = 0;

	for (int i = 0; i < 3; i++) {
		part = feed_part(&f, i < 2 ? lens[i] : f.left);
		if (part.left)
			*to[i] = (struct cfi_section){ fuzz_copy(part.p, part.left), part.left, i < 2 ? 0x2000 + 0x10000 * (uint64_t)i : 0 };
	}
	cfi = cfi_new(&secs);
	for (size_t i = 0; i < FDES && !cfi_nth(cfi, i, &fde); i++) {
		uint64_t span = fde.end - fde.start;

		look_at(cfi, &fde, fde.start);
		look_at(cfi, &fde, fde.start + span / 2);
		look_at(cfi, &fde, fde.end - 1);
		cfi_find(cfi, fde.start, &fde);
		if (!n || fde.start > pcs[n - 1])
			pcs[n++] = fde.start;
	}
	cfi_emit(cfi, pcs, n, &out);
	strbuf_reset(&out);
	cfi_emit_rows(cfi, NULL, pcs, n, n ? pcs[0] : 0, &out);
	strbuf_fini(&out);
	cfi_free(cfi);
	for (int i = 0; i < 3; i++)
		free((void *)to[i]->data);
	return 0;
}
