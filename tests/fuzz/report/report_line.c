/* The command lines of nsprof report and nsprof diff. The first byte says which. */
#include "../words.h"
#include "cmd/diff_options.h"
#include "cmd/report_options.h"

static void report(struct words *w)
{
	struct report_opts o = {
		.format = "text", .by = "comm", .width = 1200,
		.table = { .children = true, .limit = REPORT_LIMIT_UNSET, .percent_limit = -1 },
		.chains = { .percent_limit = -1 }, .demangle = true,
	};

	report_options_parse(&o, w->argc, w->argv);
	report_options_fini(&o);
}

static void diff(struct words *w)
{
	struct diff_cmd c = { .normalize = true, .limit = 40, .percent_limit = 0.1 };
	int first;

	if (!diff_options_parse(&c, w->argc, w->argv, &first))
		for (int i = first; i < w->argc; i++)
			fuzz_read_text(w->argv[i]);
	free(c.load.filters);
	free(c.gates);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = { data, size };
	const bool is_diff = feed_u8(&f) & 1;
	struct words w;

	words_init(&w, f.p, f.left);
	if (is_diff)
		diff(&w);
	else
		report(&w);
	words_fini(&w);
	return 0;
}
