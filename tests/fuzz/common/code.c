/* Machine code of a container: decoding it, and the rows that are read off it. */
#include "../fuzz.h"
#include "code/code_pack.h"
#include "code/code_rows.h"
#include "code/x86_insn.h"

#define BASE 0x1000u	/* svma of the first byte */

static size_t code_at(void *ctx, uint64_t svma, const uint8_t **data)
{
	const struct feed *f = ctx;

	if (svma < BASE || svma - BASE >= f->left)
		return 0;
	*data = f->p + (svma - BASE);
	return f->left - (svma - BASE);
}

static uint64_t start_of(void *ctx, uint64_t svma, bool *entry)
{
	(void)ctx;
	*entry = svma & 16;
	return svma & 32 ? BASE : 0;
}

static bool no(void *ctx, uint64_t svma)
{
	(void)ctx;
	(void)svma;
	return false;
}

static size_t bytes_at(void *ctx, uint64_t svma, void *buf, size_t size)
{
	const uint8_t *data;
	size_t n = MIN(code_at(ctx, svma, &data), size);

	if (n)
		memcpy(buf, data, n);
	return n;
}

static void decode(const struct feed *f)
{
	struct x86_operands ops;
	struct x86_insn insn;

	for (size_t at = 0; at < f->left;) {
		if (!x86_decode_operands(f->p + at, f->left - at, BASE + at, &insn, &ops)) {
			at++;
			continue;
		}
		if (!insn.len || insn.len > f->left - at)
			abort();
		at += insn.len;
	}
}

static void rows(struct feed *code)
{
	const struct code_source src = {
		.ctx = code, .read = code_at, .start_of = start_of, .noreturn = no, .data = bytes_at,
	};
	struct code_rows *cr = code_rows_new(&src);
	struct cfi_row row;
	uint64_t target;

	for (uint64_t at = BASE; at < BASE + MIN(code->left, 64); at += 7) {
		code_row(cr, at, at & 1, &row);
		code_row_from(cr, BASE, at, at & 2, &row);
		code_is_return(cr, at);
		code_call_target(cr, at, &target);
		code_after_syscall(cr, at);
		code_in_restorer(cr, at);
	}
	code_extent(cr, BASE, BASE + code->left);
	code_leads_into(cr, BASE, BASE + 32, BASE + 40);
	code_rows_free(cr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = fuzz_copy(data, size);
	struct feed f = { copy, size };
	const struct code_range *ranges;
	struct code_pack *cp;
	const uint8_t *bytes;
	size_t n;

	decode(&f);
	rows(&f);
	cp = code_pack_read(copy, size);
	if (cp) {
		n = code_pack_ranges(cp, &ranges);
		fuzz_read(ranges, n * sizeof(*ranges));
		for (size_t i = 0; i < n && i < 64; i++)
		{
			size_t len = code_pack_find(cp, ranges[i].svma, &bytes);

			fuzz_read(bytes, len);
		}
	}
	code_pack_free(cp);
	free(copy);
	return 0;
}
