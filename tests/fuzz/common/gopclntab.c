/* Go's function table: all functions and their frames. */
#include "../fuzz.h"
#include "elf/gopclntab.h"

#define FUNCTIONS 500	/* looked at per input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = fuzz_copy(data, size);
	struct gopclntab gt;
	struct go_func fn;
	uint64_t end;
	uint32_t bytes;

	if (size >= 8)
		gopclntab_begins(copy);
	if (!gopclntab_init(&gt, copy, size, 0x401000)) {
		for (size_t i = 0; i < FUNCTIONS && !gopclntab_nth(&gt, i, &fn); i++) {
			fuzz_read_text(fn.name);
			gopclntab_frame(&gt, &fn, fn.start, &bytes, &end);
			gopclntab_frame(&gt, &fn, fn.end - 1, &bytes, &end);
			gopclntab_find(&gt, fn.start, &fn);
		}
	}
	free(copy);
	return 0;
}
