/* /proc/kallsyms, as it is or captured. */
#include "../fuzz.h"
#include "symbols/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = (char *)fuzz_copy(data, size);
	struct kallsyms *ks = kallsyms_new(copy, size);
	const char *name, *module;
	struct kallsym sym;
	size_t it = 0;

	while (ks && kallsyms_next(ks, &it, &sym)) {
		fuzz_read_text(sym.name);
		fuzz_read_text(sym.module);
		if (kallsyms_lookup(ks, (struct avma){ sym.start }, &name, &module))
			fuzz_read_text(name);
	}
	kallsyms_free(ks);
	free(copy);
	return 0;
}
