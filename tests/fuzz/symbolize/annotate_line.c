/* The command line of nsprof annotate, with the filters that the symbolizer's commands share. */
#include "../words.h"
#include "cmd/annotate_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct annotate_opts o = { .style = "att", .percent_limit = 0.5, .source = true, .demangle = true, .cache = true };
	struct words w;

	words_init(&w, data, size);
	annotate_options_parse(&o, w.argc, w.argv);
	filter_fini(&o.filter);
	words_fini(&w);
	return 0;
}
