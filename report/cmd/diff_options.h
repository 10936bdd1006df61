/* The command line of nsprof diff. */
#ifndef NSPROF_DIFF_OPTIONS_H
#define NSPROF_DIFF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diff/diff.h"
#include "diff/diff_gate.h"
#include "input/load.h"
#include "profile/profile.h"

enum diff_format { DIFF_FORMAT_TEXT, DIFF_FORMAT_MD, DIFF_FORMAT_JSON, DIFF_FORMAT_CSV, DIFF_FORMAT_FOLDED, DIFF_FORMAT_SVG, DIFF_FORMAT_HTML };

struct diff_cmd {
	struct diff_opts diff;
	struct load_opts load;
	size_t filters_cap;
	enum diff_format format;
	const char *output, *scale, *title;
	enum { DIFF_WEIGHT_BEST, DIFF_WEIGHT_SAMPLES, DIFF_WEIGHT_PERIOD } weight;
	struct diff_gate *gates;	/* owned */
	size_t ngates, gates_cap;
	struct diff_input *in;		/* owned, with the profiles */
	struct profile **profiles;	/* owned: in[i].profile */
	size_t nin;
	uint64_t limit;
	double percent_limit;
	bool normalize, aa, force, build_info, damaged;
	int verbose;
};

/* As opt_parse(). The caller sets the defaults in @c. */
int diff_options_parse(struct diff_cmd *c, int argc, char **argv, int *first);

#endif
