/* Names, as containers may have them: mangled, or almost. */
#include "../fuzz.h"
#include "profile/normalize.h"
#include "symbols/demangle.h"
#include "symbols/demangle_java.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = fuzz_text(data, size), *out;

	out = demangle(name);
	fuzz_read_text(out);
	free(out);
	out = demangle_java(name);
	fuzz_read_text(out);
	free(out);
	free(name);
	return 0;
}
