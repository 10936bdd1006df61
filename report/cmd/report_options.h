/* The command line of nsprof report. */
#ifndef NSPROF_REPORT_OPTIONS_H
#define NSPROF_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "input/load.h"
#include "profile/lead_frames.h"
#include "views/table.h"
#include "views/table_chains.h"

#define REPORT_LIMIT_UNSET UINT64_MAX	/* table.limit before --limit is parsed */

enum report_weight { REPORT_WEIGHT_BEST, REPORT_WEIGHT_SAMPLES, REPORT_WEIGHT_PERIOD };

enum report_format { REPORT_FORMAT_TEXT, REPORT_FORMAT_CSV, REPORT_FORMAT_JSON, REPORT_FORMAT_HTML, REPORT_FORMAT_SVG };

struct report_opts {
	struct load_opts load;
	const char *input, *output, *format, *focus, *title;
	const char *by;			/* NULL: the default */
	const char *with_fields;	/* NULL: none */
	char *sort;			/* owned; NULL = the default */
	struct strbuf fields;		/* of tracepoints, for load.fields */
	struct lead lead;	/* --by */
	struct table_opts table;
	enum report_format kind;
	bool csv, json, tree;
	enum report_weight weight;	/* as requested */
	bool period;			/* what @weight means for this input */
	bool folded;			/* -g folded */
	struct chains_opts chains;
	char separator;			/* -t; 0 = aligned columns */
	bool stats, header_only, demangle;
	size_t filters_cap, lists_cap;
	uint64_t width;
	bool build_info;
	int verbose;
};

/*
 * As opt_parse(); also checks that the options go together, chooses the input and sets the default
 * limits. The caller sets format, width, table.children and demangle, REPORT_LIMIT_UNSET in
 * table.limit, and -1 in both percent_limits.
 */
int report_options_parse(struct report_opts *o, int argc, char **argv);
void report_options_fini(struct report_opts *o);

#endif
