/* The command line of nsprof record. */
#include "../words.h"
#include "run/event_options.h"
#include "run/record_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_cmdline c = { .o = { .freq = FREQ_DEFAULT, .callgraph = CALLGRAPH_DWARF, .dump_size = DUMP_SIZE_MAX } };
	struct words w;
	int first;

	words_init(&w, data, size);
	if (!record_options_parse(&c, w.argc, w.argv, &first))
		for (int i = first; i < w.argc; i++)
			fuzz_read_text(w.argv[i]);
	event_options_fini(&c);
	free(c.o.cgroups);
	free(c.o.containers);
	free(c.o.pods);
	free(c.o.cgroup_of);
	free(c.o.runtime_roots);
	free(c.o.toggles_ms);
	words_fini(&w);
	return 0;
}
