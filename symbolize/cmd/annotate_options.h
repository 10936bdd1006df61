/* The command line of 'nsprof annotate'. */
#ifndef NSPROF_ANNOTATE_OPTIONS_H
#define NSPROF_ANNOTATE_OPTIONS_H

#include <stdbool.h>

#include "profile/filter.h"

struct annotate_opts {
	const char *input, *output, *event, *servers, *style, *symbol;
	double percent_limit;
	bool json, source, demangle, cache, debuginfod, strict, quiet, build_info, no_sandbox;
	bool symbol_is_file;	/* there is a file called @symbol */
	int verbose;
	struct filter filter;
	bool intel;	/* --disassembler-style */
};

/* Parses like opt_parse(), and tells a recording from a function name. @o has its defaults. */
int annotate_options_parse(struct annotate_opts *o, int argc, char **argv);

#endif
