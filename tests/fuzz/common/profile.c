/* A saved profile: read, sorted, written, and the result read again. */
#include "../fuzz.h"
#include "profile/profile.h"

static struct profile *read_from(const void *data, size_t size)
{
	FILE *in = size ? fmemopen((void *)data, size, "r") : NULL;
	struct profile *p = NULL;

	if (!in)
		return NULL;
	if (profile_read(in, "fuzz", &p))
		p = NULL;
	fclose(in);
	return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p = read_from(data, size), *sorted, *again;
	char *text = NULL;
	size_t len;
	FILE *to;

	if (!p)
		return 0;
	sorted = profile_sorted(p);
	to = open_memstream(&text, &len);
	profile_write(to, sorted);
	fclose(to);
	/* What is written can be read, and holds as much. */
	again = read_from(text, len);
	if (!again || again->cut || again->samples != sorted->samples || again->period != sorted->period)
		abort();
	profile_free(again);
	profile_free(sorted);
	profile_free(p);
	free(text);
	return 0;
}
