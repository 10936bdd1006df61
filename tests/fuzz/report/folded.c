/* Folded text of any tool, as nsprof report reads it. */
#include "../fuzz.h"
#include "input/folded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *in = size ? fmemopen((void *)data, size, "r") : NULL;
	struct profile *p, *sorted;
	struct folded_stats st = { 0 };

	if (!in)
		return 0;
	p = profile_new();
	if (!folded_read(in, "fuzz", p, &st)) {
		profile_finish(p);
		sorted = profile_sorted(p);
		if (sorted->samples != p->samples)
			abort();
		profile_free(sorted);
	}
	profile_free(p);
	fclose(in);
	return 0;
}
