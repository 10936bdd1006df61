/* nsprof import: from a perf.data to a recording, through the masker, the tables of processes and the encoder. */
#include "../fuzz.h"
#include "import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char in[32], out[32];
	int fd = fuzz_file(data, size, in), to = fuzz_file(NULL, 0, out);
	/* In this process: faults of another one, and what it reached, would not be seen. */
	const struct import_opts o = { .payloads = PAYLOADS_NUMBERS,
		.input = in, .name = "fuzz", .output = out, .full_stacks = size & 1, .no_sandbox = true
	};

	import_run(&o);
	close(fd);
	close(to);
	return 0;
}
