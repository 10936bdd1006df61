/* A perf map: parsed, and looked up at the addresses it states. */
#include "../fuzz.h"
#include "jit/perfmap_line.h"
#include "symbols/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = (char *)fuzz_copy(data, size);
	struct perfmap *pm = perfmap_new(copy, size);
	struct perfmap_line line;
	const char *name;

	for (size_t at = 0; at < size;) {
		const char *nl = memchr(copy + at, '\n', size - at);
		size_t len = nl ? (size_t)(nl - copy) - at : size - at;

		if (perfmap_line(copy + at, len, &line)) {
			fuzz_read(line.name, line.name_len);
			if (perfmap_lookup(pm, (struct avma){ line.start }, &name))
				fuzz_read_text(name);
		}
		at += len + 1;
	}
	perfmap_shared(pm);
	perfmap_free(pm);
	free(copy);
	return 0;
}
