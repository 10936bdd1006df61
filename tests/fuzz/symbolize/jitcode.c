/* A captured jitdump, as the symbolizer uses it: functions, lines and rows. */
#include "../fuzz.h"
#include "cfi/cfi.h"
#include "modules/jitcode.h"
#include "modules/module.h"
#include "support/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addrs[] = { 0x1000, 0x7f0000001010, 0x7f0000002000 };
	uint8_t *copy = fuzz_copy(data, size);
	uint32_t next = 1;
	struct jitcode *jc = jitcode_new(copy, size, &next, 100);
	struct source_line line;
	struct module *m;
	uint64_t bias;
	size_t n = 0;

	free(copy);
	for (size_t i = 0; jc && i < ARRAY_SIZE(addrs); i++) {
		const struct jit_func *fn = jitcode_find(jc, (struct avma){ addrs[i] }, i * 1000);

		if (!fn)
			continue;
		fuzz_read_text(fn->name);
		if (jitcode_line(fn, addrs[i], &line))
			fuzz_read_text(line.file);
		m = jitcode_module(fn, &bias);
		if (m) {
			struct cfi_fde fde;
			struct cfi_row row;

			if (!cfi_find(module_cfi(m), addrs[i] - bias, &fde))
				cfi_row(module_cfi(m), &fde, addrs[i] - bias, &row);
		}
	}
	if (jc)
		jitcode_advance(jc, &n, 5000);
	jitcode_free(jc);
	return 0;
}
